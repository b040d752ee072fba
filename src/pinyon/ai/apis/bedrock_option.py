"""What one Bedrock request asks for, settled before anything is encoded: model family, thinking, caching, limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pinyon.ai.apis.bedrock_region import AwsEnvironment, Endpoint, endpoint_of, is_gov_cloud
from pinyon.ai.estimate import adjust_for_thinking, clamp_max_tokens
from pinyon.ai.message import Message
from pinyon.ai.model import Model, ThinkingLevel, clamp_level
from pinyon.ai.option import StreamOptions, resolve_cache_retention

INTERLEAVED_THINKING_BETA = "interleaved-thinking-2025-05-14"
THINKING_BINDING_BETA = "thinking-binding-controls-2026-08-01"
LEAST_THINKING_TOKENS = 1024

Family = Literal["claude", "gpt-oss", "gpt", "other"]

_NOT_WORD = re.compile(r"[^a-z0-9]+")
_ADAPTIVE = re.compile(r"(?:opus-(?:4-[678]|5)|sonnet-(?:4-6|5)|haiku-5|fable-5)(?!\d)")
_BOUND = re.compile(r"(?:opus-(?:4-[78]|5)|sonnet-5|haiku-5|fable-5)(?!\d)")
_CACHING = re.compile(
    r"(?:3-5-haiku|haiku-3-5|3-7-sonnet|sonnet-3-7|(?:opus|sonnet|haiku|fable)-[45](?!\d)|claude-[45]-(?:opus|sonnet|haiku))"
)


class BedrockRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a request that does not stand in the messages."""

    model: Model
    options: StreamOptions
    env: AwsEnvironment
    endpoint: Endpoint
    family: Family
    max_tokens: int
    model_fields: dict[str, Any]
    cache_point: dict[str, Any] | None
    strict_tools: bool

    @property
    def is_claude(self) -> bool:
        """Whether signatures of thinking mean something to the model."""
        return self.family == "claude"

    @property
    def thinks(self) -> bool:
        """Whether the model is asked to think in a way that forbids setting a temperature."""
        return self.is_claude and "thinking" in self.model_fields


def settle(model: Model, messages: Sequence[Message], options: StreamOptions) -> BedrockRequest:
    """Resolve options, limits and region. Raises `ContextFullError` or `ConfigError`."""
    env = AwsEnvironment(options)
    endpoint = endpoint_of(model, env)
    family = family_of(model)
    level = _level(model, options)
    wanted, budget = _limits(model, family, level, options)
    limit = clamp_max_tokens(model, messages, wanted)
    return BedrockRequest(
        model=model,
        options=options,
        env=env,
        endpoint=endpoint,
        family=family,
        max_tokens=limit,
        model_fields=_model_fields(
            model,
            family,
            level,
            options,
            min(budget, limit - LEAST_THINKING_TOKENS),
            is_gov_cloud(model, endpoint.region),
        ),
        cache_point=_cache_point(model, options, env),
        strict_tools=(model.compat or {}).get("supportsStrictMode") is True,
    )


def family_of(model: Model) -> Family:
    """Whose model it is, as far as requests differ by it; read from id and name."""
    texts = (model.id.lower(), model.name.lower())
    if any("anthropic.claude" in text or "anthropic/claude" in text for text in texts) or "claude" in texts[1]:
        return "claude"
    if any("gpt-oss" in text for text in texts):
        return "gpt-oss"
    return "gpt" if any("gpt-" in text for text in texts) else "other"


def _versions(model: Model) -> str:
    """Id and name in one spelling: words and numbers joined by single dashes."""
    return " ".join(_NOT_WORD.sub("-", text.lower()) for text in (model.id, model.name))


def _level(model: Model, options: StreamOptions) -> ThinkingLevel:
    if not model.reasoning or options.reasoning in (None, "off"):
        return "off"
    return clamp_level(model, options.reasoning)


def _is_adaptive(model: Model) -> bool:
    return _ADAPTIVE.search(_versions(model)) is not None


def _limits(model: Model, family: Family, level: ThinkingLevel, options: StreamOptions) -> tuple[int, int]:
    """The wanted output limit and the part of it that thinking may use; 0 where thinking has no budget."""
    if family != "claude" or level == "off" or _is_adaptive(model):
        return options.max_tokens if options.max_tokens is not None else model.max_tokens, 0
    adjusted = adjust_for_thinking(options.max_tokens, model.max_tokens, level, options.thinking_budgets)
    return adjusted.max_tokens, adjusted.budget


def _model_fields(
    model: Model, family: Family, level: ThinkingLevel, options: StreamOptions, budget: int, is_gov: bool
) -> dict[str, Any]:
    """`additionalModelRequestFields`: how the model is told to think, in its maker's own words."""
    if level == "off":
        return {}
    match family:
        case "claude":
            display = {} if is_gov else {"display": (options.extra or {}).get("thinking_display") or "summarized"}
            if _is_adaptive(model):
                return _adaptive_fields(model, level, display, is_bound=not is_gov)
            return _budget_fields(options.extra or {}, budget, display)
        case "gpt-oss":
            return {"reasoning_effort": effort_of(model, level)}
        case "gpt":
            return {"reasoning": {"effort": effort_of(model, level, keep_high=True)}}
        case "other":
            return {}


def _adaptive_fields(model: Model, level: ThinkingLevel, display: dict[str, Any], *, is_bound: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"thinking": {"type": "adaptive", **display}}
    fields["output_config"] = {"effort": effort_of(model, level)}
    if is_bound and _BOUND.search(_versions(model)):
        fields["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        fields["anthropic_beta"] = [THINKING_BINDING_BETA]
    return fields


def _budget_fields(extra: Mapping[str, Any], budget: int, display: dict[str, Any]) -> dict[str, Any]:
    if budget < LEAST_THINKING_TOKENS:
        return {}  # smaller budgets are refused
    fields: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": budget, **display}}
    if extra.get("interleaved_thinking") is not False:
        fields["anthropic_beta"] = [INTERLEAVED_THINKING_BETA]
    return fields


def effort_of(model: Model, level: ThinkingLevel, *, keep_high: bool = False) -> str:
    """The word for a thinking level: the model's own, else low, medium or high; `keep_high` passes levels above on."""
    mapped = (model.thinking_level_map or {}).get(level)
    if mapped:
        return mapped
    if keep_high and level in ("xhigh", "max"):
        return level
    return {"minimal": "low", "low": "low", "medium": "medium"}.get(level, "high")


def _cache_point(model: Model, options: StreamOptions, env: AwsEnvironment) -> dict[str, Any] | None:
    retention = resolve_cache_retention(options)
    if retention == "none" or not _has_caching(model, env):
        return None
    point: dict[str, Any] = {"type": "default"}
    return {"cachePoint": point | {"ttl": "1h"} if retention == "long" else point}


def _has_caching(model: Model, env: AwsEnvironment) -> bool:
    if family_of(model) == "claude" and _CACHING.search(_versions(model)):
        return True
    return env.is_on("AWS_BEDROCK_FORCE_CACHE") and "claude" not in model.id.lower()
