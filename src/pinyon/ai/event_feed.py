"""The JSON events of a response: server-sent ones, or the one document of a server that does not stream."""

from __future__ import annotations

from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.ai.wire_value import check_size


class EventFeed:
    """Turns the chunks of one response into events. Feed every chunk, then call `finish` once."""

    def __init__(self) -> None:
        self._decoder = SseDecoder()
        self._head = b""
        self._is_stream = False
        self._document: list[bytes] | None = None
        self._document_bytes = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. A body that begins like JSON is a document, whatever its type says."""
        if self._document is not None:
            self._document.append(chunk)
            self._document_bytes += len(chunk)
            check_size(self._document_bytes)
            return []
        if not self._is_stream:
            self._head += chunk
            beginning = self._head.lstrip()
            if beginning[:1] in (b"{", b"["):
                self._document = [self._head]
                return []
            if not beginning:
                return []
            self._is_stream, chunk = True, self._head
        return self._decoder.feed(chunk)

    def finish(self) -> list[SseEvent]:
        """What the end of the response completes."""
        if self._document is not None:
            return [SseEvent("message", b"".join(self._document))]
        return self._decoder.finish()
