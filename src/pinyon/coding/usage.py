"""Adding up usages."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from pinyon.ai.usage import Cost, Usage


def combine_usage(first: Usage, second: Usage) -> Usage:
    """The sum of two usages.

    The parts that not every provider reports are kept if either has them; the cost counts as the provider's own only if
    both do.
    """
    cost = Cost(
        input=first.cost.input + second.cost.input,
        output=first.cost.output + second.cost.output,
        cache_read=first.cost.cache_read + second.cost.cache_read,
        cache_write=first.cost.cache_write + second.cost.cache_write,
        total=first.cost.total + second.cost.total,
    )
    reported = (first.cost.total_from_provider, second.cost.total_from_provider)
    if UNSET not in reported:
        cost.total_from_provider = all(reported)
    total = Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cache_read=first.cache_read + second.cache_read,
        cache_write=first.cache_write + second.cache_write,
        total_tokens=first.total_tokens + second.total_tokens,
        cost=cost,
    )
    if first.reasoning is not UNSET or second.reasoning is not UNSET:
        total.reasoning = (first.reasoning or 0) + (second.reasoning or 0)
    if first.cache_write_1h is not UNSET or second.cache_write_1h is not UNSET:
        total.cache_write_1h = (first.cache_write_1h or 0) + (second.cache_write_1h or 0)
    return total


def total_usage(usages: Iterable[Usage]) -> Usage:
    """The sum of usages; zero without any."""
    total: Usage | None = None
    for usage in usages:
        total = msgspec.structs.replace(usage) if total is None else combine_usage(total, usage)
    return Usage() if total is None else total
