"""Forks, branched sessions, exports and imports."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.session.samples import (
    DATA,
    HEADER,
    answer,
    answer_line,
    entry_line,
    json_lines,
    texts,
    user,
    user_line,
    write_lines,
)

from pinyon.session.branch import ForkPoint, fork_point
from pinyon.session.error import (
    EntryNotFoundError,
    InvalidSessionIdError,
    MissingSessionCwdError,
    NotASessionError,
    SessionError,
    SessionFileExistsError,
    SessionFileMissingError,
)
from pinyon.session.local import LocalSessionManager
from pinyon.session.session import Session
from pinyon.session.transfer import export_session_to_jsonl, import_session_file


def file_of(session: Session) -> Path:
    path = session.get_session_file()
    assert path is not None
    return path


@pytest.fixture
def compacted(tmp_path: Path) -> Session:
    """A session with a compaction whose first kept entry is a label, more labels, and another branch."""
    session = Session.create("/proj", tmp_path / "sessions")
    first = session.append_message(user("one"))
    session.append_message(answer("two"))
    label = session.append_label_change(first, "L1")
    kept = session.append_message(user("three"))
    session.append_label_change(kept, "L2")
    session.append_compaction("SUM", label, 10)
    session.append_message(user("four"))
    side = session.append_message(answer("side"))
    session.append_label_change(side, "not on the branch")
    session.append_label_change(first, None)
    session.branch(kept)
    session.append_message(answer("other branch"))
    return session


def entry_with_text(session: Session, text: str) -> str:
    return next(entry.id for entry in session.get_entries() if f'"{text}"'.encode() in entry.line)


def test_a_branched_session_has_the_same_context_after_a_compaction(compacted: Session) -> None:
    leaf = entry_with_text(compacted, "four")
    compacted.branch(leaf)
    expected = texts(compacted)
    branched = compacted.branched(leaf)
    assert texts(branched) == texts(Session.open(file_of(branched))) == expected == ["SUM", "three", "four"]
    assert texts(compacted) == expected


def test_a_branched_session_is_one_chain_with_its_labels_at_the_end(compacted: Session) -> None:
    leaf = entry_with_text(compacted, "four")
    branched = compacted.branched(leaf)
    entries = branched.get_entries()
    assert [entry.type for entry in entries] == ["message", "message", "message", "compaction", "message", "label"]
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    kept = entry_with_text(compacted, "three")
    assert branched.get_label(kept) == "L2"
    old_label = next(entry for entry in compacted.get_entries() if entry.label == "L2")
    assert entries[-1].timestamp == old_label.timestamp
    assert entries[-1].id != old_label.id
    assert [entry.id for entry in entries[:-1]] == [
        entry.id for entry in compacted.get_branch(leaf) if entry.type != "label"
    ]


def test_a_branched_session_names_its_source_and_has_its_own_id(compacted: Session) -> None:
    leaf = entry_with_text(compacted, "four")
    branched = compacted.branched(leaf)
    header = json_lines(file_of(branched))[0]
    assert header["parentSession"] == str(file_of(compacted))
    assert header["cwd"] == "/proj"
    assert branched.get_session_id() != compacted.get_session_id()


def test_the_object_itself_can_become_the_branched_session(compacted: Session) -> None:
    old_file, old_bytes = file_of(compacted), file_of(compacted).read_bytes()
    leaf = entry_with_text(compacted, "two")
    new_file = compacted.create_branched_session(leaf)
    assert new_file == file_of(compacted)
    assert new_file != old_file
    assert texts(compacted) == ["one", "two"]
    compacted.append_message(user("more"))
    assert texts(Session.open(file_of(compacted))) == ["one", "two", "more"]
    assert old_file.read_bytes() == old_bytes


def test_a_branch_without_conversation_gets_its_file_later(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    change = session.append_model_change("p", "m")
    session.append_message(user("a"))
    branched = session.branched(change)
    assert not file_of(branched).exists()
    branched.append_message(user("b"))
    assert [line["type"] for line in json_lines(file_of(branched))] == ["session", "model_change", "message"]


def test_a_session_without_a_file_cannot_be_forked(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    change = session.append_model_change("p", "m")
    with pytest.raises(SessionError, match="send a message"):
        session.create_branched_session(change)


def test_a_session_in_memory_is_branched_in_memory() -> None:
    session = Session.in_memory("/proj")
    first = session.append_message(user("a"))
    session.append_message(answer("b"))
    assert session.create_branched_session(first) is None
    assert texts(session) == ["a"]


def test_unknown_keys_and_types_survive_every_copy(tmp_path: Path) -> None:
    future = '{"future":1e-7,"type":"future","id":"f","parentId":"l","timestamp":"t","z":[1.50,{"é":"\\u00e9"}]}'
    odd = '{"type":"message","id":"m","parentId":"f","timestamp":"","message":{"role":"user","content":"x"},"k":2.0}'
    label = entry_line("label", "l", "a", targetId="a", label="x")
    custom = '{"type":"custom","customType":"c","data":{"n":0.10},"id":"c","parentId":"m","timestamp":"t"}'
    path = write_lines(tmp_path / "in" / "s.jsonl", HEADER, user_line("a", None), label, future, odd, custom)
    session = Session.open(path, tmp_path / "out")
    branched = session.branched("c")
    lines = file_of(branched).read_bytes().split(b"\n")
    assert lines[2] == future.replace('"l"', '"a"').encode()
    assert lines[3:5] == [odd.encode(), custom.encode()]
    session.branch("c")
    exported = export_session_to_jsonl(session, tmp_path / "e.jsonl").read_bytes().split(b"\n")
    assert exported[1:6] == path.read_bytes().split(b"\n")[1:6]
    fork = asyncio.run(LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "out").fork_session(path))
    assert file_of(fork).read_bytes().split(b"\n")[1:] == path.read_bytes().split(b"\n")[1:]


# -- where a fork begins ----------------------------------------------------------------------------------------------


def test_a_fork_before_a_user_message_gives_its_text_back() -> None:
    session = Session.in_memory("/x")
    first = session.append_message(user("one"))
    reply = session.append_message(answer("two"))
    second = session.append_message(
        {"role": "user", "content": [{"type": "text", "text": "th"}, {"type": "text", "text": "ree"}]}
    )
    assert fork_point(session, second) == ForkPoint(reply, "three")
    assert fork_point(session, first) == ForkPoint(None, "one")
    assert fork_point(session, reply, "at") == ForkPoint(reply)


def test_a_fork_before_anything_else_is_refused() -> None:
    session = Session.in_memory("/x")
    session.append_message(user("one"))
    reply = session.append_message(answer("two"))
    with pytest.raises(SessionError, match="no user message"):
        fork_point(session, reply)
    with pytest.raises(EntryNotFoundError, match="'nope'"):
        fork_point(session, "nope", "at")


# -- forks of whole files ---------------------------------------------------------------------------------------------


def test_a_fork_copies_everything_to_another_project(tmp_path: Path, compacted: Session) -> None:
    source = file_of(compacted)
    before = source.read_bytes()
    fork = asyncio.run(LocalSessionManager.fork_from(source, "/other", tmp_path / "forks", id="chosen"))
    lines = json_lines(file_of(fork))
    assert lines[0]["id"] == "chosen"
    assert lines[0]["cwd"] == "/other"
    assert lines[0]["parentSession"] == str(source)
    assert file_of(fork).read_bytes().split(b"\n")[1:] == before.split(b"\n")[1:]
    assert source.read_bytes() == before
    assert fork.get_cwd() == "/other"


def test_a_fork_of_an_old_file_is_in_the_current_version(tmp_path: Path) -> None:
    source = DATA / "recorded_sessions" / "20-input-v1.jsonl"
    fork = asyncio.run(LocalSessionManager.fork_from(source, "/other", tmp_path))
    lines = json_lines(file_of(fork))
    assert lines[0]["version"] == 3
    assert all("parentId" in line for line in lines[1:])
    assert texts(fork) == texts(Session.open(source))


def test_a_fork_keeps_history_that_only_a_repair_had_joined(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), "broken", answer_line("d", "lost"))
    fork = asyncio.run(LocalSessionManager.fork_from(source, "/other", tmp_path / "forks"))
    assert texts(Session.open(file_of(fork))) == ["a", "d"]


def test_forks_refuse_what_is_not_there_or_taken(tmp_path: Path, compacted: Session) -> None:
    manager = LocalSessionManager(cwd="/proj", session_dir=tmp_path / "sessions")
    foreign = write_lines(tmp_path / "foreign.jsonl", '{"hello":1}')
    with pytest.raises(SessionFileMissingError, match="does not exist"):
        asyncio.run(manager.fork_session(tmp_path / "missing.jsonl"))
    with pytest.raises(NotASessionError):
        asyncio.run(manager.fork_session(foreign))
    with pytest.raises(SessionError, match="already a session"):
        asyncio.run(manager.fork_session(file_of(compacted), id=compacted.get_session_id()))
    with pytest.raises(InvalidSessionIdError):
        asyncio.run(manager.fork_session(file_of(compacted), id="../evil"))
    assert foreign.read_bytes() == b'{"hello":1}\n'
    assert len(list((tmp_path / "sessions").iterdir())) == 1


# -- export -----------------------------------------------------------------------------------------------------------


def test_an_export_is_the_current_branch_as_a_chain_with_its_labels(tmp_path: Path, compacted: Session) -> None:
    compacted.branch(entry_with_text(compacted, "four"))
    target = export_session_to_jsonl(compacted, tmp_path / "new" / "out.jsonl")
    lines = json_lines(target)
    assert list(lines[0]) == ["type", "version", "id", "timestamp", "cwd"]
    assert lines[0]["id"] == compacted.get_session_id()
    assert [line["id"] for line in lines[1:]] == [entry.id for entry in compacted.get_branch()]
    assert [line["parentId"] for line in lines[1:]] == [None, *(line["id"] for line in lines[1:-1])]
    assert texts(Session.open(target)) == texts(compacted)
    assert sorted(path.name for path in target.parent.iterdir()) == ["out.jsonl"]


def test_an_export_has_a_default_name_in_the_current_directory(
    tmp_path: Path, compacted: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = export_session_to_jsonl(compacted)
    assert target.parent == tmp_path
    assert target.name.startswith("session-20")
    assert ":" not in target.name


def test_an_export_replaces_only_an_earlier_export_of_the_same_session(tmp_path: Path, compacted: Session) -> None:
    target = export_session_to_jsonl(compacted, tmp_path / "out.jsonl")
    compacted.append_message(user("later"))
    export_session_to_jsonl(compacted, target)
    assert texts(Session.open(target))[-1] == "later"
    other = write_lines(tmp_path / "other.jsonl", HEADER)
    text = write_lines(tmp_path / "notes.txt", "mine")
    for taken in (other, text, file_of(compacted), tmp_path):
        with pytest.raises(SessionFileExistsError):
            export_session_to_jsonl(compacted, taken)
    assert other.read_text() == HEADER + "\n"
    assert text.read_text() == "mine\n"


# -- import -----------------------------------------------------------------------------------------------------------


def exported(path: Path, cwd: Path) -> Path:
    return write_lines(path, HEADER.replace("/nowhere", str(cwd)), user_line("a", None), answer_line("b", "a"))


def test_an_import_is_a_copy_under_a_free_name(tmp_path: Path) -> None:
    source = exported(tmp_path / "in" / "talk.jsonl", tmp_path)
    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    names = [file_of(asyncio.run(manager.import_session(source))).name for _ in range(3)]
    assert names == ["talk.jsonl", "talk-1.jsonl", "talk-2.jsonl"]
    session = asyncio.run(manager.import_session(source))
    session.append_message(user("c"))
    assert texts(Session.open(source)) == ["a", "b"]
    assert texts(session) == ["a", "b", "c"]


def test_an_import_from_the_folder_itself_is_used_in_place(tmp_path: Path) -> None:
    source = exported(tmp_path / "sessions" / "talk.jsonl", tmp_path)
    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    assert file_of(asyncio.run(manager.import_session(source))) == source
    assert len(list(source.parent.iterdir())) == 1


def test_an_import_can_always_be_listed(tmp_path: Path) -> None:
    source = exported(tmp_path / "backup.json", tmp_path)
    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    asyncio.run(manager.import_session(source))
    assert [Path(info.path).name for info in asyncio.run(manager.list_sessions())] == ["backup.json.jsonl"]


def test_an_import_whose_directory_is_gone_needs_another_and_leaves_no_copy(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    source = exported(tmp_path / "talk.jsonl", gone)
    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    with pytest.raises(MissingSessionCwdError) as caught:
        asyncio.run(manager.import_session(source))
    assert str(gone) in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert not (tmp_path / "sessions").exists()
    assert asyncio.run(manager.import_session(source, cwd_override=tmp_path)).get_cwd() == str(tmp_path)


def test_an_import_of_nothing_or_of_a_foreign_file_is_refused(tmp_path: Path) -> None:
    foreign = write_lines(tmp_path / "foreign.jsonl", json.dumps({"hello": 1}))
    for path, error in ((tmp_path / "missing.jsonl", SessionFileMissingError), (foreign, NotASessionError)):
        with pytest.raises(error):
            import_session_file(path, tmp_path / "sessions", current_cwd=tmp_path)
    assert not (tmp_path / "sessions").exists()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from pinyon.session.error import SessionWriteError
from pinyon.session.transfer import import_session_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    import_session_file(sys.argv[1], Path(sys.argv[2]), current_cwd="/", cwd_override="/")
except SessionWriteError as error:
    print(error.reason)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_an_import_that_finds_no_room_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    write_lines(source, HEADER, user_line("a", None, "x" * 5000))
    command = [sys.executable, "-c", FULL_DISK, str(source), str(tmp_path / "sessions")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "File too large\n"
    assert list((tmp_path / "sessions").iterdir()) == []


def test_the_draft_of_an_export_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    session = Session.in_memory(tmp_path)
    session.append_message(user("a"))
    target = tmp_path / "out.jsonl"
    target.with_name(f".out.jsonl.{os.getpid()}.tmp").write_text("left behind")
    export_session_to_jsonl(session, target)
    assert texts(Session.open(target)) == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
