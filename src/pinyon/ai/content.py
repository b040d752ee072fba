"""Content blocks of messages: text, thinking, images and tool calls, exactly as they stand in session files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType


class ContentBlock(msgspec.Struct, tag_field="type", rename="camel"):
    """Base of all content blocks; absent optional fields are `UNSET` (falsy) and are not written."""


class TextContent(ContentBlock, tag="text"):
    """Plain text. `text_signature` is what the provider wants back with it (message id, thought signature)."""

    text: str
    text_signature: str | UnsetType = UNSET


class ThinkingContent(ContentBlock, tag="thinking"):
    """Reasoning of the model. With `redacted` the payload is opaque and stands in `thinking_signature`."""

    thinking: str
    thinking_signature: str | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET


class ImageContent(ContentBlock, tag="image"):
    """An image: `data` is base64 without a data-URL prefix, `mime_type` such as `image/png`."""

    data: str
    mime_type: str


class ToolCall(ContentBlock, tag="toolCall"):
    """The model's request to run a tool.

    `arguments` is always an object. When the model's final text was not one, `arguments` is empty and
    `arguments_error` says why and shows the text.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    arguments_error: str | UnsetType = UNSET


class UnknownContent(dict[str, Any]):
    """A block of a type that this version does not know, kept as the object it was read from."""

    @property
    def type(self) -> str:
        """The block's own type name; empty where it has none."""
        value = self.get("type")
        return value if isinstance(value, str) else ""


if TYPE_CHECKING:
    UserBlock: TypeAlias = TextContent | ImageContent | UnknownContent
    AssistantBlock: TypeAlias = TextContent | ThinkingContent | ToolCall | UnknownContent
else:
    # The decoder cannot hold a mapping beside tagged structs in one union; the lenient path of `ai.codec` adds it.
    UserBlock = TextContent | ImageContent
    AssistantBlock = TextContent | ThinkingContent | ToolCall
