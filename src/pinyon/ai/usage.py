"""Token usage and cost of one model answer. Tokens are counts; costs are US dollars."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

Number = int | float
"""A JSON number; integral values are ints so that they print as integers."""


class Cost(msgspec.Struct, rename="camel"):
    """US dollars by kind of token. `total_from_provider` tells whether the provider itself reported `total`."""

    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    total: int | float = 0
    total_from_provider: bool | UnsetType = UNSET


class Usage(
    msgspec.Struct,
    rename={
        "cache_read": "cacheRead",
        "cache_write": "cacheWrite",
        "total_tokens": "totalTokens",
        "cache_write_1h": "cacheWrite1h",
    },
):
    """Tokens of one answer: `input` excludes cached tokens, `reasoning` is part of `output`,
    `cache_write_1h` is part of `cache_write`.
    """

    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    total_tokens: int | float = 0
    cost: Cost = msgspec.field(default_factory=Cost)
    cache_write_1h: int | float | UnsetType = UNSET
    reasoning: int | float | UnsetType = UNSET
