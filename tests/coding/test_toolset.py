from collections.abc import Sequence
from typing import Any

import pytest

from pinyon.agent.tool import AgentTool, AgentToolResult, FixedToolContext, ToolDefinition
from pinyon.coding.toolset import ToolChoice, Toolset
from pinyon.errors import ConfigError
from pinyon.resources.settings import DEFAULT_TOOL_NAMES

BUILTIN = ("read", "bash", "edit", "write", "grep")


def tool(name: str, **fields: Any) -> ToolDefinition:
    """A tool that does nothing."""
    return ToolDefinition(
        name=name, description=f"does {name}", parameters={"type": "object"}, execute=nothing, **fields
    )


def nothing(*_: object) -> AgentToolResult:
    return AgentToolResult(content=[])


class Shelf:
    """A toolset with the names that the agent was given after each change and the tools that were really made."""

    def __init__(self, choice: ToolChoice | None = None) -> None:
        self.made: list[str] = []
        self.given: list[list[str]] = []
        self.tools = Toolset(
            context=lambda call_id, signal: FixedToolContext(), choice=choice or ToolChoice(), on_change=self._given
        )
        self.tools.offer_builtin(BUILTIN, self._make)

    def _make(self, name: str) -> ToolDefinition:
        self.made.append(name)
        return tool(name)

    def _given(self, tools: list[AgentTool]) -> None:
        self.given.append([each.name for each in tools])


def test_built_in_tools_are_made_when_they_are_needed_and_once() -> None:
    shelf = Shelf()
    assert shelf.made == list(DEFAULT_TOOL_NAMES)
    shelf.tools.set_active(["grep"])
    shelf.tools.set_active(["grep", "read"])
    assert sorted(shelf.made) == sorted(BUILTIN)


def test_tools_that_stay_active_keep_their_order_and_unknown_names_are_ignored() -> None:
    shelf = Shelf()
    shelf.tools.set_active(["grep", "nope", "write", "read", "grep"])
    assert shelf.tools.active_names == ["read", "write", "grep"]
    assert shelf.given[-1] == ["read", "write", "grep"]


def test_a_later_registration_replaces_a_tool_in_its_place() -> None:
    shelf = Shelf()
    mine = tool("bash", prompt_snippet="mine")
    shelf.tools.register([mine])
    assert shelf.tools.active_names == list(DEFAULT_TOOL_NAMES)
    assert shelf.tools.get("bash") is mine
    assert shelf.tools.bound("bash") is not None
    assert shelf.tools.get("nope") is None
    assert shelf.tools.bound("nope") is None


@pytest.mark.parametrize(
    ("fields", "is_active", "is_listed", "is_callable"),
    [
        ({}, True, True, True),
        ({"default_active": False}, False, True, False),
        ({"exposure": "model-only"}, True, True, False),
        ({"exposure": "deferred"}, False, True, True),
        ({"exposure": "codemode"}, False, True, True),
        ({"exposure": "hidden"}, False, False, False),
    ],
)
def test_exposure_says_who_sees_an_added_tool(
    fields: dict[str, Any], is_active: bool, is_listed: bool, is_callable: bool
) -> None:
    shelf = Shelf()
    shelf.tools.register([tool("extra", **fields)])
    assert ("extra" in shelf.tools.active_names) is is_active
    assert ("extra" in [each.name for each in shelf.tools.definitions]) is is_listed
    assert ("extra" in shelf.tools.callable_names) is is_callable


def test_a_hidden_tool_cannot_be_activated_and_a_denied_one_neither() -> None:
    shelf = Shelf(ToolChoice(exclude=["ba*"]))
    shelf.tools.register([tool("extra", exposure="hidden")])
    shelf.tools.set_active(["extra", "bash", "read"])
    assert shelf.tools.active_names == ["read"]


@pytest.mark.parametrize(
    ("choice", "names", "adds"),
    [
        (ToolChoice(), ["read", "bash", "edit", "write"], True),
        (ToolChoice(defaults=["grep"]), ["grep"], True),
        (ToolChoice(tools=["write", "read"]), ["read", "write"], False),
        (ToolChoice(tools=["e*"]), ["edit"], True),
        (ToolChoice(tools=[]), [], False),
        (ToolChoice(tools=["+grep", "-bash", "+nope"]), ["read", "edit", "write", "grep"], True),
        (ToolChoice(tools=["-extra"]), ["read", "bash", "edit", "write"], False),
        (ToolChoice(exclude=["*"]), [], False),
        (ToolChoice(no_tools="builtin"), [], True),
        (ToolChoice(no_tools="all"), [], False),
        (ToolChoice(no_tools="all", tools=["read", "extra"]), ["read"], True),
    ],
    ids=lambda value: "" if isinstance(value, ToolChoice) else str(value),
)
def test_a_choice_says_what_starts_active(choice: ToolChoice, names: Sequence[str], adds: bool) -> None:
    assert choice.default_names(BUILTIN) == names
    assert choice.permits_added("extra") is adds


def test_names_and_edits_cannot_be_mixed() -> None:
    with pytest.raises(ConfigError, match="mix"):
        ToolChoice(tools=["read", "+grep"])


@pytest.mark.parametrize(
    ("choice", "unknown"),
    [
        (ToolChoice(), []),
        (ToolChoice(tools=["read", "nope", "w*", "x*"]), ["nope", "x*"]),
        (ToolChoice(tools=["+grep", "-bsh", "+nope"]), ["bsh", "nope"]),
        (ToolChoice(tools=[], exclude=["bsh", "read", "bsh"]), ["bsh"]),
        (ToolChoice(defaults=["read", "of-an-extension"]), []),
    ],
)
def test_names_that_were_asked_for_and_mean_no_tool_are_known(choice: ToolChoice, unknown: list[str]) -> None:
    assert Shelf(choice).tools.unknown_names == unknown


def test_a_name_is_known_once_its_tool_is_registered() -> None:
    shelf = Shelf(ToolChoice(tools=["mine"]))
    assert shelf.tools.unknown_names == ["mine"]
    shelf.tools.register([tool("mine")])
    assert (shelf.tools.unknown_names, shelf.tools.names) == ([], [*BUILTIN, "mine"])
