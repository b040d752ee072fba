"""`models.json`: what is read, what one fault costs, and how faults are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.model_layer import ProviderLayers, build_models
from pinyon.ai.models_json import load_models_file, parse_models_text
from pinyon.ai.models_schema import MODEL_FIELDS, OVERRIDE_FIELDS, PROVIDER_FIELDS

CANARY = "sk-canary-0123456789abcdef"


def parse(providers: Any) -> Any:
    return parse_models_text(json.dumps({"providers": providers}))


def messages_of(providers: Any) -> list[str]:
    return [problem.message for problem in parse(providers).problems]


def test_a_full_entry_is_read() -> None:
    text = """\ufeff{
      // a comment
      "$schema": "https://example.com",
      "providers": {
        "mine": {
          "name": "Mine", "baseUrl": "http://h/v1", "apiKey": "$KEY", "api": "openai-completions",
          "headers": {"X-A": "b"}, "compat": {"supportsStore": false, "futureFlag": [1]}, "authHeader": true,
          "models": [{"id": "m", "contextWindow": 1000, "unknown": 1},],
          "modelOverrides": {"m": {"name": "M", "cost": {"input": 1}}},
          "unknown": true,
        },
      }, // end
    }"""
    file = parse_models_text(text)
    config = file.providers["mine"]
    assert file.problems == []
    assert (config.name, config.base_url, config.api_key, config.api) == (
        "Mine",
        "http://h/v1",
        "$KEY",
        "openai-completions",
    )
    assert (config.headers, config.auth_header) == ({"X-A": "b"}, True)
    assert config.models == [{"id": "m", "contextWindow": 1000, "unknown": 1}]
    assert config.overrides == {"m": {"name": "M", "cost": {"input": 1}}}


@pytest.mark.parametrize(
    ("key", "meant"),
    [("modelz", "models"), ("model", "models"), ("baseURL", "baseUrl"), ("base_url", "baseUrl"), ("header", "headers")],
)
def test_a_key_that_is_nearly_a_known_one_is_told_and_nothing_else_suffers(key: str, meant: str) -> None:
    (message,) = messages_of({"mine": {"apiKey": CANARY, key: CANARY}})
    assert f"providers.mine.{key} " in message
    assert repr(meant) in message
    assert CANARY not in message
    assert list(parse({"mine": {"apiKey": CANARY, key: CANARY}}).providers) == ["mine"]


def test_a_misspelt_beginning_of_the_file_is_told() -> None:
    messages = [problem.message for problem in parse_models_text('{"provider": {}}').problems]
    assert "provider is no known key; 'providers' may be meant" in messages[0]


def test_a_key_that_stands_beside_the_known_one_is_nobodys_business() -> None:
    assert messages_of({"mine": {"baseUrl": "http://h", "baseURL": "http://h", "note": "x", "future": [1]}}) == []


def test_a_number_beyond_all_bounds_is_a_fault_of_its_model() -> None:
    text = (
        '{"providers": {"mine": {"baseUrl": "http://h", "models": [{"id": "m", "contextWindow": 1e999}, {"id": "n"}]}}}'
    )
    file = parse_models_text(text)
    assert ["contextWindow" in problem.message for problem in file.problems] == [True]
    assert file.providers["mine"].models == [{"id": "n"}]


def test_a_missing_file_says_nothing(tmp_path: Path) -> None:
    file = load_models_file(tmp_path / "models.json")
    assert (file.providers, file.problems) == ({}, [])


def test_one_bad_model_disables_only_itself_and_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(
        """{"providers": {
  "good": {"baseUrl": "http://h", "api": "openai-completions", "apiKey": "k", "models": [{"id": "g"}]},
  "bad": {
    "baseUrl": "http://h", "api": "openai-completions", "apiKey": "k",
    "models": [
      {"id": ""},
      {"id": "fine"}
    ]
  }
}}"""
    )
    file = load_models_file(path)
    assert [model["id"] for model in file.providers["good"].models] == ["g"]
    assert [model["id"] for model in file.providers["bad"].models] == ["fine"]
    (problem,) = file.problems
    assert problem.message == (
        f"{path}:6:14: providers.bad.models.0.id must be a text that is not empty; this model is ignored"
    )
    assert problem.provider_id == "bad"


def test_a_bad_field_of_a_provider_disables_its_entry_and_a_bad_override_only_itself() -> None:
    file = parse(
        {
            "a": {"baseUrl": 5, "models": [{"id": "m"}]},
            "b": {"baseUrl": "http://h", "modelOverrides": {"x": {"maxTokens": 0}, "y": {"maxTokens": 5}}},
            "c": [],
            " ": {"baseUrl": "http://h"},
        }
    )
    assert set(file.providers) == {"b"}
    assert list(file.providers["b"].overrides) == ["y"]
    texts = " | ".join(problem.message for problem in file.problems)
    for part in (
        "providers.a.baseUrl must be a text",
        "the entry of provider 'a' is ignored",
        "providers.b.modelOverrides.x.maxTokens must be a positive number; this override is ignored",
        "providers.c must be an object",
        "has an empty id",
    ):
        assert part in texts


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"name": "n"}, "says nothing"),
        ({}, "says nothing"),
        ({"oauth": "radius"}, "needs a baseUrl"),
        ({"oauth": "other", "baseUrl": "http://h"}, "oauth must be one of radius"),
        ({"apiKey": ""}, "apiKey must be a text"),
        ({"headers": {"X": 1}}, "headers.X must be a text"),
        ({"authHeader": "yes"}, "authHeader must be true or false"),
        ({"models": {}}, "models must be an array"),
        ({"compat": {"supportsStore": "yes"}}, "compat.supportsStore must be true or false"),
        ({"compat": {"thinkingFormat": "loud"}}, "compat.thinkingFormat must be one of openai"),
    ],
)
def test_faults_of_providers_are_explained(entry: dict[str, Any], reason: str) -> None:
    (message,) = messages_of({"p": entry})
    assert reason in message


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({}, "id is missing"),
        ({"id": 5}, "id must be a text"),
        ("m", "must be an object"),
        ({"id": "m", "contextWindow": 0}, "contextWindow must be a positive number"),
        ({"id": "m", "maxTokens": -1}, "maxTokens must be a positive number"),
        ({"id": "m", "maxTokens": True}, "maxTokens must be a positive number"),
        ({"id": "m", "reasoning": None}, "reasoning must be true or false"),
        ({"id": "m", "input": ["text", "smell"]}, "input.1 must be one of text, image"),
        ({"id": "m", "cost": {"input": 1}}, "cost.output is missing"),
        ({"id": "m", "thinkingLevelMap": {"high": 1}}, "thinkingLevelMap.high must be a text"),
        ({"id": "m", "promptCache": {"short": 0}}, "promptCache.short must be a number above 0"),
        ({"id": "m", "inputLimits": {"images": {"resize": {"jpegQuality": 101}}}}, "jpegQuality must be an integer"),
        ({"id": "m", "samplingParamsByThinkingLevel": {"low": 1}}, "low must be an object"),
        ({"id": "m", "compat": {"allowedFallbackModels": [{"model": "x"}]}}, "0.provider is missing"),
    ],
)
def test_faults_of_models_are_explained(model: Any, reason: str) -> None:
    file = parse({"p": {"baseUrl": "http://h", "models": [model, {"id": "other"}]}})
    assert reason in " | ".join(problem.message for problem in file.problems)
    assert [entry["id"] for entry in file.providers["p"].models] == ["other"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1, column 1"),
        ("{", "line 1"),
        ("[]", "must be an object with the key 'providers'"),
        ("{}", "providers must be an object"),
        ('{"providers": []}', "providers must be an object"),
        ('{"providers": {} /* no */}', "line 1, column 18"),
    ],
)
def test_a_file_that_is_no_models_file_is_not_used_and_says_where(text: str, reason: str) -> None:
    file = parse_models_text(text, "/x/models.json")
    assert file.providers == {}
    (problem,) = file.problems
    assert problem.message.startswith("/x/models.json")
    assert reason in problem.message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "models.json").mkdir()
    (tmp_path / "latin.json").write_bytes(b'{"providers": "\xe9"}')
    assert "cannot be read" in load_models_file(tmp_path / "models.json").problems[0].message
    assert "not UTF-8" in load_models_file(tmp_path / "latin.json").problems[0].message


def test_null_flags_of_compat_are_allowed() -> None:
    assert messages_of({"p": {"compat": {"supportsStore": None, "thinkingFormat": None}}}) == []


def test_no_fault_shows_the_value_of_a_field() -> None:
    file = parse(
        {
            "a": {"apiKey": [CANARY], "headers": {"X": [CANARY]}, "baseUrl": {"x": CANARY}, "api": [CANARY]},
            "b": {"apiKey": CANARY, "oauth": CANARY, "models": [{"id": [CANARY]}]},
            "c": {"apiKey": CANARY, "headers": {"Authorization": CANARY}, "models": []},
        }
    )
    assert file.problems
    assert CANARY not in repr(file.problems)
    assert CANARY not in repr(file)


junk = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.dictionaries(st.sampled_from([*PROVIDER_FIELDS, *MODEL_FIELDS, *OVERRIDE_FIELDS]), junk, max_size=6)


@given(st.dictionaries(st.text(max_size=4), fields | junk, max_size=3))
def test_no_content_makes_the_reader_fail(providers: dict[str, Any]) -> None:
    file = parse(providers)
    assert set(file.providers) <= set(providers) | {"azure"}
    for config in file.providers.values():
        models, problems = build_models(ProviderLayers(id=config.id, file=config))
        assert len(models) <= len(config.models)
        assert len(models) + len(problems) >= len({model["id"] for model in config.models})
