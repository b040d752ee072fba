"""Arguments of the edit tool as models send them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tools.edit_arguments import escape_loose_characters, prepare_edit_arguments

EDIT = {"oldText": "b", "newText": "B"}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    "edits",
    [
        [EDIT],
        EDIT,
        json.dumps([EDIT]),
        json.dumps(EDIT),
        [json.dumps(EDIT)],
        json.dumps([json.dumps(EDIT)]),
        json.dumps(json.dumps([EDIT])),
        {"edits": [EDIT]},
        {"edits": EDIT},
        json.dumps({"edits": [EDIT]}),
    ],
)
def test_every_shape_of_edits_becomes_a_list(edits: Any) -> None:
    assert prepare_edit_arguments({"path": "m.txt", "edits": edits}) == {"path": "m.txt", "edits": [EDIT]}


def test_texts_beside_the_path_become_an_edit() -> None:
    assert prepare_edit_arguments({"path": "m.txt", **EDIT}) == {"path": "m.txt", "edits": [EDIT]}


def test_texts_beside_the_path_come_after_the_listed_edits() -> None:
    other = {"oldText": "x", "newText": "y"}
    assert prepare_edit_arguments({"path": "m", "edits": [other], **EDIT}) == {"path": "m", "edits": [other, EDIT]}


@pytest.mark.parametrize("nothing", [None, "", [], "[]"])
def test_texts_beside_the_path_stand_in_for_an_empty_list(nothing: Any) -> None:
    assert prepare_edit_arguments({"path": "m", "edits": nothing, **EDIT}) == {"path": "m", "edits": [EDIT]}


def test_empty_texts_beside_listed_edits_are_no_edit() -> None:
    filled = {"path": "m", "edits": [EDIT], "oldText": "", "newText": ""}
    assert prepare_edit_arguments(filled) == {"path": "m", "edits": [EDIT]}
    assert prepare_edit_arguments(filled | {"edits": []})["edits"] == [{"oldText": "", "newText": ""}]


@pytest.mark.parametrize(
    ("text", "new_text"),
    [
        ('[{"oldText":"b","newText":"B\n1"}]', "B\n1"),
        ('[\n\t{"oldText":"b",\n"newText":"\tB\r\n"}]', "\tB\r\n"),
        (r'[{"oldText":"b","newText":"fs\<x"}]', r"fs\<x"),
        (r'[{"oldText":"b","newText":"\d+\.\w \u00e9 \uZZ \"q\" \\ end\n"}]', '\\d+\\.\\w é \\uZZ "q" \\ end\n'),
        ('[{"oldText":"b","newText":"nul \x00 esc \x1b"}]', "nul \x00 esc \x1b"),
    ],
)
def test_loose_characters_inside_of_json_text_are_repaired(text: str, new_text: str) -> None:
    prepared = prepare_edit_arguments({"path": "m", "edits": text})
    assert prepared["edits"] == [{"oldText": "b", "newText": new_text}]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "text",
        [1],
        {"path": "m"},
        {"path": "m", "edits": "no json"},
        {"path": "m", "edits": '[{"oldText":"b"'},
        {"path": "m", "edits": '"a string"'},
        {"path": "m", "edits": "7"},
        {"path": "m", "edits": {"oldText": "b"}},
        {"path": "m", "edits": {"edits": "no json"}},
        {"path": "m", "edits": {"edits": [EDIT], "other": 1}},
        {"path": "m", "edits": ["no json", 3]},
        {"path": "m", "edits": []},
        {"path": "m", "oldText": "b"},
        {"path": "m", "oldText": "b", "newText": 3},
        {"path": "m", "edits": "broken", "oldText": "b", "newText": "c"},
    ],
)
def test_what_cannot_be_repaired_stays_for_the_validator(raw: Any) -> None:
    assert prepare_edit_arguments(raw) == raw


def test_the_given_arguments_are_not_changed() -> None:
    raw = {"path": "m", "edits": json.dumps(EDIT), **EDIT}
    before = json.dumps(raw)
    prepare_edit_arguments(raw)
    assert json.dumps(raw) == before


@given(json_values)
def test_valid_json_means_the_same_after_escaping(value: Any) -> None:
    text = json.dumps(value)
    assert json.loads(escape_loose_characters(text)) == value


@given(st.text())
def test_raw_text_in_quotes_becomes_a_json_string(text: str) -> None:
    literal = text.replace("\\", "\\\\").replace('"', '\\"')
    assert json.loads(escape_loose_characters(f'"{literal}"')) == text
