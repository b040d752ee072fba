"""What tools return, brought to one form, and the results that the loop itself makes for calls that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.codec import block_from_wire
from pinyon.ai.content import ContentBlock, TextContent, UnknownContent
from pinyon.errors import ToolError


def error_result(text: str) -> AgentToolResult:
    """The result of a call that failed: one text for the model and empty details."""
    return AgentToolResult(content=[TextContent(text=text)], details={})


def result_from(value: Any) -> AgentToolResult:
    """What a function returned, as a tool result.

    Texts and content blocks become the content; other values become `structured_content` and their JSON text. Raises
    `ToolError` for a value that JSON cannot hold.
    """
    if isinstance(value, AgentToolResult):
        return checked_result(value)
    if value is None:
        return AgentToolResult(content=[])
    if isinstance(value, str):
        return AgentToolResult(content=[TextContent(text=value)])
    blocks = value if isinstance(value, list) else [value]
    if blocks and all(isinstance(block, ContentBlock | UnknownContent) for block in blocks):
        return AgentToolResult(content=blocks)
    dump = getattr(value, "model_dump", None)
    try:
        plain = dump(mode="json") if callable(dump) else msgspec.to_builtins(value)
        text = _json.encode(plain).decode()
    except (TypeError, ValueError) as error:
        raise ToolError(f"the tool returned a value that JSON cannot hold: {error}") from error
    return AgentToolResult(content=[TextContent(text=text)], structured_content=plain)


def checked_result(value: Any) -> AgentToolResult:
    """The result that a tool's `execute` gave, with content that is a list of blocks.

    Blocks and whole results may be plain objects in wire form. Raises `ToolError` for anything else.
    """
    if isinstance(value, Mapping):
        value = _result_from_wire(value)
    if not isinstance(value, AgentToolResult):
        raise ToolError(f"the tool returned {type(value).__name__} instead of an AgentToolResult")
    content: Any = value.content
    if type(content) is not list or not all(isinstance(block, ContentBlock) for block in content):
        value.content = _blocks(content)
    return value


def _result_from_wire(value: Mapping[str, Any]) -> AgentToolResult:
    try:
        result = msgspec.convert({**value, "content": []}, AgentToolResult)
    except msgspec.ValidationError as error:
        raise ToolError(f"the tool returned an object that is not a tool result: {error}") from error
    result.content = _blocks(value.get("content"))
    return result


def _blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextContent(text=content)]
    if not isinstance(content, list | tuple):
        raise ToolError(f"the content of a tool result must be a list of blocks, got {type(content).__name__}")
    return [_block(block) for block in content]


def _block(block: Any) -> ContentBlock | UnknownContent:
    if isinstance(block, ContentBlock | UnknownContent):
        return block
    if isinstance(block, str):
        return TextContent(text=block)
    if isinstance(block, dict):
        return block_from_wire(block)
    raise ToolError(f"a content block must be an object, got {type(block).__name__}")
