"""Appending to memory and file: one whole line at a time, or nothing."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.session.samples import HEADER, answer, answer_line, json_lines, texts, user, user_line, write_lines

from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import SystemMessage, UnknownMessage, UserMessage
from pinyon.ai.usage import Cost, Usage
from pinyon.session.error import (
    EntryNotFoundError,
    InvalidSessionIdError,
    SessionChangedError,
    SessionError,
    SessionFileExistsError,
    SessionWriteError,
)
from pinyon.session.session import Session
from pinyon.session.store import FileStore


def file_of(session: Session) -> Path:
    path = session.get_session_file()
    assert path is not None
    return path


# -- what is written --------------------------------------------------------------------------------------------------


def test_every_entry_is_written_with_its_keys_in_order(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path, clock=lambda: 1_735_689_600_123)
    first = session.append_message(user("u"))
    session.append_model_change("p", "m")
    session.append_thinking_level_change("high")
    session.append_compaction("S", first, 5, {"d": 1}, from_hook=True, usage=Usage(input=1))
    session.branch_with_summary(first, "B", {"d": 1}, from_hook=False, usage={"input": 1})
    session.append_custom_entry("mine", {"count": 42})
    session.append_custom_entry("bare")
    session.append_custom_message_entry("mine", [TextContent("x")], display=True, details=[1])
    session.append_label_change(first, "L")
    session.append_label_change(first, None)
    session.append_session_info("N")
    usage_entry = session.append_usage("title", "p", "m", Usage(input=1), "note")
    session.append_context_edit(first, None)
    lines = json_lines(file_of(session))
    keys = [" ".join(line) for line in lines]
    base = "type id parentId timestamp"
    assert keys == [
        "type version id timestamp cwd",
        f"{base} message",
        f"{base} provider modelId",
        f"{base} thinkingLevel",
        f"{base} summary firstKeptEntryId tokensBefore details usage fromHook",
        f"{base} fromId summary details usage fromHook",
        "type customType data id parentId timestamp",
        "type customType id parentId timestamp",
        "type customType content display details id parentId timestamp",
        f"{base} targetId label",
        f"{base} targetId",
        f"{base} name",
        f"{base} kind provider model usage note",
        f"{base} targetId replacement",
    ]
    assert {line["timestamp"] for line in lines} == {"2025-01-01T00:00:00.123Z"}
    assert lines[-1]["replacement"] is None
    assert usage_entry.usage_kind == "title"
    assert file_of(session).name == f"2025-01-01T00-00-00-123Z_{session.get_session_id()}.jsonl"
    assert [entry.object for entry in Session.open(file_of(session)).get_entries()] == lines[1:]


def test_each_entry_hangs_on_the_one_before(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    ids = [session.append_message(user("a")), session.append_session_info("n"), session.append_message(answer("b"))]
    parents = [line["parentId"] for line in json_lines(file_of(session))[1:]]
    assert parents == [None, *ids[:2]]
    assert session.get_leaf_id() == ids[-1]


def test_numbers_are_written_as_javascript_writes_them() -> None:
    session = Session.in_memory("/x")
    usage = Usage(input=1, output=2, cost=Cost(input=0.0, output=3.0, total=0.25))
    message = answer("a")
    message.usage = usage
    session.append_message(message)
    line = session.get_entries()[0].line
    assert b'"cost":{"input":0,"output":3,' in line
    assert b'"total":0.25' in line
    assert b" " not in line


@pytest.mark.parametrize(
    ("text", "stored"),
    [("x\ud83d y", "x\ufffd y"), ("\ud83d\ude00", "\U0001f600"), ("\udc80", "\ufffd"), ("plain é", "plain é")],
)
def test_lone_surrogates_never_reach_the_file(tmp_path: Path, text: str, stored: str) -> None:
    session = Session.create("/proj", tmp_path)
    session.append_message(user(text))
    call = ToolCall(id="t", name="n", arguments={text: [text, {"k": text}]})
    reply = answer(text)
    reply.content.append(call)
    session.append_message(reply)
    session.append_session_info(text)
    raw = file_of(session).read_bytes()
    raw.decode("utf-8")
    assert b"\\ud" not in raw.lower()
    assert texts(session) == texts(Session.open(file_of(session))) == [stored, stored]
    message = session.build_session_context().messages[1]
    assert message.tool_calls[0].arguments == {stored: [stored, {"k": stored}]}  # type: ignore[union-attr]
    assert session.get_session_name() == stored


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("x\n\ny ", "x y"),
        (" a\r\nb\u2028c\x85d ", "a b c d"),
        ("bell\x07 esc\x1b[2J\x00\x9b", "bell esc[2J"),
        ("tab\there", "tab here"),
        ("", None),
        (" \n ", None),
        ("a/b", "a/b"),
    ],
)
def test_a_session_name_is_one_clean_line(given_name: str, name: str | None) -> None:
    session = Session.in_memory("/x")
    session.append_session_info("before")
    session.append_session_info(given_name)
    assert session.get_session_name() == name


def test_messages_of_roles_that_nobody_knows_are_kept(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    session.append_message(user("a"))
    session.append_message(UnknownMessage(role="future", x=[1]))
    session.append_message({"role": "user", "content": "b", "timestamp": 1, "unknownKey": True})
    again = Session.open(file_of(session)).get_entries()
    assert again[1].object["message"] == {"role": "future", "x": [1]}
    assert again[2].object["message"]["unknownKey"] is True
    assert isinstance(again[2].message, UserMessage)


def test_a_streaming_answer_is_not_stored() -> None:
    session = Session.in_memory("/x")
    message = answer("half")
    message.stop_reason = "pending"
    with pytest.raises(SessionError, match="still streaming"):
        session.append_message(message)
    assert session.get_entry_count() == 0


def test_values_that_are_no_json_are_refused_before_anything_changes(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    session.append_message(user("a"))
    before = file_of(session).read_bytes()
    with pytest.raises(SessionError, match="plain"):
        session.append_custom_entry("x", {"path": Path("/x")})
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(SessionError, match="JSON values"):
        session.append_custom_entry("x", endless)
    assert session.get_entry_count() == 1
    assert file_of(session).read_bytes() == before


# -- when the file appears --------------------------------------------------------------------------------------------


def test_a_session_without_conversation_leaves_no_file(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path / "deep" / "er")
    session.append_model_change("p", "m")
    session.append_message(SystemMessage(content="s", timestamp=1))
    session.append_session_info("n")
    assert list(tmp_path.iterdir()) == []
    session.append_message(user("u"))
    assert [line["type"] for line in json_lines(file_of(session))] == [
        "session",
        "model_change",
        "message",
        "session_info",
        "message",
    ]


def test_the_file_may_wait_for_the_first_answer(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path, create_file_on="assistant")
    session.append_message(user("u"))
    assert list(tmp_path.iterdir()) == []
    session.append_message(answer("a"))
    assert len(json_lines(file_of(session))) == 3


def test_an_existing_file_of_the_same_name_is_not_touched(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    file_of(session).write_bytes(b"mine")
    with pytest.raises(SessionFileExistsError):
        session.append_message(user("u"))
    assert file_of(session).read_bytes() == b"mine"
    assert session.get_entry_count() == 0


@pytest.mark.parametrize("session_id", ["../../evil", "a/b", "", ".", "a\n", "a b", "-a", "ä", "a" + "\x00", "a" * 201])
def test_a_session_id_cannot_leave_its_folder(tmp_path: Path, session_id: str) -> None:
    with pytest.raises(InvalidSessionIdError, match="letters, digits"):
        Session.create("/proj", tmp_path, id=session_id)
    with pytest.raises(InvalidSessionIdError):
        Session.in_memory("/proj", id=session_id)


def test_the_longest_session_id_still_makes_a_file_name(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path, id="a" * 200)
    session.append_message(user("u"))
    assert Session.open(file_of(session)).get_session_id() == "a" * 200


# -- writes that fail -------------------------------------------------------------------------------------------------


class FailingStore:
    """A store whose next write fails with this error number."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._inner = FileStore(path, size_bytes=size_bytes)
        self.error: int | None = None

    @property
    def path(self) -> Path:
        return self._inner.path

    def _fail(self) -> None:
        if self.error is not None:
            raise SessionWriteError(self.path, OSError(self.error, os.strerror(self.error)))

    def create(self, lines: Iterable[bytes]) -> None:
        self._fail()
        self._inner.create(lines)

    def append(self, line: bytes) -> None:
        self._fail()
        self._inner.append(line)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        self._fail()
        self._inner.rewrite(lines)

    def claim(self) -> None:
        self._inner.claim()

    def close(self) -> None:
        self._inner.close()


ATTEMPTS: list[Callable[[Session, str], object]] = [
    lambda session, target: session.append_message(user("lost")),
    lambda session, target: session.append_label_change(target, "lost"),
    lambda session, target: session.append_session_info("lost"),
    lambda session, target: session.append_context_edit(target, None),
    lambda session, target: session.append_compaction("lost", None, 1),
    lambda session, target: session.branch_with_summary(target, "lost"),
    lambda session, target: session.branch_with_summary(None, "lost"),
    lambda session, target: session.append_thinking_level_change("high"),
]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("attempt", range(len(ATTEMPTS)))
def test_a_failed_write_leaves_memory_and_file_as_they_were(tmp_path: Path, error: int, attempt: int) -> None:
    stores: list[FailingStore] = []

    def make(path: Path, size_bytes: int) -> FailingStore:
        stores.append(FailingStore(path, size_bytes))
        return stores[-1]

    session = Session.create("/proj", tmp_path, store=make)
    target = session.append_message(user("a"))
    session.append_label_change(target, "old")
    session.append_message(answer("b"))
    before = (file_of(session).read_bytes(), session.get_leaf_id(), texts(session), session.get_entries())
    stores[-1].error = error
    with pytest.raises(SessionWriteError, match="earlier history is unchanged"):
        ATTEMPTS[attempt](session, target)
    assert (file_of(session).read_bytes(), session.get_leaf_id(), texts(session), session.get_entries()) == before
    assert session.get_label(target) == "old"
    assert session.get_session_name() is None
    stores[-1].error = None
    session.append_message(user("c"))
    assert texts(session) == texts(Session.open(file_of(session))) == ["a", "b", "c"]


def test_what_waited_for_the_file_survives_a_failed_creation(tmp_path: Path) -> None:
    blocker = tmp_path / "folder"
    blocker.write_bytes(b"")
    session = Session.create("/proj", blocker / "sub")
    session.append_model_change("p", "m")
    with pytest.raises(SessionWriteError, match="Cannot write session file"):
        session.append_message(user("a"))
    assert session.get_entry_count() == 1
    blocker.unlink()
    session.append_message(user("a"))
    assert [line["type"] for line in json_lines(file_of(session))] == ["session", "model_change", "message"]


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX facility")
def test_a_write_that_the_system_cuts_short_is_taken_back(tmp_path: Path) -> None:
    code = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from pinyon.ai.message import UserMessage
        from pinyon.session.error import SessionWriteError
        from pinyon.session.session import Session
        session = Session.create("/proj", sys.argv[1])
        session.append_message(UserMessage(content="a", timestamp=1))
        path = session.get_session_file()
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, resource.RLIM_INFINITY))
        try:
            session.append_message(UserMessage(content="x" * 5000, timestamp=1))
        except SessionWriteError as error:
            print(error.reason)
        assert path.read_bytes() == before, path.read_bytes()
        assert session.get_entry_count() == 1
        fresh = Session.create("/proj", sys.argv[1])
        try:
            fresh.append_message(UserMessage(content="x" * 5000, timestamp=1))
        except SessionWriteError as error:
            print(error.reason)
        assert not fresh.get_session_file().exists()
        session.append_message(UserMessage(content="b", timestamp=1))
        print(len(Session.open(path).get_entries()))
        """
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [os.strerror(errno.EFBIG)] * 2 + ["2"]


def test_a_deleted_file_is_stored_again_as_a_whole(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    session.append_message(user("a"))
    session.append_message(answer("b"))
    file_of(session).unlink()
    session.append_message(user("c"))
    assert texts(Session.open(file_of(session))) == ["a", "b", "c"]


def test_a_file_that_was_cut_by_somebody_is_not_written_to(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None), answer_line("b", "a"))
    session = Session.open(path)
    write_lines(path, HEADER)
    before = path.read_bytes()
    with pytest.raises(SessionChangedError, match="open the session again"):
        session.append_message(user("c"))
    assert path.read_bytes() == before
    assert texts(session) == ["a", "b"]


def test_migration_is_not_written_over_what_another_process_added(tmp_path: Path) -> None:
    old = '{"type":"session","id":"v1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x"}'
    message = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "a", "timestamp": 1}}
    path = write_lines(tmp_path / "s.jsonl", old, json.dumps(message))
    session, other = Session.open(path), Session.open(path)
    other.append_message(user("b"))
    before = path.read_bytes()
    with pytest.raises(SessionChangedError, match="another program"):
        session.append_message(user("c"))
    assert path.read_bytes() == before
    assert texts(Session.open(path)) == ["a", "b"]
    assert list(tmp_path.iterdir()) == [path]


def test_migration_keeps_permissions_and_follows_links(tmp_path: Path) -> None:
    old = '{"type":"session","id":"v1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x"}'
    real = write_lines(tmp_path / "real.jsonl", old)
    real.chmod(0o640)
    link = tmp_path / "s.jsonl"
    link.symlink_to(real)
    Session.open(link).append_message(user("a"))
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert texts(Session.open(real)) == ["a"]


def test_two_sessions_on_one_file_become_branches_and_lose_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None))
    one, two = Session.open(path), Session.open(path)
    one.append_message(answer("one"))
    two.append_message(answer("two"))
    one.append_message(user("one more"))
    both = Session.open(path)
    assert both.get_entry_count() == 4
    assert texts(both) == ["a", "one", "one more"]
    assert [entry.id for entry in both.get_children("a")] == [line["id"] for line in json_lines(path)[2:4]]


class RecordingLease:
    """Writes down when a file is taken and given back."""

    def __init__(self, log: list[str], *, refuse: bool = False) -> None:
        self._log = log
        self._refuse = refuse

    def acquire(self, path: Path) -> None:
        if self._refuse:
            raise SessionError(f"{path.name} is in use")
        self._log.append(f"acquire {path.name}")

    def release(self) -> None:
        self._log.append("release")


def test_a_file_is_leased_before_the_first_write_and_given_back_at_the_end(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None))
    log: list[str] = []
    session = Session.open(path, lease=lambda: RecordingLease(log))
    texts(session)
    assert log == []
    session.append_message(answer("b"))
    session.append_message(user("c"))
    session.close()
    session.close()
    assert log == ["acquire s.jsonl", "release"]


def test_a_refused_lease_changes_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None))
    before = path.read_bytes()
    session = Session.open(path, lease=lambda: RecordingLease([], refuse=True))
    with pytest.raises(SessionError, match="in use"):
        session.append_message(answer("b"))
    assert path.read_bytes() == before
    assert session.get_entry_count() == 1


# -- a process that dies at any moment --------------------------------------------------------------------------------


def complete_ids(data: bytes) -> list[str]:
    """Ids of the entries that stand whole in the bytes of a file, its torn last line included if it is complete."""
    found = []
    for line in data.split(b"\n")[1:]:
        try:
            found.append(json.loads(line)["id"])
        except ValueError:
            continue
    return found


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    session = Session.create("/proj", tmp_path_factory.mktemp("kill"))
    session.append_model_change("p", "m")
    first = session.append_message(user("q one — “quoted” \u2028 {}"))
    session.append_message(answer("one"))
    session.append_label_change(first, "l")
    session.append_custom_entry("x", {"a": {"b": "}"}})
    return file_of(session).read_bytes()


def test_a_file_cut_at_any_byte_can_be_continued_and_loses_no_complete_entry(
    tmp_path: Path, conversation: bytes
) -> None:
    header_end = conversation.index(b"\n")
    for size in range(header_end, len(conversation)):
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(conversation[:size])
        expected = complete_ids(conversation[:size])
        session = Session.open(path)
        assert [entry.id for entry in session.get_entries()] == expected, size
        added = [session.append_message(user("after")), session.append_message(answer("end"))]
        again = Session.open(path)
        assert [entry.id for entry in again.get_entries()] == [*expected, *added], size
        assert again.get_branch()[-2:] == again.get_entries()[-2:]
        path.unlink()


def test_a_file_cut_inside_its_header_is_refused_and_kept(tmp_path: Path, conversation: bytes) -> None:
    path = tmp_path / "s.jsonl"
    for size in range(1, conversation.index(b"\n")):
        path.write_bytes(conversation[:size])
        with pytest.raises(SessionError):
            Session.open(path)
        assert path.read_bytes() == conversation[:size]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), min_size=1, max_size=6), st.data())
def test_many_crashes_in_a_row_lose_no_complete_entry(
    tmp_path_factory: pytest.TempPathFactory, crashes: list[tuple[int, bool]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("crash") / "s.jsonl"
    Session.open(path).append_message(user("start"))
    for cut, answered in crashes:
        session = Session.open(path)
        known = [entry.id for entry in session.get_entries()]
        safe = path.stat().st_size
        session.append_message(answer("a") if answered else user("u"))
        whole = path.read_bytes()
        path.write_bytes(whole[: safe + cut % (len(whole) - safe + 1)])
        expected = known + [entry_id for entry_id in complete_ids(path.read_bytes()) if entry_id not in known]
        assert [entry.id for entry in Session.open(path).get_entries()] == expected


# -- lone methods -----------------------------------------------------------------------------------------------------


def test_unknown_targets_are_refused_by_name() -> None:
    session = Session.in_memory("/x")
    for attempt in (session.branch, session.branched, session.create_branched_session):
        with pytest.raises(EntryNotFoundError, match="'nope'"):
            attempt("nope")
    with pytest.raises(EntryNotFoundError):
        session.append_label_change("nope", "l")
    with pytest.raises(EntryNotFoundError):
        session.branch_with_summary("nope", "s")
    assert session.get_entry_count() == 0


def test_the_same_object_can_begin_anew_and_switch_files(tmp_path: Path) -> None:
    session = Session.create("/proj", tmp_path)
    session.append_message(user("a"))
    first = file_of(session)
    second = session.new_session(id="chosen", parent_session=str(first))
    assert second is not None
    assert second.name.endswith("_chosen.jsonl")
    assert session.get_header().parent_session == str(first)
    assert texts(session) == []
    session.append_message(user("b"))
    session.set_session_file(first)
    assert texts(session) == ["a"]
    assert session.get_cwd() == "/proj"
    assert json_lines(second)[0]["parentSession"] == str(first)


def test_a_session_tells_where_it_lives(tmp_path: Path) -> None:
    default = Session.create("/proj", agent_dir=tmp_path)
    assert default.get_session_dir() == tmp_path / "sessions" / "--proj--"
    assert default.uses_default_session_dir()
    assert default.is_persisted()
    chosen = Session.create("/proj", tmp_path, agent_dir=tmp_path)
    assert not chosen.uses_default_session_dir()
    memory = Session.in_memory("/proj")
    assert (memory.get_session_file(), memory.get_session_dir(), memory.is_persisted()) == (None, None, False)


def test_an_opened_session_works_where_its_header_says_or_where_it_is_told(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None))
    assert Session.open(path).get_cwd() == "/nowhere"
    moved = Session.open(path, cwd_override="/elsewhere")
    assert moved.get_cwd() == "/elsewhere"
    assert moved.get_header().cwd == "/nowhere"
    moved.set_cwd("/third")
    assert moved.get_cwd() == "/third"


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_a_working_directory_is_stored_and_found_again_under_every_locale(tmp_path: Path) -> None:
    folder = tmp_path / "wü"
    folder.mkdir()
    code = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from pinyon.ai.message import UserMessage
        from pinyon.session.session import Session

        session = Session.create(Path.cwd(), sys.argv[1], id="one")
        session.append_message(UserMessage(content="u", timestamp=1))
        again = Session.open(session.get_session_file())
        assert os.path.samefile(again.get_cwd(), "."), again.get_cwd()
        """
    )
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=folder, env=env, check=True)
    (path,) = tmp_path.glob("*.jsonl")
    assert json_lines(path)[0]["cwd"] == str(folder)
    assert Session.open(path).get_cwd() == str(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="the password database is a POSIX facility")
def test_without_a_home_directory_there_is_a_clear_error() -> None:
    code = textwrap.dedent(
        """
        import pwd
        from pinyon.session.session import Session
        pwd.getpwuid = {}.__getitem__  # a user that the system does not know
        Session.create("/proj")
        """
    )
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "PI_CODING_AGENT_DIR")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert "set PI_CODING_AGENT_SESSION_DIR" in done.stderr


def wire(session: Session) -> list[dict[str, Any]]:
    return [entry.to_wire() for entry in session.get_entries()]


def test_copies_of_an_entry_may_be_changed() -> None:
    session = Session.in_memory("/x")
    session.append_custom_entry("x", {"a": 1})
    copy = wire(session)[0]
    copy["data"]["a"] = 2
    assert session.get_entries()[0].data == {"a": 1}


def test_turning_to_another_file_gives_the_lease_of_the_old_one_back(tmp_path: Path) -> None:
    log: list[str] = []
    session = Session.create("/proj", tmp_path, id="first", lease=lambda: RecordingLease(log))
    session.append_message(user("a"))
    assert len(log) == 1
    session.new_session(id="second")
    assert len(log) == 2
    assert log[1].startswith("release")


def test_an_empty_file_that_cannot_be_filled_is_empty_again(tmp_path: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield b"x" * 2**21
        raise ValueError("broken")

    path = tmp_path / "s.jsonl"
    path.touch()
    with pytest.raises(ValueError, match="broken"):
        FileStore(path).create(lines())
    assert path.read_bytes() == b""
