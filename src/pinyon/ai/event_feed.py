"""The JSON events of a response: server-sent ones, or the one document of a server that does not stream."""

from __future__ import annotations

from typing import Any

from pinyon._util import json as _json
from pinyon.ai.sse import SseDecoder, SseEvent
from pinyon.errors import ProviderError

_SHOWN_BYTES = 200


class EventFeed:
    """Turns the chunks of one response into events. Feed every chunk, then call `finish` once."""

    def __init__(self) -> None:
        self._decoder = SseDecoder()
        self._head = b""
        self._is_stream = False
        self._document: list[bytes] | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. A body that begins like JSON is a document, whatever its type says."""
        if self._document is not None:
            self._document.append(chunk)
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


def json_event(data: bytes) -> Any:
    """The JSON value of an event. Raises `ProviderError` for what is not JSON."""
    try:
        return _json.decode(data.decode("utf-8", "replace"))
    except _json.JsonError as error:
        shown = data[:_SHOWN_BYTES].decode("utf-8", "replace")
        raise ProviderError(f"the server sent an event that is not JSON ({error}): {shown!r}") from error


def json_object(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def json_text(value: Any) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def json_count(*values: Any) -> int:
    """The first value that is a count; 0 where none is."""
    for value in values:
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return int(value)
    return 0
