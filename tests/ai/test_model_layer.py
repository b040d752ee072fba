"""How built-in models, the user's file and registered providers combine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pinyon.ai.model import Model, ModelCost
from pinyon.ai.model_layer import ProviderLayers, build_models, merge_compat
from pinyon.ai.models_json import ProviderConfig, parse_models_text

BUILT_IN = [
    Model(
        id="big",
        name="Big",
        api="anthropic-messages",
        provider="p",
        base_url="https://vendor/a",
        reasoning=True,
        cost=ModelCost(input=1, output=2),
        compat={"supportsStrictTools": True, "chatTemplateKwargs": {"a": 1, "b": 2}},
        sampling_params={"top_p": 1, "top_k": 2},
        sampling_params_by_thinking_level={"low": {"x": {"y": 1}, "z": 1}},
        headers={"X-Vendor": "1"},
    ),
    Model(id="small", name="Small", api="openai-completions", provider="p", base_url="https://vendor/c"),
]


def file_config(entry: dict[str, Any]) -> ProviderConfig:
    file = parse_models_text(msgspec.json.encode({"providers": {"p": entry}}).decode())
    assert file.problems == []
    return file.providers["p"]


def build(entry: dict[str, Any], **layers: Any) -> list[Model]:
    models, problems = build_models(ProviderLayers(id="p", built_in=BUILT_IN, file=file_config(entry), **layers))
    assert problems == []
    return models


def by_id(models: list[Model]) -> dict[str, Model]:
    return {model.id: model for model in models}


def test_base_url_and_compat_of_the_file_reach_every_built_in_model_and_leave_the_originals_alone() -> None:
    models = by_id(
        build({"baseUrl": "http://proxy", "compat": {"supportsTemperature": False, "chatTemplateKwargs": {"b": 3}}})
    )
    assert {model.base_url for model in models.values()} == {"http://proxy"}
    assert models["big"].compat == {
        "supportsStrictTools": True,
        "supportsTemperature": False,
        "chatTemplateKwargs": {"a": 1, "b": 3},
    }
    assert BUILT_IN[0].base_url == "https://vendor/a"
    assert BUILT_IN[1].compat is msgspec.UNSET


def test_an_own_model_gets_the_defaults_of_the_format() -> None:
    model = by_id(build({"models": [{"id": "mine", "api": "openai-completions", "baseUrl": "http://h"}]}))["mine"]
    assert msgspec.to_builtins(model) == {
        "id": "mine",
        "name": "mine",
        "api": "openai-completions",
        "provider": "p",
        "baseUrl": "http://h",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 128_000,
        "maxTokens": 16_384,
    }


def test_an_entry_with_a_built_in_id_replaces_all_its_metadata_and_keeps_its_place() -> None:
    models = build({"models": [{"id": "big"}]})
    assert [model.id for model in models] == ["big", "small"]
    assert models[0] == Model(id="big", name="big", api="anthropic-messages", provider="p", base_url="https://vendor/a")


@pytest.mark.parametrize(
    ("entry", "endpoint"),
    [
        ({"models": [{"id": "x"}]}, ("openai-completions", "https://vendor/c")),
        ({"models": [{"id": "big"}]}, ("anthropic-messages", "https://vendor/a")),
        ({"models": [{"id": "x", "api": "anthropic-messages"}]}, ("anthropic-messages", "https://vendor/a")),
        ({"baseUrl": "http://b", "models": [{"id": "x"}]}, ("openai-completions", "http://b")),
        ({"api": "anthropic-messages", "models": [{"id": "x"}]}, ("anthropic-messages", "https://vendor/a")),
        ({"baseUrl": "http://b", "models": [{"id": "x", "baseUrl": "http://m"}]}, ("openai-completions", "http://m")),
    ],
)
def test_api_and_address_of_an_own_model_are_found(entry: dict[str, Any], endpoint: tuple[str, str]) -> None:
    model = by_id(build(entry))[entry["models"][0]["id"]]
    assert (model.api, model.base_url) == endpoint


@pytest.mark.parametrize(
    ("entry", "missing"),
    [({"baseUrl": "http://h", "models": [{"id": "x"}, {"id": "y", "api": "faux"}]}, "api"),
     ({"api": "faux", "models": [{"id": "x"}, {"id": "y", "baseUrl": "http://h"}]}, "baseUrl")],
)  # fmt: skip
def test_a_model_without_api_or_address_is_named_and_the_others_stay(entry: dict[str, Any], missing: str) -> None:
    models, problems = build_models(ProviderLayers(id="p", file=file_config(entry)))
    assert [model.id for model in models] == ["y"]
    (problem,) = problems
    assert f"model 'x' has no {missing}" in problem.message
    assert problem.message.startswith("models.json:1:")


def test_a_known_provider_whose_api_is_not_spoken_lends_its_address_and_is_told() -> None:
    file = parse_models_text('{"providers": {"typesafe": {"models": [{"id": "x"}]}}}')
    (model,), (problem,) = build_models(ProviderLayers(id="typesafe", file=file.providers["typesafe"]))
    assert "has the api 'typesafe-system-one', which this version does not speak" in problem.message
    assert (model.api, model.base_url) == (
        "typesafe-system-one",
        "https://api.typesafe.ai/v1/",
    )


def test_model_compat_wins_over_provider_compat_per_flag() -> None:
    entry = {
        "compat": {"supportsStore": True, "openRouterRouting": {"sort": "price", "only": ["a"]}},
        "models": [{"id": "x", "compat": {"supportsStore": False, "openRouterRouting": {"sort": "latency"}}}],
    }
    assert by_id(build(entry))["x"].compat == {
        "supportsStore": False,
        "openRouterRouting": {"sort": "latency", "only": ["a"]},
    }


def test_null_flags_return_to_what_is_detected() -> None:
    assert merge_compat({"a": True, "b": 1}, {"a": None}) == {"b": 1}


def test_overrides_merge_objects_and_replace_the_rest() -> None:
    override = {
        "name": "Renamed",
        "input": ["text", "image"],
        "contextWindow": 5e5,
        "cost": {"output": 9},
        "thinkingLevelMap": {"low": None},
        "promptCache": {"short": 60},
        "samplingParams": {"top_p": 0.5},
        "samplingParamsByThinkingLevel": {"low": {"x": {"q": 2}}, "high": {"t": 1}},
        "inputLimits": {"images": {"resize": {"maxWidth": 10}}},
        "compat": {"supportsTemperature": False},
        "headers": {"Authorization": "secret"},
    }
    model = by_id(build({"modelOverrides": {"big": override, "nobody": {"name": "x"}}}))["big"]
    assert model.name == "Renamed"
    assert model.context_window == 500_000
    assert (model.cost.input, model.cost.output) == (1, 9)
    assert model.sampling_params == {"top_p": 0.5, "top_k": 2}
    assert model.sampling_params_by_thinking_level == {"low": {"x": {"q": 2}, "z": 1}, "high": {"t": 1}}
    assert msgspec.to_builtins(model.input_limits) == {"images": {"resize": {"maxWidth": 10}}}
    assert model.headers == {"X-Vendor": "1"}
    assert (model.reasoning, model.max_tokens) == (True, 16_384)
    twice = build({"models": [{"id": "own"}], "modelOverrides": {"own": {"maxTokens": 7}}})
    assert by_id(twice)["own"].max_tokens == 7


def test_a_program_that_lists_models_replaces_the_list_and_one_that_does_not_only_moves_it() -> None:
    program = ProviderConfig(id="p", base_url="http://prog", api="a", models=[{"id": "only"}])
    entry = {"baseUrl": "http://file", "models": [{"id": "own"}], "modelOverrides": {"only": {"name": "Named"}}}
    replaced = build(entry, program=program, program_lists_models=True)
    assert [(model.id, model.name, model.base_url) for model in replaced] == [("only", "Named", "http://prog")]
    moved = build(entry, program=ProviderConfig(id="p", base_url="http://prog"))
    assert {model.id: model.base_url for model in moved} == dict.fromkeys(("big", "small", "own"), "http://prog")


def test_models_are_adjusted_to_the_account_before_overrides() -> None:
    models = build({"modelOverrides": {"big": {"name": "last"}}}, modify=lambda models: models[:1])
    assert [(model.id, model.name) for model in models] == [("big", "last")]


def test_a_program_that_fails_to_adjust_models_leaves_them_and_is_reported() -> None:
    def broken(_: object) -> list[Model]:
        raise KeyError("plan")

    models, problems = build_models(ProviderLayers(id="p", built_in=BUILT_IN, modify=broken))
    assert models == BUILT_IN
    assert "could not fit its models to the account (KeyError" in problems[0].message
