"""Providers that tell themselves which models an account may use: where they are asked, and how they answer.

OpenRouter: `GET /models/user`, as its API reference describes it. Radius: `GET /config` of the gateway, with the
models' common address and their descriptors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.wire_value import json_count, json_object
from pinyon.errors import ConfigError

PER_MILLION = 1e6
DEFAULT_OUTPUT_TOKENS = 32_768

Rows = list[dict[str, Any]]


class OwnListing(msgspec.Struct, frozen=True):
    """A provider's list of models: its path below the provider's address, and descriptors from what it answers."""

    path: str
    rows: Callable[[Any], Rows]


def radius_rows(value: Any) -> Rows:
    """Descriptors from a gateway's configuration. Raises `ConfigError`."""
    if not isinstance(value, dict) or not isinstance(value.get("models"), list):
        raise ConfigError("the gateway's answer holds no models")
    base = {"baseUrl": value["baseUrl"]} if isinstance(value.get("baseUrl"), str) else {}
    return [{**base, **row} for row in value["models"] if isinstance(row, dict)]


def openrouter_rows(value: Any) -> Rows:
    """Descriptors from OpenRouter's list: models that read text, write text and call tools. Raises `ConfigError`."""
    listed = value.get("data") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise ConfigError("the answer holds no 'data'")
    rows = (_openrouter_row(entry) for entry in listed if isinstance(entry, dict))
    return [row for row in rows if row is not None]


def _openrouter_row(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    features = _listed(entry, "supported_parameters")
    architecture, top = json_object(entry.get("architecture")), json_object(entry.get("top_provider"))
    window = json_count(top.get("context_length")) or json_count(entry.get("context_length"))
    if "tools" not in features or "text" not in _listed(architecture, "output_modalities", ["text"]) or not window:
        return None
    output = json_count(top.get("max_completion_tokens"))
    is_anthropic = str(entry.get("id", "")).lstrip("~").startswith("anthropic/")
    return {
        "id": entry.get("id"),
        "name": str(entry.get("name") or entry.get("id")).rpartition(": ")[2],
        "api": "anthropic-messages" if is_anthropic else "openai-completions",
        "reasoning": "reasoning" in features,
        "input": ["text", "image"] if "image" in _listed(architecture, "input_modalities") else ["text"],
        "contextWindow": window,
        "maxTokens": output or min(DEFAULT_OUTPUT_TOKENS, window // 4),
        "cost": _openrouter_cost(json_object(entry.get("pricing"))),
    }


def _listed(value: Mapping[str, Any], name: str, default: Sequence[str] = ()) -> Sequence[Any]:
    listed = value.get(name)
    return listed if isinstance(listed, list) else default


def _openrouter_cost(pricing: Mapping[str, Any]) -> dict[str, float]:
    names = {"input": "prompt", "output": "completion", "cacheRead": "input_cache_read"}
    names["cacheWrite"] = "input_cache_write"
    rates = {field: _rate(pricing.get(name)) for field, name in names.items()}
    known = {field: rate for field, rate in rates.items() if rate is not None}
    return {"input": 0, "output": 0, "cacheRead": known.get("input", 0), "cacheWrite": 0, **known}


def _rate(value: Any) -> float | None:
    """A price for a million tokens from the text that says it for one; negative ones stand for "depends"."""
    try:
        rate = round(float(value) * PER_MILLION, 6)
    except (TypeError, ValueError, OverflowError):
        return None
    return rate if 0 <= rate < math.inf else None


OWN_LISTINGS: Mapping[str, OwnListing] = {
    "openrouter": OwnListing("/models/user", openrouter_rows),
    "radius": OwnListing("/config", radius_rows),
}
"""Providers that are asked themselves, with the user's key."""
