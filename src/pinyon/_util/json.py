"""JSON as the shared files and wires want it: compact, UTF-8, key order kept, integral floats printed as integers.

`msgspec` does the work; the standard library takes over for what it refuses (lone surrogates, huge numbers).
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import msgspec

from pinyon._util.text import clean_surrogates

Json = Any
"""Any JSON value: None, bool, int, float, str, list or dict with str keys."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class JsonError(ValueError):
    """Raised when a text is not JSON; carries the parser's message."""


def encode(value: object) -> bytes:
    r"""Encode structs and plain values as one compact line without a newline.

    Lone surrogates are written as `\udXXX` escapes instead of failing.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _encode_with_surrogates(msgspec.to_builtins(value))


def encode_clean(value: object) -> bytes:
    """Encode like `encode` for a reader that refuses lone surrogates: pairs are joined, the rest becomes U+FFFD.

    `msgspec.Raw` values are written as they are.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return encode(cleaned(value))


def cleaned(value: Any) -> Any:
    """A copy in which surrogate pairs are joined and lone surrogates are U+FFFD, also in keys; structs become dicts."""
    if isinstance(value, str):
        return clean_surrogates(value)
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return cleaned(msgspec.to_builtins(value)) if isinstance(value, msgspec.Struct) else value


def encode_pretty(value: object) -> bytes:
    """Encode like `encode`, indented by two spaces, as files that people edit are written."""
    try:
        return msgspec.json.format(_encoder.encode(value), indent=2)
    except (UnicodeEncodeError, OverflowError):
        return _encode_with_surrogates(msgspec.to_builtins(value), indent=2)


def _encode_with_surrogates(value: object, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, separators=separators, allow_nan=False, indent=indent)
    pieces = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in pieces).encode()


def decode(data: bytes | str) -> Json:
    """Decode JSON text into plain values; raises `JsonError` with the position.

    Values that the fast parser refuses (lone surrogate escapes, numbers out of range) are decoded by the standard
    library; `NaN` and `Infinity` are refused.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError) as error:
        return _decode_slowly(data, error)


def fault_position(text: str) -> str:
    """Where `text` stops being JSON, as ` (line 3, column 5)`; empty where that is not known."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return f" (line {error.lineno}, column {error.colno})"
    except (ValueError, RecursionError):
        return ""
    return ""


def _decode_slowly(data: bytes | str, first_error: Exception) -> Json:
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error) or str(first_error)) from error


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def is_number(value: Json) -> bool:
    """Whether `value` is a finite number; booleans are none, and neither is what an overlong exponent becomes."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def plain_number(value: int | float) -> int | float:  # noqa: PYI041 - ints pass through, and say so
    """An integral float as int, so that it prints without a fraction; other numbers unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def normalise_numbers(value: Json) -> Json:
    """The same JSON value with integral floats as ints, copied only where something changes."""
    if isinstance(value, float):
        return plain_number(value) if math.isfinite(value) else value
    if isinstance(value, list):
        items = [normalise_numbers(item) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = {key: normalise_numbers(item) for key, item in value.items()}
        return pairs if any(pairs[key] is not value[key] for key in value) else value
    return value
