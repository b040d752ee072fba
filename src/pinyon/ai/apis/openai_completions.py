"""The chat-completions API, as its vendor and most other model servers speak it.

Options that only this API knows, in `StreamOptions.extra`: `reasoning_effort` (a thinking level), `thinking_budgets`
(tokens by level) and `tool_choice` (a text, or the object that names a function).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pinyon._util import json as _json
from pinyon.ai.apis.openai_chunk import Chunk, chunk_from, decode_chunk, error_event_message
from pinyon.ai.apis.openai_compat import completions_compat
from pinyon.ai.apis.openai_header import request_headers, require_credential
from pinyon.ai.apis.openai_payload import EncodingMemory, Payload, build_payload
from pinyon.ai.apis.openai_stream import AnswerReader
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import HttpStatusError, failure_event, is_abort
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transcript import current_tools
from pinyon.ai.transport import TransportError
from pinyon.ai.wire_value import check_size, json_event
from pinyon.errors import ProviderError

_END = b"[DONE]"


class OpenAICompletions:
    """The wire API; remembers only how messages were encoded."""

    def __init__(self) -> None:
        self._memory = EncodingMemory()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        require_credential(model, options)
        run = _Run(model, messages, options, LiveAnswer(model), self._memory)
        return AssistantMessageEventStream(_events(run, options))


API = OpenAICompletions()


async def _events(run: _Run, options: StreamOptions) -> AsyncIterator[AssistantMessageEvent]:
    answer, exchange = run.answer, run.exchange
    try:
        reader = await run.open()
        yield answer.start()
        while not run.is_over:
            for sse in await run.next_events():
                chunk = run.chunk_in(sse) if options.on_provider_stream_event is None else await run.told(sse)
                if chunk is not None:
                    for event in reader.take(chunk):
                        yield event
        for event in reader.finish_blocks():
            yield event
        yield run.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        for event in answer.end_open_blocks() if is_abort(error, options.signal) else ():
            yield event
        yield failure_event(answer, error, options.signal, exchange.secrets)
    finally:
        await exchange.aclose()


class _Run:
    """One answer: the request, a second one without refused images, and the chunks of the response."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        memory: EncodingMemory,
    ) -> None:
        self.answer = answer
        self.exchange = Exchange(model, options)
        self._model = model
        self._messages = messages
        self._options = options
        self._memory = memory
        self._decoder = SseDecoder()
        self._has_body = False
        self._document_bytes = 0
        self._document: list[bytes] | None = None  # of a server that does not stream
        self._reader: AnswerReader | None = None
        self.is_over = False
        """Whether the answer is complete or the response has ended."""

    async def open(self) -> AnswerReader:
        """Send the request, and once more without the images that the server refused; gives what reads the answer."""
        self._messages = without_refused_images(self._messages, self._model)
        payload = self._payload()
        try:
            await self._send(payload)
        except HttpStatusError as error:
            if not set_aside_images(self._messages, self._model, error):
                raise
            self._messages = without_refused_images(self._messages, self._model)
            payload = self._payload()
            await self._send(payload)
        names = [tool.name for tool in current_tools(self._messages)]
        self._reader = AnswerReader(self.answer, payload.request, names)
        return self._reader

    def _payload(self) -> Payload:
        compat = completions_compat(self._model)
        return build_payload(self._model, compat, self._messages, self._options, self._memory)

    async def _send(self, payload: Payload) -> None:
        base_url = self._model.base_url
        if self._model.provider == "azure":
            from pinyon.ai.apis.azure_endpoint import azure_endpoint

            target = azure_endpoint(self._model, self._options)
            base_url, payload.body["model"] = target.base_url, target.deployment
        url = f"{base_url.rstrip('/')}/chat/completions"
        headers = request_headers(payload.request, self._messages)
        body = await self.exchange.edited(_json.encode_clean(payload.body))
        await self.exchange.open(url, headers, body, unwrap_error=True)

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
        if not self._has_body and chunk.lstrip().startswith(b"{"):
            self._document = []  # whatever type the server gives its answer
        self._has_body = True
        if self._document is None:
            return self._decoder.feed(chunk)
        self._document.append(chunk)
        self._document_bytes += len(chunk)
        check_size(self._document_bytes)
        return []

    async def _next_chunk(self) -> bytes:
        assert self._reader is not None
        try:
            return await self.exchange.read()
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
        if not sse.data or sse.data == _END or sse.event == "error":
            return self.chunk_in(sse)
        value = json_event(sse.data)
        await self.exchange.tell(value)
        return chunk_from(value)

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        self.exchange.check_answered(self._reader is not None and self._reader.saw_chunk)
        assert self._reader is not None
        done = self._reader.done()
        self.exchange.release()
        return done
