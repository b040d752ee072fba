"""Recorded session files: read, projected, copied and written again without losing a byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.session.samples import DATA, answer, json_lines, user

from pinyon.ai.message import ToolResultMessage, message_role
from pinyon.session.header import SessionHeader
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.loader import load_entries_from_file, parse_session_entries
from pinyon.session.migration import migrate_session_entries
from pinyon.session.session import Session

RECORDED = DATA / "recorded_sessions"
FILES = sorted(path.name for path in RECORDED.glob("*session*.jsonl"))


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / str(request.param)
    path.parent.mkdir()
    path.write_bytes((RECORDED / path.name).read_bytes())
    return path


def test_opening_and_projecting_changes_no_byte_and_loses_no_line(file: Path) -> None:
    before = file.read_bytes()
    session = Session.open(file)
    projection = session.build_session_projection()
    assert projection.message_count == len(projection.messages) > 0
    assert session.diagnostics == []
    assert b"\n".join([*session.lines(), b""]) == before == file.read_bytes()
    for entry in session.get_entries():
        assert entry.to_wire() == json.loads(entry.line)


def test_every_append_keeps_what_was_there(file: Path) -> None:
    before = file.read_bytes()
    session = Session.open(file)
    session.append_message(user("more"))
    session.append_message(answer("done"))
    after = file.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + 2


def test_a_fork_of_the_leaf_keeps_every_line_of_the_branch_but_labels(file: Path) -> None:
    session = Session.open(file)
    branch = session.get_branch()
    branched = session.branched(branch[-1].id)
    kept = [entry.object for entry in branch if entry.type != "label"]
    for old, new in zip(kept, branched.get_entries(), strict=False):
        assert {**new.object, "parentId": None} == {**old, "parentId": None}
    assert branched.get_entry_count() >= len(kept)


def test_the_model_sees_only_messages_that_it_knows(file: Path) -> None:
    messages = convert_to_llm(Session.open(file).build_session_context().messages)
    assert {message_role(message) for message in messages} <= {"system", "user", "assistant", "toolResult"}


def test_a_file_of_version_1_becomes_the_recorded_file_of_version_3(tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_bytes((RECORDED / "20-input-v1.jsonl").read_bytes())
    session = Session.open(path)
    names: dict[str | None, str | None] = {None: None}
    session.append_message(user("continue please"))
    ours, recorded = json_lines(path), json_lines(RECORDED / "20-session-1.jsonl")
    for our, theirs in zip(ours[:-1], recorded, strict=False):
        if our["type"] != "session":
            names[theirs["id"]] = our["id"]
            theirs["id"], theirs["parentId"] = names[theirs["id"]], names[theirs["parentId"]]
        if "firstKeptEntryId" in theirs:
            theirs["firstKeptEntryId"] = names[theirs["firstKeptEntryId"]]
        assert our == theirs
        assert list(our) == list(theirs)
    assert len(ours) == 14


def test_an_old_file_is_written_anew_only_once(tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_bytes((RECORDED / "20-input-v1.jsonl").read_bytes())
    session = Session.open(path)
    session.append_message(user("one"))
    with path.open("rb") as rewritten:
        session.append_message(user("two"))
        assert b'"two"' in rewritten.read()


def test_the_context_of_a_migrated_file_begins_with_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_bytes((RECORDED / "20-input-v1.jsonl").read_bytes())
    roles = [message_role(message) for message in Session.open(path).build_session_context().messages]
    assert roles == ["compactionSummary", "user", "custom", "assistant", "user", "bashExecution", "assistant"]


def test_migration_of_parsed_entries_equals_that_of_a_file() -> None:
    parsed = parse_session_entries((RECORDED / "20-input-v1.jsonl").read_bytes())
    migrated = migrate_session_entries(parsed)
    assert isinstance(migrated[0], SessionHeader)
    assert migrated[0].version == 3
    opened = Session.open(RECORDED / "20-input-v1.jsonl")
    assert [entry.line for entry in migrated[1:]] == [entry.line for entry in opened.get_entries()]
    assert migrate_session_entries(migrated) == migrated


def test_migration_of_version_2_changes_only_the_old_role(tmp_path: Path) -> None:
    path = tmp_path / "v2.jsonl"
    hook = {"role": "hookMessage", "customType": "h", "content": "x", "display": True, "timestamp": 1.5}
    lines = [
        '{"type":"session","version":2,"id":"v2","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x","note":1}',
        '{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"é","n":1.0}}',
        json.dumps({"type": "message", "id": "b", "parentId": "a", "timestamp": "t", "message": hook, "extra": [1]}),
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    session = Session.open(path)
    assert [message_role(m) for m in session.build_session_context().messages] == ["user", "custom"]
    session.append_session_info("n")
    written = path.read_bytes().split(b"\n")
    assert json.loads(written[0]) == {**json.loads(lines[0]), "version": 3}
    assert written[1] == lines[1].encode()
    assert json.loads(written[2]) == {**json.loads(lines[2]), "message": {**hook, "role": "custom"}}


def test_ids_of_an_unmigrated_file_are_the_same_each_time() -> None:
    first, second = (Session.open(RECORDED / "20-input-v1.jsonl") for _ in range(2))
    assert [entry.id for entry in first.get_entries()] == [entry.id for entry in second.get_entries()]


def test_a_dangling_tool_call_survives_resuming() -> None:
    before, after = (Session.open(RECORDED / f"36-session-{name}.jsonl") for name in ("before-resume", "1"))
    messages = after.build_session_context().messages
    assert before.build_session_context().messages == messages[: len(messages) - 2]
    assert not any(isinstance(message, ToolResultMessage) for message in messages)


def test_a_missing_or_foreign_file_has_no_entries(tmp_path: Path) -> None:
    assert load_entries_from_file(tmp_path / "missing.jsonl") == []
