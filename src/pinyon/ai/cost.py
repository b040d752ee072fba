"""What an answer cost: token counts times the rates of the model, or what the provider itself reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pinyon._util.json import plain_number
from pinyon.ai.model import CostTier, Model, ModelCost
from pinyon.ai.usage import Cost, Usage

_PER_MILLION = 1_000_000


def input_tokens(usage: Usage) -> int | float:
    """Everything the model read: fresh, cached and newly cached tokens."""
    return usage.input + usage.cache_read + usage.cache_write


def rates_for(cost: ModelCost, usage: Usage) -> ModelCost | CostTier:
    """The rates that hold for a whole request of this size: those of the highest tier it exceeds."""
    size = input_tokens(usage)
    exceeded = [tier for tier in cost.tiers or () if size > tier.input_tokens_above]
    return max(exceeded, key=lambda tier: tier.input_tokens_above, default=cost)


def token_cost(cost: ModelCost, usage: Usage) -> Cost:
    """US dollars for the token counts of `usage`. Writes into the one-hour cache cost twice the input rate."""
    rates = rates_for(cost, usage)
    long_writes = usage.cache_write_1h or 0
    parts = (
        rates.input / _PER_MILLION * usage.input,
        rates.output / _PER_MILLION * usage.output,
        rates.cache_read / _PER_MILLION * usage.cache_read,
        (rates.cache_write * (usage.cache_write - long_writes) + rates.input * 2 * long_writes) / _PER_MILLION,
    )
    return _summed(*parts)


def _summed(fresh: float, output: float, cache_read: float, cache_write: float) -> Cost:
    return Cost(
        input=plain_number(fresh),
        output=plain_number(output),
        cache_read=plain_number(cache_read),
        cache_write=plain_number(cache_write),
        total=plain_number(fresh + output + cache_read + cache_write),
        total_from_provider=False,
    )


def apply_cost(model: Model, usage: Usage) -> Usage:
    """Set `usage.cost` from the model's rates and return `usage`."""
    usage.cost = token_cost(model.cost, usage)
    return usage


def apply_service_tier(model: Model, usage: Usage, tier: str | None, priority_names: frozenset[str]) -> None:
    """Multiply the cost by the factor of a service tier: `flex` halves it, priority processing at least doubles it.

    `priority_names` are the tier names that mean priority processing in the calling wire API.
    """
    factor = 1.0
    if tier == "flex":
        factor = 0.5
    elif tier in priority_names:
        factor = 2.5 if model.id == "gpt-5.5" else 2.0
    if factor != 1:
        cost = usage.cost
        usage.cost = _summed(
            cost.input * factor, cost.output * factor, cost.cache_read * factor, cost.cache_write * factor
        )


def is_openrouter(model: Model) -> bool:
    """Whether the model is reached through OpenRouter, which reports costs itself."""
    return model.provider == "openrouter" or "openrouter.ai" in model.base_url


def reported_total(raw_usage: Mapping[str, Any]) -> float | None:
    """The total that OpenRouter reports in a usage object, None where it reports none that can be trusted.

    With a key of one's own (`is_byok`) what the upstream provider charges comes on top.
    """
    own, with_own_key = _amount(raw_usage.get("cost")), raw_usage.get("is_byok")
    if own is None or not isinstance(with_own_key, bool):
        return None
    if not with_own_key:
        return own
    upstream = _upstream_cost(raw_usage.get("cost_details"))
    return None if upstream is None else own + upstream


def _upstream_cost(details: Any) -> float | None:
    if not isinstance(details, Mapping):
        return None
    whole = details.get("upstream_inference_cost")
    if whole is not None:
        return _amount(whole)
    prompt = _amount(details.get("upstream_inference_prompt_cost"))
    completions = _amount(details.get("upstream_inference_completions_cost"))
    return None if prompt is None or completions is None else prompt + completions


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and value >= 0 else None


def apply_reported_total(model: Model, usage: Usage, raw_usage: Mapping[str, Any]) -> None:
    """Replace the computed total by the one OpenRouter reports, where it does."""
    if not is_openrouter(model):
        return
    total = reported_total(raw_usage)
    if total is not None:
        usage.cost.total = plain_number(total)
        usage.cost.total_from_provider = True
