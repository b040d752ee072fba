"""Sizes of requests in tokens, estimated from their text, and the limits that follow for an answer.

Estimates count UTF-16 code units, 3.5 to a token, and trust the usage that the provider reported where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.text import utf16_len
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.usage import Usage
from pinyon.errors import ProviderError

CHARS_PER_TOKEN = 3.5
IMAGE_CHARS = 4800
"""What an image counts for, in characters."""

DEFAULT_THINKING_BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384}
MIN_ANSWER_TOKENS = 1024
"""Smallest room for an answer that is worth a request, unless the caller asked for less."""

_SMALL_ROOM = 32_768
_FIXED_MARGIN = 4096
_RELATIVE_MARGIN = 0.15


class ContextFullError(ProviderError):
    """Raised when the conversation leaves no room for an answer in the model's context window."""

    def __init__(self, model: Model, input_tokens: int) -> None:
        super().__init__(
            f"context window exceeded: about {input_tokens} tokens of input leave no room for an answer in the "
            f"{model.context_window} tokens of {model.spec!r}; compact the conversation or take a larger model"
        )
        self.input_tokens = input_tokens


class ThinkingBudget(msgspec.Struct, frozen=True):
    """Output limit and the part of it that thinking may use, both in tokens."""

    max_tokens: int
    budget: int


def _tokens(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """Estimated tokens of one message as a model reads it."""
    return _tokens(_message_chars(message))


def _message_chars(message: Message) -> int:
    content = message.content
    chars = utf16_len(content) if isinstance(content, str) else _content_chars(content)
    if isinstance(message, SystemMessage):
        chars += sum(utf16_len(text) for text in (message.sections or {}).values() if text)
        chars += sum(_json_chars(part) for part in (message.tools_added, message.tools_removed) if part)
    return chars


def _content_chars(content: Iterable[Any]) -> int:
    chars = 0
    for block in content:
        match block:
            case TextContent():
                chars += utf16_len(block.text)
            case ThinkingContent():
                chars += utf16_len(block.thinking)
            case ImageContent():
                chars += IMAGE_CHARS
            case ToolCall():
                chars += utf16_len(block.name) + _json_chars(block.arguments)
    return chars


def _json_chars(value: object) -> int:
    return utf16_len(_json.encode(value).decode())


def usage_tokens(usage: Usage) -> int:
    """Context tokens that a usage report stands for: its total, or the sum of its parts."""
    return math.ceil(usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write)


def estimate_request_tokens(messages: Sequence[Message]) -> int:
    """Estimated tokens of a request.

    The newest answer with a usable usage counts for everything up to it. Usage of an answer that is older than a
    message before it (as after a compaction) says nothing about that message and is not used.
    """
    start, tokens = 0, 0
    newest_so_far = list(accumulate((message.timestamp for message in messages), max))
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage) and message.timestamp >= newest_so_far[index]:
            reported = _reported_tokens(message)
            if reported > 0:
                start, tokens = index + 1, reported
                break
    return tokens + sum(message_tokens(message) for message in messages[start:])


def _reported_tokens(message: AssistantMessage) -> int:
    return 0 if message.stop_reason in ("error", "aborted") else usage_tokens(message.usage)


def clamp_max_tokens(model: Model, messages: Sequence[Message], requested: int | None = None) -> int:
    """The output limit to send: what was requested (default: the model's own limit), as far as it fits.

    A margin covers the error of the estimate. Where it would eat the room, a smallest useful answer is let into it;
    raises `ContextFullError` where not even that fits. A window of 0 means unknown and limits nothing.
    """
    window, wanted = model.context_window, model.max_tokens if requested is None else requested
    if window <= 0:
        return max(1, wanted)
    used = estimate_request_tokens(messages)
    room = window - used - max(_FIXED_MARGIN, math.ceil(_RELATIVE_MARGIN * used))
    if room < _SMALL_ROOM:
        room = min(_SMALL_ROOM, window - used - _FIXED_MARGIN)
    least = min(wanted, MIN_ANSWER_TOKENS, max(1, window // 8))
    if window - used < least:
        raise ContextFullError(model, used)
    return max(1, min(wanted, max(least, room)))


def thinking_budget(level: ThinkingLevel, custom: Mapping[str, int] | None = None) -> int:
    """Tokens that a level allows for thinking; `xhigh` and `max` count as `high`, `off` allows none."""
    if level == "off":
        return 0
    name = "high" if level in ("xhigh", "max") else level
    return {**DEFAULT_THINKING_BUDGETS, **(custom or {})}[name]


def adjust_for_thinking(
    base_max_tokens: int | None, model_max_tokens: int, level: ThinkingLevel, custom: Mapping[str, int] | None = None
) -> ThinkingBudget:
    """Output limit and thinking budget for models that are given a budget.

    The budget comes on top of the wanted answer, up to the model's limit, and gives way where no answer would be left.
    """
    budget = thinking_budget(level, custom)
    limit = model_max_tokens if base_max_tokens is None else min(base_max_tokens + budget, model_max_tokens)
    return ThinkingBudget(max_tokens=limit, budget=fit_thinking_budget(budget, limit))


def fit_thinking_budget(budget: int, max_tokens: int) -> int:
    """The budget, cut so that an output limit of `max_tokens` leaves room for an answer."""
    return budget if max_tokens > budget else min(budget, max(0, max_tokens - MIN_ANSWER_TOKENS))
