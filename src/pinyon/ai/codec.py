"""Messages to and from the camelCase JSON of session files and wires.

The fast path decodes into tagged structs. Objects that older or newer programs wrote (null content, missing usage,
unknown block types or roles) take the lenient path, which keeps everything it can and never raises on an object.
"""

from __future__ import annotations

from typing import Any, cast, get_args

import msgspec

from pinyon._util import json as _json
from pinyon.ai.content import AssistantBlock, ContentBlock, ImageContent, UnknownContent, UserBlock
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    MessageBase,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from pinyon.ai.usage import Cost, Usage

_message_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AgentMessage)

_MESSAGE_TYPES: dict[str, type[MessageBase]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        SystemMessage,
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
        BashExecutionMessage,
        CustomMessage,
        BranchSummaryMessage,
        CompactionSummaryMessage,
    )
}
_BLOCK_TYPES: dict[str, type[ContentBlock]] = {
    str(kind.__struct_config__.tag): kind for kind in (*get_args(UserBlock), *get_args(AssistantBlock))
}


def message_to_wire(message: AgentMessage) -> dict[str, Any]:
    """The camelCase object of a message, made of plain values; absent fields are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(message)
    return plain


def message_to_json(message: AgentMessage) -> bytes:
    """The compact JSON of a message."""
    return _json.encode(message)


def message_from_json(data: bytes) -> AgentMessage:
    """Decode one message; raises `JsonError` when `data` is not a JSON object."""
    try:
        message: AgentMessage = _message_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _json.decode(data)
        if not isinstance(value, dict):
            raise _json.JsonError("a message must be a JSON object") from None
        return message_from_wire(value)
    return message


def message_from_wire(value: dict[str, Any]) -> AgentMessage:
    """Build a message from its camelCase object. Null or missing content reads as empty; nothing raises."""
    role = value.get("role")
    kind = _MESSAGE_TYPES.get(role) if isinstance(role, str) else None
    if kind is None:
        return UnknownMessage(value)
    try:
        return cast("AgentMessage", msgspec.convert(value, kind))
    except msgspec.ValidationError:
        return _lenient_message(kind, value)


def _lenient_message(kind: type[MessageBase], value: dict[str, Any]) -> AgentMessage:
    fields: dict[str, Any] = {}
    for info in msgspec.structs.fields(kind):
        if info.name == "content":
            fields["content"] = _lenient_content(kind, value.get("content"))
        elif info.name == "usage" and kind is AssistantMessage:
            fields["usage"] = usage_from_wire(value.get("usage"))
        elif info.encode_name in value:
            try:
                fields[info.name] = msgspec.convert(value[info.encode_name], info.type)
            except msgspec.ValidationError:
                if info.required:
                    fields[info.name] = _EMPTY_FIELDS.get(info.name, "")
        elif info.required:
            fields[info.name] = _EMPTY_FIELDS.get(info.name, "")
    return cast("AgentMessage", kind(**fields))


_EMPTY_FIELDS: dict[str, Any] = {
    "timestamp": 0,
    "stop_reason": "stop",
    "is_error": False,
    "cancelled": False,
    "truncated": False,
    "display": True,
    "tokens_before": 0,
}


def _lenient_content(kind: type[MessageBase], content: Any) -> str | list[Any]:
    if isinstance(content, str):
        if kind in (AssistantMessage, ToolResultMessage):
            return [block_from_wire({"type": "text", "text": content})] if content else []
        return content
    if not isinstance(content, list):
        return "" if kind is SystemMessage else []
    return [block_from_wire(block) for block in content if isinstance(block, dict)]


def block_from_wire(value: dict[str, Any]) -> ContentBlock | UnknownContent:
    """Build a content block from its object; unknown or broken blocks are kept as `UnknownContent`."""
    tag = value.get("type")
    kind = _BLOCK_TYPES.get(tag) if isinstance(tag, str) else None
    if kind is None:
        return UnknownContent(value)
    if tag == "toolCall":
        value = {"id": "", "name": "", **value}
        if not isinstance(value.get("arguments"), dict):
            value["arguments"] = {}
    if tag == "image" and isinstance(value.get("source"), dict):
        return _image_from_source(value)
    known = {key: item for key, item in value.items() if item is not None}
    try:
        return msgspec.convert(known, kind)
    except msgspec.ValidationError:
        return UnknownContent(value)


def _image_from_source(value: dict[str, Any]) -> ContentBlock | UnknownContent:
    source = value["source"]
    data, mime_type = source.get("data"), source.get("mediaType", source.get("media_type"))
    if isinstance(data, str) and isinstance(mime_type, str):
        return ImageContent(data=data, mime_type=mime_type)
    return UnknownContent(value)


def usage_from_wire(value: Any) -> Usage:
    """Usage from its object; missing or odd numbers count as zero, a missing total is summed."""
    if not isinstance(value, dict):
        return Usage()
    try:
        return msgspec.convert(value, Usage)
    except msgspec.ValidationError:
        usage = Usage()
    for name, wire in (
        ("input", "input"),
        ("output", "output"),
        ("cache_read", "cacheRead"),
        ("cache_write", "cacheWrite"),
        ("total_tokens", "totalTokens"),
    ):
        number = value.get(wire)
        if isinstance(number, int | float) and not isinstance(number, bool):
            setattr(usage, name, number)
    try:
        usage.cost = msgspec.convert(value.get("cost") or {}, Cost)
    except msgspec.ValidationError:
        usage.cost = Cost()
    return usage
