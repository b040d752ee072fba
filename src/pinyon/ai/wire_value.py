"""Values that a server sent, read without trust: what is not of the kind that is asked for counts as absent."""

from __future__ import annotations

from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.errors import ProviderError

DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding into a struct raises; plain values may still be read by `json_event`."""

MAX_EVENT_BYTES = 128 * 1024 * 1024
"""The most that one event, or one document, of a response may hold: far more than any picture."""

_SHOWN_BYTES = 200


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
        if _json.is_number(value) and value >= 0:
            return int(value)
    return 0


def check_size(size_bytes: int) -> None:
    """Raise `ProviderError` for an event or document that is too large to be an answer."""
    if size_bytes > MAX_EVENT_BYTES:
        raise ProviderError(f"the server sent an event of more than {MAX_EVENT_BYTES} bytes")
