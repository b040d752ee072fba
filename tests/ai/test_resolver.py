from collections.abc import Callable
from typing import Any

import pytest

from pinyon.ai.model import Model
from pinyon.ai.resolver import (
    AmbiguousModelError,
    ResolvedModel,
    UnknownModelError,
    glob_matcher,
    initial_model,
    resolve,
    resolve_cli_model,
    resolve_scope,
)


def model(spec: str, name: str | None = None) -> Model:
    provider, _, model_id = spec.partition("|")
    return Model(id=model_id, name=name or model_id, api="openai-completions", provider=provider, base_url="http://x")


MODELS = [
    model("openai|gpt-5"),
    model("openai|gpt-5-mini"),
    model("azure|gpt-5"),
    model("openrouter|openai/gpt-5"),
    model("openrouter|z-ai/glm-5"),
    model("zai|glm-5"),
    model("qwen|qwen3-coder:exacto"),
    model("anthropic|claude-sonnet-4-5", "Claude Sonnet 4.5"),
    model("anthropic|claude-sonnet-4-5-20250929", "Claude Sonnet 4.5 (dated)"),
    model("anthropic|claude-opus-4-5", "Claude Opus 4.5"),
    model("odd|bracketed[1m]"),
]


def usable_only(*providers: str) -> Callable[[str], bool]:
    return lambda provider: provider in providers


@pytest.mark.parametrize(
    ("text", "providers", "expected"),
    [
        ("openai/gpt-5", ["openrouter"], "openrouter/openai/gpt-5"),
        ("openai/gpt-5", ["openrouter", "openai"], "openai/gpt-5"),
        ("zai/glm-5", [], "zai/glm-5"),
        ("gpt-5", ["azure"], "azure/gpt-5"),
        ("  Anthropic/CLAUDE-opus-4-5 ", [], "anthropic/claude-opus-4-5"),
        ("sonnet", [], "anthropic/claude-sonnet-4-5"),
        ("bracketed[1m]", [], "odd/bracketed[1m]"),
    ],
)
def test_a_spec_finds_its_model(text: str, providers: list[str], expected: str) -> None:
    found = resolve(text, MODELS, usable=usable_only(*providers))
    assert found is not None
    assert found.model.spec == expected
    assert found.thinking_level is None


def test_the_same_id_at_several_providers_is_ambiguous_and_names_the_candidates() -> None:
    with pytest.raises(AmbiguousModelError, match=r"azure/gpt-5.*openai/gpt-5.*none of them"):
        resolve("gpt-5", MODELS, usable=usable_only())


def test_a_level_suffix_is_split_off_only_where_no_id_has_it() -> None:
    found = resolve("qwen/qwen3-coder:exacto:low", MODELS, usable=usable_only())
    assert found is not None
    assert (found.model.id, found.thinking_level) == ("qwen3-coder:exacto", "low")


def test_an_invalid_suffix_fails_strictly_and_warns_leniently() -> None:
    assert resolve("sonnet:bogus", MODELS, usable=usable_only()) is None
    found = resolve("sonnet:bogus", MODELS, usable=usable_only(), suffix="lenient")
    assert found is not None
    assert "'bogus'" in (found.warning or "")


def cli(text: str, **options: Any) -> ResolvedModel:
    return resolve_cli_model(
        text, MODELS, usable=usable_only("anthropic"), defaults={"anthropic": "claude-opus-4-5"}.get, **options
    )


def test_an_unknown_id_under_a_known_provider_is_a_custom_model_with_a_warning() -> None:
    found = cli("anthropic/foo:bar")
    assert (found.model.provider, found.model.id) == ("anthropic", "foo:bar")
    assert "'foo:bar'" in (found.warning or "")
    assert found.thinking_level is None


def test_a_custom_model_takes_its_level_from_the_suffix_and_counts_as_reasoning() -> None:
    found = cli("next", provider="anthropic", thinking_level="high")
    assert (found.model.id, found.thinking_level, found.model.reasoning) == ("next", "high", True)
    found = cli("anthropic/next:low")
    assert (found.model.id, found.thinking_level, found.model.reasoning) == ("next", "low", True)


def test_a_flag_beats_the_suffix() -> None:
    assert cli("sonnet:low", thinking_level="high").thinking_level == "high"


@pytest.mark.parametrize(
    ("text", "options"), [("sonnet:bogus", {}), ("nothing-like-this", {}), ("gpt-5", {"provider": "nobody"})]
)
def test_what_nothing_matches_is_an_error_that_points_to_the_list(text: str, options: dict[str, str]) -> None:
    with pytest.raises(UnknownModelError, match="--list-models"):
        cli(text, **options)


def test_an_inline_key_never_lets_stored_credentials_choose() -> None:
    with pytest.raises(AmbiguousModelError, match="does not choose"):
        resolve_cli_model("gpt-5", MODELS, usable=usable_only("azure"), defaults=lambda _: None, has_inline_key=True)


def test_scopes_keep_order_drop_repeats_and_carry_levels() -> None:
    scoped, remarks = resolve_scope(["opus:high", "claude-*:low", "gone"], MODELS, usable=usable_only())
    assert [(item.model.id, item.thinking_level) for item in scoped] == [
        ("claude-opus-4-5", "high"),
        ("claude-sonnet-4-5", "low"),
        ("claude-sonnet-4-5-20250929", "low"),
    ]
    assert [(remark.code, remark.pattern) for remark in remarks] == [("no-match", "gone")]


def test_an_ambiguous_scope_pattern_adds_all_candidates() -> None:
    scoped, remarks = resolve_scope(["gpt-5"], MODELS, usable=usable_only())
    assert {item.model.provider for item in scoped} == {"openai", "azure"}
    assert [remark.code for remark in remarks] == ["ambiguous"]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("openai/*", "openai/gpt-5", True),
        ("openai/*", "openrouter/openai/gpt-5", False),
        ("**/gpt-5", "openrouter/openai/gpt-5", True),
        ("{zai,qwen}/*", "zai/glm-5", True),
        ("gpt-[0-5]", "gpt-5", True),
        ("gpt-?", "gpt-5", True),
        ("!gpt-*", "gpt-5", False),
        ("GPT-*", "gpt-5", True),
        ("a.c", "abc", False),
        ("m{1..3}", "m2", True),
        ("m{1..3}", "m4", False),
        ("m{3..1}", "m2", True),
        ("[z-a]", "[z-a]", True),
        ("[[a]b", "[b", True),
        ("[!a]b", "ab", False),
        ("[", "[", True),
        ("a**", "a/b", True),
    ],
)
def test_globs_stop_at_slashes_and_ignore_case(pattern: str, text: str, matches: bool) -> None:
    assert glob_matcher(pattern)(text) is matches


def test_the_initial_model_is_scoped_then_default_then_table_order() -> None:
    usable = usable_only("zai", "openai")
    scoped, _ = resolve_scope(["zai/*"], MODELS, usable=usable)
    table = [("anthropic", "claude-opus-4-5"), ("openai", "gpt-5")]

    def choose(default: tuple[str | None, str | None], **options: Any) -> str | None:
        found = initial_model(MODELS, usable=usable, default=default, provider_defaults=table, **options)
        return found.model.spec if found else None

    assert choose((None, None), scoped=scoped) == "zai/glm-5"
    assert choose(("zai", "glm-5")) == "zai/glm-5"
    assert choose(("anthropic", "claude-opus-4-5")) == "openai/gpt-5"
    assert initial_model([], usable=usable, default=(None, None), provider_defaults=table) is None


@pytest.mark.parametrize(
    ("ids", "best"),
    [
        (["m-5", "m-5.1"], "m-5.1"),
        (["m-5.1", "m-5-mini"], "m-5.1"),
        (["GLM-5", "glm-4"], "GLM-5"),
        (["m_5", "m-4"], "m-4"),
        (["q-latest", "q-zz-20260101"], "q-latest"),
        (["q-20250101", "q-20260101"], "q-20260101"),
        (["m:free", "m2"], "m2"),
    ],
)
def test_the_best_match_is_an_alias_and_then_the_highest_id_as_people_sort(ids: list[str], best: str) -> None:
    models = [model(f"p|{model_id}", "part") for model_id in ids]
    found = resolve("part", models, usable=usable_only())
    assert found is not None
    assert found.model.id == best


@pytest.mark.parametrize("pattern", ["{a,b}" * 40, "{a,b}" * 5000, "*" * 60 + "Z", "**/" * 30 + "Z", "[" * 5000])
def test_a_glob_bomb_ends_soon(pattern: str) -> None:
    assert not glob_matcher(pattern)("openrouter/vendor/a-model-with-a-rather-long-name-and-a-date-20250929")


@pytest.mark.parametrize("text", ["x" + ":high" * 5000, "x" + ":bogus" * 5000, "anthropic/x" + ":high" * 5000])
def test_a_name_of_nothing_but_suffixes_names_no_model(text: str) -> None:
    assert resolve(text, MODELS, usable=usable_only(), suffix="lenient") is None
    assert resolve_scope([text], MODELS, usable=usable_only())[0] == []
