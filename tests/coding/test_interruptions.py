"""What is stopped, cancelled, disposed of or disturbed at any moment: nothing hangs, nothing is left over or lost."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted

from pinyon._util.abort import OperationAbortedError
from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import (
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    CompactionStart,
    SessionEvent,
    SessionInfoChanged,
)
from pinyon.coding.hooks import CompactionAnswer, CompactionRequest, SessionHooks, ShutdownReason
from pinyon.errors import AgentBusyError, SessionError
from pinyon.session.local import LocalSessionManager

SMALL = {"compaction": {"keepRecentTokens": 1}, "retry": {"baseDelayMs": 60_000}}
OVERLOADED = faux_assistant_message("", stop_reason="error", error_message="503 overloaded")


class Held:
    """An answer that never comes unless it is let go, whatever is aborted."""

    def __init__(self, text: str) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self._text = text

    async def __call__(self, *request: Any) -> AssistantMessage:
        self.asked.set()
        await self.go.wait()
        return faux_assistant_message(self._text)


async def two_turns(scripted: Scripted) -> None:
    await scripted.session.prompt("one")
    await scripted.session.prompt("two")


def answers(*more: Any) -> list[Any]:
    return [faux_assistant_message("a"), faux_assistant_message("b"), *more]


def test_a_listener_may_end_the_pause_before_a_retry_that_it_hears_of(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        session = scripted.session
        session.subscribe(lambda event: session.abort_retry() if isinstance(event, AutoRetryStart) else None)
        await session.prompt("x")
        assert len(scripted.requests) == 1
        assert [event.success for event in scripted.events if isinstance(event, AutoRetryEnd)] == [False]

    run_scripted([OVERLOADED, OVERLOADED], play, cwd=tmp_path, settings=SMALL)


def test_a_listener_may_end_the_compaction_that_it_hears_of(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        was_compacting = []

        def end(event: SessionEvent) -> None:
            if isinstance(event, CompactionStart):
                was_compacting.append(session.is_compacting)
                session.abort_compaction()

        session.subscribe(end)
        with pytest.raises(OperationAbortedError):
            await session.compact()
        assert was_compacting == [True]
        assert scripted.names()[-2:] == ["compaction_start", "compaction_end"]

    run_scripted(answers(faux_assistant_message("summary")), play, cwd=tmp_path, settings=SMALL)


def test_all_listeners_hear_the_same_order_of_what_a_listener_causes(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        session = scripted.session
        later: list[SessionEvent] = []
        named: list[SessionEvent] = []

        def name(event: SessionEvent) -> None:
            if not named:
                named.append(event)
                session.set_session_name("first")

        session.subscribe(name)
        session.subscribe(later.append)
        await session.prompt("x")
        assert [type(event) for event in later[:2]] == [type(named[0]), SessionInfoChanged]
        assert [type(event) for event in later] == [type(event) for event in scripted.events]

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path)


@pytest.mark.parametrize("way", ["messages", "continue"])
def test_no_run_starts_while_the_history_is_replaced(tmp_path: Path, way: str) -> None:
    held = Held("summary")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        compaction = asyncio.create_task(session.compact())
        await held.asked.wait()
        message = UserMessage(content="m", timestamp=1)
        with pytest.raises(AgentBusyError, match="compacted"):
            await (session.run_messages([message]) if way == "messages" else session.continue_run())
        held.go.set()
        await compaction
        assert "agent_start" not in scripted.names()[scripted.names().index("compaction_start") :]

    run_scripted(answers(held, faux_assistant_message("c")), play, cwd=tmp_path, settings=SMALL)


def test_a_message_that_starts_a_run_waits_for_the_end_of_a_compaction(tmp_path: Path) -> None:
    held = Held("summary")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        compaction = asyncio.create_task(scripted.session.compact())
        await held.asked.wait()
        await scripted.session.send_custom_message("x", "hello", trigger_turn=True)
        assert len(scripted.requests) == 3
        held.go.set()
        await compaction
        assert scripted.texts_sent(-1)[-1] == "hello"

    run_scripted(answers(held, faux_assistant_message("c")), play, cwd=tmp_path, settings=SMALL)


@pytest.mark.parametrize("is_aborted_first", [True, False])
def test_what_is_queued_during_a_compaction_is_delivered_also_after_an_aborted_run(
    tmp_path: Path, is_aborted_first: bool
) -> None:
    never, summary = Held("never"), Held("summary")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        run = asyncio.create_task(session.prompt("three"))
        await never.asked.wait()
        if is_aborted_first:
            await session.abort()
        compaction = asyncio.create_task(session.compact())
        await summary.asked.wait()
        await session.steer("and this")
        summary.go.set()
        await compaction
        await run
        assert scripted.texts_sent(-1)[-1] == "and this"
        assert session.pending_message_count == 0

    run_scripted(answers(never, summary, faux_assistant_message("c")), play, cwd=tmp_path, settings=SMALL)


def test_an_abort_during_a_compaction_leaves_queued_messages_where_they_are(tmp_path: Path) -> None:
    held = Held("summary")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        compaction = asyncio.create_task(session.compact())
        await held.asked.wait()
        await session.steer("later")
        await session.abort()
        with pytest.raises(OperationAbortedError):
            await compaction
        assert session.steering_messages == ["later"]
        assert len(scripted.requests) == 3

    run_scripted(answers(held), play, cwd=tmp_path, settings=SMALL)


def test_a_prompt_made_at_the_settling_of_a_run_never_overlaps_the_compaction_that_stopped_it(tmp_path: Path) -> None:
    never = Held("never")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        again: list[asyncio.Task[Any]] = []

        def prompt_again(event: SessionEvent) -> None:
            if isinstance(event, AgentSettled) and not again:
                again.append(asyncio.create_task(session.prompt("again")))

        run = asyncio.create_task(session.prompt("three"))
        await never.asked.wait()
        session.subscribe(prompt_again)
        await asyncio.gather(session.compact(), run, return_exceptions=True)
        await asyncio.gather(*again, return_exceptions=True)
        names = [name for name in scripted.names() if name in ("agent_start", "compaction_start", "compaction_end")]
        start = names.index("compaction_start")
        assert names[start + 1] == "compaction_end"

    more = [faux_assistant_message(text) for text in "cdef"]
    run_scripted(answers(never, *more), play, cwd=tmp_path, settings=SMALL)


def test_a_cancelled_compaction_ends_for_listeners_too(tmp_path: Path) -> None:
    held = Held("summary")

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        compaction = asyncio.create_task(scripted.session.compact())
        await held.asked.wait()
        compaction.cancel()
        with pytest.raises(asyncio.CancelledError):
            await compaction
        assert not scripted.session.is_compacting
        assert scripted.names()[-1] == "compaction_end"

    run_scripted(answers(held), play, cwd=tmp_path, settings=SMALL)


def test_a_hook_that_raises_or_hangs_in_a_compaction_leaves_a_session_that_works(tmp_path: Path) -> None:
    class Bad(SessionHooks):
        is_hanging = False

        def __init__(self) -> None:
            self.asked = asyncio.Event()

        async def before_compact(self, request: CompactionRequest) -> CompactionAnswer | None:
            if self.is_hanging:
                self.asked.set()
                await asyncio.Event().wait()
            raise RuntimeError("bad hook")

    hooks = Bad()

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        session = scripted.session
        with pytest.raises(RuntimeError):
            await session.compact()
        assert scripted.names()[-1] == "compaction_end"
        hooks.is_hanging = True
        compaction = asyncio.create_task(session.compact())
        await hooks.asked.wait()
        await session.abort()
        with pytest.raises(OperationAbortedError):
            await compaction
        await session.prompt("three")
        assert session.get_last_assistant_text() == "c"

    run_scripted(answers(faux_assistant_message("c")), play, cwd=tmp_path, settings=SMALL, hooks=hooks)


async def _start_compaction(scripted: Scripted, held: Held) -> asyncio.Task[Any]:
    await two_turns(scripted)
    task = asyncio.create_task(scripted.session.compact())
    await held.asked.wait()
    await scripted.session.steer("x")
    return task


async def _start_move(scripted: Scripted, held: Held) -> asyncio.Task[Any]:
    await two_turns(scripted)
    target = scripted.session.get_user_messages_for_forking()[0].entry_id
    task = asyncio.create_task(scripted.session.navigate_tree(target, summarize=True))
    await held.asked.wait()
    await scripted.session.steer("x")
    return task


async def _start_answer(scripted: Scripted, held: Held) -> asyncio.Task[Any]:
    await two_turns(scripted)
    task = asyncio.create_task(scripted.session.prompt("three"))
    await held.asked.wait()
    await scripted.session.steer("x")
    return task


async def _start_retry(scripted: Scripted, held: Held) -> asyncio.Task[Any]:
    scripted.faux.set_responses([OVERLOADED])
    is_waiting = asyncio.Event()
    scripted.session.subscribe(lambda event: is_waiting.set() if isinstance(event, AutoRetryStart) else None)
    task = asyncio.create_task(scripted.session.prompt("one"))
    await is_waiting.wait()
    return task


async def _start_command(scripted: Scripted, held: Held) -> asyncio.Task[Any]:
    await scripted.session.prompt("one")
    has_begun = asyncio.Event()
    task = asyncio.create_task(scripted.session.execute_bash("echo ready; sleep 60", lambda chunk: has_begun.set()))
    await has_begun.wait()
    return task


@pytest.mark.parametrize("start", [_start_compaction, _start_move, _start_answer, _start_retry, _start_command])
def test_dispose_ends_whatever_is_in_progress_and_leaves_nothing_behind(
    tmp_path: Path, start: Callable[[Scripted, Held], Awaitable[asyncio.Task[Any]]]
) -> None:
    held = Held("never")

    async def play(scripted: Scripted) -> None:
        session = scripted.session
        task = await start(scripted, held)
        await scripted.pi.dispose()
        entries, requests = len(session.session.get_entries()), len(scripted.requests)
        await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert session.is_idle
        assert not session.is_compacting
        assert not session.is_bash_running
        assert (len(session.session.get_entries()), len(scripted.requests)) == (entries, requests)

    agent_dir = tmp_path / "agent"
    run_scripted(
        answers(held, faux_assistant_message("c")),
        play,
        cwd=tmp_path,
        settings=SMALL,
        session_manager=LocalSessionManager(cwd=tmp_path, agent_dir=agent_dir),
    )
    assert list(agent_dir.rglob("*.jsonl"))
    assert not list(agent_dir.rglob(".*.lock"))


@pytest.mark.parametrize("act", ["prompt", "run", "compact", "navigate", "bash"])
def test_a_session_that_was_disposed_of_says_so(tmp_path: Path, act: str) -> None:
    async def play(scripted: Scripted) -> None:
        session: AgentSession = scripted.session
        await session.prompt("one")
        target = session.get_user_messages_for_forking()[0].entry_id
        await scripted.pi.dispose()
        actions: dict[str, Callable[[], Awaitable[Any]]] = {
            "prompt": lambda: session.prompt("x"),
            "run": lambda: session.run("x"),
            "compact": session.compact,
            "navigate": lambda: session.navigate_tree(target),
            "bash": lambda: session.execute_bash("true"),
        }
        with pytest.raises(SessionError, match="disposed"):
            await actions[act]()

    run_scripted(answers(), play, cwd=tmp_path)


def test_a_failing_shutdown_hook_does_not_keep_the_session_or_its_file(tmp_path: Path) -> None:
    class Failing(SessionHooks):
        async def shutdown(self, reason: ShutdownReason, target_session_file: str | None) -> None:
            raise RuntimeError("bad hook")

    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        with pytest.raises(RuntimeError):
            await scripted.pi.dispose()

    agent_dir = tmp_path / "agent"
    manager = LocalSessionManager(cwd=tmp_path, agent_dir=agent_dir)
    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path, hooks=Failing(), session_manager=manager)
    assert not list(agent_dir.rglob(".*.lock"))
