"""How well the prompt cache of a provider worked: what was paid for tokens that it should have held.

A request repeats what the one before it sent. What is then neither read from the cache nor new was missed: the cache
had run out, or something at the beginning of the prompt had changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pinyon.ai.codec import usage_from_wire
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.session.entry import SessionEntry

MIN_MISSED_TOKENS = 1024
"""Misses up to this size are noise: providers cache in blocks."""

LIKELY_EXPIRY_MS = 5 * 60 * 1000
"""Idle time after which a cache has likely run out."""

FindModel = Callable[[str, str], Model | None]
"""Gives the catalogue's model by provider and id, for its prices."""


class CacheMiss(msgspec.Struct, frozen=True, kw_only=True):
    """One request that paid for cached tokens again. `cost` is in US dollars, `idle_ms` since the request before."""

    entry_id: str
    missed_tokens: int | float
    cost: float
    idle_ms: int | float
    model_changed: bool

    @property
    def is_likely_expiry(self) -> bool:
        """Whether the pause before the request explains the miss."""
        return self.idle_ms > LIKELY_EXPIRY_MS


class CacheWaste(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of the misses. `cost` is in US dollars."""

    missed_tokens: int | float
    cost: float
    misses: list[CacheMiss]


class _Baseline(msgspec.Struct, frozen=True):
    """What the cache should hold: tokens of the last prompt, when it was sent, and to which model."""

    tokens: int | float
    timestamp: int | float
    model: tuple[str, str]


def compute_cache_waste(entries: Iterable[SessionEntry], find_model: FindModel) -> CacheWaste:
    """Sum up the misses of a session."""
    misses = collect_cache_misses(entries, find_model)
    return CacheWaste(
        missed_tokens=sum(miss.missed_tokens for miss in misses),
        cost=sum(miss.cost for miss in misses),
        misses=misses,
    )


def collect_cache_misses(entries: Iterable[SessionEntry], find_model: FindModel) -> list[CacheMiss]:
    """The requests of a session that paid for tokens again, in order."""
    return list(_walk(entries, find_model))


def _walk(entries: Iterable[SessionEntry], find_model: FindModel) -> Iterator[CacheMiss]:
    baseline: _Baseline | None = None
    is_cache_known = False
    for entry in entries:
        if entry.type in ("compaction", "branch_summary"):
            baseline = None
        elif entry.type == "usage" and entry.usage_kind == "cache_warm" and isinstance(entry.usage, dict):
            usage = usage_from_wire(entry.usage)
            baseline = _Baseline(prompt_tokens(usage), entry.timestamp_ms, (entry.provider, entry.model))
        elif isinstance(entry.message, AssistantMessage) and prompt_tokens(entry.message.usage):
            answer = entry.message
            is_cache_known = is_cache_known or bool(answer.usage.cache_read or answer.usage.cache_write)
            if baseline is not None and is_cache_known:
                miss = _miss(entry.id, answer, baseline, find_model)
                if miss is not None:
                    yield miss
            baseline = _Baseline(prompt_tokens(answer.usage), answer.timestamp, (answer.provider, answer.model))


def detect_cache_miss(
    previous: AssistantMessage | None, answer: AssistantMessage, find_model: FindModel, entry_id: str = ""
) -> CacheMiss | None:
    """Whether an answer paid again for what the one before it had sent; None where it did not."""
    if previous is None or not prompt_tokens(previous.usage):
        return None
    usages = (previous.usage, answer.usage)
    if not any(usage.cache_read or usage.cache_write for usage in usages):
        return None
    baseline = _Baseline(prompt_tokens(previous.usage), previous.timestamp, (previous.provider, previous.model))
    return _miss(entry_id, answer, baseline, find_model)


def prompt_tokens(usage: Usage) -> int | float:
    """All tokens of the prompt, cached or not."""
    return usage.input + usage.cache_read + usage.cache_write


def _miss(entry_id: str, answer: AssistantMessage, baseline: _Baseline, find_model: FindModel) -> CacheMiss | None:
    usage = answer.usage
    missed = min(baseline.tokens, prompt_tokens(usage)) - usage.cache_read
    if missed <= MIN_MISSED_TOKENS:
        return None
    return CacheMiss(
        entry_id=entry_id,
        missed_tokens=missed,
        cost=missed * max(0.0, _paid_rate(usage) - _read_rate(answer, find_model)),
        idle_ms=max(0, answer.timestamp - baseline.timestamp),
        model_changed=(answer.provider, answer.model) != baseline.model,
    )


def _paid_rate(usage: Usage) -> float:
    """US dollars for one token that was not read from the cache."""
    tokens = usage.input + usage.cache_write
    return (usage.cost.input + usage.cost.cache_write) / tokens if tokens else 0.0


def _read_rate(answer: AssistantMessage, find_model: FindModel) -> float:
    """US dollars for one token read from the cache."""
    if answer.usage.cache_read:
        return answer.usage.cost.cache_read / answer.usage.cache_read
    model = find_model(answer.provider, answer.model)
    return model.cost.cache_read / 1_000_000 if model is not None else 0.0
