"""The protocol page against the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from pinyon.agent.event import AgentEvent
from pinyon.coding.event import SessionOnlyEvent
from pinyon.modes.rpc.client import RpcClient
from pinyon.modes.rpc.client_event import UiRequest, UnknownLine, decode_event
from pinyon.modes.rpc.command import COMMANDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rpc.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
NAMES = {*COMMANDS, "prompt"}


def lines(mark: str) -> Iterator[dict[str, Any]]:
    """The lines of the examples that a client writes (`>`) or reads (`<`)."""
    for line in "".join(EXAMPLES).splitlines():
        if line.startswith(f"{mark} ") and line != "> not json":
            yield json.loads(line[2:])


def test_every_command_has_an_example_with_its_response() -> None:
    asked = {line["type"] for line in lines(">")} - {"extension_ui_response", "bogus"}
    answered = {line["command"] for line in lines("<") if line["type"] == "response" and line["success"]}
    assert asked == NAMES
    assert answered == NAMES


def test_responses_of_the_examples_carry_the_id_of_a_command_before_them() -> None:
    for example in EXAMPLES:
        seen: set[tuple[str, str]] = set()
        for line in example.splitlines():
            if line == "> not json":
                continue
            value = json.loads(line[2:])
            if line.startswith(">"):
                seen.add((value["id"], value["type"]))
            elif value["type"] == "response" and value["command"] != "parse":
                assert (value["id"], value["command"]) in seen


def test_events_of_the_examples_are_events() -> None:
    for line in lines("<"):
        if line["type"] != "response":
            event = decode_event(json.dumps(line).encode())
            assert event is not None
            assert not isinstance(event, UnknownLine), line


@pytest.mark.parametrize("event", [*get_args(AgentEvent), *get_args(SessionOnlyEvent), UiRequest])
def test_every_event_is_in_the_table(event: type[msgspec.Struct]) -> None:
    assert f"`{event.__struct_config__.tag}`" in PAGE


def test_every_question_and_notice_is_in_the_table() -> None:
    (methods,) = (field.type for field in msgspec.structs.fields(UiRequest) if field.name == "method")
    assert all(f"| `{method}` |" in PAGE for method in get_args(methods))


def test_every_command_is_described_and_the_client_has_it() -> None:
    assert all(f"**{name}**" in PAGE and hasattr(RpcClient, name) for name in NAMES)
