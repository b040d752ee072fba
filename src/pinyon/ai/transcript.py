"""The system messages of a transcript, replayed: which prompt and which tools hold at its end, and where they stand.

Prompt and tools live in the transcript itself. A system message adds text, patches named sections of the prompt, and
declares or withdraws tools. Every function reads only the system messages, so lists that also hold host messages pass
unfiltered. Nothing here changes a message that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon.ai.message import AgentMessage, SystemMessage
from pinyon.ai.tool import Tool, ToolReference

ToolMode = Literal["none", "additions", "changes"]
"""What a model understands after the first request: no tool changes, additions in place, or any change in place."""

AnyMessage = TypeVar("AnyMessage", bound=AgentMessage)


class ToolPlacement(msgspec.Struct, frozen=True):
    """Where the tools of a request stand.

    `tools` go into the request itself. System messages at `in_place_from` and later (indexes into the messages that
    were placed) declare their own tools where they stand; earlier ones are already counted in `tools`.
    """

    tools: list[Tool]
    in_place_from: int


class ToolChange(msgspec.Struct, frozen=True):
    """Difference of two tool states. A tool whose declaration changed stands in both lists."""

    added: list[Tool]
    removed: list[ToolReference]


def system_messages(messages: Iterable[AgentMessage]) -> list[SystemMessage]:
    """The system messages in order."""
    return [message for message in messages if type(message) is SystemMessage]


def content_text(message: SystemMessage) -> str:
    """The text of a system message without its sections; text blocks are lines of their own."""
    content = message.content
    return content if isinstance(content, str) else "\n".join(block.text for block in content)


def system_text(message: SystemMessage) -> str:
    """The prompt that a system message spells out: its text, then its sections, with blank lines between."""
    sections = (message.sections or {}).values()
    return _join_parts([content_text(message), *(text for text in sections if text)])


def update_text(message: SystemMessage) -> str:
    """What a system message in the middle of a conversation tells the model: its text and what became of sections."""
    changes = (message.sections or {}).items()
    return _join_parts([content_text(message), *(_section_update(name, text) for name, text in changes)])


def _section_update(name: str, text: str | None) -> str:
    if text is None:
        return f'The "{name}" section of the system prompt no longer applies.'
    return f'The "{name}" section of the system prompt now reads:\n{text}'


def _join_parts(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def current_tools(messages: Iterable[AgentMessage]) -> list[Tool]:
    """The tools that are declared at the end of the transcript, in the order in which they were first declared."""
    return list(_replay_tools(system_messages(messages)).values())


def current_system_message(messages: Iterable[AgentMessage]) -> SystemMessage | None:
    """One system message that stands for all of them, None where there are none.

    A section that is set again keeps its place; the time is that of the first system message.
    """
    found = system_messages(messages)
    if not found:
        return None
    tools = list(_replay_tools(found).values())
    return SystemMessage(
        content=_join_parts(content_text(message) for message in found),
        sections=_replay_sections(found) or UNSET,
        tools_added=tools or UNSET,
        timestamp=found[0].timestamp,
    )


def current_prompt(messages: Iterable[AgentMessage]) -> str:
    """The system prompt that holds at the end of the transcript; empty where there is none."""
    message = current_system_message(messages)
    return "" if message is None else system_text(message)


def collapse(messages: Sequence[AnyMessage | SystemMessage]) -> list[AnyMessage | SystemMessage]:
    """The transcript for a model that reads only one system message: the replayed one leads, the others are gone."""
    leading = current_system_message(messages)
    rest = [message for message in messages if type(message) is not SystemMessage]
    return rest if leading is None else [leading, *rest]


def _replay_tools(messages: Iterable[SystemMessage]) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for message in messages:
        _apply_tools(tools, message)
    return tools


def _apply_tools(tools: dict[str, Tool], message: SystemMessage) -> None:
    for reference in message.tools_removed or ():
        tools.pop(reference.name, None)
    for tool in message.tools_added or ():
        tools[tool.name] = tool


def _replay_sections(messages: Iterable[SystemMessage]) -> dict[str, str | None]:
    sections: dict[str, str | None] = {}
    for message in messages:
        for name, text in (message.sections or {}).items():
            if text is None:
                sections.pop(name, None)
            else:
                sections[name] = text
    return sections


def place_tools(messages: Sequence[AgentMessage], mode: ToolMode) -> ToolPlacement:
    """Decide which tools stand in the request and which system messages declare theirs in place.

    `additions`: everything up to the last message that withdraws a tool or declares a name again is counted in the
    request, later additions stand in place. `changes`: every system message declares in place.
    """
    if mode == "changes":
        return ToolPlacement(tools=[], in_place_from=0)
    split = len(messages) if mode == "none" else _additions_split(messages)
    return ToolPlacement(tools=current_tools(messages[:split]), in_place_from=split)


def _additions_split(messages: Sequence[AgentMessage]) -> int:
    split = 1 if messages and type(messages[0]) is SystemMessage else 0
    declared: set[str] = set()
    for index, message in enumerate(messages):
        if type(message) is not SystemMessage:
            continue
        names = [tool.name for tool in message.tools_added or ()]
        if message.tools_removed or not declared.isdisjoint(names):
            split = index + 1
        declared.update(names)
    return split


def same_declaration(left: Tool, right: Tool) -> bool:
    """Whether two tools read the same to a model: equal as serialised, key order included."""
    if left is right:
        return True
    if left.parameters is right.parameters:
        return (left.name, left.description) == (right.name, right.description) and (
            left.constrained_sampling == right.constrained_sampling
        )
    return _json.encode(left) == _json.encode(right)


def tool_change(before: Mapping[str, Tool], after: Iterable[Tool]) -> ToolChange:
    """What leads from one tool state to another; additions in the order of `after`, removals in that of `before`."""
    wanted = {tool.name: tool for tool in after}
    kept = {name for name, tool in wanted.items() if name in before and same_declaration(before[name], tool)}
    return ToolChange(
        added=[tool for name, tool in wanted.items() if name not in kept],
        removed=[ToolReference(name=name) for name in before if name not in kept],
    )


def declare_tool_changes(
    context_tools: Iterable[Tool],
    context_messages: Sequence[AgentMessage],
    pending: Sequence[AgentMessage],
    clock_ms: Callable[[], int] = now_ms,
) -> list[AgentMessage]:
    """`pending`, with the difference between `context_tools` and what the transcript declared so far.

    The difference goes into the last system message of `pending`, in place of what that one declares itself. Where
    there is none, and something changed, a new system message stands before the first other message.
    """
    messages = list(pending)
    last = max((index for index, message in enumerate(messages) if type(message) is SystemMessage), default=None)
    told = [message for index, message in enumerate(messages) if index != last]
    change = tool_change(_replay_tools(system_messages([*context_messages, *told])), context_tools)
    if last is not None:
        messages[last] = _with_change(messages[last], change)
    elif change.added or change.removed:
        first_other = next((i for i, message in enumerate(messages) if type(message) is not SystemMessage), 0)
        empty = SystemMessage(content="", timestamp=clock_ms())
        messages.insert(first_other, _with_change(empty, change))
    return messages


def _with_change(message: AgentMessage, change: ToolChange) -> AgentMessage:
    assert isinstance(message, SystemMessage)
    fields = (change.added or UNSET, change.removed or UNSET)
    if fields == (UNSET, UNSET) == (message.tools_added, message.tools_removed):
        return message
    return msgspec.structs.replace(message, tools_added=fields[0], tools_removed=fields[1])
