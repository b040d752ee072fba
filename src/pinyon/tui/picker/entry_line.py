"""A session entry in one line, as lists show it, and its full text, as it is searched and copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.content import ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, BashExecutionMessage, ToolResultMessage, UserMessage
from pinyon.resources.skill import parse_skill_call
from pinyon.session import kind
from pinyon.session.entry import SessionEntry
from pinyon.tui.message_block import text_of

_MOST_CHARS = 300
_COMMAND_CHARS = 50
_ARGUMENT_CHARS = 40


class EntryLine(msgspec.Struct, frozen=True):
    """Who or what it is, the colour of that, and one line of text."""

    sign: str
    role: str
    text: str


class EntryLines:
    """Lines of the entries of one session; tool results are named by their calls."""

    def __init__(self, entries: Iterable[SessionEntry]) -> None:
        self._calls: dict[str, ToolCall] = {}
        for entry in entries:
            if entry.kind == kind.ASSISTANT and isinstance(entry.message, AssistantMessage):
                self._calls |= {part.id: part for part in entry.message.content if isinstance(part, ToolCall)}

    def line(self, entry: SessionEntry) -> EntryLine:
        """The line of an entry."""
        message = entry.message
        match message:
            case UserMessage():
                return EntryLine("you", "accent", prompt_line(message.text))
            case AssistantMessage():
                return EntryLine("model", "success", _one_line(_answer_text(message)))
            case ToolResultMessage():
                role = "error" if message.is_error else "muted"
                return EntryLine("", role, self._result_line(message))
            case BashExecutionMessage():
                return EntryLine("shell", "bashMode", _one_line(message.command))
            case None:
                return _other_line(entry)
            case _:
                return EntryLine(entry.role or "message", "dim", _one_line(text_of(getattr(message, "content", ""))))

    def _result_line(self, message: ToolResultMessage) -> str:
        call = self._calls.get(message.tool_call_id)
        arguments: dict[str, Any] = call.arguments if call is not None else {}
        name = message.tool_name
        if name in ("bash", "powershell"):
            detail = _cut(str(arguments.get("command", "")), _COMMAND_CHARS)
        elif isinstance(path := arguments.get("path", arguments.get("pattern")), str):
            detail = path
        else:
            detail = _cut(_json.encode(arguments).decode("utf-8", "replace"), _ARGUMENT_CHARS) if arguments else ""
        return f"[{name}: {detail}]" if detail else f"[{name}]"


def entry_text(entry: SessionEntry) -> str:
    """The whole text of an entry."""
    message = entry.message
    if message is None:
        return str(entry.get("summary") or entry.get("label") or entry.get("name") or _content_text(entry))
    if isinstance(message, AssistantMessage):
        return _answer_text(message)
    if isinstance(message, BashExecutionMessage):
        return f"{message.command}\n{message.output}"
    return text_of(getattr(message, "content", ""))


def has_answer_text(entry: SessionEntry) -> bool:
    """Whether an answer says something beside calling tools, or failed."""
    message = entry.message
    if not isinstance(message, AssistantMessage):
        return True
    return bool(text_of(message.content).strip()) or message.stop_reason in ("error", "aborted")


def prompt_line(text: str) -> str:
    """A prompt in one line; the text of a skill that it calls is only named."""
    call = parse_skill_call(text)
    return _one_line(text) if call is None else _one_line(f"[skill] {call.name} {call.message or ''}")


def _answer_text(message: AssistantMessage) -> str:
    text = text_of(message.content)
    if text.strip():
        return text
    if message.error_message:
        return message.error_message
    calls = [part.name for part in message.content if isinstance(part, ToolCall)]
    if calls:
        return f"calls {', '.join(calls)}"
    return "thinks" if any(isinstance(part, ThinkingContent) for part in message.content) else "(empty)"


def _other_line(entry: SessionEntry) -> EntryLine:
    match entry.type:
        case "compaction":
            return EntryLine("compaction", "customMessageLabel", _one_line(entry.summary))
        case "branch_summary":
            return EntryLine("branch", "customMessageLabel", _one_line(entry.summary))
        case "model_change":
            return EntryLine("model", "dim", f"{entry.provider}/{entry.model_id}")
        case "thinking_level_change":
            return EntryLine("thinking", "dim", entry.thinking_level)
        case "label":
            return EntryLine("label", "dim", str(entry.get("label") or "removed"))
        case "session_info":
            return EntryLine("name", "dim", str(entry.get("name") or ""))
        case "custom" | "custom_message":
            return EntryLine(str(entry.get("customType") or entry.type), "dim", _one_line(_content_text(entry)))
        case _:
            return EntryLine(entry.type, "dim", "")


def _content_text(entry: SessionEntry) -> str:
    content = entry.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text[:_MOST_CHARS].split())


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
