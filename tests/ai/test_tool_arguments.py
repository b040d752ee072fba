import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pinyon._util.json import JsonError
from pinyon.ai.content import ToolCall
from pinyon.ai.tool_arguments import RECEIVED_LABEL, finish_tool_call, parse_tool_arguments, parse_with_repair


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (" \n", {}),
        ('{"a":1.0,"b":1e2,"c":[2.0,0.5]}', {"a": 1, "b": 100, "c": [2, 0.5]}),
        ('{"a":"l\nm\t\x01"}', {"a": "l\nm\t\x01"}),
        ('{"a":"\\d"}', {"a": "\\d"}),
        ('{"a":"\\u12"}', {"a": "\\u12"}),
        ('{"a":"C:\\dir\\new"}', {"a": "C:\\dir\new"}),
        ('{"a":"fs\\<x","b":"q\\"r"}', {"a": "fs\\<x", "b": 'q"r'}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a":12345678901234567890123}', {"a": 12345678901234567890123}),
    ],
)
def test_arguments_are_parsed_and_repaired_once(text: str, expected: dict[str, Any]) -> None:
    parsed = parse_tool_arguments(text)
    assert parsed.value == expected
    assert json.dumps(parsed.value) == json.dumps(expected)
    assert parsed.error is UNSET


@pytest.mark.parametrize(
    "text",
    ['{"path":"q.txt","content":"hi",]', "{", '{"a":1}x', '"x"', "[1]", "null", "3", "[" * 5000, '{"a":NaN}'],
)
def test_anything_else_is_an_error_that_shows_the_text(text: str) -> None:
    parsed = parse_tool_arguments(text)
    assert parsed.value == {}
    problem, _, shown = str(parsed.error).partition(f"\n\n{RECEIVED_LABEL}\n")
    assert problem
    assert shown == text


def test_a_huge_text_is_shown_by_its_ends() -> None:
    error = str(parse_tool_arguments('{"content":"' + "x" * 100_000 + "END").error)
    assert len(error) < 17_000
    assert error.endswith("END")
    assert "characters left out" in error


def test_the_message_is_that_of_the_text_as_it_came() -> None:
    with pytest.raises(JsonError, match=r"line 1 column 7|char 6"):
        parse_with_repair('{"a":"\x01",]')


def test_a_finished_call_holds_an_object_and_the_error() -> None:
    call = ToolCall(id="1", name="ls", arguments={"old": True})
    finish_tool_call(call, '{"path":')
    assert call == ToolCall(id="1", name="ls", arguments={}, arguments_error=call.arguments_error)
    assert call.arguments_error
    finish_tool_call(call, '{"path":"."}')
    assert call == ToolCall(id="1", name="ls", arguments={"path": "."})


@given(st.text())
def test_no_text_raises_and_arguments_are_always_an_object(text: str) -> None:
    parsed = parse_tool_arguments(text)
    assert isinstance(parsed.value, dict)
    assert parsed.error is UNSET or parsed.value == {}


@given(st.text())
def test_repair_recovers_every_text_whose_control_characters_stand_raw(text: str) -> None:
    raw = json.dumps({"a": text}, ensure_ascii=False)
    for char in map(chr, range(32)):
        raw = raw.replace(f"\\u{ord(char):04x}", char).replace(json.dumps(char)[1:-1], char)
    if "\\" in text:
        return  # an unescaped character after a backslash of the text reads differently
    assert parse_tool_arguments(raw).value == {"a": text}
