"""For any script of answers, tools, aborts and errors: one result for each call, in order, and well-nested events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent.scripted import MODEL, EventLog, Reply, ScriptedModel, result, tool, user

from pinyon._util.abort import AbortSignal
from pinyon.agent import (
    Agent,
    AgentEnd,
    AgentEvent,
    AgentStart,
    AgentTool,
    AgentToolResult,
    BeforeToolCallResult,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage


class Plan(msgspec.Struct):
    """Everything that may happen in a run. `abort_at` and `cancel_at` count events."""

    replies: list[Reply]
    mode: str
    abort_at: int | None
    cancel_at: int | None
    raise_at: int | None
    steer_at: list[int]
    blocked: set[str]
    async_listener: bool


def tools() -> list[AgentTool]:
    async def pause(params: Any, signal: AbortSignal, on_update: Any) -> AgentToolResult:
        on_update(result("half"))
        await asyncio.sleep(0)
        on_update(result("more"))
        return result("done", terminate=True)

    async def wait(params: Any, signal: AbortSignal, on_update: Any) -> AgentToolResult:
        for _ in range(20):
            await asyncio.sleep(0)
            if signal.aborted:
                raise RuntimeError("stopped")
        return result("waited")

    async def stubborn(params: Any, signal: AbortSignal, on_update: Any) -> AgentToolResult:
        await asyncio.sleep(0.003)
        return result("slept")

    def fail(*_: Any) -> AgentToolResult:
        raise RuntimeError("fail")

    sequential = tool("ordered", pause, execution_mode="sequential")
    return [tool("pause", pause), tool("wait", wait), tool("stubborn", stubborn), tool("fail", fail), sequential]


calls = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "c"]),
        st.sampled_from(["pause", "wait", "stubborn", "fail", "ordered", "unknown"]),
        st.sampled_from([{}, {"n": 1}, {"n": "x"}]),
    ),
    max_size=4,
)
replies = st.builds(
    lambda text, made, stop: Reply(text, made, stop, "boom" if stop in ("error", "aborted") else msgspec.UNSET),
    st.sampled_from(["", "text"]),
    calls,
    st.sampled_from([None, None, None, "length", "stop", "error", "aborted", "toolUse"]),
)
moments = st.none() | st.integers(0, 40)
plans = st.builds(
    Plan,
    replies=st.lists(replies, max_size=4),
    mode=st.sampled_from(["parallel", "sequential"]),
    abort_at=moments,
    cancel_at=moments,
    raise_at=moments,
    steer_at=st.lists(st.integers(0, 40), max_size=3),
    blocked=st.sets(st.sampled_from(["pause", "wait"])),
    async_listener=st.booleans(),
)


async def play(plan: Plan) -> tuple[Agent, list[AgentEvent]]:
    script = ScriptedModel(*plan.replies)
    state: Any = {"model": MODEL, "tools": tools()}
    mode: Any = plan.mode
    agent = Agent(
        stream_fn=script,
        initial_state=state,
        tool_execution=mode,
        abort_grace_s=0.001,
        before_tool_call=lambda context, _: BeforeToolCallResult(block=context.tool_call.name in plan.blocked),
    )
    log = EventLog()
    agent.subscribe(log)

    def act(event: AgentEvent, signal: AbortSignal) -> Any:
        count = len(log.events)
        if count in plan.steer_at:
            agent.steer(user("steer"))
        if count == plan.abort_at:
            agent.abort()
        if count == plan.cancel_at:
            running.cancel()
        if count == plan.raise_at:
            raise RuntimeError("listener")
        return asyncio.sleep(0) if plan.async_listener else None

    agent.subscribe(act)
    running = asyncio.create_task(agent.prompt("q"))
    await asyncio.wait([running])
    assert asyncio.all_tasks() == {asyncio.current_task()}
    if not running.cancelled():
        assert running.exception() is None
    return agent, log.events


def nesting(events: list[AgentEvent]) -> Iterator[str]:
    """Checks that what is opened is closed in order; yields the ids of ended calls."""
    open_message: AgentMessage | None = None
    open_calls: set[str] = set()
    in_turn = False
    for event in events[1:-1]:
        match event:
            case TurnStart():
                assert not in_turn
                in_turn = True
            case TurnEnd():
                assert in_turn
                assert not open_calls
                in_turn = False
            case MessageStart(message=message):
                assert in_turn
                assert open_message is None
                open_message = message
            case MessageUpdate():
                assert isinstance(open_message, AssistantMessage)
            case MessageEnd(message=message):
                assert open_message is not None
                assert type(open_message) is type(message)
                open_message = None
            case ToolExecutionStart(tool_call_id=call):
                assert call not in open_calls
                open_calls.add(call)
            case ToolExecutionUpdate(tool_call_id=call):
                assert call in open_calls
            case ToolExecutionEnd(tool_call_id=call):
                open_calls.remove(call)
                yield call
            case AgentStart() | AgentEnd():
                raise AssertionError(event)
    assert open_message is None
    assert not in_turn
    assert not open_calls


def executed_calls(messages: list[AgentMessage]) -> list[str]:
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    return [call.id for m in answers if m.stop_reason not in ("error", "aborted") for call in m.tool_calls]


@settings(max_examples=150, deadline=None)
@given(plans)
def test_every_call_has_one_result_and_events_nest(plan: Plan) -> None:
    agent, events = asyncio.run(play(plan))
    messages = agent.state.messages
    expected = executed_calls(messages)
    results = [message.tool_call_id for message in messages if isinstance(message, ToolResultMessage)]
    assert results == expected
    assert len(set(expected)) == len(expected)
    assert all(expected)
    assert isinstance(events[0], AgentStart)
    assert isinstance(events[-1], AgentEnd)
    if plan.raise_at is None:
        assert sum(isinstance(event, AgentEnd) for event in events) == 1
    if plan.raise_at is None and plan.cancel_at is None:
        assert sorted(nesting(events)) == sorted(expected)
    ended = [event.message for event in events if isinstance(event, MessageEnd)]
    assert [id(message) for message in ended] == [id(message) for message in messages[-len(ended) :]]
    state = agent.state
    assert (state.is_streaming, state.streaming_message, state.pending_tool_calls) == (False, None, frozenset())
