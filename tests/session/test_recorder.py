"""Recording a bare agent, and looking at session files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.session.samples import (
    HEADER,
    answer,
    answer_line,
    entry_line,
    json_lines,
    text_of,
    user,
    user_line,
    write_lines,
)

from pinyon.ai.message import UserMessage
from pinyon.session.error import EntryNotFoundError, NotASessionError, SessionError, SessionFileMissingError
from pinyon.session.recorder import SessionRecorder
from pinyon.session.view import BranchContext, SessionTree, load_session_messages


class Model(msgspec.Struct):
    provider: str = "p"
    id: str = "m"


def test_a_recording_appears_with_the_first_answer(tmp_path: Path) -> None:
    recorder = SessionRecorder.start("/proj", Model(), "high", session_dir=tmp_path)
    recorder.record_message(user("u"))
    assert not recorder.path.exists()
    last = recorder.record_message(answer("a"))
    lines = json_lines(recorder.path)
    assert [line["type"] for line in lines] == [
        "session",
        "model_change",
        "thinking_level_change",
        "message",
        "message",
    ]
    assert (lines[1]["provider"], lines[1]["modelId"], lines[2]["thinkingLevel"]) == ("p", "m", "high")
    assert (recorder.last_entry_id, recorder.id) == (last, lines[0]["id"])


def test_the_level_is_recorded_without_a_model_too(tmp_path: Path) -> None:
    recorder = SessionRecorder.start("/proj", None, "low", session_dir=tmp_path)
    assert [entry.type for entry in recorder.session.get_entries()] == ["thinking_level_change"]
    assert SessionRecorder.start("/proj", None, session_dir=tmp_path).last_entry_id is None


def test_a_resumed_recording_writes_at_once_and_can_fork(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), answer_line("b", "a"))
    recorder = SessionRecorder.resume(path)
    recorder.record_model_change("q", "n")
    recorder.record_thinking_level("low")
    assert len(json_lines(path)) == 5
    recorder.fork_from("a")
    recorder.record_message(answer("other"))
    assert json_lines(path)[-1]["parentId"] == "a"
    with pytest.raises(EntryNotFoundError):
        recorder.fork_from("nope")


def test_a_closed_recorder_refuses_and_closes_twice(tmp_path: Path) -> None:
    recorder = SessionRecorder.start("/proj", None, session_dir=tmp_path)
    recorder.close()
    recorder.close()
    with pytest.raises(SessionError, match="closed"):
        recorder.record_message(user("u"))


def test_a_missing_or_foreign_file_cannot_be_resumed_or_viewed(tmp_path: Path) -> None:
    foreign = write_lines(tmp_path / "f.jsonl", "{}")
    empty = tmp_path / "e.jsonl"
    empty.touch()
    for open_it in (SessionRecorder.resume, SessionTree.load, load_session_messages):
        with pytest.raises(SessionFileMissingError):
            open_it(tmp_path / "missing.jsonl")
        for path in (foreign, empty):
            with pytest.raises(NotASessionError):
                open_it(path)


@pytest.fixture
def tree(tmp_path: Path) -> SessionTree:
    path = write_lines(
        tmp_path / "s.jsonl",
        HEADER,
        entry_line("model_change", "mc", None, provider="p", modelId="m1"),
        entry_line("thinking_level_change", "tl", "mc", thinkingLevel="low"),
        user_line("a", "tl"),
        answer_line("b", "a"),
        user_line("side", "a"),
        entry_line("branch_summary", "s", "b", fromId="side", summary="BRANCH"),
        entry_line("custom_message", "n", "s", customType="x", content="note", display=False),
    )
    return SessionTree.load(path)


def test_a_view_shows_header_entries_leaf_and_leaves(tree: SessionTree) -> None:
    assert tree.header.id == "idm"
    assert len(tree.entries) == 7
    assert tree.leaf_id == "n"
    assert [entry.id for entry in tree.leaves()] == ["side", "n"]
    assert tree.diagnostics == []


def test_a_view_gives_branches_and_the_last_one_for_an_unknown_id(tree: SessionTree) -> None:
    assert [entry.id for entry in tree.branch()] == ["mc", "tl", "a", "b", "s", "n"]
    assert [entry.id for entry in tree.branch("side")] == ["mc", "tl", "a", "side"]
    assert [entry.id for entry in tree.branch("nope")] == [entry.id for entry in tree.branch()]


def test_a_view_gives_what_a_model_is_sent(tree: SessionTree) -> None:
    context = tree.build_context()
    assert (context.thinking_level, context.provider, context.model_id) == ("low", "p", "m")
    assert [type(message).__name__ for message in context.messages] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
        "UserMessage",
    ]
    assert isinstance(context.messages[2], UserMessage)
    assert "BRANCH" in text_of(context.messages[2])
    assert [text_of(message) for message in tree.build_context("side").messages] == ["a", "side"]
    assert tree.build_context("side").model_id == "m1"


def test_before_the_first_entry_there_is_nothing(tree: SessionTree) -> None:
    nothing = BranchContext(messages=[], thinking_level="off", provider=None, model_id=None)
    assert tree.build_context(None) == tree.build_context_null() == nothing


def test_the_messages_of_a_file_can_be_loaded_directly(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), answer_line("b", "a"))
    assert [text_of(message) for message in load_session_messages(path)] == ["a", "b"]
