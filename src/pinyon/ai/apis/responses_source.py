"""Where the events of a response come from: anything that gives them in order, and an HTTP response as one."""

from __future__ import annotations

from typing import Protocol

from pinyon.ai.apis.responses_event import ResponseEvent, decode_event, event_from
from pinyon.ai.exchange import Exchange
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.wire_value import json_event

_END = b"[DONE]"


class EventSource(Protocol):
    """Gives the events of one response."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        ...

    async def next_events(self) -> list[ResponseEvent]:
        """What arrives next; may be nothing. Sets `is_over` at the end."""
        ...


class HttpSource:
    """The events in the body of an HTTP response; a server that does not stream sends the response as one document."""

    def __init__(self, exchange: Exchange, *, is_watched: bool) -> None:
        self._exchange = exchange
        self._is_watched = is_watched
        self._decoder = SseDecoder()
        self._document: list[bytes] | None = None
        self._has_body = False
        self.is_over = False

    async def next_events(self) -> list[ResponseEvent]:
        """See `EventSource.next_events`."""
        found = [await self._event_in(sse) for sse in await self._next_parts()]
        return [event for event in found if event is not None]

    async def _next_parts(self) -> list[SseEvent]:
        chunk = await self._exchange.read()
        if not chunk:
            self.is_over = True
            return self._decoder.finish() if self._document is None else self._document_event()
        if not self._has_body and chunk.lstrip().startswith(b"{"):
            self._document = []  # whatever type the server gives its answer
        self._has_body = True
        if self._document is None:
            return self._decoder.feed(chunk)
        self._document.append(chunk)
        return []

    def _document_event(self) -> list[SseEvent]:
        """A response that came whole, as the event that would have ended it."""
        document = b"".join(self._document or ())
        return [SseEvent("", b'{"type":"response.completed","response":' + document + b"}")]

    async def _event_in(self, sse: SseEvent) -> ResponseEvent | None:
        if not sse.data or sse.data == _END:
            return None
        if not self._is_watched:
            return decode_event(sse.data, sse.event)
        value = json_event(sse.data)
        await self._exchange.tell(value)
        return event_from(value, sse.event)
