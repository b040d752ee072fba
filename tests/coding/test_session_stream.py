from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon.agent.event import AgentStart, MessageUpdate, ToolExecutionStart
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.coding.event import AgentSettled
from pinyon.coding.limit import Limits
from pinyon.coding.session_stream import WAITING_EVENTS
from pinyon.errors import AgentBusyError, ModelError

LONG = faux_assistant_message("word " * 2000)


def test_a_stream_gives_the_events_that_listeners_hear_and_then_the_result(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        stream = scripted.session.stream("hello")
        events = [event async for event in stream]
        assert events == scripted.events
        assert isinstance(events[0], AgentStart)
        assert isinstance(events[-1], AgentSettled)
        result = await stream.result()
        assert (result.text, result.stop_reason) == ("Hi there", "stop")

    run_scripted([faux_assistant_message("Hi there")], play, cwd=tmp_path)


def test_a_result_can_be_had_without_a_loop(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        assert (await scripted.session.stream("hello").result()).text == LONG.text

    run_scripted([LONG], play, cwd=tmp_path)


def test_nothing_runs_before_the_loop_begins(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        stream = scripted.session.stream("hello")
        await asyncio.sleep(0.01)
        assert scripted.requests == []
        await stream.aclose()
        assert scripted.requests == []

    run_scripted([LONG], play, cwd=tmp_path)


def test_a_slow_reader_holds_the_agent_back(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        furthest = 0
        taken = 0
        async for _ in scripted.session.stream("hello"):
            taken += 1
            for _ in range(20):  # time in which an agent that does not wait would run ahead
                await asyncio.sleep(0)
            furthest = max(furthest, len(scripted.events) - taken)
        assert taken > 10 * WAITING_EVENTS
        assert furthest <= WAITING_EVENTS + 1

    run_scripted([LONG], play, cwd=tmp_path)


def test_leaving_the_loop_aborts_the_run_and_the_next_prompt_works(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async for event in scripted.session.stream("hello"):
            if isinstance(event, MessageUpdate):
                break
        result = await scripted.session.run("again")
        assert result.text == "second"
        settled = [event.aborted for event in scripted.events if isinstance(event, AgentSettled)]
        assert settled == [True, False]
        roles = [entry.type for entry in scripted.session.session.get_entries() if entry.message is not None]
        assert len(roles) >= 4  # both prompts and both answers are stored

    run_scripted([LONG, faux_assistant_message("second")], play, cwd=tmp_path)


def test_an_error_in_the_loop_aborts_the_run(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async def read() -> None:
            async for event in scripted.session.stream("hello"):
                if isinstance(event, MessageUpdate):
                    raise LookupError("mine")  # noqa: TRY004 - not about the type

        with pytest.raises(LookupError, match="mine"):
            await read()
        assert (await scripted.session.run("again")).text == "second"

    run_scripted([LONG, faux_assistant_message("second")], play, cwd=tmp_path)


def test_a_stream_as_context_is_over_when_it_is_left(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async with scripted.session.stream("hello") as events:
            async for event in events:
                if isinstance(event, MessageUpdate):
                    break
        assert scripted.session.is_idle
        assert (await events.result()).stop_reason == "aborted"

    run_scripted([LONG], play, cwd=tmp_path)


def test_aborting_from_inside_the_loop_ends_it(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        events = []
        async for event in scripted.session.stream("hello"):
            events.append(event)
            if len(events) == 5:
                await scripted.session.abort()
        assert isinstance(events[-1], AgentSettled)
        assert events[-1].aborted

    run_scripted([LONG], play, cwd=tmp_path)


def test_cancelling_the_reader_aborts_the_run_before_the_cancellation_goes_on(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async def wait_for_ever(*arguments: object) -> object:
            del arguments
            scripted.stopped.set()
            await asyncio.sleep(3600)
            raise AssertionError

        scripted.faux.set_responses([wait_for_ever])  # type: ignore[list-item]

        async def read() -> None:
            async for _ in scripted.session.stream("hello"):
                pass

        reader = asyncio.create_task(read())
        await scripted.stopped.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert scripted.session.is_idle

    run_scripted([], play, cwd=tmp_path)


def test_a_run_that_is_refused_raises_from_the_loop(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        with pytest.raises(ModelError, match="no model is available"):
            async for _ in scripted.session.stream("hello"):
                pass

    run_scripted([], play, cwd=tmp_path, model=None)


def test_a_second_stream_during_a_run_is_refused_and_leaves_the_first_alone(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        first = scripted.session.stream("hello")
        async for event in first:
            if isinstance(event, AgentStart):
                with pytest.raises(AgentBusyError):
                    async for _ in scripted.session.stream("another"):
                        pass
        assert (await first.result()).text == LONG.text

    run_scripted([LONG], play, cwd=tmp_path)


def test_a_stream_takes_limits(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        stream = scripted.session.stream("hello", limits=Limits(max_turns=1))
        calls = [event.tool_name async for event in stream if isinstance(event, ToolExecutionStart)]
        assert calls == ["ls"]
        assert (await stream.result()).limit == "turns"

    run_scripted([faux_assistant_message([faux_tool_call("ls", {})]), LONG], play, cwd=tmp_path, tools=["ls"])


def test_a_loop_that_is_forgotten_leaves_no_task_behind(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async for event in scripted.session.stream("hello"):
            if isinstance(event, AgentStart):
                break
        gc.collect()
        await scripted.session.wait_for_idle()
        for _ in range(5):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_scripted([LONG], play, cwd=tmp_path)
