"""The user's keys over the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinyon.tui.binding import BINDINGS, LEGACY_IDS, Binding
from pinyon.tui.key import is_key, normal_key, shown_key
from pinyon.tui.keymap import Keymap, parse_overrides, read_overrides


@pytest.mark.parametrize("action", sorted(BINDINGS))
def test_every_action_can_be_bound_anew_and_disabled(action: str) -> None:
    bound = Keymap(parse_overrides({action: "f9"}), windows=False)
    assert bound.keys(action) == ("f9",)
    assert bound.is_bound("f9", action)
    assert Keymap(parse_overrides({action: []}), windows=False).keys(action) == ()


@pytest.mark.parametrize("binding", BINDINGS.values(), ids=lambda binding: binding.id)
def test_every_default_key_is_a_key(binding: Binding) -> None:
    keys = [*binding.keys, *(binding.windows or ())]
    assert all(is_key(key) for key in keys)


@pytest.mark.parametrize(("old", "new"), LEGACY_IDS.items())
def test_old_names_are_understood_and_new_ones_win(old: str, new: str) -> None:
    assert parse_overrides({old: "f5"}) == {new: ("f5",)}
    assert parse_overrides({new: "f6", old: "f5"}) == {new: ("f6",)}


@pytest.mark.parametrize("value", [7, {"a": 1}, ["x", 3], "no such key", None])
def test_values_that_are_no_keys_are_dropped(value: object) -> None:
    assert parse_overrides({"app.exit": value}) == {}


def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "keybindings.json").write_text("{broken", encoding="utf-8")
    assert read_overrides(tmp_path / "keybindings.json") == {}
    assert Keymap.load(tmp_path).keys("app.exit") == ("ctrl+d",)


def test_a_key_given_twice_by_the_user_is_reported() -> None:
    keymap = Keymap(parse_overrides({"app.exit": "ctrl+x", "app.clear": "ctrl+x"}))
    assert keymap.conflicts() == [("ctrl+x", ["app.exit", "app.clear"])]


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("Shift+Ctrl+P", "ctrl+shift+p"),
        ("ESC", "escape"),
        ("return", "enter"),
        ("ctrl+right_square_bracket", "ctrl+]"),
        ("pagedown", "pageDown"),
        ("L", "shift+l"),
    ],
)
def test_keys_have_one_spelling(written: str, normal: str) -> None:
    assert normal_key(written) == normal


def test_hints_show_keys_as_people_write_them() -> None:
    assert shown_key("ctrl+o") == "Ctrl+O"
    assert shown_key("pageUp") == "PgUp"
