"""Server-sent events from raw bytes, as the WHATWG HTML standard (section 9.2.6) frames them.

Lines end with CR, LF or CRLF, split anywhere between chunks. The work is linear in the bytes received, whatever their
chunking. One deliberate difference to the standard: an event that the end of the stream cuts
off before its blank line is still delivered by `finish`, because servers forget that line.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from pinyon.ai.wire_value import check_size

_BOM = b"\xef\xbb\xbf"
_BREAK = b"\n\n"
_MAX_RETRY_DIGITS = 9


class SseEvent(msgspec.Struct):
    """One event: its type (`message` where the server named none), its data and the last event id so far.

    `data` stays bytes because it is almost always JSON; several data lines are joined with LF.
    """

    event: str
    data: bytes
    id: str = ""

    @property
    def text(self) -> str:
        """The data as text; bytes that are not UTF-8 become U+FFFD."""
        return self.data.decode("utf-8", "replace")


class SseDecoder:
    """Turns the chunks of one response into events. Feed every chunk, then call `finish` once."""

    __slots__ = ("_after_cr", "_at_start", "_last_byte", "_pending", "_pending_bytes", "last_event_id", "retry_ms")

    def __init__(self) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._pending: list[bytes] = []  # the unfinished event; only its last byte can complete a blank line
        self._pending_bytes = 0
        self._last_byte = b"\n"
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that `chunk` completes. Raises `ProviderError` where an event grows beyond `MAX_EVENT_BYTES`."""
        if self._at_start:
            chunk = self._skip_bom(chunk)
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_newlines(chunk)
        if not chunk:
            return []
        if _BREAK not in self._last_byte + chunk:
            self._keep(chunk)
            return []
        return self._split(chunk)

    def finish(self) -> list[SseEvent]:
        """The event that the end of the stream left without its blank line, if it has data."""
        block = b"".join(self._pending)
        self._pending = []
        event = self._event_of(block) if block else None
        return [] if event is None else [event]

    def _skip_bom(self, chunk: bytes) -> bytes:
        head = b"".join(self._pending) + chunk
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._pending = [head]
            return b""
        self._at_start = False
        self._pending = []
        return head.removeprefix(_BOM)

    def _with_newlines(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return b""
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, chunk: bytes) -> None:
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        check_size(self._pending_bytes)
        self._last_byte = chunk[-1:]

    def _split(self, chunk: bytes) -> list[SseEvent]:
        self._pending.append(chunk)
        *blocks, rest = b"".join(self._pending).split(_BREAK)
        self._pending = [rest] if rest else []
        self._pending_bytes = len(rest)
        # A blank line at the very end may be followed by more blank lines, which mean nothing.
        self._last_byte = rest[-1:] or b"\n"
        event_of = self._event_of
        return [event for block in blocks if block and (event := event_of(block)) is not None]

    def _event_of(self, block: bytes) -> SseEvent | None:
        # The two shapes that nearly all events have, without a list of lines.
        if block[:7] == b"event: ":
            end = block.find(b"\n")
            if block[end + 1 : end + 7] == b"data: " and block.find(b"\n", end + 7) < 0:
                return SseEvent(_event_name(block[7:end]), block[end + 7 :], self.last_event_id)
        elif block[:6] == b"data: " and block.find(b"\n") < 0:
            return SseEvent("message", block[6:], self.last_event_id)
        return self._event_of_lines(block.split(b"\n"))

    def _event_of_lines(self, lines: list[bytes]) -> SseEvent | None:
        event = b""
        data: list[bytes] = []
        for line in lines:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                event = value
            elif field == b"id" and b"\0" not in value:
                self.last_event_id = value.decode("utf-8", "replace")
            elif field == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
                self.retry_ms = int(value)
        if not data:
            return None
        return SseEvent(_event_name(event), b"\n".join(data), self.last_event_id)


@lru_cache(maxsize=256)
def _event_name(name: bytes) -> str:
    return name.decode("utf-8", "replace") or "message"
