"""How many tokens a conversation takes: four characters a token, or what a provider reported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from pinyon._util import json as _json
from pinyon._util.text import utf16_len
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pinyon.ai.transcript import current_system_message
from pinyon.ai.usage import Usage
from pinyon.session.context import SessionProjection
from pinyon.session.entry import SessionEntry

CHARS_PER_TOKEN = 4
IMAGE_CHARS = 4800
"""Characters that an image counts for."""


class ContextEstimate(msgspec.Struct, frozen=True):
    """Tokens of a context: those reported by the answer at `last_usage_index` and an estimate of what came after."""

    tokens: int
    usage_tokens: int
    trailing_tokens: int
    last_usage_index: int | None


def estimate_tokens(message: AgentMessage) -> int:
    """Estimated tokens of one message, rounded up; characters are UTF-16 units and signatures do not count."""
    return math.ceil(_chars(message) / CHARS_PER_TOKEN)


def estimate_messages_tokens(messages: Iterable[AgentMessage]) -> int:
    """The sum of the estimates of messages."""
    return sum(map(estimate_tokens, messages))


def _chars(message: AgentMessage) -> int:
    match message:
        case UserMessage() | CustomMessage() | ToolResultMessage():
            return _content_chars(message.content)
        case AssistantMessage():
            return sum(map(_block_chars, message.content))
        case SystemMessage():
            return _system_chars(message)
        case BashExecutionMessage():
            return utf16_len(message.command) + utf16_len(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return utf16_len(message.summary)
        case _:
            return 0


def _content_chars(content: str | Sequence[object]) -> int:
    return utf16_len(content) if isinstance(content, str) else sum(map(_block_chars, content))


def _block_chars(block: object) -> int:
    match block:
        case TextContent():
            return utf16_len(block.text)
        case ThinkingContent():
            return utf16_len(block.thinking)
        case ToolCall():
            return utf16_len(block.name) + json_chars(block.arguments)
        case ImageContent():
            return IMAGE_CHARS
        case _:
            return 0


def _system_chars(message: SystemMessage) -> int:
    sections = sum(utf16_len(text) for text in (message.sections or {}).values() if text)
    tools = json_chars(message.tools_added) if message.tools_added else 0
    return _content_chars(message.content) + sections + tools


def json_chars(value: object) -> int:
    """Length of the compact JSON of a value in UTF-16 units."""
    return utf16_len(_json.encode(value).decode())


def calculate_context_tokens(usage: Usage) -> int:
    """What a request and its answer took together."""
    return int(usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write)


def has_valid_usage(message: AgentMessage) -> bool:
    """Whether the usage of a message tells the size of the context up to it."""
    return (
        isinstance(message, AssistantMessage)
        and message.stop_reason not in ("error", "aborted")
        and calculate_context_tokens(message.usage) > 0
    )


def estimate_context_tokens(messages: Sequence[AgentMessage]) -> ContextEstimate:
    """The last valid usage plus the estimates of what came after it; without one, estimates alone."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage) and has_valid_usage(message):
            reported = calculate_context_tokens(message.usage)
            trailing = estimate_messages_tokens(messages[index + 1 :])
            return ContextEstimate(reported + trailing, reported, trailing, index)
    total = estimate_messages_tokens(messages)
    return ContextEstimate(total, 0, total, None)


def estimate_projected_context_tokens(
    projection: SessionProjection, newest_first: Iterable[SessionEntry]
) -> ContextEstimate:
    """Like `estimate_context_tokens`, where a usage from before the last edit or compaction of the branch is void.

    `newest_first` are the entries of the branch, leaf first. Without a valid usage the prompt counts once, as it
    stands now.
    """
    messages = projection.messages
    estimate = estimate_context_tokens(messages)
    if estimate.last_usage_index is not None and _is_usage_newer_than_changes(newest_first):
        return estimate
    system = current_system_message(messages)
    total = estimate_tokens(system) if system is not None else 0
    total += estimate_messages_tokens(message for message in messages if not isinstance(message, SystemMessage))
    return ContextEstimate(total, 0, total, None)


def _is_usage_newer_than_changes(newest_first: Iterable[SessionEntry]) -> bool:
    for entry in newest_first:
        if entry.type in ("context_edit", "compaction"):
            return False
        if entry.message is not None and has_valid_usage(entry.message):
            return True
    return False
