"""Consumers see a closed union: a type checker proves that these functions cover every event."""

from __future__ import annotations

import asyncio
from typing import assert_never

import msgspec
import pytest
from tests.agent.scripted import MODEL, EventLog, Reply, ScriptedModel, result, tool

from pinyon.agent import (
    Agent,
    AgentEnd,
    AgentEvent,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from pinyon.ai.event import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UpdateEvent,
)
from pinyon.ai.message import AssistantMessage


def described(event: AgentEvent) -> str:
    match event:
        case AgentStart() | TurnStart():
            return "start"
        case MessageStart(message=message) | MessageEnd(message=message):
            return f"message {type(message).__name__}"
        case MessageUpdate():
            return f"update {delta_of(event.assistant_message_event)!r} of {event.message.model}"
        case ToolExecutionStart(tool_name=name, args=args):
            return f"call {name} {args}"
        case ToolExecutionUpdate(partial_result=partial):
            return f"progress {len(partial.content)}"
        case ToolExecutionEnd(result=outcome, is_error=is_error):
            return f"result {len(outcome.content)} {is_error}"
        case TurnEnd(message=message, tool_results=results):
            return f"turn {message.stop_reason} {len(results)}"
        case AgentEnd(messages=messages):
            return f"end {len(messages)}"
        case _:
            assert_never(event)


def delta_of(event: UpdateEvent) -> str:
    match event:
        case TextDelta(delta=delta) | ThinkingDelta(delta=delta) | ToolCallDelta(delta=delta):
            return delta
        case TextEnd(content=content) | ThinkingEnd(content=content):
            return content
        case ToolCallStart(tool_name=name):
            return name
        case ToolCallEnd(tool_call=call):
            return call.name
        case TextStart() | ThinkingStart():
            return ""
        case _:
            assert_never(event)


def events_of_a_tool_turn() -> list[AgentEvent]:
    log = EventLog()

    def work(params: object, signal: object, on_update: object) -> object:
        assert callable(on_update)
        on_update(result("half"))
        return result("whole", details={"d": 1})

    script = ScriptedModel(Reply("hello", calls=[("1", "t", {"n": "1"})]))
    agent = Agent(stream_fn=script, initial_state={"model": MODEL, "tools": [tool("t", work)]})
    agent.subscribe(log)
    asyncio.run(agent.prompt("q"))
    return log.events


def test_every_event_of_a_tool_turn_is_described() -> None:
    told = [described(event) for event in events_of_a_tool_turn()]
    assert told[:2] == ["start", "start"]
    for expected in ("update 'hello' of m", "call t {'n': '1'}", "progress 1", "result 1 False", "turn toolUse 1"):
        assert expected in told
    assert told[-1] == "end 4"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (AgentStart, {"type"}),
        (TurnStart, {"type"}),
        (MessageStart, {"type", "message"}),
        (MessageUpdate, {"type", "usage", "assistantMessageEvent"}),
        (MessageEnd, {"type", "message"}),
        (ToolExecutionStart, {"type", "toolCallId", "toolName", "args"}),
        (ToolExecutionUpdate, {"type", "toolCallId", "toolName", "args", "partialResult"}),
        (ToolExecutionEnd, {"type", "toolCallId", "toolName", "result", "isError", "durationMs"}),
        (TurnEnd, {"type", "message", "toolResults"}),
        (AgentEnd, {"type", "messages"}),
    ],
)
def test_an_event_on_the_wire_has_exactly_its_fields(kind: type[AgentEvent], fields: set[str]) -> None:
    event = next(event for event in events_of_a_tool_turn() if isinstance(event, kind))
    assert set(msgspec.json.decode(msgspec.json.encode(event))) == fields


def test_the_final_answer_is_typed_without_casts() -> None:
    end = events_of_a_tool_turn()[-1]
    assert isinstance(end, AgentEnd)
    message = end.messages[-1]
    assert isinstance(message, AssistantMessage)
    assert message.text.upper() == "END"
