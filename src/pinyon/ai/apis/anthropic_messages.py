"""The Anthropic Messages API, as the vendor and many compatible servers speak it.

Options that only this API knows, in `StreamOptions.extra`: `thinking_enabled` (bool), `thinking_budget_tokens` (int),
`effort` (str), `thinking_display` (`summarized` or `omitted`), `interleaved_thinking` (bool, default true) and
`tool_choice` (`auto`, `any`, `none` or `{"type": "tool", "name": ...}`).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pinyon._util import json as _json
from pinyon.ai.apis.anthropic_event import BlockDelta, StreamPart, decode_event, parsed_event
from pinyon.ai.apis.anthropic_header import THREADS_BETA, request_headers, require_credential
from pinyon.ai.apis.anthropic_option import AnthropicRequest, settle
from pinyon.ai.apis.anthropic_payload import build_payload
from pinyon.ai.apis.anthropic_stream import AnswerReader, add_diagnostic
from pinyon.ai.apis.anthropic_strict import STRICT_LIMITS, is_strict_limit
from pinyon.ai.apis.anthropic_thread import (
    ThreadPlan,
    disable_threads,
    fresh_thread,
    plan_thread,
    record_answer,
    thread_refusal,
)
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import HttpStatusError, error_text, failure_event
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.strict_limit import has_preferred_strict
from pinyon.ai.transcript import current_tools


class AnthropicMessages:
    """The wire API; stateless apart from what it remembers about sessions."""

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        require_credential(model, options)
        return AssistantMessageEventStream(_events(model, messages, options, LiveAnswer(model)))


API = AnthropicMessages()


async def _events(
    model: Model, messages: Sequence[Message], options: StreamOptions, answer: LiveAnswer
) -> AsyncIterator[AssistantMessageEvent]:
    exchange = Exchange(model, options)
    run = _Run(model, messages, options, answer, exchange)
    try:
        await run.open()
        reader = run.reader
        yield answer.start()
        while not run.is_over:
            for sse in await run.next_events():
                part = decode_event(sse) if options.on_provider_stream_event is None else await run.told(sse)
                if type(part) is BlockDelta:
                    delta = reader.grow(part)
                    if delta is not None:
                        yield delta
                elif part is not None:
                    for event in reader.take(part, sse.data):
                        yield event
        for event in answer.end_open_blocks():
            yield event
        yield run.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        yield failure_event(answer, error, options.signal, exchange.secrets)
    finally:
        await exchange.aclose()


class _Run:
    """One answer: the request, what is changed in it after a refusal, and the events of the response."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        exchange: Exchange,
    ) -> None:
        self._model = model
        self._messages = messages
        self._options = options
        self._answer = answer
        self._exchange = exchange
        self._decoder = SseDecoder()
        self.is_over = False
        """Whether the answer is complete or the response has ended."""

    async def open(self) -> None:
        """Send the request, again where the server wants it otherwise, until there is a response to read."""
        self._messages = without_refused_images(self._messages, self._model)
        request = settle(self._model, self._messages, self._options)
        self.reader = AnswerReader(self._answer, request)
        if request.marks_effort:
            self._answer.target.provider_thinking_level = request.thinking.effort
        self._prefer_strict = STRICT_LIMITS.may_prefer_strict(self._options.session_id)
        self._encode(request)
        while True:
            try:
                return await self._send(request)
            except HttpStatusError as error:
                if not self._mended(request, error):
                    raise

    def _encode(self, request: AnthropicRequest) -> None:
        self._payload = build_payload(request, self._messages, may_prefer_strict=self._prefer_strict)
        self._plan = plan_thread(self._payload)

    def _mended(self, request: AnthropicRequest, error: HttpStatusError) -> bool:
        """Whether the request was changed in answer to a refusal, so that it may be taken now."""
        if self._gave_up_threads(error):
            return True
        if self._prefer_strict and is_strict_limit(error) and has_preferred_strict(current_tools(self._messages)):
            self._prefer_strict = False
            STRICT_LIMITS.remember(self._options.session_id)
            kind = "anthropic_strict_tools_fallback"
        elif set_aside_images(self._messages, self._model, error):
            self._messages = without_refused_images(self._messages, self._model)
            kind = "refused_images_fallback"
        else:
            return False
        add_diagnostic(self._answer, kind, {"error": error_text(error, self._exchange.secrets)})
        self._encode(request)
        return True

    def _gave_up_threads(self, error: HttpStatusError) -> bool:
        plan = self._plan
        refusal = thread_refusal(error) if plan.session_id is not None else None
        if refusal is None or plan.session_id is None or (refusal == "stale" and not plan.skip_turns):
            return False
        details = {"refusal": refusal, "error": error_text(error, self._exchange.secrets)}
        add_diagnostic(self._answer, "anthropic_thread_fallback", details)
        if refusal == "stale":
            self._plan = fresh_thread(plan.session_id)
        else:
            disable_threads(plan.session_id)
            self._plan = ThreadPlan()
        return True

    async def _send(self, request: AnthropicRequest) -> None:
        betas = [*self._payload.betas, *([THREADS_BETA] if self._plan.field is not None else [])]
        headers = request_headers(request, self._messages, betas)
        body = _json.encode_clean(self._payload.body(skip_turns=self._plan.skip_turns, thread=self._plan.field))
        sent = await self._exchange.edited(body)
        if sent != body:
            self._plan.session_id = None  # the server holds something else than we would compare with
        await self._exchange.open(messages_url(self._model.base_url), headers, sent, unwrap_error=False)

    async def next_events(self) -> list[SseEvent]:
        """What arrives next; sets `is_over` at the end of the response or once the answer is complete."""
        if self.reader.is_stopped:
            self.is_over = True
            return []
        chunk = await self._exchange.read()
        if not chunk:
            self.is_over = True
            return self._decoder.finish()
        return self._decoder.feed(chunk)

    async def told(self, sse: SseEvent) -> StreamPart | None:
        """The part in an event, after the caller's hook has seen the event as parsed."""
        await self._exchange.tell(parsed_event(sse))
        return decode_event(sse)

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        self._exchange.check_answered(self.reader.is_started)
        done = self.reader.finish()
        record_answer(self._plan, self._payload, done.message)
        self._exchange.release()
        return done


def messages_url(base_url: str) -> str:
    """Where messages are sent; a base URL that already ends in the version is taken as meant."""
    return f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages?beta=true"
