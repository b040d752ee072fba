from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.coding.scripted_pi import Scripted, run_scripted
from typing_extensions import TypedDict

from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.message import CustomMessage
from pinyon.coding.event import AgentSettled
from pinyon.coding.limit import Limits
from pinyon.coding.output import OutputError
from pinyon.coding.output_text import json_values
from pinyon.coding.output_type import OutputType, UnfitValueError
from pinyon.coding.run_result import OutputResult
from pinyon.errors import ConfigError


@dataclasses.dataclass
class PlainCity:
    name: str
    people: int
    kind: Literal["town", "city"] = "city"


class DictCity(TypedDict):
    name: str
    people: int


class StructCity(msgspec.Struct):
    name: str
    people: int


class ModelCity(pydantic.BaseModel):
    name: str
    people: int = pydantic.Field(gt=0)


GOOD = '{"name": "Ulm", "people": 126000}'


def ask(answers: Sequence[str], kind: Any, cwd: Path, **options: Any) -> tuple[OutputResult[Any], Scripted]:
    async def play(scripted: Scripted) -> tuple[OutputResult[Any], Scripted]:
        return await scripted.session.run("Name a city", output=kind, **options), scripted

    return run_scripted([faux_assistant_message(text) for text in answers], play, cwd=cwd)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (PlainCity, PlainCity("Ulm", 126000)),
        (DictCity, {"name": "Ulm", "people": 126000}),
        (StructCity, StructCity("Ulm", 126000)),
        (ModelCity, ModelCity(name="Ulm", people=126000)),
    ],
)
def test_an_answer_becomes_a_value_of_the_type(kind: Any, expected: object, tmp_path: Path) -> None:
    result, scripted = ask([GOOD], kind, tmp_path)
    assert result.output == expected
    assert result.text == GOOD
    wish = scripted.texts_sent(0)
    assert wish[0] == "Name a city"
    assert json.loads(wish[1].partition("\n")[2])["required"] == ["name", "people"]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (list[StructCity], f"[{GOOD}]", [StructCity("Ulm", 126000)]),
        (list[ModelCity], f"[{GOOD}]", [ModelCity(name="Ulm", people=126000)]),
        (int, "42", 42),
        (StructCity | None, "null", None),
        (dict[str, int], '{"a": 1}', {"a": 1}),
    ],
)
def test_any_type_that_json_can_fill_will_do(kind: Any, text: str, expected: object, tmp_path: Path) -> None:
    assert ask([text], kind, tmp_path)[0].output == expected


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"Here it is:\n\n```\n{GOOD}\n```\nAnything else?",
        f"Sure: {GOOD}. Done.",
        f'First {{"a": 1}} was wrong, so {GOOD}',
        f"I looked at [1, 2].\n~~~json\n{GOOD}\n~~~",
        '{"name": "Ulm", "people": "126000"}',
    ],
)
def test_words_and_fences_around_the_value_do_no_harm(text: str, tmp_path: Path) -> None:
    result, scripted = ask([text], StructCity, tmp_path)
    assert result.output == StructCity("Ulm", 126000)
    assert len(scripted.requests) == 1


def test_an_answer_that_does_not_fit_is_sent_back_within_the_same_run(tmp_path: Path) -> None:
    result, scripted = ask(['{"name": "Ulm", "people": "many"}', "no idea", GOOD], StructCity, tmp_path)
    assert result.output == StructCity("Ulm", 126000)
    assert len([event for event in scripted.events if isinstance(event, AgentSettled)]) == 1
    repairs = [message.content for message in result.messages if isinstance(message, CustomMessage)][1:]
    assert "$.people" in str(repairs[0])
    assert "no JSON value" in str(repairs[1])
    assert result.totals.turns == 3


def test_a_constraint_of_a_pydantic_model_is_told_to_the_model(tmp_path: Path) -> None:
    _, scripted = ask(['{"name": "Ulm", "people": -1}', GOOD], ModelCity, tmp_path)
    assert "greater than 0 at `$.people`" in scripted.texts_sent(1)[-1]


def test_repairs_are_bounded_and_the_error_tells_what_the_model_said(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no usable 'StructCity' after 2 attempts") as caught:
        ask(["a", "b", "c", GOOD], StructCity, tmp_path)
    assert caught.value.text == "c"
    assert "'c'" in str(caught.value)
    assert caught.value.result.totals.turns == 3


def test_repairs_can_be_switched_off(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no JSON value"):
        ask(["a", GOOD], StructCity, tmp_path, repairs=0)


def test_a_failed_answer_is_not_sent_back(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        with pytest.raises(OutputError, match="bad request"):
            await scripted.session.run("x", output=StructCity)
        assert len(scripted.requests) == 1

    run_scripted([faux_assistant_message("", error_message="bad request")], play, cwd=tmp_path)


def test_a_limit_ends_the_repairs(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="the limit of turns ended the run"):
        ask(["a", "b", GOOD], StructCity, tmp_path, limits=Limits(max_turns=2))


def test_tools_run_before_the_answer(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("x", output=StructCity)
        assert result.output.name == "Ulm"
        assert [call.name for call in result.tool_calls] == ["ls"]

    answers = [faux_assistant_message([faux_tool_call("ls", {})]), faux_assistant_message(GOOD)]
    run_scripted(answers, play, cwd=tmp_path, tools=["ls"])


def test_the_next_prompt_is_not_asked_for_the_shape(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.run("x", output=StructCity)
        assert (await scripted.session.run("y")).text == "free words"
        assert [text for text in scripted.texts_sent(1) if "JSON Schema" in text] == [scripted.texts_sent(0)[1]]

    run_scripted([faux_assistant_message(GOOD), faux_assistant_message("free words")], play, cwd=tmp_path)


def test_a_stream_takes_a_type_too(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        stream = scripted.session.stream("x", output=StructCity)
        assert [event async for event in stream]
        assert (await stream.result()).output == StructCity("Ulm", 126000)

    run_scripted([faux_assistant_message("hm"), faux_assistant_message(GOOD)], play, cwd=tmp_path)


@pytest.mark.parametrize("kind", [object, type(sys), complex, "city"])
def test_a_type_that_json_cannot_fill_is_refused_before_anything_is_sent(kind: Any, tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        with pytest.raises(ConfigError, match="no type that JSON can fill"):
            await scripted.session.run("x", output=kind)
        assert scripted.requests == []

    run_scripted([], play, cwd=tmp_path)


def test_a_value_that_does_not_fit_names_the_place() -> None:
    with pytest.raises(UnfitValueError, match=r"people"):
        OutputType(StructCity).convert({"name": "Ulm"})


TEXT = st.text('abä{}[]",:`\\\n', max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
CONTAINERS = st.lists(JSON, max_size=4) | st.dictionaries(TEXT, JSON, max_size=4)
WORDS = st.text("abc .,:\n", max_size=20)


@settings(deadline=None, max_examples=60)
@given(CONTAINERS, WORDS, WORDS)
def test_a_value_between_words_is_found(value: Any, before: str, after: str) -> None:
    assert next(json_values(f"{before} {json.dumps(value)} {after}")) == value


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, '{"a":' * 50_000, "```" * 10_000, ""])
def test_hostile_answers_are_read_in_bounded_time(text: str) -> None:
    assert list(json_values(text)) == []
