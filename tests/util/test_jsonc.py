"""JSON with comments and trailing commas, and positions in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util.json import JsonError
from pinyon._util.jsonc import decode, locate, without_extras

TEXT = """\ufeff// head
{
  "url": "http://x//y", // after
  "list": [
    {"a": 1,},
    {"b": [true, "},],//"],}, // end
  ],
  "twice": 1,
  "twice": {"deep": null,
  },
}
// tail"""


def test_comments_commas_and_byte_order_marks_are_tolerated() -> None:
    assert decode(TEXT) == {
        "url": "http://x//y",
        "list": [{"a": 1}, {"b": [True, "},],//"]}],
        "twice": {"deep": None},
    }


@pytest.mark.parametrize(
    ("path", "position"),
    [
        ((), (2, 1)),
        (("url",), (3, 10)),
        (("list", 1, "b", 1), (6, 18)),
        (("list", 7), (4, 11)),
        (("twice", "deep"), (9, 21)),
        (("missing", "x"), (2, 1)),
        (("url", "x"), (3, 10)),
    ],
)
def test_values_are_located(path: tuple[str | int, ...], position: tuple[int, int]) -> None:
    assert locate(TEXT, path) == position


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "line 1, column 1"),
        ('{\n "a": }', "line 2, column 7"),
        ("{/* no */}", "line 1, column 2"),
        ('{"a": 1,,\n}', "line"),
        ('{"a": 1} x', "line 1, column 10"),
        ("[NaN]", "line 1"),
        ('{"a": "line\nbreak"}', "line 1, column 12"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_faults_have_a_position(text: str, start: str) -> None:
    with pytest.raises(JsonError) as caught:
        decode(text)
    assert str(caught.value).startswith(start)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_plain_json_is_read_unchanged(value: object) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    assert decode(text) == value
    assert without_extras(text) == text


@given(json_values, st.sampled_from(["// x\n", " ", "\n"]))
def test_extras_between_tokens_change_nothing(value: object, extra: str) -> None:
    text = json.dumps([value, [value]], indent=1)
    assert decode(text.replace("\n]", f",{extra}\n]").replace("[\n", f"[{extra}\n")) == [value, [value]]
