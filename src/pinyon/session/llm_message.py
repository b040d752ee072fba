"""What models are told about the messages that only hosts know: each becomes a user message or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from pinyon.ai.content import TextContent
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    HostMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)

COMPACTION_INTRODUCTION = "To save room, the conversation up to this point was replaced by this summary of it:"
BRANCH_INTRODUCTION = (
    "The conversation went down another path first and then came back here; this is what happened there:"
)


_FOR_MODELS = (UserMessage, AssistantMessage, ToolResultMessage, SystemMessage)


def convert_to_llm(messages: Iterable[AgentMessage]) -> list[Message]:
    """The messages as models know them. Excluded shell commands and messages of unknown roles are left out."""
    converted = [message if isinstance(message, _FOR_MODELS) else _converted(message) for message in messages]
    return [message for message in converted if message is not None]


def _converted(message: HostMessage | UnknownMessage) -> Message | None:
    match message:
        case BashExecutionMessage():
            return None if message.exclude_from_context else _user(bash_execution_text(message), message.timestamp)
        case CustomMessage():
            if isinstance(message.content, str):
                return _user(message.content, message.timestamp)
            return UserMessage(content=list(message.content), timestamp=message.timestamp)
        case BranchSummaryMessage():
            return _user(branch_summary_text(message.summary), message.timestamp)
        case CompactionSummaryMessage():
            return _user(compaction_summary_text(message.summary), message.timestamp)
        case _:
            return None


def _user(text: str, timestamp: float) -> UserMessage:
    return UserMessage(content=[TextContent(text)], timestamp=timestamp)


def compaction_summary_text(summary: str) -> str:
    """How a model is given the summary of compacted history."""
    return f"{COMPACTION_INTRODUCTION}\n\n<summary>\n{summary}\n</summary>"


def branch_summary_text(summary: str) -> str:
    """How a model is given the summary of a branch that was left."""
    return f"{BRANCH_INTRODUCTION}\n\n<summary>\n{summary}</summary>"


def bash_execution_text(message: BashExecutionMessage) -> str:
    """How a model is told about a command that the user ran: command, output, and how it ended."""
    output = f"```\n{message.output}\n```" if message.output else "(it printed nothing)"
    parts = [f"The user ran `{message.command}`\n{output}"]
    if message.cancelled:
        parts.append("(the user stopped the command)")
    elif message.exit_code:
        parts.append(f"The command exited with code {message.exit_code:g}")
    if message.truncated and message.full_output_path:
        parts.append(f"[Output shortened; all of it is in {message.full_output_path}]")
    return "\n\n".join(parts)
