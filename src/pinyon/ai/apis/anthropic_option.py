"""What one request to the Anthropic Messages API asks for, settled before anything is encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pinyon.ai.apis.anthropic_compat import AnthropicCompat, anthropic_compat
from pinyon.ai.estimate import adjust_for_thinking, clamp_max_tokens
from pinyon.ai.message import Message
from pinyon.ai.model import Model, ThinkingLevel, clamp_level
from pinyon.ai.option import CacheRetention, StreamOptions, resolve_cache_retention

LEAST_THINKING_TOKENS = 1024
_BASE_EFFORT = "low"
EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})

ThinkingMode = Literal["none", "disabled", "budget", "adaptive"]


class Thinking(msgspec.Struct, frozen=True):
    """How the model is to think: not mentioned, switched off, by a token budget, or as much as `effort` allows."""

    mode: ThinkingMode
    budget_tokens: int = 0
    effort: str = ""
    display: str = "summarized"


class AnthropicRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a request that does not stand in the messages."""

    model: Model
    compat: AnthropicCompat
    options: StreamOptions
    thinking: Thinking
    max_tokens: int
    retention: CacheRetention
    interleaved_thinking: bool

    @property
    def cache_control(self) -> dict[str, str] | None:
        """The cache mark, None where nothing is to be cached."""
        if self.retention == "none":
            return None
        if self.retention == "long" and self.compat.long_cache_retention:
            return {"type": "ephemeral", "ttl": "1h"}
        return {"type": "ephemeral"}

    @property
    def cached_session_id(self) -> str | None:
        """The session id, where the request may be recognised by it."""
        return self.options.session_id if self.retention != "none" else None

    @property
    def marks_effort(self) -> bool:
        """Whether the effort stands inside the conversation, so that changing it keeps the cached prefix."""
        return self.compat.mid_convo_effort and self.thinking.mode == "adaptive"

    @property
    def output_effort(self) -> str:
        """The effort of the request itself; empty for none."""
        if self.thinking.mode != "adaptive":
            return ""
        return _BASE_EFFORT if self.marks_effort else self.thinking.effort


def settle(model: Model, messages: Sequence[Message], options: StreamOptions) -> AnthropicRequest:
    """Resolve options, flags and limits. Raises `ContextFullError` when there is no room for an answer."""
    compat = anthropic_compat(model)
    thinking, max_tokens = _thinking(model, compat, messages, options)
    extra = options.extra or {}
    return AnthropicRequest(
        model=model,
        compat=compat,
        options=options,
        thinking=thinking,
        max_tokens=max_tokens,
        retention=resolve_cache_retention(options),
        interleaved_thinking=extra.get("interleaved_thinking") is not False,
    )


def _thinking(
    model: Model, compat: AnthropicCompat, messages: Sequence[Message], options: StreamOptions
) -> tuple[Thinking, int]:
    extra = options.extra or {}
    level = _level(model, options)
    wanted = options.max_tokens if options.max_tokens is not None else model.max_tokens
    is_on = bool(extra["thinking_enabled"]) if "thinking_enabled" in extra else level != "off"
    if not model.reasoning or not is_on:
        return _without_thinking(model), clamp_max_tokens(model, messages, wanted)
    display = str(extra.get("thinking_display") or "summarized")
    if compat.force_adaptive_thinking or compat.mid_convo_effort:
        effort = str(extra.get("effort") or effort_of(model, level))
        return Thinking("adaptive", effort=effort, display=display), clamp_max_tokens(model, messages, wanted)
    return _with_budget(model, level, messages, options, display)


def _level(model: Model, options: StreamOptions) -> ThinkingLevel:
    if not model.reasoning or options.reasoning in (None, "off"):
        return "off"
    return clamp_level(model, options.reasoning)


def _without_thinking(model: Model) -> Thinking:
    can_be_off = model.reasoning and (model.thinking_level_map or {}).get("off", "") is not None
    return Thinking("disabled" if can_be_off else "none")


def _with_budget(
    model: Model, level: ThinkingLevel, messages: Sequence[Message], options: StreamOptions, display: str
) -> tuple[Thinking, int]:
    extra: Mapping[str, Any] = options.extra or {}
    wanted = extra.get("thinking_budget_tokens")
    if isinstance(wanted, int):
        limit, budget = options.max_tokens or model.max_tokens, wanted
    else:
        named = level if level != "off" else "high"
        adjusted = adjust_for_thinking(options.max_tokens, model.max_tokens, named, options.thinking_budgets)
        limit, budget = adjusted.max_tokens, adjusted.budget
    limit = clamp_max_tokens(model, messages, limit)
    budget = min(budget, limit - LEAST_THINKING_TOKENS)
    if budget < LEAST_THINKING_TOKENS:
        return _without_thinking(model), limit  # the API refuses smaller budgets
    return Thinking("budget", budget_tokens=budget, display=display), limit


def effort_of(model: Model, level: ThinkingLevel) -> str:
    """The vendor's word for a thinking level."""
    mapped = (model.thinking_level_map or {}).get(level)
    if mapped:
        return mapped
    return {"minimal": "low", "low": "low", "medium": "medium"}.get(level, "high")
