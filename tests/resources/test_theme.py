from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.theme import FALLBACKS, TOKENS, ThemeError, load_theme, parse_theme, theme_name_for


def value(**changes: Any) -> dict[str, Any]:
    colors = dict.fromkeys((token for token in TOKENS if token not in FALLBACKS), "#123456")
    return {"name": "mine", "colors": colors, **changes}


def with_color(color: object, variables: dict[str, object] | None = None) -> dict[str, Any]:
    theme = value(vars=variables or {})
    theme["colors"]["accent"] = color
    return theme


def problems(theme: Any) -> str:
    with pytest.raises(ThemeError) as caught:
        parse_theme(theme)
    return str(caught.value)


def test_there_are_56_tokens() -> None:
    assert len(TOKENS) == len(set(TOKENS)) == 56


def test_what_may_be_left_out_takes_another_color() -> None:
    theme = value()
    theme["colors"] |= {"muted": "#111111", "text": "", "selectedBg": 4, "thinkingXhigh": "#222222"}
    colors = parse_theme(theme).colors
    assert set(colors) == set(TOKENS)
    assert colors["scrollbarTrack"] == "#111111"
    assert colors["scrollbarThumb"] == colors["searchMatchText"] == ""
    assert colors["searchMatchBg"] == 4
    assert colors["thinkingMax"] == "#222222"


@pytest.mark.parametrize(
    "color", ["#abc", "#AbCdEf", 0, 255, "", "oklch(62% 0.19 250)", "okhsl(250 80% 60%)", "oklch(0.62 0.19 250deg)"]
)
def test_every_form_of_a_color_is_taken(color: str | int) -> None:
    assert parse_theme(with_color(color)).colors["accent"] == color


@pytest.mark.parametrize("color", ["#abcd", "red", -1, 256, True, None, 1.5, [], "oklch(1 2)", "rgb(1, 2, 3)", "#ggg"])
def test_other_values_are_refused_with_their_token(color: object) -> None:
    assert "colors.accent" in problems(with_color(color))


def test_variables_lead_to_colors_over_others() -> None:
    theme = parse_theme(with_color("a", {"a": "b", "b": "#fff"}))
    assert theme.colors["accent"] == "#fff"


def test_variables_in_a_circle_are_refused() -> None:
    assert "a → b → a" in problems(with_color("a", {"a": "b", "b": "a"}))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "a/b"}, "'name'"),
        ({"name": "system"}, "'name'"),
        ({"name": ""}, "'name'"),
        ({"name": 3}, "'name'"),
        ({"appearance": "grey"}, "'appearance'"),
        ({"extra": 1}, "'extra'"),
        ({"colors": {}}, "missing in 'colors': accent"),
        ({"colors": []}, "'colors'"),
        ({"vars": 3}, "'vars'"),
        ({"export": {"pageBg": "#fff", "page": "#fff"}}, "export.page"),
        ({"export": {"pageBg": "nothing"}}, "export.pageBg"),
    ],
)
def test_each_fault_of_a_theme_is_named(changes: dict[str, Any], told: str) -> None:
    assert told in problems(value(**changes))


def test_all_faults_are_told_at_once() -> None:
    theme = with_color("red")
    theme["colors"]["muted"] = "blue"
    del theme["colors"]["error"]
    assert "error" in problems(theme)
    theme["colors"]["error"] = 1
    assert "colors.accent" in problems(theme)
    assert "colors.muted" in problems(theme)


def test_a_file_gives_a_theme(tmp_path: Path) -> None:
    path = tmp_path / "any.json"
    path.write_text("\ufeff" + json.dumps(value(appearance="dark", export={"cardBg": "#fff"})), encoding="utf-8")
    told: list[ResourceDiagnostic] = []
    theme = load_theme(path, told)
    assert told == []
    assert theme is not None
    assert (theme.name, theme.appearance, theme.export, theme.file_path) == (
        "mine", "dark", {"cardBg": "#fff"}, str(path),
    )  # fmt: skip


@given(st.binary(max_size=300) | st.recursive(st.none() | st.booleans() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["name", "colors", "vars", "x"]), inner),
).map(lambda made: json.dumps(made).encode()))  # fmt: skip
def test_no_file_is_more_than_a_warning(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_bytes(data)
    told: list[ResourceDiagnostic] = []
    assert load_theme(path, told) is None
    assert [each.severity for each in told] == ["warning"]
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("setting", "on_dark", "on_light"), [("mine", "mine", "mine"), ("day/night", "night", "day"), ("a/", "", "a")]
)
def test_a_pair_goes_by_the_terminal(setting: str, on_dark: str, on_light: str) -> None:
    assert theme_name_for(setting, is_dark=True) == on_dark
    assert theme_name_for(setting, is_dark=False) == on_light
