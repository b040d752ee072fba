"""JSON that is still arriving: an incremental parser that shows, at any moment, the object read so far.

Meant for the arguments of a tool call while it streams. It tolerates what models write (missing commas and colons, raw
control characters, unknown escapes, bare words) and never raises. The authoritative parse of the complete text is
`ai.tool_arguments`.
"""

from __future__ import annotations

import math
import re
from typing import Any

from pinyon._util.json import plain_number

_CREDIT_FOR_A_FEED = 256
_CREDIT_FOR_A_CHARACTER = 8
_DEEPEST = 500  # containers nested deeper are read over: consumers of JSON recurse
_LONGEST_NUMBER = 4300  # Python converts no longer integer texts
_ABSENT: Any = object()

_BETWEEN_TOKENS = " \t\r\n,:"
_STRING_RUN = re.compile(r'[^"\\]+')
_HEX = re.compile(r"[0-9a-fA-F]{0,4}")
_WORD = re.compile(r'[^ \t\r\n,:{}\[\]"]+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_OPEN_EXPONENT = re.compile(r"[eE][+-]?$")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}


class PartialJson:
    """Parses the text of one JSON object piece by piece.

    `feed` takes each piece once; `snapshot` gives the object so far. Text after the object is ignored, and a text that
    is not an object shows as an empty one. Work is linear in the text: where a snapshot would cost more than the text
    since the last one pays for, the last one is given again. A complete object is always shown exactly.
    """

    def __init__(self) -> None:
        self._containers: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str | None] = []  # pending member name of each open container
        self._pieces: list[str] | None = None  # of the open string
        self._string_length = 0
        self._string_is_key = False
        self._tail = ""  # a token that may still go on
        self._root: dict[str, Any] | None = None
        self._complete = False
        self._credit = 0
        self._stale = False
        self._shown: dict[str, Any] = {}

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        if self._complete or not text:
            return
        self._credit += _CREDIT_FOR_A_FEED + _CREDIT_FOR_A_CHARACTER * len(text)
        self._stale = True
        data = self._tail + text
        self._tail = ""
        position = 0
        while position < len(data) and not self._complete:
            read = self._read_token if self._pieces is None else self._read_string
            position = read(data, position)

    def snapshot(self) -> dict[str, Any]:
        """The object so far, made of plain values that this parser never changes later."""
        if not self._stale:
            return self._shown
        if self._complete:
            self._shown = self._root or {}
            self._stale = False
            return self._shown
        cost = self._string_length + sum(len(container) for container in self._containers)
        if cost <= self._credit:
            self._credit -= cost
            self._shown = self._copy_open()
            self._stale = False
        return self._shown

    def _copy_open(self) -> dict[str, Any]:
        shown = self._containers[:_DEEPEST]
        inner = self._open_value() if len(shown) == len(self._containers) else _ABSENT
        for container, key in zip(reversed(shown), reversed(self._keys[: len(shown)]), strict=True):
            if isinstance(container, list):
                inner = container.copy() if inner is _ABSENT else [*container, inner]
            else:
                copy = container.copy()
                if inner is not _ABSENT and key is not None:
                    copy[key] = inner
                inner = copy
        return inner if isinstance(inner, dict) else {}

    def _open_value(self) -> Any:
        if self._pieces is not None:
            return _ABSENT if self._string_is_key else _whole_characters("".join(self._pieces))
        return _word_value(self._tail, open_ended=True) if self._tail else _ABSENT

    def _read_token(self, data: str, position: int) -> int:
        """Read one token outside strings from `position`; returns where the next one starts."""
        char = data[position]
        if char in _BETWEEN_TOKENS:
            if char == "," and self._keys:
                self._keys[-1] = None  # a member without a value ends here
        elif char == '"':
            self._open_string()
        elif char in "{[":
            self._open_container({} if char == "{" else [])
        elif char in "}]":
            self._close_container()
        else:
            return self._read_word(data, position)
        return position + 1

    def _read_word(self, data: str, position: int) -> int:
        match = _WORD.match(data, position)
        end = match.end() if match else position + 1
        if end == len(data) and end - position <= _LONGEST_NUMBER:
            self._tail = data[position:]
            return end
        value = _word_value(data[position:end], open_ended=False)
        if not self._containers:
            self._complete = value is not _ABSENT  # a bare value is the whole text
        else:
            self._attach(value)
        return end

    def _open_string(self) -> None:
        if not self._containers:
            self._complete = True
            return
        self._pieces = []
        self._string_length = 0
        self._string_is_key = isinstance(self._containers[-1], dict) and self._keys[-1] is None

    def _read_string(self, data: str, position: int) -> int:
        char = data[position]
        if char == '"':
            self._close_string()
            return position + 1
        if char == "\\":
            return self._read_escape(data, position)
        match = _STRING_RUN.match(data, position)
        end = match.end() if match else position + 1
        self._add_piece(data[position:end])
        return end

    def _add_piece(self, piece: str) -> None:
        assert self._pieces is not None
        self._pieces.append(piece)
        self._string_length += len(piece)

    def _read_escape(self, data: str, position: int) -> int:
        if position + 1 == len(data):
            self._tail = "\\"
            return len(data)
        char = data[position + 1]
        if char == "u":
            return self._read_unicode_escape(data, position)
        self._add_piece(_ESCAPES.get(char) or "\\" + char)
        return position + 2

    def _read_unicode_escape(self, data: str, position: int) -> int:
        match = _HEX.match(data, position + 2)
        digits = match.group() if match else ""
        end = position + 2 + len(digits)
        if len(digits) < 4:
            if end == len(data):
                self._tail = data[position:]
                return end
            self._add_piece("\\u")
            return position + 2
        self._add_unit(int(digits, 16))
        return end

    def _add_unit(self, unit: int) -> None:
        """Append one UTF-16 unit; a second half joins the first one before it."""
        assert self._pieces is not None
        last = self._pieces[-1] if self._pieces else ""
        if 0xDC00 <= unit <= 0xDFFF and len(last) == 1 and "\ud800" <= last <= "\udbff":
            self._pieces[-1] = chr(0x10000 + ((ord(last) - 0xD800) << 10) + unit - 0xDC00)
        else:
            self._add_piece(chr(unit))

    def _close_string(self) -> None:
        assert self._pieces is not None
        text = "".join(self._pieces)
        self._pieces, self._string_length = None, 0
        if self._string_is_key:
            self._keys[-1] = text
        else:
            self._attach(text)

    def _open_container(self, container: dict[str, Any] | list[Any]) -> None:
        if not self._containers:
            if isinstance(container, list):
                self._complete = True
                return
            self._root = container
        self._containers.append(container)
        self._keys.append(None)

    def _close_container(self) -> None:
        if not self._containers:
            return
        container = self._containers.pop()
        self._keys.pop()
        if not self._containers:
            self._complete = True
        else:
            self._attach(container if len(self._containers) < _DEEPEST else _ABSENT)

    def _attach(self, value: Any) -> None:
        container, key = self._containers[-1], self._keys[-1]
        self._keys[-1] = None
        if value is _ABSENT:
            return
        if isinstance(container, list):
            container.append(value)
        elif key is not None:
            container[key] = value


def _whole_characters(text: str) -> str:
    """`text` without a first half of a surrogate pair at its end, whose second half may still come."""
    return text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text


def _word_value(word: str, *, open_ended: bool) -> Any:
    """What a bare word stands for, `_ABSENT` where for nothing. An open-ended one may still go on."""
    if word in _LITERALS:
        return _LITERALS[word]
    if open_ended:
        for literal, value in _LITERALS.items():
            if literal.startswith(word):
                return value
        word = _OPEN_EXPONENT.sub("", word)
    return _number(word)


def _number(word: str) -> Any:
    if len(word) > _LONGEST_NUMBER or not _NUMBER.fullmatch(word):
        return _ABSENT
    if word.lstrip("-").isdigit():
        return int(word)
    value = float(word)
    return plain_number(value) if math.isfinite(value) else _ABSENT
