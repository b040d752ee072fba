"""Events of a Responses API stream: decoded by type when they look as they should, leniently when they do not."""

from __future__ import annotations

from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.wire_value import DECODE_ERRORS, json_event

_SHOWN_BYTES = 200


class ResponseEvent(msgspec.Struct):
    """One event of any type; fields that its type does not have are None.

    `error`, `code` and `message` are those of an `error` event, in either of the forms that servers give it.
    """

    type: str = ""
    output_index: int | None = None
    item_id: str | None = None
    delta: str | None = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None
    arguments: str | None = None
    input: str | None = None
    error: Any = None
    code: str | int | None = None
    message: str | None = None


_decoder = msgspec.json.Decoder(ResponseEvent)


def decode_event(data: bytes, name: str = "") -> ResponseEvent | None:
    """The event in the data of a server-sent event called `name`; None for JSON that is not an object.

    Raises `ProviderError` for what is not JSON.
    """
    try:
        event = _decoder.decode(data)
    except DECODE_ERRORS:
        return event_from(json_event(data), name)
    if not event.type:
        event.type = name
    return event


def event_from(value: Any, name: str = "") -> ResponseEvent | None:
    """An event from any JSON value; fields of a kind that means nothing count as absent."""
    if not isinstance(value, dict):
        return None
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(ResponseEvent):
        given = value.get(field.name)
        try:
            fields[field.name] = msgspec.convert(given, field.type, strict=False)
        except DECODE_ERRORS:
            fields[field.name] = None
    fields["type"] = fields["type"] or name
    return ResponseEvent(**fields)


def error_text(event: ResponseEvent) -> str:
    """What an `error` event says: its code, then its message."""
    inner = event.error if isinstance(event.error, dict) else {}
    code = event.code or inner.get("code") or inner.get("type")
    if event.message or inner.get("message"):
        return coded(code, event.message or inner.get("message"))
    shown = event.error if isinstance(event.error, str) else None
    return coded(code, shown or "the server reported an error and did not say which")


def error_code(event: ResponseEvent) -> str:
    """The code of an `error` event, empty where it has none."""
    inner = event.error if isinstance(event.error, dict) else {}
    return str(event.code or inner.get("code") or "")


def coded(code: Any, message: Any) -> str:
    """A message with its code before it, where there is one that it does not hold already."""
    text = message if isinstance(message, str) else _json.encode_clean(message).decode()
    if isinstance(code, str | int) and str(code) and str(code) not in text:
        return f"{code}: {text}"
    return text
