"""A program that uses the public API as users do. The type checker reads it; whatever it says here is a broken promise.

`assert_type` pins what is returned, `assert_never` that a union is closed, and each `type: ignore` that a mistake
is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, assert_never, assert_type

import pinyon
import pinyon.sync
from pinyon.coding.agent_session import Disposition


@dataclass
class City:
    name: str


class DictCity(TypedDict):
    name: str


def name_of_update(event: pinyon.UpdateEvent) -> str:
    match event:
        case pinyon.TextStart() | pinyon.ThinkingStart() | pinyon.ToolCallStart():
            return str(assert_type(event.content_index, int))
        case pinyon.TextDelta() | pinyon.ThinkingDelta() | pinyon.ToolCallDelta():
            return assert_type(event.delta, str)
        case pinyon.TextEnd() | pinyon.ThinkingEnd() | pinyon.ToolCallEnd():
            return "end"
        case _:
            assert_never(event)


def name_of(event: pinyon.AssistantMessageEvent) -> str:
    match event:
        case pinyon.Start():
            return "start"
        case pinyon.Done():
            return assert_type(event.message, pinyon.AssistantMessage).text
        case pinyon.StreamError():
            return assert_type(event.error, pinyon.AssistantMessage).text
        case _:
            return name_of_update(event)


def of_agent(event: pinyon.AgentEvent) -> str:
    match event:
        case pinyon.AgentStart() | pinyon.TurnStart() | pinyon.AgentEnd() | pinyon.TurnEnd():
            return "frame"
        case pinyon.MessageStart() | pinyon.MessageEnd():
            assert_type(event.message, pinyon.AgentMessage)
            return "message"
        case pinyon.MessageUpdate():
            assert_type(event.message, pinyon.AssistantMessage)
            return name_of_update(event.assistant_message_event)
        case pinyon.ToolExecutionStart() | pinyon.ToolExecutionUpdate() | pinyon.ToolExecutionEnd():
            return assert_type(event.tool_name, str)
        case _:
            assert_never(event)


def of_session(event: pinyon.SessionEvent) -> str:
    match event:
        case pinyon.AgentSettled():
            return str(assert_type(event.aborted, bool))
        case pinyon.QueueUpdate():
            return ", ".join(assert_type(event.steering, list[str]))
        case pinyon.CompactionStart() | pinyon.CompactionEnd():
            return event.reason
        case pinyon.AutoRetryStart() | pinyon.AutoRetryEnd() | pinyon.SummarizationRetryScheduled():
            return str(assert_type(event.attempt, int))
        case pinyon.SummarizationRetryAttemptStart() | pinyon.SummarizationRetryFinished():
            return "summary"
        case pinyon.EntryAppended() | pinyon.SessionInfoChanged() | pinyon.ThinkingLevelChanged():
            return "entry"
        case pinyon.BashExecutionUpdate():
            return event.delta
        case pinyon.LimitReached():
            return event.limit
        case pinyon.ExtensionFailed():
            return event.error
        case _:
            return of_agent(event)


def a_missing_event_is_told(event: pinyon.AgentEvent) -> None:
    match event:
        case pinyon.AgentStart():
            pass
        case _:
            assert_never(event)  # type: ignore[arg-type]


@pinyon.define_tool
async def add(left: float, right: float) -> str:
    """Add two numbers."""
    return str(left + right)


async def asynchronous(registry: pinyon.ModelRegistry) -> None:
    async with await pinyon.PiAgent.create(
        cwd=Path(),
        session_manager=pinyon.InMemorySessionManager(),
        settings_manager=pinyon.SettingsManager.in_memory({}),
        model_registry=registry,
        model=pinyon.get_model("anthropic", "claude-sonnet-4-5"),
        thinking_level="high",
        tools=["read"],
        no_tools="builtin",
        custom_tools=[add],
        limits=pinyon.Limits(max_turns=3, max_cost=0.5),
        event_bus=pinyon.create_event_bus(),
    ) as pi:
        assert_type(pi, pinyon.PiAgent)
        session = await pi.create_agent_session()
        assert_type(session, pinyon.AgentSession)
        texts: list[str] = []
        assert_type(session.subscribe(lambda event: texts.append(of_session(event))), Callable[[], None])
        assert_type(await session.prompt("x", streaming_behavior="followUp"), Disposition)
        result = await session.run("x", limits=pinyon.Limits(max_tokens=10))
        assert_type(result, pinyon.RunResult)
        assert_type(result.tool_calls, list[pinyon.ToolCall])
        assert_type(result.usage, pinyon.Usage)
        result.output  # type: ignore[attr-defined]  # noqa: B018
        assert_type((await session.run("x", output=City)).output, City)
        assert_type((await session.run("x", output=DictCity)).output, DictCity)
        assert_type((await session.run("x", output=list[City])).output, list[City])
        either: City | None = (await session.run("x", output=City | None)).output
        assert either
        stream = session.stream("x", output=City)
        async for event in stream:
            assert_type(event, pinyon.SessionEvent)
        assert_type((await stream.result()).output, City)
        assert_type(await session.stream("x").result(), pinyon.RunResult)
        assert_type(await session.run_messages([pinyon.UserMessage(content="x", timestamp=0)]), pinyon.RunResult)
        assert_type(await session.continue_run(), pinyon.RunResult)
        assert_type(await session.run_print(sys.stdout, "x"), str)
        assert_type(session.messages, list[pinyon.AgentMessage])
        assert_type(session.model, pinyon.Model | None)
        assert_type(session.session, pinyon.Session)
        assert_type(await pi.fork("id", position="at"), pinyon.ForkChange)
        assert_type(await pi.new_session(), pinyon.SessionChange)
        await session.prompt(1)  # type: ignore[arg-type]
        await session.prompt("x", streaming_behavior="later")  # type: ignore[arg-type]
        await session.run("x", max_turns=1)  # type: ignore[call-overload]
        session.set_thinking_level("very")  # type: ignore[arg-type]


async def from_parts() -> None:
    options = pinyon.SessionOptions(
        model="anthropic/claude-sonnet-4-5:high", tool_names=["read"], headers={"x": None}, max_retries=1
    )
    assert_type(await pinyon.create_coding_session(options), pinyon.AgentSession)


def synchronous() -> None:
    with pinyon.sync.PiAgent.create(thinking_level="low", limits=pinyon.Limits(max_turns=1)) as pi:
        assert_type(pi, pinyon.sync.SyncPiAgent)
        session = pi.create_agent_session()
        assert_type(session, pinyon.sync.SyncSession)
        assert_type(session.prompt("x", streaming_behavior="steer"), Disposition)
        assert_type(session.run("x"), pinyon.RunResult)
        assert_type(session.run("x", output=City).output, City)
        assert_type(session.stream("x"), Iterator[pinyon.SessionEvent])
        assert_type(session.model, pinyon.Model | None)
        assert_type(session.get_last_assistant_text(), str | None)
        assert_type(session.run_print(sys.stdout, "x"), str)
        assert_type(pi.fork("id"), pinyon.ForkChange)
        session.prompt(1)  # type: ignore[arg-type]
        session.run("x", output=3)  # type: ignore[call-overload]
        pinyon.sync.PiAgent.create(thinking="low")  # type: ignore[call-arg]


def modes() -> None:
    assert_type(pinyon.InteractiveMode.__name__, str)
    assert_type(pinyon.run_print_mode.__name__, str)
