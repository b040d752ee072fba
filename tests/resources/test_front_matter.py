"""Front matter of Markdown files."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.resources.front_matter import FrontMatterError, parse_front_matter


@pytest.mark.parametrize(
    ("yaml", "values"),
    [
        ("name: a-b\ndescription: Does x, y and (z)", {"name": "a-b", "description": "Does x, y and (z)"}),
        ("on: yes\noff: no\nday: 2026-11-30", {"on": "yes", "off": "no", "day": "2026-11-30"}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        (
            "a: 012\nb: 0x1F\nc: 0o17\nd: -3\ne: 1.5\nf: 1e3",
            {"a": 12, "b": 31, "c": 15, "d": -3, "e": 1.5, "f": 1000.0},
        ),
        ("a: 089\nb: 1_000\nc: 12:30", {"a": 89, "b": "1_000", "c": "12:30"}),
        ("a: 'it''s'\nb: \"x: y\"\nc: [1, two]", {"a": "it's", "b": "x: y", "c": [1, "two"]}),
        ("a: |\n  two\n  lines\nb: {c: d}", {"a": "two\nlines\n", "b": {"c": "d"}}),
        ("description: see https://x.org # a remark", {"description": "see https://x.org"}),
        ("1: x", {"1": "x"}),
        ("", {}),
        ("# only a remark", {}),
    ],
)
def test_values_follow_the_core_schema(yaml: str, values: dict[str, Any]) -> None:
    parsed = parse_front_matter(f"---\n{yaml}\n---\n\n body \n")
    assert parsed.values == values
    assert [type(value) for value in parsed.values.values()] == [type(value) for value in values.values()]
    assert parsed.body == "body"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("just text", "just text"),
        ("", ""),
        ("--- not closed\nname: a", "--- not closed\nname: a"),
        (" ---\na: b\n---\nx", "---\na: b\n---\nx"),
    ],
)
def test_without_front_matter_everything_is_body(text: str, body: str) -> None:
    parsed = parse_front_matter(text)
    assert (parsed.values, parsed.body) == ({}, body)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_every_line_end_and_a_byte_order_mark_are_read(line_end: str) -> None:
    text = line_end.join(["\ufeff---", "name: a", "---", "one", "two"])
    parsed = parse_front_matter(text)
    assert (parsed.values, parsed.body) == ({"name": "a"}, "one\ntwo")


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("a: 1\na: 2", "line 3.*'a' stands twice"),
        ("a: b\na: c", "'a' stands twice"),
        ("- a\n- b", "table"),
        ("plain", "table"),
        ("a: 'open", "line"),
        ("a: b: c\nd: [", "line"),
        ("? [x]\n: y", "key must be a text"),
        ("a: !!python/object/apply:os.system [ls]", "constructor"),
        ("a: " + "[" * 5000, "front matter"),
        ("a: *nobody", "line"),
        ("a:\n\t- b", "line"),
    ],
)
def test_what_is_no_front_matter_is_refused_with_its_place(yaml: str, said: str) -> None:
    with pytest.raises(FrontMatterError, match=said):
        parse_front_matter(f"---\n{yaml}\n---\n")


@given(st.text(alphabet="abc:-#'\"[]{}&*!|>%@`,?~ \t\n0123.\\é\x00\ud800", max_size=80))
def test_any_text_gives_values_or_a_clear_error(yaml: str) -> None:
    with contextlib.suppress(FrontMatterError):
        assert "body" in parse_front_matter(f"---\n{yaml}\n---\nbody").body


def test_the_usual_front_matter_needs_no_yaml_library() -> None:
    code = (
        "import sys; from pinyon.resources.front_matter import parse_front_matter as p;"
        "p('---\\nname: a\\ndescription: Says what it does (and when).\\ndisable-model-invocation: true\\n---\\n');"
        "assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "yaml",
    [
        "a: !!timestamp x",
        "a: !!bool x",
        "? !!set {a}\n: c",
        "a: !!set {x}",
        "a: !!binary x",
        "a: !!python/name:os.system",
    ],
)
def test_kinds_of_values_outside_of_the_core_schema_are_refused(yaml: str) -> None:
    with pytest.raises(FrontMatterError):
        parse_front_matter(f"---\n{yaml}\n---\n")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Use for work: a, b", "Use for work: a, b"),
        ("Ends with a colon:", "Ends with a colon:"),
        ("It's a: b", "It's a: b"),
        ("Über: \U0001f600 ü", "Über: \U0001f600 ü"),
        ('Say "hi": a \\ b', 'Say "hi": a \\ b'),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_unquoted_colon_is_understood_and_told(line: str, value: str, line_end: str) -> None:
    text = line_end.join(["\ufeff---", "name: x", f"description: {line}", "list: [1, 2]", "---", "body"])
    found = parse_front_matter(text)
    assert found.values == {"name": "x", "description": value, "list": [1, 2]}
    assert found.body == "body"
    assert found.mended is not None
    assert "line 3" in found.mended


@pytest.mark.parametrize("yaml", ["a: [", "a: b: c\nd: [", "a: 'b': c", "a: b: c\na: d", "a: *x: y"])
def test_a_colon_excuses_nothing_else(yaml: str) -> None:
    with pytest.raises(FrontMatterError):
        parse_front_matter(f"---\n{yaml}\n---\n")


def test_front_matter_that_is_yaml_is_not_mended() -> None:
    found = parse_front_matter('---\na: "b: c"\nd: |\n  e: f: g\nh: [x: y]\n---\n')
    assert found.values == {"a": "b: c", "d": "e: f: g\n", "h": [{"x": "y"}]}
    assert found.mended is None
