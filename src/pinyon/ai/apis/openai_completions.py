"""The chat-completions API, as its vendor and most other model servers speak it.

Options that only this API knows, in `StreamOptions.extra`: `reasoning_effort` (a thinking level), `thinking_budgets`
(tokens by level) and `tool_choice` (a text, or the object that names a function).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pinyon._util import json as _json
from pinyon._util.abort import OperationAbortedError
from pinyon.ai.apis.openai_chunk import Chunk, chunk_from, decode_chunk, error_event_message, parse_event
from pinyon.ai.apis.openai_compat import completions_compat
from pinyon.ai.apis.openai_header import request_headers, require_credential
from pinyon.ai.apis.openai_payload import EncodingMemory, Payload, build_payload
from pinyon.ai.apis.openai_stream import AnswerReader
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.http_error import HttpRetry, HttpStatusError, failure_event, is_abort, open_with_retry, secrets_of
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transcript import current_tools
from pinyon.ai.transport import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_TRANSPORT, HttpRequest, HttpResponse, TransportError
from pinyon.errors import ProviderError

DEFAULT_TIMEOUT_S = 600.0
_END = b"[DONE]"
_SNIPPET_BYTES = 300


class OpenAICompletions:
    """The wire API; remembers only how messages were encoded."""

    def __init__(self) -> None:
        self._memory = EncodingMemory()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        require_credential(model, options)
        exchange = _Exchange(model, messages, options, self._memory)
        return AssistantMessageEventStream(_events(exchange))


API = OpenAICompletions()


async def _events(exchange: _Exchange) -> AsyncIterator[AssistantMessageEvent]:
    answer, is_watched = exchange.answer, exchange.options.on_provider_stream_event is not None
    try:
        reader = await exchange.open()
        yield answer.start()
        while not exchange.is_over:
            for sse in await exchange.next_events():
                chunk = await exchange.told(sse) if is_watched else exchange.chunk_in(sse)
                if chunk is not None:
                    for event in reader.take(chunk):
                        yield event
        for event in reader.finish_blocks():
            yield event
        yield exchange.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        signal = exchange.options.signal
        for event in answer.end_open_blocks() if is_abort(error, signal) else ():
            yield event
        yield failure_event(answer, error, signal, exchange.secrets)
    finally:
        await exchange.aclose()


class _Exchange:
    """One request and its response."""

    def __init__(
        self, model: Model, messages: Sequence[Message], options: StreamOptions, memory: EncodingMemory
    ) -> None:
        self.answer = LiveAnswer(model)
        self.options = options
        self._model = model
        self._messages = messages
        self._memory = memory
        self._decoder = SseDecoder()
        self._snippet = b""
        self._document: list[bytes] | None = None  # of a server that does not stream
        self._reader: AnswerReader | None = None
        self._response: HttpResponse | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self.secrets: list[str] = [options.api_key] if options.api_key else []
        self.is_over = False
        """Whether the answer is complete or the response has ended."""

    async def open(self) -> AnswerReader:
        """Send the request, and once more without the images that the server refused; gives what reads the answer."""
        self._messages = without_refused_images(self._messages, self._model)
        payload = self._payload()
        try:
            self._response = await self._send(payload)
        except HttpStatusError as error:
            if not set_aside_images(self._messages, self._model, error):
                raise
            self._messages = without_refused_images(self._messages, self._model)
            payload = self._payload()
            self._response = await self._send(payload)
        self._chunks = aiter(self._response)
        await self._tell_response(self._response)
        names = [tool.name for tool in current_tools(self._messages)]
        self._reader = AnswerReader(self.answer, payload.request, names)
        return self._reader

    def _payload(self) -> Payload:
        compat = completions_compat(self._model)
        return build_payload(self._model, compat, self._messages, self.options, self._memory)

    async def _send(self, payload: Payload) -> HttpResponse:
        options = self.options
        headers = request_headers(payload.request, self._messages)
        self.secrets = secrets_of(headers, options.api_key)
        request = HttpRequest(
            method="POST",
            url=f"{self._model.base_url.rstrip('/')}/chat/completions",
            headers=headers,
            body=await self._body(payload),
            connect_timeout_s=_seconds(options.connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_S),
            idle_timeout_s=_seconds(options.timeout_ms, DEFAULT_TIMEOUT_S),
            signal=options.signal,
            env=options.env,
        )
        retry = HttpRetry(max_retries=options.max_retries, max_delay_ms=options.max_retry_delay_ms)
        return await open_with_retry(options.http or DEFAULT_TRANSPORT, request, retry, unwrap_error=True)

    async def _body(self, payload: Payload) -> bytes:
        body = _json.encode_clean(payload.body)
        hook = self.options.on_payload
        if hook is None:
            return body
        plain: dict[str, Any] = _json.decode(body)
        replaced = hook(plain, self._model)
        if inspect.isawaitable(replaced):
            replaced = await replaced
        return _json.encode_clean(plain if replaced is None else replaced)

    async def _tell_response(self, response: HttpResponse) -> None:
        hook = self.options.on_response
        if hook is not None:
            told = hook(ResponseInfo(response.status, dict(response.headers)), self._model)
            if inspect.isawaitable(told):
                await told

    async def next_events(self) -> list[SseEvent]:
        """What arrives next; sets `is_over` once there is nothing more to read."""
        assert self._reader is not None
        if self._reader.is_complete:
            self.is_over = True
            return []
        chunk = await self._next_chunk()
        if not chunk:
            self.is_over = True
            return self._decoder.finish() if self._document is None else self._document_event()
        if not self._snippet and chunk.lstrip().startswith(b"{"):
            self._document = []  # whatever type the server gives its answer
        if len(self._snippet) < _SNIPPET_BYTES:
            self._snippet += chunk[:_SNIPPET_BYTES]
        if self._document is None:
            return self._decoder.feed(chunk)
        self._document.append(chunk)
        return []

    async def _next_chunk(self) -> bytes:
        assert self._chunks is not None
        assert self._reader is not None
        try:
            return await anext(self._chunks, b"")
        except TransportError:
            if self._reader.finish_reason is None:
                raise
            return b""  # the answer had ended: what is lost is the closing mark, and perhaps the usage

    def _document_event(self) -> list[SseEvent]:
        document = b"".join(self._document or ())
        return [SseEvent("message", document)] if document.strip() else []

    def chunk_in(self, sse: SseEvent) -> Chunk | None:
        """The chunk of an event; the closing mark ends the answer."""
        data = sse.data
        if data == _END:
            self.is_over = True
            return None
        if sse.event == "error":
            raise ProviderError(error_event_message(data))
        return decode_chunk(data) if data else None

    async def told(self, sse: SseEvent) -> Chunk | None:
        """The chunk of an event, after the caller's hook has seen the event as parsed."""
        hook = self.options.on_provider_stream_event
        if hook is None or not sse.data or sse.data == _END or sse.event == "error":
            return self.chunk_in(sse)
        value = parse_event(sse.data)
        told = hook(value, self._model)
        if inspect.isawaitable(told):
            await told
        return chunk_from(value)

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        if self.options.signal is not None and self.options.signal.aborted:
            raise OperationAbortedError
        if self._reader is None or not self._reader.saw_chunk:
            raise ProviderError(self._no_answer())
        done = self._reader.done()
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


def _seconds(timeout_ms: int | None, default_s: float) -> float | None:
    if timeout_ms is None:
        return default_s
    return timeout_ms / 1000 if timeout_ms > 0 else None
