"""The output of `rg --json`, read in blocks of any size with bounded memory.

An object holds a whole line of the searched file. Of a huge one only the beginning is kept, and the line number, which
comes after the text.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

LONG_EVENT_BYTES = 1024 * 1024
"""Size from which on an object is not kept whole."""

_HEAD_BYTES = 64 * 1024
_MATCH = b'{"type":"match"'
_CONTEXT = b'{"type":"context"'
_SUMMARY = b'"type":"summary"'
# A quote within a text is escaped, so that this can stand nowhere else.
_NUMBER = re.compile(rb'"\},"line_number":(\d+)[,}]')
_LONG_HEAD = re.compile(rb'\{"type":"(match|context)","data":\{"path":(\{.*?\}),"lines":\{"(text|bytes)":"', re.DOTALL)
_LONGEST_ESCAPE = len(r"\ud83d\ude00")


class FoundLine(NamedTuple):
    """A matching line or one around it, without its end; bytes that are no UTF-8 show as U+FFFD."""

    path: str
    number: int
    text: str
    is_match: bool


class _Text(msgspec.Struct):
    """Text of the format: as it is, or base64 where it is no UTF-8."""

    text: str | None = None
    base64: str | None = msgspec.field(default=None, name="bytes")

    def as_bytes(self) -> bytes:
        """The bytes of the file."""
        return b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


class _Data(msgspec.Struct):
    path: _Text
    lines: _Text
    line_number: int | None = None


class _Event(msgspec.Struct):
    type: str
    data: _Data


_DECODER = msgspec.json.Decoder(_Event)


class EventStream:
    """Splits the output into objects and gives the lines among them."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._head = b""
        self._number: int | None = None
        self.is_complete = False

    def feed(self, block: bytes) -> Iterator[FoundLine]:
        """Lines that end in `block`."""
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            self._grow(block[begin:end])
            line = self._finish()
            begin = end + 1
            if line is not None:
                yield line
        self._grow(block[begin:])

    def _grow(self, piece: bytes) -> None:
        self._rest += piece
        if len(self._rest) <= LONG_EVENT_BYTES:
            return
        if not self._head:
            self._head = bytes(self._rest[:_HEAD_BYTES])
        self._look_for_number()
        del self._rest[:-_HEAD_BYTES]

    def _look_for_number(self) -> None:
        if self._number is None and (match := _NUMBER.search(self._rest)):
            self._number = int(match[1])

    def _finish(self) -> FoundLine | None:
        if self._head:
            self._look_for_number()
            line = long_line(self._head, self._number)
            self._head, self._number = b"", None
        else:
            line = self._line(bytes(self._rest))
        self._rest.clear()
        return line

    def _line(self, event: bytes) -> FoundLine | None:
        if not event.startswith((_MATCH, _CONTEXT)):
            self.is_complete = self.is_complete or _SUMMARY in event
            return None
        found = _DECODER.decode(event)
        text = _visible(found.data.lines.as_bytes().decode("utf-8", "replace"))
        return FoundLine(
            os.fsdecode(found.data.path.as_bytes()), found.data.line_number or 0, text, found.type == "match"
        )


def long_line(head: bytes, number: int | None) -> FoundLine | None:
    """The line whose object begins with `head`, with as much of its text as stands there."""
    match = _LONG_HEAD.match(head)
    if match is None:
        return None
    path = msgspec.json.decode(match[2], type=_Text)
    end = _NUMBER.search(head, match.end())
    raw = head[match.end() :] if end is None else head[match.end() : end.start()]
    text = _decoded_beginning(raw) if match[3] == b"bytes" else _beginning(raw)
    return FoundLine(os.fsdecode(path.as_bytes()), number or 0, _visible(text), match[1] == b"match")


def _decoded_beginning(raw: bytes) -> str:
    """The text of base64 that was cut somewhere."""
    return b64decode(raw[: len(raw) // 4 * 4]).decode("utf-8", "replace")


def _beginning(raw: bytes) -> str:
    """The text of a JSON string that was cut somewhere, perhaps within a character or an escape."""
    for dropped in range(_LONGEST_ESCAPE + 1):
        try:
            return msgspec.json.decode(b'"' + raw[: len(raw) - dropped] + b'"', type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return ""


def _visible(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
