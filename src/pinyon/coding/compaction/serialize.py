"""A conversation as plain text, for a model that is to summarise it and not to take part in it."""

from __future__ import annotations

from collections.abc import Iterable

from pinyon._util import json as _json
from pinyon._util.text import slice_head, utf16_len
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage

TOOL_RESULT_CHARS = 2000
"""UTF-16 units of a tool result that are shown."""


def serialize_conversation(messages: Iterable[Message]) -> str:
    """Messages as labelled paragraphs. Thinking, images, prompts and empty texts are left out."""
    return "\n\n".join(part for message in messages for part in _parts(message))


def _parts(message: Message) -> list[str]:
    match message:
        case UserMessage():
            text = _text(message.content, separator="")
            return [f"[User]: {text}"] if text else []
        case AssistantMessage():
            return _assistant_parts(message)
        case ToolResultMessage():
            text = _text(message.content, separator="")
            return [f"[Tool result]: {_shortened(text)}"] if text else []
        case _:
            return []


def _assistant_parts(message: AssistantMessage) -> list[str]:
    parts = []
    text = _text(message.content, separator="\n")
    if any(isinstance(block, TextContent) for block in message.content) and text:
        parts.append(f"[Assistant]: {text}")
    if message.tool_calls:
        parts.append("[Assistant tool calls]: " + "; ".join(map(_call_text, message.tool_calls)))
    return parts


def _call_text(call: ToolCall) -> str:
    arguments = ", ".join(f"{key}={_json.encode(value).decode()}" for key, value in call.arguments.items())
    return f"{call.name}({arguments})"


def _text(content: str | Iterable[object], *, separator: str) -> str:
    if isinstance(content, str):
        return content
    return separator.join(block.text for block in content if isinstance(block, TextContent))


def _shortened(text: str) -> str:
    length = utf16_len(text)
    if length <= TOOL_RESULT_CHARS:
        return text
    return f"{slice_head(text, TOOL_RESULT_CHARS)}\n\n[... {length - TOOL_RESULT_CHARS} more characters truncated]"
