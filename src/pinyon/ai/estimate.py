"""How large a request is, and how much output fits beside it: 3.5 characters a token, or what a server reported."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pinyon._util import json as _json
from pinyon._util.text import utf16_len
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.errors import ProviderError

CHARS_PER_TOKEN = 3.5
IMAGE_CHARS = 4800
"""Characters that an image counts for."""

LEAST_OUTPUT_TOKENS = 256
"""Room for an answer below which a request is not worth sending."""

THINKING_BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
"""Tokens for thinking by level, for models that take a budget; higher levels use that of `high`."""

_LARGE_ROOM = 32_768
_LEAST_MARGIN = 4096


class ContextFullError(ProviderError):
    """Raised when a request leaves no room for an answer in the model's context window."""

    def __init__(self, model: Model, input_tokens: int) -> None:
        super().__init__(
            f"context window exceeded: about {input_tokens} tokens of input leave no room for an answer in the "
            f"{model.context_window} tokens of {model.spec!r}"
        )
        self.input_tokens = input_tokens


def estimate_request_tokens(messages: Sequence[Message]) -> int:
    """Tokens of a transcript: those that the latest usable answer reported, and estimates for what came after it."""
    start, reported = _latest_report(messages)
    return reported + sum(map(_message_tokens, messages[start:]))


def _latest_report(messages: Sequence[Message]) -> tuple[int, int]:
    newest = [-math.inf]
    for message in messages:
        newest.append(max(newest[-1], message.timestamp))
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            continue
        usage = message.usage
        total = usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write
        if total > 0 and message.timestamp >= newest[index]:
            return index + 1, int(total)
    return 0, 0


def _message_tokens(message: Message) -> int:
    if isinstance(message, SystemMessage):
        chars = _content_chars(message.content)
        chars += sum(utf16_len(text) for text in (message.sections or {}).values() if text)
        chars += sum(_json_chars(part) for part in (message.tools_added, message.tools_removed) if part)
    else:
        chars = _content_chars(message.content)
    return math.ceil(chars / CHARS_PER_TOKEN)


def _content_chars(content: str | Sequence[object]) -> int:
    return utf16_len(content) if isinstance(content, str) else sum(map(_block_chars, content))


def _block_chars(block: object) -> int:
    match block:
        case TextContent():
            return utf16_len(block.text)
        case ThinkingContent():
            return utf16_len(block.thinking)
        case ToolCall():
            return utf16_len(block.name) + _json_chars(block.arguments)
        case ImageContent():
            return IMAGE_CHARS
        case _:
            return 0


def _json_chars(value: object) -> int:
    return utf16_len(_json.encode(value).decode())


def clamp_max_tokens(model: Model, messages: Sequence[Message], requested: int | None = None) -> int:
    """The output limit to ask for: what was requested (default: the model's limit), as far as it fits.

    A margin covers the error of the estimate; where it would leave little room, a small fixed one is used. Raises
    `ContextFullError` instead of asking for a useless remainder.
    """
    wanted = model.max_tokens if requested is None else requested
    if model.context_window <= 0:
        return max(1, wanted)
    used = estimate_request_tokens(messages)
    room = room_for_output(model.context_window, used)
    if room < min(LEAST_OUTPUT_TOKENS, max(1, wanted)):
        raise ContextFullError(model, used)
    return max(1, min(wanted, room))


def room_for_output(context_window: int, input_tokens: int) -> int:
    """Tokens that an answer may take beside `input_tokens`; may be negative."""
    room = context_window - input_tokens - max(_LEAST_MARGIN, math.ceil(0.15 * input_tokens))
    return room if room >= _LARGE_ROOM else min(_LARGE_ROOM, context_window - input_tokens - _LEAST_MARGIN)


def thinking_budget(level: ThinkingLevel, custom: Mapping[str, int] | None = None) -> int:
    """Tokens for thinking at a level; `custom` budgets by level win."""
    name = "high" if level in ("xhigh", "max") else level
    return (custom or {}).get(name, THINKING_BUDGETS.get(name, 0))


def adjust_for_thinking(
    base: int | None, model_max: int, level: ThinkingLevel, custom: Mapping[str, int] | None = None
) -> tuple[int, int]:
    """Output limit and thinking budget of a request: the budget comes on top of `base`, within the model's limit."""
    budget = thinking_budget(level, custom)
    limit = model_max if base is None else min(base + budget, model_max)
    if limit <= budget:
        budget = min(budget, max(0, limit - 1024))
    return limit, budget
