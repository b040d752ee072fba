"""What an editor is told while a session works: session events and stored messages as `session/update`s.

Source of the protocol: agentclientprotocol.com, version 1, through its Python SDK's types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from acp import helpers, schema

from pinyon.agent.event import MessageUpdate, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import TextDelta, ThinkingDelta
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage, UserMessage
from pinyon.coding.event import SessionEvent, SessionInfoChanged

Update: TypeAlias = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.SessionInfoUpdate
)
ToolContent: TypeAlias = schema.ContentToolCallContent | schema.FileEditToolCallContent

_KINDS: Mapping[str, schema.ToolKind] = {
    "read": "read",
    "ls": "read",
    "edit": "edit",
    "write": "edit",
    "bash": "execute",
    "powershell": "execute",
    "grep": "search",
    "find": "search",
}


def updates_of_event(event: SessionEvent, cwd: Path) -> Iterator[Update]:
    """The updates that an event of a running session becomes; most events become none."""
    match event:
        case MessageUpdate(assistant_message_event=TextDelta(delta=delta)):
            yield helpers.update_agent_message_text(delta)
        case MessageUpdate(assistant_message_event=ThinkingDelta(delta=delta)):
            yield helpers.update_agent_thought_text(delta)
        case ToolExecutionStart():
            yield _tool_start(event.tool_call_id, event.tool_name, event.args, cwd, "in_progress")
        case ToolExecutionUpdate():
            yield helpers.update_tool_call(event.tool_call_id, content=_result_content(event.partial_result))
        case ToolExecutionEnd():
            yield _tool_end(event.tool_call_id, event.result, is_error=event.is_error)
        case SessionInfoChanged():
            yield schema.SessionInfoUpdate(session_update="session_info_update", title=event.name or None)
        case _:
            return


def updates_of_message(message: AgentMessage, cwd: Path) -> Iterator[Update]:
    """The updates that replay a stored message."""
    match message:
        case UserMessage():
            yield from _chunks(message.content, helpers.update_user_message)
        case AssistantMessage():
            for block in message.content:
                yield from _answer_block(block, cwd)
        case ToolResultMessage():
            result = AgentToolResult(content=message.content)
            yield _tool_end(message.tool_call_id, result, is_error=message.is_error)
        case _:
            return


def _answer_block(block: object, cwd: Path) -> Iterator[Update]:
    match block:
        case TextContent(text=text) if text:
            yield helpers.update_agent_message_text(text)
        case ThinkingContent(thinking=thinking) if thinking:
            yield helpers.update_agent_thought_text(thinking)
        case ToolCall():
            yield _tool_start(block.id, block.name, block.arguments, cwd, "pending")
        case _:
            return


def _chunks(content: Any, make: Any) -> Iterator[Update]:
    blocks = [TextContent(text=content)] if isinstance(content, str) else content
    for block in blocks:
        shown = _content_block(block)
        if shown is not None:
            yield make(shown)


def _content_block(block: object) -> schema.TextContentBlock | schema.ImageContentBlock | None:
    match block:
        case TextContent(text=text) if text:
            return helpers.text_block(text)
        case ImageContent():
            return helpers.image_block(block.data, block.mime_type)
        case _:
            return None


def _tool_start(
    call_id: str, name: str, arguments: object, cwd: Path, status: schema.ToolCallStatus
) -> schema.ToolCallStart:
    given = arguments if isinstance(arguments, dict) else {}
    path = given.get("path") or given.get("file_path")
    locations = [schema.ToolCallLocation(path=str(cwd / path))] if isinstance(path, str) else None
    return helpers.start_tool_call(
        call_id,
        _title(name, given),
        kind=_KINDS.get(name, "other"),
        status=status,
        content=_edits(name, given, cwd) or None,
        locations=locations,
        raw_input=given,
    )


_HINTS = ("command", "path", "file_path", "pattern", "query")


def _title(name: str, arguments: Mapping[str, Any]) -> str:
    hint = next((arguments[key] for key in _HINTS if arguments.get(key)), "")
    return f"{name} {hint}".strip().split("\n", 1)[0]


def _edits(name: str, arguments: Mapping[str, Any], cwd: Path) -> list[ToolContent]:
    """What the file tools are about to change, as differences that editors draw."""
    path = arguments.get("path") or arguments.get("file_path")
    if not isinstance(path, str):
        return []
    target = str(cwd / path)
    if name == "write" and isinstance(arguments.get("content"), str):
        return [helpers.tool_diff_content(target, arguments["content"])]
    pairs = arguments.get("edits") if name == "edit" else None
    return [
        helpers.tool_diff_content(target, pair["newText"], pair["oldText"])
        for pair in (pairs if isinstance(pairs, list) else [])
        if isinstance(pair, dict) and isinstance(pair.get("newText"), str) and isinstance(pair.get("oldText"), str)
    ]


def _tool_end(call_id: str, result: AgentToolResult, *, is_error: bool) -> schema.ToolCallProgress:
    content = _result_content(result) or None
    return helpers.update_tool_call(call_id, status="failed" if is_error else "completed", content=content)


def _result_content(result: AgentToolResult) -> list[ToolContent]:
    blocks = (_content_block(block) for block in result.content)
    return [helpers.tool_content(block) for block in blocks if block is not None]
