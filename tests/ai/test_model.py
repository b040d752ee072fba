"""Thinking levels of models."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.model import THINKING_LEVELS, Model, ThinkingLevel, clamp_level, parse_level, supported_levels


def model(level_map: dict[str, str | None] | None = None, *, reasoning: bool = True) -> Model:
    fields: dict[str, Any] = {"id": "m", "name": "M", "api": "x", "provider": "p", "base_url": ""}
    if level_map is not None:
        fields["thinking_level_map"] = level_map
    return Model(**fields, reasoning=reasoning)


@pytest.mark.parametrize(
    ("level_map", "levels"),
    [
        (None, ["off", "minimal", "low", "medium", "high"]),
        ({"xhigh": "x", "max": None}, ["off", "minimal", "low", "medium", "high", "xhigh"]),
        ({"off": None, "minimal": None, "max": "max"}, ["low", "medium", "high", "max"]),
        (dict.fromkeys(THINKING_LEVELS), []),
    ],
)
def test_a_model_offers_the_levels_that_its_map_does_not_exclude(
    level_map: dict[str, str | None] | None, levels: list[str]
) -> None:
    assert supported_levels(model(level_map)) == levels


def test_a_model_that_does_not_reason_is_off() -> None:
    assert supported_levels(model({"max": "max"}, reasoning=False)) == ["off"]
    assert clamp_level(model(reasoning=False), "high") == "off"


@pytest.mark.parametrize(
    ("level_map", "asked", "given_level"),
    [
        ({"off": None, "minimal": None}, "off", "low"),
        ({"low": None, "medium": None}, "low", "high"),
        (None, "xhigh", "high"),
        ({"max": "max"}, "xhigh", "max"),
        ({"high": None}, "high", "medium"),
        (None, "medium", "medium"),
        (dict.fromkeys(THINKING_LEVELS), "high", "off"),
    ],
)
def test_a_level_that_is_not_offered_becomes_the_next_above_then_the_nearest_below(
    level_map: dict[str, str | None] | None, asked: ThinkingLevel, given_level: str
) -> None:
    assert clamp_level(model(level_map), asked) == given_level


@given(
    st.dictionaries(st.sampled_from(THINKING_LEVELS), st.one_of(st.none(), st.just("x"))),
    st.sampled_from(THINKING_LEVELS),
)
def test_clamping_gives_an_offered_level_and_changes_nothing_twice(
    level_map: dict[str, str | None], asked: ThinkingLevel
) -> None:
    built = model(level_map)
    clamped = clamp_level(built, asked)
    offered = supported_levels(built)
    assert clamped in (offered or ["off"])
    assert clamp_level(built, clamped) == clamped
    if asked in offered:
        assert clamped == asked


@pytest.mark.parametrize(
    ("text", "level"), [("HIGH", "high"), ("off", "off"), ("max", "max"), ("none", None), ("", None)]
)
def test_levels_are_named_in_any_case(text: str, level: str | None) -> None:
    assert parse_level(text) == level
