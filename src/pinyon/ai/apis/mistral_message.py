"""Messages of a conversation as the Mistral API wants them, each encoded once.

A wire message is JSON bytes. The API takes only call ids of nine letters and digits, also for calls of its own models
that were renamed on the way here; a call and its result get the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.call_id import MistralIds
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage

ERROR_PREFIX = "[the tool failed] "
IMAGE_ONLY = "(the tool returned an image)"
NO_OUTPUT = "(the tool returned nothing)"


class MessageWriter:
    """Writes the wire messages of one request; system messages are written by the caller through `add`."""

    def __init__(self, kept: MessageMemo[bytes]) -> None:
        self.messages: list[bytes] = []
        self._kept = kept
        self._ids = MistralIds()

    def add(self, message: dict[str, Any]) -> None:
        """Append a wire message as it is."""
        self.messages.append(_json.encode_clean(message))

    def write(self, message: Message) -> None:
        """Append what a message becomes; system messages become nothing here."""
        if isinstance(message, UserMessage):
            self._append(message, ("mistral",), partial(_user, message))
        elif isinstance(message, AssistantMessage):
            ids = tuple(self._ids(block.id) for block in message.content if isinstance(block, ToolCall))
            self._append(message, ("mistral", ids), partial(_answer, message, ids))
        elif isinstance(message, ToolResultMessage):
            call_id = self._ids(message.tool_call_id)
            self._append(message, ("mistral", call_id), partial(_result, message, call_id))

    def _append(self, message: Message, variant: Hashable, build: Callable[[], dict[str, Any] | None]) -> None:
        data = self._kept.get(message, variant)
        if data is None:
            wire = build()
            data = b"" if wire is None else _json.encode_clean(wire)
            self._kept.put(message, variant, data)
        if data:
            self.messages.append(data)


def _user(message: UserMessage) -> dict[str, Any] | None:
    """The wire message of a user message; None where nothing of it can be sent."""
    blocks: list[UserBlock] = (
        [TextContent(message.content)] if isinstance(message.content, str) else list(message.content)
    )
    parts = [part for block in blocks if (part := _part(block)) is not None]
    return {"role": "user", "content": parts} if parts else None


def _part(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    return _image(block) if isinstance(block, ImageContent) else None


def _image(image: ImageContent) -> dict[str, Any]:
    return {"type": "image_url", "image_url": f"data:{image.mime_type};base64,{image.data}"}


def _answer(message: AssistantMessage, ids: tuple[str, ...]) -> dict[str, Any] | None:
    """The wire message of an answer; None where it holds neither text nor a call."""
    parts = [part for block in message.content if (part := _answer_part(block)) is not None]
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if not calls and not any(part["type"] == "text" for part in parts):
        return None
    wire: dict[str, Any] = {"role": "assistant", "prefix": False}
    if parts:
        wire["content"] = parts
    if calls:
        wire["tool_calls"] = [_call(call, call_id) for call, call_id in zip(calls, ids, strict=True)]
    return wire


def _answer_part(block: AssistantBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    if not isinstance(block, ThinkingContent) or block.redacted or not block.thinking.strip():
        return None
    part: dict[str, Any] = {"type": "thinking", "thinking": [{"type": "text", "text": block.thinking}]}
    return part | {"signature": block.thinking_signature} if block.thinking_signature else part


def _call(call: ToolCall, call_id: str) -> dict[str, Any]:
    arguments = _json.encode_clean(_json.normalise_numbers(dict(call.arguments or {}))).decode()
    function = {"name": call.name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, "index": 0}


def _result(message: ToolResultMessage, call_id: str) -> dict[str, Any]:
    texts = [block.text for block in message.content if isinstance(block, TextContent) and block.text.strip()]
    images = [_image(block) for block in message.content if isinstance(block, ImageContent)]
    text = "\n".join(texts) or (IMAGE_ONLY if images else NO_OUTPUT)
    if message.is_error:
        text = ERROR_PREFIX + text
    content = [{"type": "text", "text": text}, *images]
    return {"role": "tool", "name": message.tool_name, "content": content, "tool_call_id": call_id}
