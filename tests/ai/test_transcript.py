from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, BashExecutionMessage, SystemMessage, UserMessage
from pinyon.ai.tool import JsonSchemaSampling, Tool, ToolReference
from pinyon.ai.transcript import (
    collapse,
    current_prompt,
    current_system_message,
    current_tools,
    declare_tool_changes,
    place_tools,
    same_declaration,
    system_text,
    tool_change,
    update_text,
)


def tool(name: str, description: str = "d", **parameters: Any) -> Tool:
    return Tool(name=name, description=description, parameters={"type": "object", **parameters})


def system(content: Any = "", *, add: Sequence[Tool] = (), remove: Sequence[str] = (), **fields: Any) -> SystemMessage:
    removed = [ToolReference(name=name) for name in remove]
    return SystemMessage(
        content=content, tools_added=list(add) or UNSET, tools_removed=removed or UNSET, **{"timestamp": 1, **fields}
    )


def user(text: str = "q") -> UserMessage:
    return UserMessage(content=text, timestamp=2)


A, B, C = tool("a"), tool("b"), tool("c")


def names(tools: Sequence[Tool]) -> list[str]:
    return [item.name for item in tools]


def test_the_current_prompt_joins_texts_and_patched_sections() -> None:
    messages: list[AgentMessage] = [
        system([TextContent("a"), TextContent("b")], sections={"x": "X", "y": "", "z": "Z"}),
        user(),
        system("c", sections={"x": None, "y": "Y", "w": "W"}),
        system(sections={"x": "X2"}),
    ]
    assert current_prompt(messages) == "a\nb\n\nc\n\nY\n\nZ\n\nW\n\nX2"


def test_one_message_stands_for_all_with_the_first_time() -> None:
    found = current_system_message([system("a", sections={"x": "X"}, add=[A]), system("b", sections={"x": None})])
    assert found == system("a\n\nb", add=[A])
    assert current_system_message([user()]) is None
    assert current_prompt([user()]) == ""


def test_collapsing_leads_with_the_replayed_message_and_drops_the_others() -> None:
    messages: list[SystemMessage | UserMessage] = [user("x"), system("late", timestamp=5), user("y")]
    assert collapse(messages) == [system("late", timestamp=5), user("x"), user("y")]
    assert collapse([user("x")]) == [user("x")]


def test_tools_are_removed_before_they_are_added_and_keep_their_first_place() -> None:
    changed = tool("a", "new")
    messages = [system(add=[A, B]), system(add=[changed], remove=["a"]), system(remove=["zz"])]
    assert current_tools(messages) == [B, changed]
    assert current_tools([system(add=[A, B]), system(add=[changed])]) == [changed, B]


def test_host_messages_are_read_over() -> None:
    bash = BashExecutionMessage(command="ls", output="", cancelled=False, truncated=False, timestamp=1)
    assert current_tools([system(add=[A]), bash]) == [A]


@pytest.mark.parametrize(
    ("messages", "additions"),
    [
        ([system(add=[A]), user(), system(add=[B]), user()], (["a"], 1)),
        ([system(add=[A]), user(), system(add=[B], remove=["a"]), system(add=[C])], (["b"], 3)),
        (
            [system(add=[A]), user(), system(add=[B]), system(add=[tool("a", "x"), C]), system(add=[tool("e")])],
            (["a", "b", "c"], 4),
        ),
        ([system(add=[A]), system(add=[B], remove=["a"]), user(), system(add=[A])], (["b", "a"], 4)),
        ([user(), system(add=[B])], ([], 0)),
        ([system(add=[A]), system(add=[B]), user(), system(add=[C])], (["a"], 1)),
        ([system(add=[A]), user(), system(add=[B]), system(remove=["zz"]), system(add=[C])], (["a", "b"], 4)),
        ([], ([], 0)),
    ],
)
def test_additions_stand_in_place_after_the_last_other_change(
    messages: list[AgentMessage], additions: tuple[list[str], int]
) -> None:
    placed = place_tools(messages, "additions")
    assert (names(placed.tools), placed.in_place_from) == additions
    everything = place_tools(messages, "none")
    assert (everything.tools, everything.in_place_from) == (current_tools(messages), len(messages))
    assert place_tools(messages, "changes").tools == []
    assert place_tools(messages, "changes").in_place_from == 0


def test_texts_of_system_messages() -> None:
    message = system("note", sections={"x": "X", "y": None})
    assert system_text(message) == "note\n\nX"
    told = update_text(message)
    assert told.startswith("note\n\n")
    assert '"x"' in told
    assert "X" in told
    assert '"y"' in told
    assert update_text(system(add=[A])) == ""


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Tool("a", "d", {"type": "object"}), True),
        (Tool("a", "d2", {"type": "object"}), False),
        (Tool("b", "d", {"type": "object"}), False),
        (Tool("a", "d", {"type": "object", "properties": {}}), False),
        (Tool("a", "d", {"type": "object"}, JsonSchemaSampling("prefer")), False),
        (Tool("a", "d", {"type": "object"}, False), False),
        (Tool("a", "d", A.parameters), True),
        (Tool("a", "d", A.parameters, JsonSchemaSampling("prefer")), False),
    ],
)
def test_declarations_are_the_same_when_they_read_the_same(other: Tool, same: bool) -> None:
    assert same_declaration(A, other) is same
    change = tool_change({"a": A}, [other])
    assert (not change.added and not change.removed) is same


def test_key_order_is_part_of_a_declaration() -> None:
    one, two = tool("a", x=1, y=2), tool("a", y=2, x=1)
    assert not same_declaration(one, two)


def test_a_change_lists_what_is_new_and_what_is_gone() -> None:
    changed = tool("b", "x")
    change = tool_change({"a": A, "b": B}, [changed, C])
    assert (change.added, [item.name for item in change.removed]) == ([changed, C], ["a", "b"])


def declare(tools: Sequence[Tool], context: Sequence[AgentMessage], pending: Sequence[AgentMessage]) -> list[Any]:
    return declare_tool_changes(tools, context, pending, clock_ms=lambda: 7)


def test_new_tools_are_declared_before_the_first_other_message() -> None:
    leading = system("S")
    assert declare([A], [], [user()]) == [system(add=[A], timestamp=7), user()]
    assert declare([A], [], []) == [system(add=[A], timestamp=7)]
    assert declare([A], [system(add=[A])], [user()]) == [user()]
    assert declare([A], [], [leading, user()]) == [system("S", add=[A]), user()]
    assert leading.tools_added is UNSET


def test_the_last_pending_system_message_carries_the_difference() -> None:
    first, last = system("one", add=[A]), system("two", add=[tool("wrong")], remove=["gone"])
    declared = declare([A, B], [], [first, last, user()])
    assert declared == [first, system("two", add=[B]), user()]


def test_a_message_that_changes_nothing_stays_the_same_object() -> None:
    quiet = system("quiet")
    assert declare([A], [system(add=[A])], [quiet])[0] is quiet
    loud = system("loud", add=[A])
    assert declare([A], [system(add=[A])], [loud]) == [system("loud")]


def test_removed_and_changed_tools_are_withdrawn() -> None:
    changed = tool("a", "new")
    assert declare([changed], [system(add=[A, B])], [user()]) == [
        system(add=[changed], remove=["a", "b"], timestamp=7),
        user(),
    ]


tools = st.sampled_from([A, B, C, tool("a", "x"), tool("b", "y")])
tool_lists = st.lists(tools, max_size=4, unique_by=lambda item: item.name)


@given(st.lists(tool_lists, max_size=4), tool_lists, st.booleans())
def test_after_declaring_the_transcript_tells_of_exactly_the_tools_there_are(
    history: list[list[Tool]], wanted: list[Tool], with_system: bool
) -> None:
    context: list[AgentMessage] = []
    for added in history:
        context += declare(added, context, [user()])
    pending: list[AgentMessage] = [system("s", add=[C]), user()] if with_system else [user()]
    context += declare(wanted, context, pending)
    found = {item.name: item for item in current_tools(context)}
    assert found == {item.name: item for item in wanted}
    assert declare(wanted, context, [user()]) == [user()]
