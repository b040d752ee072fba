import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import FAST_RETRY, Scripted, run_scripted, text_of

from pinyon.agent.event import MessageEnd, MessageStart, MessageUpdate
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.event import TextDelta
from pinyon.ai.message import AssistantMessage, SystemMessage, ToolResultMessage, UserMessage
from pinyon.coding.event import AgentSettled, AutoRetryEnd, AutoRetryStart, EntryAppended, QueueUpdate
from pinyon.errors import AgentBusyError

OVERLOADED = faux_assistant_message("", stop_reason="error", error_message="529 overloaded")


def test_the_first_prompt_tells_the_model_its_prompt_and_tools_and_stores_everything(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        assert await scripted.session.prompt("hello") == "started"
        assert scripted.names() == [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_end",
            "message_start",
            "message_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
        first = scripted.requests[0][0]
        assert isinstance(first, SystemMessage)
        assert [tool.name for tool in first.tools_added or ()] == ["read", "bash", "edit", "write"]
        assert str(tmp_path) in (first.sections or {})["cwd"]  # type: ignore[operator]
        kinds = [entry.type for entry in scripted.session.session.get_entries()]
        assert kinds == ["model_change", "thinking_level_change", "message", "message", "message"]
        assert scripted.session.get_last_assistant_text() == "Hi there."

    run_scripted([faux_assistant_message("Hi there.")], play, cwd=tmp_path)


def test_a_second_prompt_declares_nothing_again_and_keeps_the_same_messages(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        await scripted.session.prompt("two")
        first, second = scripted.requests
        assert second[: len(first)] == first
        assert sum(isinstance(message, SystemMessage) for message in second) == 1

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)


def test_tools_work_on_real_files_in_the_session_directory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\nbeta\n")
    edit = faux_tool_call("edit", {"path": "a.txt", "edits": [{"oldText": "beta", "newText": "BETA"}]})

    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("change it")
        assert (result.text, result.stop_reason) == ("done", "stop")
        assert [call.name for call in result.tool_calls] == ["edit"]
        assert [type(message) for message in result.messages] == [
            SystemMessage,
            UserMessage,
            AssistantMessage,
            ToolResultMessage,
            AssistantMessage,
        ]

    run_scripted([faux_assistant_message(edit), faux_assistant_message("done")], play, cwd=tmp_path)
    assert (tmp_path / "a.txt").read_text() == "alpha\nBETA\n"


def test_steering_comes_after_the_turn_and_follow_ups_when_the_run_would_end(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        async def queue() -> None:
            await scripted.session.follow_up("later")
            await scripted.session.steer("now")

        def on_event(event: Any) -> None:
            if type(event) is MessageStart and isinstance(event.message, AssistantMessage) and not tasks:
                tasks.append(asyncio.ensure_future(queue()))

        tasks: list[asyncio.Future[None]] = []
        scripted.session.subscribe(on_event)
        await scripted.session.prompt("start")
        await asyncio.gather(*tasks)
        users = [text_of(m) for m in scripted.session.messages if isinstance(m, UserMessage)]
        assert users == ["start", "now", "later"]
        updates = [(e.steering, e.follow_up) for e in scripted.events if isinstance(e, QueueUpdate)]
        assert updates == [([], ["later"]), (["now"], ["later"]), ([], ["later"]), ([], [])]
        assert scripted.names().count("agent_settled") == 1

    run_scripted([faux_assistant_message(text) for text in ("a", "b", "c")], play, cwd=tmp_path)


def test_a_prompt_during_a_run_needs_a_behaviour(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        refused: list[Exception] = []

        async def again() -> None:
            try:
                await scripted.session.prompt("second")
            except AgentBusyError as error:
                refused.append(error)

        tasks: list[asyncio.Future[None]] = []

        def on_event(event: object) -> None:
            del event
            if not tasks:
                tasks.append(asyncio.ensure_future(again()))

        scripted.session.subscribe(on_event)
        await scripted.session.prompt("first")
        await asyncio.gather(*tasks)
        assert "streaming_behavior" in str(refused[0])

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path)


def test_a_failed_answer_is_asked_for_again_and_left_out_of_the_context(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("hi")
        starts = [event for event in scripted.events if isinstance(event, AutoRetryStart)]
        assert [(event.attempt, event.max_attempts, event.delay_ms) for event in starts] == [(1, 2, 1)]
        assert AutoRetryEnd(success=True, attempt=1) in scripted.events
        edits = [event.entry["replacement"] for event in scripted.events if isinstance(event, EntryAppended)]
        assert edits == [None]
        assert scripted.texts_sent(1) == ["hi"]
        names = scripted.names("message_start", "message_end", "turn_start")
        assert names == [
            "agent_start",
            "turn_end",
            "agent_end",
            "auto_retry_start",
            "entry_appended",
            "agent_start",
            "auto_retry_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]

    run_scripted([OVERLOADED, faux_assistant_message("ok")], play, cwd=tmp_path, settings=FAST_RETRY)


def test_retries_end_and_the_last_failure_stays_visible(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("hi")
        assert (result.stop_reason, result.error_message) == ("error", "529 overloaded")
        ends = [event for event in scripted.events if isinstance(event, AutoRetryEnd)]
        assert [(event.success, event.attempt, event.final_error) for event in ends] == [(False, 2, "529 overloaded")]
        assert len(scripted.requests) == 3
        last = scripted.session.messages[-1]
        assert isinstance(last, AssistantMessage)
        assert last.stop_reason == "error"

    run_scripted([OVERLOADED] * 5, play, cwd=tmp_path, settings=FAST_RETRY)


def test_a_failure_that_will_not_pass_is_not_repeated(tmp_path: Path) -> None:
    refused = faux_assistant_message("", stop_reason="error", error_message="400 bad thing")

    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("hi")
        assert result.error_message == "400 bad thing"
        assert len(scripted.requests) == 1

    run_scripted([refused, faux_assistant_message("never")], play, cwd=tmp_path, settings=FAST_RETRY)


def test_aborting_the_pause_before_a_retry_settles_the_session(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        def on_event(event: Any) -> None:
            if isinstance(event, AutoRetryStart):
                asyncio.get_running_loop().call_soon(scripted.session.abort_retry)

        scripted.session.subscribe(on_event)
        await scripted.session.prompt("hi")
        assert [e.success for e in scripted.events if isinstance(e, AutoRetryEnd)] == [False]
        assert isinstance(scripted.events[-1], AgentSettled)
        assert not scripted.events[-1].aborted

    slow = {"retry": {"baseDelayMs": 60_000}}
    run_scripted([OVERLOADED, faux_assistant_message("never")], play, cwd=tmp_path, settings=slow)


def test_an_abort_keeps_what_arrived_and_the_queue_and_returns_after_settling(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        tasks: list[asyncio.Future[None]] = []

        async def stop() -> None:
            await scripted.session.follow_up("later")
            await scripted.session.abort()
            assert scripted.names()[-1] == "agent_settled"

        def on_event(event: Any) -> None:
            if type(event) is MessageUpdate and type(event.assistant_message_event) is TextDelta and not tasks:
                tasks.append(asyncio.ensure_future(stop()))

        scripted.session.subscribe(on_event)
        await scripted.session.prompt("long")
        await asyncio.gather(*tasks)
        stored = [
            e.message for e in scripted.events if type(e) is MessageEnd and isinstance(e.message, AssistantMessage)
        ]
        assert [message.stop_reason for message in stored] == ["aborted"]
        assert 0 < len(stored[0].text) < 4000
        assert scripted.session.follow_up_messages == ["later"]
        assert scripted.session.is_idle
        await scripted.session.prompt("next")
        assert [text_of(m) for m in scripted.session.messages if isinstance(m, UserMessage)][-2:] == ["next", "later"]

    long = faux_assistant_message("word " * 800)
    run_scripted([long, faux_assistant_message("b"), faux_assistant_message("c")], play, cwd=tmp_path)


def test_a_prompt_from_within_the_settled_event_runs_afterwards(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        told: list[Any] = []

        def on_event(event: Any) -> None:
            if type(event) is AgentSettled and not told:
                # As a task does that starts eagerly.
                with pytest.raises(StopIteration) as done:
                    scripted.session.prompt("next").send(None)
                told.append(done.value.value)

        scripted.session.subscribe(on_event)
        await scripted.session.prompt("first")
        assert told == ["queued"]
        assert scripted.texts_sent(1) == ["first", "a", "next"]
        assert scripted.names().count("agent_settled") == 2

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)


def test_messages_of_a_cleared_queue_are_not_sent(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.steer("a")
        await scripted.session.follow_up("b")
        assert scripted.session.clear_queue() == (["a"], ["b"])
        assert scripted.session.pending_message_count == 0
        await scripted.session.prompt("go")
        assert [scripted.texts_sent(index) for index in range(len(scripted.requests))] == [["go"]]

    run_scripted([faux_assistant_message("done")], play, cwd=tmp_path)


def test_after_a_compaction_by_hand_waiting_messages_are_delivered(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        for text in ("one", "two"):
            await scripted.session.prompt(text * 50)
        await scripted.session.follow_up("later")
        await scripted.session.compact()
        assert scripted.texts_sent(-1)[-1] == "later"
        assert scripted.session.follow_up_messages == []
        assert scripted.session.get_last_assistant_text() == "done"

    answers = [faux_assistant_message(text) for text in ("a", "b", "summary", "rest", "done")]
    run_scripted(answers, play, cwd=tmp_path, settings={"compaction": {"keepRecentTokens": 1}})


def test_a_raising_listener_is_reported_and_harms_nobody(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        reported: list[Exception] = []
        scripted.session.events.on_listener_error = reported.append

        def broken(event: object) -> None:
            raise ValueError(event)

        scripted.session.subscribe(broken)
        result = await scripted.session.run("hi")
        assert result.text == "fine"
        assert reported

    run_scripted([faux_assistant_message("fine")], play, cwd=tmp_path)


def test_thinking_is_clamped_recorded_and_announced_only_when_it_changes(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        scripted.session.set_thinking_level("high")
        assert scripted.session.thinking_level == "off"
        assert scripted.names() == []

    run_scripted([], play, cwd=tmp_path)


def test_names_are_cleaned_and_announced(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        scripted.session.set_session_name(" my\nrun ")
        assert scripted.session.session_name == "my run"
        assert scripted.names() == ["session_info_changed"]

    run_scripted([], play, cwd=tmp_path)


@pytest.mark.parametrize(
    ("options", "active"),
    [
        ({}, ["read", "bash", "edit", "write"]),
        ({"tools": ["read", "grep"]}, ["read", "grep"]),
        ({"tools": ["+grep", "-bash"]}, ["read", "edit", "write", "grep"]),
        ({"exclude_tools": ["bash"]}, ["read", "edit", "write"]),
        ({"no_tools": "all"}, []),
        ({"no_tools": "builtin"}, []),
        ({"tools": ["*"]}, ["read", "bash", "powershell", "edit", "write", "grep", "find", "ls"]),
    ],
)
def test_tools_are_chosen_by_name_edit_and_switch(tmp_path: Path, options: dict[str, Any], active: list[str]) -> None:
    async def play(scripted: Scripted) -> None:
        assert scripted.session.get_active_tool_names() == active

    run_scripted([], play, cwd=tmp_path, **options)


def test_a_changed_tool_set_is_told_with_the_next_prompt(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        scripted.session.set_active_tools_by_name(["read", "ls", "nope"])
        await scripted.session.prompt("two")
        change = [m for m in scripted.requests[1] if isinstance(m, SystemMessage)][-1]
        assert [tool.name for tool in change.tools_added or ()] == ["ls"]
        assert [tool.name for tool in change.tools_removed or ()] == ["bash", "edit", "write"]

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)
