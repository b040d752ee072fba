"""JSON that people edit, and where a text stops being JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util.json import JsonError, decode, encode_pretty, fault_position

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def test_files_are_indented_by_two_spaces_and_keep_their_order() -> None:
    text = encode_pretty({"b": [], "a": {}, "c": [1, {"é": 1.5}]}).decode()
    assert text == '{\n  "b": [],\n  "a": {},\n  "c": [\n    1,\n    {\n      "é": 1.5\n    }\n  ]\n}'


@given(values)
def test_every_value_survives_including_lone_surrogates_and_large_numbers(value: object) -> None:
    text = encode_pretty(value).decode("utf-8")
    assert json.loads(text) == value or "\\ud" in text


@pytest.mark.parametrize(
    ("text", "position"),
    [('{"a": 1}', ""), ('{\n "a" 1}', " (line 2, column 6)"), ("", " (line 1, column 1)"), ("[NaN]", "")],
)
def test_the_position_of_a_fault_is_told(text: str, position: str) -> None:
    assert fault_position(text) == position


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(JsonError):
        decode("[" * 200_000)
    assert isinstance(fault_position("[" * 200_000), str)
