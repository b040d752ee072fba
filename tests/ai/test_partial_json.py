import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.ai.partial_json import PartialJson


def shown(text: str, size: int = 1) -> dict[str, Any]:
    parser = PartialJson()
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    return parser.snapshot()


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":t', {"a": True}),
        ('{"a":nul', {"a": None}),
        ('{"a":tx', {}),
        ('{"a":true1,"b":2', {"b": 2}),
        ('{"a":1.', {}),
        ('{"a":-', {}),
        ('{"a":1e', {"a": 1}),
        ('{"a":1.5e+', {"a": 1.5}),
        ('{"a":1.0', {"a": 1}),
        ('{"a":01,"b":2', {"b": 2}),
        ('{"a":1.2.3,"b":1', {"b": 1}),
        ('{"a":"x\\d', {"a": "x\\d"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\u00e9', {"a": "xé"}),
        ('{"a":"x\\u00zz', {"a": "x\\u00zz"}),
        ('{"a":"\\ud83d\\ude00', {"a": "😀"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":"l\nm', {"a": "l\nm"}),
        ('{"a":{"b":[{"c":"d', {"a": {"b": [{"c": "d"}]}}),
        ("{a:1}", {}),
        ('{"a":NaN,"b":1}', {"b": 1}),
        ('{"a":-Infinity', {}),
        ('{"a":1 "b":2', {"a": 1, "b": 2}),
        ('{"a" "b"', {"a": "b"}),
        ('{"a","b":1', {"b": 1}),
        ('{"a":,"b":1', {"b": 1}),
        ('{"a":[1 2 "x"', {"a": [1, 2, "x"]}),
        ('{"a":[,1,,2', {"a": [1, 2]}),
        ('{"a":[1,2},"b":3', {"a": [1, 2], "b": 3}),
        ('{"a":1,"a":2', {"a": 2}),
        ('{"a":', {}),
        ('{"a', {}),
        ('{"":1', {"": 1}),
        ("", {}),
        ("[1,2", {}),
        ('"x', {}),
        ("12 ", {}),
        ('x{"a":1}', {"a": 1}),
        ('  {"a":1} more {"b":2}', {"a": 1}),
    ],
)
def test_an_unfinished_object_shows_what_is_certain(text: str, expected: dict[str, Any], size: int) -> None:
    assert shown(text, size) == expected


def test_a_snapshot_is_never_changed_later() -> None:
    parser = PartialJson()
    parser.feed('{"a":{"b":[1,')
    early = parser.snapshot()
    kept = json.dumps(early)
    parser.feed('2,{"c":"d"}],"e":1},"f":')
    later = parser.snapshot()
    kept_later = json.dumps(later)
    parser.feed("[true]}")
    assert parser.snapshot() == {"a": {"b": [1, 2, {"c": "d"}], "e": 1}, "f": [True]}
    assert (json.dumps(early), json.dumps(later)) == (kept, kept_later)


def test_an_unchanged_text_gives_the_same_snapshot() -> None:
    parser = PartialJson()
    parser.feed('{"a":1')
    assert parser.snapshot() is parser.snapshot()


def test_work_does_not_grow_with_the_square_of_the_text() -> None:
    parser = PartialJson()
    parser.feed('{"content":"')
    copied = 0
    previous: dict[str, Any] = {}
    for _ in range(40_000):
        parser.feed("word ")
        current = parser.snapshot()
        if current is not previous:
            copied += len(current.get("content", ""))
            previous = current
    parser.feed('"}')
    assert parser.snapshot() == {"content": "word " * 40_000}
    assert copied < 40_000 * (256 + 8 * 5) + 200_000


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_nesting_without_end_is_read_over(opening: str) -> None:
    text = '{"x":' + opening * 20_000
    assert set(shown(text, 4096)) <= {"x"}
    json.dumps(shown(text, 4096))


def test_numbers_without_end_are_no_trouble() -> None:
    assert shown('{"a":' + "1" * 20_000 + ',"b":1}', 100).get("b") == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), json_values, max_size=5)


@given(objects, st.booleans(), st.integers(min_value=1, max_value=9))
def test_a_complete_object_is_read_as_a_strict_parser_reads_it(value: dict[str, Any], ascii_: bool, size: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    assert shown(text, size) == json.loads(text)


@given(objects, st.data())
def test_every_prefix_shows_an_object_whose_members_are_among_the_final_ones(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    end = data.draw(st.integers(min_value=0, max_value=len(text)))
    assert set(shown(text[:end], 3)) <= set(value)


@given(st.text(alphabet=st.sampled_from('{}[]":,\\u0a1.eE+-tfn \n\x00é\ud83d\ude00')), st.integers(1, 5))
def test_no_text_makes_it_raise_and_pieces_do_not_matter(text: str, size: int) -> None:
    assert shown(text, size) == shown(text, len(text) or 1)
