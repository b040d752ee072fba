"""Mistral's chat API.

Options that only this API knows, in `StreamOptions.extra`: `prompt_mode` (`reasoning`), `reasoning_effort` (in the
API's own words) and `tool_choice` (`auto`, `none`, `any`, `required`, or an object that names a function).

A failed request is not repeated here, and headers must arrive within a minute unless the caller says otherwise.

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.mistral_payload import EncodingMemory, build_body, cached_session
from pinyon.ai.apis.mistral_stream import AnswerReader
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.event_feed import EventFeed
from pinyon.ai.exchange import Exchange, is_signed, missing_key
from pinyon.ai.http_error import HttpStatusError, failure_event, is_abort, shortened
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseEvent
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transport import TransportError
from pinyon.ai.wire_value import json_event

HEADER_TIMEOUT_S = 60.0
_END = b"[DONE]"


class MistralConversations:
    """The wire API; remembers only how messages were encoded. `header_timeout_s` holds where the caller sets none."""

    def __init__(self, header_timeout_s: float = HEADER_TIMEOUT_S) -> None:
        self._memory = EncodingMemory()
        self._header_timeout_s = header_timeout_s

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        if not is_signed(model, options, ("authorization",)):
            raise missing_key(model)
        limit_s = self._header_timeout_s if options.timeout_ms is None else None
        run = _Run(model, messages, options, LiveAnswer(model), self._memory, limit_s)
        return AssistantMessageEventStream(_events(run, options))


API = MistralConversations()


async def _events(run: _Run, options: StreamOptions) -> AsyncIterator[AssistantMessageEvent]:
    try:
        await run.open()
        yield run.answer.start()
        while not run.is_over:
            for sse in await run.next_events():
                value = json_event(sse.data)
                if options.on_provider_stream_event is not None:
                    await run.exchange.tell(value)
                for event in run.reader.take(value):
                    yield event
        for event in run.reader.finish_blocks():
            yield event
        yield run.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        for event in run.answer.end_open_blocks() if is_abort(error, options.signal) else ():
            yield event
        yield failure_event(run.answer, error, options.signal, run.exchange.secrets)
    finally:
        await run.exchange.aclose()


class _Run:
    """One answer: the request, a second one without refused images, and the chunks of the response."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        memory: EncodingMemory,
        header_timeout_s: float | None,
    ) -> None:
        self.answer = answer
        self.exchange = Exchange(model, msgspec.structs.replace(options, max_retries=0))
        self.reader = AnswerReader(answer, model)
        self.is_over = False
        """Whether the response has ended."""
        self._model = model
        self._messages = messages
        self._options = options
        self._memory = memory
        self._header_timeout_s = header_timeout_s
        self._feed = EventFeed()

    async def open(self) -> None:
        """Send the request, and once more without the images that the server refused."""
        self._messages = without_refused_images(self._messages, self._model)
        try:
            await self._send()
        except HttpStatusError as error:
            if not set_aside_images(self._messages, self._model, error):
                raise
            self._messages = without_refused_images(self._messages, self._model)
            await self._send()

    async def _send(self) -> None:
        body = _json.encode_clean(build_body(self._model, self._messages, self._options, self._memory))
        sent = await self.exchange.edited(body)
        url = f"{self._model.base_url.rstrip('/').removesuffix('/v1')}/v1/chat/completions"
        try:
            async with asyncio.timeout(self._header_timeout_s):
                await self.exchange.open(url, self._headers(), sent, unwrap_error=False)
        except HttpStatusError as error:
            told = shortened(error.body.strip()) or "(no body)"
            raise error.told_as(f"Mistral API error ({error.status}): {told}") from error
        except TimeoutError as error:
            text = f"Request timed out: no response headers within {self._header_timeout_s:g} s"
            raise TransportError(text, "timeout") from error

    def _headers(self) -> dict[str, str]:
        model, options = self._model, self._options
        protocol = {"accept": "text/event-stream", "content-type": "application/json"}
        if options.api_key:
            protocol["authorization"] = f"Bearer {options.api_key}"
        session_id = cached_session(options)
        affinity = {"x-affinity": session_id} if session_id else None
        identity = identity_headers(model.provider, options.identity)
        return merge_headers(identity, protocol, affinity, model.headers or None, options.headers)

    async def next_events(self) -> list[SseEvent]:
        """What arrives next; sets `is_over` at the closing mark or the end of the response."""
        try:
            chunk = await self.exchange.read()
        except TransportError:
            if not self.reader.finish_reason:
                raise
            chunk = b""  # the answer had ended: what is lost is the closing mark
        self.is_over = not chunk
        events = self._feed.feed(chunk) if chunk else self._feed.finish()
        wanted: list[SseEvent] = []
        for event in events:
            if event.data.strip() == _END:
                self.is_over = True
                break
            if event.data.strip():
                wanted.append(event)
        return wanted

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        self.exchange.check_answered(self.reader.saw_chunk)
        done = self.reader.done()
        self.exchange.release()
        return done
