"""The Anthropic Messages API, as the vendor and many compatible servers speak it.

Options that only this API knows, in `StreamOptions.extra`: `thinking_enabled` (bool), `thinking_budget_tokens` (int),
`effort` (str), `thinking_display` (`summarized` or `omitted`), `interleaved_thinking` (bool, default true) and
`tool_choice` (`auto`, `any`, `none` or `{"type": "tool", "name": ...}`).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pinyon._util import json as _json
from pinyon._util.abort import OperationAbortedError
from pinyon.ai.apis.anthropic_event import BlockDelta, StreamPart, decode_event, parsed_event
from pinyon.ai.apis.anthropic_header import THREADS_BETA, request_headers, require_credential
from pinyon.ai.apis.anthropic_option import AnthropicRequest, settle
from pinyon.ai.apis.anthropic_payload import build_payload
from pinyon.ai.apis.anthropic_stream import AnswerReader, add_diagnostic
from pinyon.ai.apis.anthropic_strict import is_strict_limit, may_prefer_strict, remember_limit
from pinyon.ai.apis.anthropic_thread import (
    ThreadPlan,
    disable_threads,
    fresh_thread,
    plan_thread,
    record_answer,
    thread_refusal,
)
from pinyon.ai.apis.anthropic_tool import has_preferred_strict
from pinyon.ai.apis.anthropic_turn import encode_clean
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.http_error import HttpRetry, HttpStatusError, error_text, failure_event, open_with_retry, secrets_of
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transcript import current_tools
from pinyon.ai.transport import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_TRANSPORT, HttpRequest, HttpResponse
from pinyon.errors import ProviderError

DEFAULT_TIMEOUT_S = 600.0
_SNIPPET_BYTES = 300


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
    exchange = _Exchange(model, messages, options, answer)
    try:
        await exchange.open()
        reader = exchange.reader
        yield answer.start()
        while not exchange.is_over:
            for sse in await exchange.next_events():
                part = decode_event(sse) if options.on_provider_stream_event is None else await exchange.told(sse)
                if type(part) is BlockDelta:
                    delta = reader.grow(part)
                    if delta is not None:
                        yield delta
                elif part is not None:
                    for event in reader.take(part, sse.data):
                        yield event
        for event in answer.end_open_blocks():
            yield event
        yield exchange.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        yield failure_event(answer, error, options.signal, exchange.secrets)
    finally:
        await exchange.aclose()


class _Exchange:
    """One request and its response."""

    def __init__(self, model: Model, messages: Sequence[Message], options: StreamOptions, answer: LiveAnswer) -> None:
        self._model = model
        self._messages = messages
        self._options = options
        self._answer = answer
        self._decoder = SseDecoder()
        self._snippet = b""
        self._response: HttpResponse | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self.secrets: list[str] = [options.api_key] if options.api_key else []
        self.is_over = False
        """Whether the answer is complete or the response has ended."""

    async def open(self) -> None:
        """Send the request, again where the server wants it otherwise, until there is a response to read."""
        self._messages = without_refused_images(self._messages, self._model)
        request = settle(self._model, self._messages, self._options)
        self.reader = AnswerReader(self._answer, request)
        if request.marks_effort:
            self._answer.target.provider_thinking_level = request.thinking.effort
        self._prefer_strict = may_prefer_strict(self._options.session_id)
        self._encode(request)
        while self._response is None:
            try:
                self._response = await self._send(request)
            except HttpStatusError as error:
                if not self._mended(request, error):
                    raise
        self._chunks = aiter(self._response)
        await self._tell_response(self._response)

    def _encode(self, request: AnthropicRequest) -> None:
        self._payload = build_payload(request, self._messages, may_prefer_strict=self._prefer_strict)
        self._plan = plan_thread(self._payload)

    def _mended(self, request: AnthropicRequest, error: HttpStatusError) -> bool:
        """Whether the request was changed in answer to a refusal, so that it may be taken now."""
        if self._gave_up_threads(error):
            return True
        if self._prefer_strict and is_strict_limit(error) and has_preferred_strict(current_tools(self._messages)):
            self._prefer_strict = False
            remember_limit(self._options.session_id)
            kind = "anthropic_strict_tools_fallback"
        elif set_aside_images(self._messages, self._model, error):
            self._messages = without_refused_images(self._messages, self._model)
            kind = "refused_images_fallback"
        else:
            return False
        add_diagnostic(self._answer, kind, {"error": error_text(error, self.secrets)})
        self._encode(request)
        return True

    def _gave_up_threads(self, error: HttpStatusError) -> bool:
        plan = self._plan
        refusal = thread_refusal(error) if plan.session_id is not None else None
        if refusal is None or plan.session_id is None or (refusal == "stale" and not plan.skip_turns):
            return False
        details = {"refusal": refusal, "error": error_text(error, self.secrets)}
        add_diagnostic(self._answer, "anthropic_thread_fallback", details)
        if refusal == "stale":
            self._plan = fresh_thread(plan.session_id)
        else:
            disable_threads(plan.session_id)
            self._plan = ThreadPlan()
        return True

    async def _send(self, request: AnthropicRequest) -> HttpResponse:
        options = self._options
        betas = [*self._payload.betas, *([THREADS_BETA] if self._plan.field is not None else [])]
        headers = request_headers(request, self._messages, betas)
        self.secrets = secrets_of(headers, options.api_key)
        http_request = HttpRequest(
            method="POST",
            url=messages_url(self._model.base_url),
            headers=headers,
            body=await self._body(),
            connect_timeout_s=_seconds(options.connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_S),
            idle_timeout_s=_seconds(options.timeout_ms, DEFAULT_TIMEOUT_S),
            signal=options.signal,
            env=options.env,
        )
        retry = HttpRetry(max_retries=options.max_retries, max_delay_ms=options.max_retry_delay_ms)
        return await open_with_retry(options.http or DEFAULT_TRANSPORT, http_request, retry, unwrap_error=False)

    async def _body(self) -> bytes:
        body = encode_clean(self._payload.body(skip_turns=self._plan.skip_turns, thread=self._plan.field))
        hook = self._options.on_payload
        if hook is None:
            return body
        plain: dict[str, Any] = _json.decode(body)
        replaced = hook(plain, self._model)
        if inspect.isawaitable(replaced):
            replaced = await replaced
        changed = encode_clean(plain if replaced is None else replaced)
        if changed != body:
            self._plan.session_id = None  # the server holds something else than we would compare with
        return changed

    async def _tell_response(self, response: HttpResponse) -> None:
        hook = self._options.on_response
        if hook is not None:
            told = hook(ResponseInfo(response.status, dict(response.headers)), self._model)
            if inspect.isawaitable(told):
                await told

    async def next_events(self) -> list[SseEvent]:
        """What arrives next; sets `is_over` at the end of the response or once the answer is complete."""
        assert self._chunks is not None
        if self.reader.is_stopped:
            self.is_over = True
            return []
        chunk = await anext(self._chunks, b"")
        if not chunk:
            self.is_over = True
            return self._decoder.finish()
        if len(self._snippet) < _SNIPPET_BYTES:
            self._snippet += chunk[:_SNIPPET_BYTES]
        return self._decoder.feed(chunk)

    async def told(self, sse: SseEvent) -> StreamPart | None:
        """The part in an event, after the caller's hook has seen the event as parsed."""
        hook = self._options.on_provider_stream_event
        if hook is not None:
            told = hook(parsed_event(sse), self._model)
            if inspect.isawaitable(told):
                await told
        return decode_event(sse)

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        if self._options.signal is not None and self._options.signal.aborted:
            raise OperationAbortedError
        if not self.reader.is_started:
            raise ProviderError(self._no_answer())
        done = self.reader.finish()
        record_answer(self._plan, self._payload, done.message)
        if self._response is not None:
            self._response.release()
        return done

    def _no_answer(self) -> str:
        text = "the server's response ended without an answer"
        snippet = self._snippet[:_SNIPPET_BYTES].decode("utf-8", "replace").strip()
        kind = self._response.headers.get("content-type", "") if self._response is not None else ""
        return f"{text}; it sent {kind or 'no content type'} beginning with {snippet!r}" if snippet else text

    async def aclose(self) -> None:
        """Give up the response."""
        if self._response is not None:
            await self._response.aclose()


def messages_url(base_url: str) -> str:
    """Where messages are sent; a base URL that already ends in the version is taken as meant."""
    return f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages?beta=true"


def _seconds(timeout_ms: int | None, default_s: float) -> float | None:
    if timeout_ms is None:
        return default_s
    return timeout_ms / 1000 if timeout_ms > 0 else None
