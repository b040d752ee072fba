"""JSON as people write it by hand, with `//` comments, trailing commas and a byte order mark; and where a value stands.

Block comments are not part of the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pinyon._util import json as _json

_EXTRAS = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*")|//[^\n]*|,(?=(?:\s|//[^\n]*(?:\n|$))*[\]}])""",
)
_BLANKS = re.compile(r"[\s]*")
_raw_decode = json.JSONDecoder().raw_decode

PathStep = str | int


def decode(text: str) -> _json.Json:
    """Decode `text`; raises `JsonError` whose text begins with the position, as `line 3, column 5: ...`."""
    plain = text.removeprefix("\ufeff")
    try:
        return _json.decode(plain)
    except _json.JsonError:
        return _decode_without_extras(plain)


def _decode_without_extras(text: str) -> _json.Json:
    cleaned = without_extras(text)
    try:
        return _json.decode(cleaned)
    except _json.JsonError as first:
        try:
            json.loads(cleaned)
        except json.JSONDecodeError as error:
            raise _json.JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
        except RecursionError:
            raise _json.JsonError("line 1, column 1: nested too deeply") from None
        raise _json.JsonError(f"line 1, column 1: {first}") from None


def without_extras(text: str) -> str:
    """Plain JSON of the same length: comments and trailing commas become blanks, so that positions stay true."""
    return _EXTRAS.sub(lambda match: match[0] if match["string"] else " " * len(match[0]), text)


def locate(text: str, path: Sequence[PathStep]) -> tuple[int, int]:
    """Line and column, from 1, of the value at `path` in a text that `decode` accepts.

    Where the path leads nowhere, the position of the innermost value on the way counts.
    """
    cleaned = without_extras(text.removeprefix("\ufeff"))
    position = _skip_blanks(cleaned, 0)
    for step in path:
        inner = _member(cleaned, position, step) if isinstance(step, str) else _item(cleaned, position, step)
        if inner is None:
            break
        position = inner
    line_start = cleaned.rfind("\n", 0, position) + 1
    return cleaned.count("\n", 0, position) + 1, position - line_start + 1


def _skip_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _member(text: str, position: int, name: str) -> int | None:
    """Where the value of a member begins; of several with that name the last one counts, as it does for decoding."""
    if text[position : position + 1] != "{":
        return None
    found = None
    position = _skip_blanks(text, position + 1)
    while text[position] == '"':
        key, position = _raw_decode(text, position)
        value_start = _skip_blanks(text, _skip_blanks(text, position) + 1)
        if key == name:
            found = value_start
        position = _after_value(text, value_start)
    return found


def _item(text: str, position: int, index: int) -> int | None:
    if text[position : position + 1] != "[":
        return None
    position = _skip_blanks(text, position + 1)
    for _ in range(index):
        if text[position] == "]":
            return None
        position = _after_value(text, position)
    return None if text[position] == "]" else position


def _after_value(text: str, position: int) -> int:
    """The start of what follows a value and its comma."""
    _, end = _raw_decode(text, position)
    end = _skip_blanks(text, end)
    return _skip_blanks(text, end + 1) if text[end] == "," else end
