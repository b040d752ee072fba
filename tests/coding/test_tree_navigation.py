import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import FAST_RETRY, Scripted, run_scripted, text_of

from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.message import BranchSummaryMessage, UserMessage
from pinyon.coding.compaction.branch_summary import prepare_branch_summary
from pinyon.coding.compaction.summary import SummaryError
from pinyon.coding.event import (
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)
from pinyon.coding.hooks import OwnSummary, SessionHooks, TreeAnswer, TreeMove, TreeRequest
from pinyon.errors import AgentBusyError
from pinyon.session.error import EntryNotFoundError


def entry_id(scripted: Scripted, text: str) -> str:
    """The entry of the message that says this."""
    for entry in scripted.session.session.get_entries():
        if entry.message is not None and text_of(entry.message) == text:
            return entry.id
    raise AssertionError(text)


def context(scripted: Scripted) -> list[str]:
    kinds = [message for message in scripted.session.messages if not hasattr(message, "sections")]
    return [text_of(message) if hasattr(message, "content") else "summary" for message in kinds]


async def two_turns(scripted: Scripted) -> None:
    await scripted.session.prompt("one")
    await scripted.session.prompt("two")


ANSWERS = [faux_assistant_message("first"), faux_assistant_message("second")]


def test_before_a_message_of_the_user_its_text_comes_back_and_nothing_is_written(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        count = scripted.session.session.get_entry_count()
        moved = await scripted.session.navigate_tree(entry_id(scripted, "two"))
        assert (moved.editor_text, moved.cancelled) == ("two", False)
        assert context(scripted) == ["one", "first"]
        assert scripted.session.session.get_entry_count() == count
        await scripted.session.prompt("another")
        assert scripted.texts_sent(2) == ["one", "first", "another"]

    run_scripted([*ANSWERS, faux_assistant_message("third")], play, cwd=tmp_path)


def test_at_an_answer_the_session_goes_on_behind_it_and_at_the_leaf_nothing_happens(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        moved = await scripted.session.navigate_tree(entry_id(scripted, "first"), label="here")
        assert not moved.editor_text
        assert context(scripted) == ["one", "first"]
        assert scripted.session.session.get_label(entry_id(scripted, "first")) == "here"
        leaf = scripted.session.session.get_leaf_id()
        assert leaf is not None
        await scripted.session.navigate_tree(leaf, label="unused")
        assert scripted.session.session.get_label(leaf) is None

    run_scripted(ANSWERS, play, cwd=tmp_path)


def test_before_the_first_message_the_context_is_empty(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        moved = await scripted.session.navigate_tree(entry_id(scripted, "one"))
        assert moved.editor_text == "one"
        assert context(scripted) == []

    run_scripted(ANSWERS, play, cwd=tmp_path)


def test_the_branch_that_is_left_is_summarised_where_the_session_goes_on(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        old_leaf = scripted.session.session.get_leaf_id()
        target = entry_id(scripted, "first")
        moved = await scripted.session.navigate_tree(target, summarize=True, custom_instructions="numbers", label="L")
        request = scripted.texts_sent(2)[0]
        assert "[User]: two" in request
        assert "[User]: one" not in request
        assert "numbers" in request
        entry = moved.summary_entry
        assert entry
        assert entry.parent_id == target
        assert entry.from_id == old_leaf
        assert entry.summary.endswith("what happened")
        assert entry.details == {"readFiles": [], "modifiedFiles": []}
        assert scripted.session.session.get_label(entry.id) == "L"
        assert isinstance(scripted.session.messages[-1], BranchSummaryMessage)

    run_scripted([*ANSWERS, faux_assistant_message("what happened")], play, cwd=tmp_path)


def test_own_instructions_may_stand_alone(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        await scripted.session.navigate_tree(
            entry_id(scripted, "first"), summarize=True, custom_instructions="only haiku", replace_instructions=True
        )
        assert scripted.texts_sent(2)[0].endswith("</conversation>\n\nonly haiku")

    run_scripted([*ANSWERS, faux_assistant_message("s")], play, cwd=tmp_path)


@pytest.mark.parametrize(
    "answer",
    [
        faux_assistant_message("cut", stop_reason="length"),
        faux_assistant_message("  "),
        faux_assistant_message(faux_tool_call("read", {"path": "x"}), stop_reason="toolUse"),
        faux_assistant_message("", stop_reason="error", error_message="400 no"),
    ],
)
def test_a_summary_that_cannot_be_used_leaves_everything_as_it_was(tmp_path: Path, answer: Any) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        leaf, count = scripted.session.session.get_leaf_id(), scripted.session.session.get_entry_count()
        with pytest.raises(SummaryError):
            await scripted.session.navigate_tree(entry_id(scripted, "first"), summarize=True)
        assert scripted.session.session.get_leaf_id() == leaf
        assert scripted.session.session.get_entry_count() == count
        assert not scripted.session.is_compacting

    run_scripted([*ANSWERS, answer], play, cwd=tmp_path)


def test_a_failed_summary_request_is_repeated_and_told(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        scripted.events.clear()
        await scripted.session.navigate_tree(entry_id(scripted, "first"), summarize=True)
        scheduled, started, finished = scripted.events
        assert isinstance(scheduled, SummarizationRetryScheduled)
        assert isinstance(started, SummarizationRetryAttemptStart)
        assert started.source == "branchSummary"
        assert isinstance(finished, SummarizationRetryFinished)

    overloaded = faux_assistant_message("", stop_reason="error", error_message="529 overloaded")
    run_scripted([*ANSWERS, overloaded, faux_assistant_message("s")], play, cwd=tmp_path, settings=FAST_RETRY)


def test_an_abort_stops_the_summary_and_the_move(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        leaf = scripted.session.session.get_leaf_id()
        waiting = asyncio.Event()

        async def slow(*_: Any) -> Any:
            waiting.set()
            await scripted.stopped.wait()
            return faux_assistant_message("late")

        scripted.faux.set_responses([slow])
        move = asyncio.create_task(scripted.session.navigate_tree(entry_id(scripted, "first"), summarize=True))
        await waiting.wait()
        assert scripted.session.is_compacting
        with pytest.raises(AgentBusyError):
            await scripted.session.prompt("no")
        with pytest.raises(AgentBusyError):
            await scripted.session.navigate_tree(entry_id(scripted, "one"))
        scripted.session.abort_branch_summary()
        scripted.stopped.set()
        moved = await move
        assert (moved.cancelled, moved.aborted) == (True, True)
        assert scripted.session.session.get_leaf_id() == leaf

    run_scripted(ANSWERS, play, cwd=tmp_path)


def test_an_unknown_entry_and_a_running_session_are_refused(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        with pytest.raises(EntryNotFoundError):
            await scripted.session.navigate_tree("nope")
        refused: list[BaseException] = []

        async def during(*_: Any) -> Any:
            try:
                await scripted.session.navigate_tree("x")
            except AgentBusyError as error:
                refused.append(error)
            return faux_assistant_message("done")

        scripted.faux.set_responses([during])
        await scripted.session.prompt("go")
        assert len(refused) == 1

    run_scripted([], play, cwd=tmp_path)


class MovingHooks(SessionHooks):
    def __init__(self, answer: TreeAnswer) -> None:
        self.answer = answer
        self.requests: list[TreeRequest] = []
        self.moves: list[TreeMove] = []

    async def before_tree(self, request: TreeRequest) -> TreeAnswer | None:
        self.requests.append(request)
        return self.answer

    async def tree_moved(self, move: TreeMove) -> None:
        self.moves.append(move)


def test_a_hook_may_cancel_a_move(tmp_path: Path) -> None:
    hooks = MovingHooks(TreeAnswer(cancel=True))

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        leaf = scripted.session.session.get_leaf_id()
        moved = await scripted.session.navigate_tree(entry_id(scripted, "one"))
        assert moved.cancelled
        assert scripted.session.session.get_leaf_id() == leaf
        assert hooks.moves == []

    run_scripted(ANSWERS, play, cwd=tmp_path, hooks=hooks)


def test_a_hook_may_write_the_summary_and_no_model_is_asked(tmp_path: Path) -> None:
    hooks = MovingHooks(TreeAnswer(summary=OwnSummary(summary="mine", details={"k": 1}), label="H"))

    async def play(scripted: Scripted) -> None:
        await two_turns(scripted)
        target = entry_id(scripted, "first")
        moved = await scripted.session.navigate_tree(target, summarize=True)
        assert moved.summary_entry
        assert (moved.summary_entry.summary, moved.summary_entry.from_hook) == ("mine", True)
        assert scripted.session.session.get_label(moved.summary_entry.id) == "H"
        assert len(scripted.requests) == 2
        [request] = hooks.requests
        assert request.common_ancestor_id == target
        spoken = [entry.message for entry in request.entries_to_summarize if isinstance(entry.message, UserMessage)]
        assert [message.text for message in spoken] == ["two"]
        assert hooks.moves[0].from_extension

    run_scripted(ANSWERS, play, cwd=tmp_path, hooks=hooks)


def test_the_tools_of_the_branch_come_back(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        default = scripted.session.get_active_tool_names()
        scripted.session.set_active_tools_by_name(["read", "grep"])
        await scripted.session.prompt("two")
        await scripted.session.navigate_tree(entry_id(scripted, "first"))
        assert scripted.session.get_active_tool_names() == default

    run_scripted(ANSWERS, play, cwd=tmp_path)


def test_a_summary_takes_the_newest_messages_that_fit_and_leaves_out_results_edits_and_failures(
    tmp_path: Path,
) -> None:
    async def play(scripted: Scripted) -> None:
        session = scripted.session.session
        session.append_message(UserMessage(content="old " * 100, timestamp=1))
        hidden = session.append_message(UserMessage(content="hidden", timestamp=2))
        session.append_context_edit(hidden, None)
        session.append_message(
            faux_assistant_message([faux_tool_call("edit", {"path": "b.py"})], model=scripted.session.model)
        )
        session.append_message(UserMessage(content="new", timestamp=3))
        prepared = prepare_branch_summary(session.get_branch(), 50)
        assert [text_of(message) for message in prepared.messages] == ["", "new"]
        assert prepared.file_ops.modified_files == ["b.py"]
        assert len(prepare_branch_summary(session.get_branch(), 10_000).messages) == 3

    run_scripted([], play, cwd=tmp_path)
