"""Events of an Anthropic Messages stream, as far as they matter here.

The frequent ones are decoded straight into structs. What does not decode is repaired and tried again once; null fields
count as absent.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from pinyon._util import json as _json
from pinyon.ai.sse import SseEvent
from pinyon.ai.tool_arguments import parse_with_repair
from pinyon.ai.wire_value import DECODE_ERRORS
from pinyon.errors import ProviderError


class CacheCreation(msgspec.Struct):
    """Cache writes by lifetime."""

    ephemeral_1h_input_tokens: int | None = None


class OutputDetails(msgspec.Struct):
    """Parts of the output."""

    thinking_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Token counts; absent ones leave what was known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    output_tokens_details: OutputDetails | None = None


class WireMessage(msgspec.Struct):
    """The head of an answer."""

    id: str = ""
    model: str = ""
    usage: WireUsage | None = None
    input_transformations: list[Any] | None = None


class MessageStart(msgspec.Struct):
    """The answer begins."""

    message: WireMessage


class WireBlock(msgspec.Struct):
    """A content block at its start; `type` decides which of the fields count."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class BlockStart(msgspec.Struct):
    """A content block begins."""

    content_block: WireBlock
    index: int = 0


class WireDelta(msgspec.Struct):
    """More of a content block."""

    type: str
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""


class BlockDelta(msgspec.Struct):
    """A content block grows."""

    delta: WireDelta
    index: int = 0


class BlockStop(msgspec.Struct):
    """A content block is complete."""

    index: int = 0


class StopDetails(msgspec.Struct):
    """Why a model refused."""

    explanation: str | None = None
    category: str | None = None


class MessageChange(msgspec.Struct):
    """What changed about the answer as a whole."""

    stop_reason: str | None = None
    stop_details: StopDetails | None = None
    input_transformations: list[Any] | None = None


class MessageDelta(msgspec.Struct):
    """The answer as a whole changed; carries the stop reason."""

    delta: MessageChange = msgspec.field(default_factory=MessageChange)
    usage: WireUsage | None = None
    input_transformations: list[Any] | None = None


class MessageStop(msgspec.Struct):
    """The answer is complete."""


StreamPart = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop

_KINDS: dict[str, type[StreamPart]] = {
    "content_block_delta": BlockDelta,
    "content_block_start": BlockStart,
    "content_block_stop": BlockStop,
    "message_start": MessageStart,
    "message_delta": MessageDelta,
    "message_stop": MessageStop,
}

_decode_delta = msgspec.json.Decoder(BlockDelta).decode
_DECODERS = {name: msgspec.json.Decoder(kind).decode for name, kind in _KINDS.items()}


class _Typed(msgspec.Struct):
    type: str = ""


_decode_type = msgspec.json.Decoder(_Typed).decode

Kind = TypeVar("Kind")


def decode_event(event: SseEvent) -> StreamPart | None:
    """The part of the stream in an event; None for events that carry nothing of it.

    Raises `ProviderError` with the raw data for an error event, and for data that cannot be read.
    """
    if event.event == "content_block_delta":
        try:
            return _decode_delta(event.data)
        except DECODE_ERRORS:
            return _repaired(event, BlockDelta)
    name = event.event if event.event != "message" else _type_of(event)
    if name == "error":
        raise ProviderError(event.text)
    decode = _DECODERS.get(name)
    if decode is None:
        return None
    try:
        return decode(event.data)
    except DECODE_ERRORS:
        return _repaired(event, _KINDS[name])


def _type_of(event: SseEvent) -> str:
    """The event's name where the server sends it only inside the data."""
    try:
        return _decode_type(event.data).type
    except DECODE_ERRORS:
        value = parsed_event(event)
        kind = value.get("type") if isinstance(value, dict) else None
        return kind if isinstance(kind, str) else ""


def parsed_event(event: SseEvent) -> Any:
    """The data of an event as plain JSON values. Raises `ProviderError` where it is not JSON even after repair."""
    try:
        return parse_with_repair(event.text)
    except _json.JsonError as error:
        if event.text.strip() == "[DONE]":
            return None
        raise ProviderError(f"the server sent an unreadable {event.event!r} event: {error}") from error


def _repaired(event: SseEvent, kind: type[Kind]) -> Kind:
    value = _without_nulls(parsed_event(event))
    try:
        return msgspec.convert(value, kind)
    except DECODE_ERRORS as error:
        raise ProviderError(f"the server sent an unreadable {event.event!r} event: {error}") from error


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):  # nulls in tool input mean something
        return {k: item if k == "input" else _without_nulls(item) for k, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
