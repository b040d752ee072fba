"""One suite for every session manager, and what is special about files."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.session.samples import HEADER, answer, answer_line, texts, user, user_line, write_lines

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.session.error import (
    MissingSessionCwdError,
    NotASessionError,
    SessionError,
    SessionFileMissingError,
)
from pinyon.session.listing import SessionInfo
from pinyon.session.local import LocalSessionManager
from pinyon.session.manager import SessionManager, require_session_cwd
from pinyon.session.memory import InMemorySessionManager
from pinyon.session.session import Session


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture(params=["default folder", "chosen folder", "memory"])
def manager(request: pytest.FixtureRequest, tmp_path: Path, project: Path) -> SessionManager:
    makers: dict[str, Callable[[], SessionManager]] = {
        "default folder": lambda: LocalSessionManager(cwd=project, agent_dir=tmp_path / "agent"),
        "chosen folder": lambda: LocalSessionManager(cwd=project, session_dir=tmp_path / "flat"),
        "memory": lambda: InMemorySessionManager(cwd=project),
    }
    return makers[str(request.param)]()


async def conversation(manager: SessionManager, text: str, timestamp: int = 1) -> Session:
    session = await manager.create_session()
    session.append_message(user(text, timestamp))
    session.append_message(answer(f"re: {text}"))
    return session


def test_a_new_session_is_found_by_its_id_and_opened(manager: SessionManager) -> None:
    async def run() -> None:
        session = await conversation(manager, "hello")
        found = await manager.find_by_id(session.get_session_id())
        assert found is not None
        again = await manager.open_session(found)
        assert texts(again) == ["hello", "re: hello"]
        assert again.get_session_id() == session.get_session_id()
        assert await manager.find_by_id(session.get_session_id()[:8]) is None
        assert await manager.find_by_id("nope") is None

    asyncio.run(run())


def test_sessions_are_listed_newest_first(manager: SessionManager) -> None:
    async def run() -> None:
        for number in (2, 3, 1):
            await conversation(manager, f"t{number}", number * 1000)
        progress: list[tuple[int, int]] = []

        def note(loaded: int, total: int, partial: Sequence[SessionInfo] | None) -> None:
            progress.append((loaded, total))

        for listed in (await manager.list_sessions(on_progress=note), await manager.list_all_sessions()):
            assert [info.first_message for info in listed] == ["t3", "t2", "t1"]
            assert [info.message_count for info in listed] == [2, 2, 2]
            assert texts(await manager.open_session(listed[0].path)) == ["t3", "re: t3"]
        assert progress[-1] == (3, 3)

    asyncio.run(run())


def test_the_last_session_is_continued_or_a_new_one_made(manager: SessionManager) -> None:
    async def run() -> None:
        assert texts(await manager.continue_recent_session()) == []
        await conversation(manager, "old")
        new = await conversation(manager, "new")
        file = new.get_session_file()
        if file is not None:
            os.utime(file, (2_000_000_000, 2_000_000_000))
        assert texts(await manager.continue_recent_session()) == ["new", "re: new"]

    asyncio.run(run())


def test_a_fork_is_a_full_copy_with_an_id_of_its_own(manager: SessionManager) -> None:
    async def run() -> None:
        source = await conversation(manager, "hello")
        fork = await manager.fork_session(source, id="chosen")
        fork.append_message(user("more"))
        assert texts(source) == ["hello", "re: hello"]
        assert texts(fork) == ["hello", "re: hello", "more"]
        assert fork.get_session_id() == "chosen"
        assert fork.get_header().parent_session is not None
        assert [entry.id for entry in fork.get_entries()][:2] == [entry.id for entry in source.get_entries()]
        with pytest.raises(SessionError, match="already a session"):
            await manager.fork_session(source, id="chosen")
        assert len(await manager.list_sessions()) == 2

    asyncio.run(run())


def test_a_fork_may_be_for_another_directory(manager: SessionManager, tmp_path: Path) -> None:
    async def run() -> None:
        fork = await manager.fork_session(await conversation(manager, "hello"), target_cwd=tmp_path / "other")
        assert fork.get_cwd() == fork.get_header().cwd == str(tmp_path / "other")
        assert len(await manager.list_sessions()) == 1
        assert len(await manager.list_all_sessions()) == 2

    asyncio.run(run())


def test_a_branch_becomes_a_session_and_the_source_stays(manager: SessionManager) -> None:
    async def run() -> None:
        source = await conversation(manager, "hello")
        first = source.get_entries()[0].id
        branched = await manager.branch_session(source, first)
        assert (texts(branched), texts(source)) == (["hello"], ["hello", "re: hello"])
        assert await manager.find_by_id(branched.get_session_id()) is not None

    asyncio.run(run())


def test_a_session_file_is_imported_without_changing_it(manager: SessionManager, tmp_path: Path) -> None:
    lines = (HEADER.replace("/nowhere", str(tmp_path)), user_line("a", None), answer_line("b", "a"))
    source = write_lines(tmp_path / "in" / "talk.jsonl", *lines)
    before = source.read_bytes()

    async def run() -> None:
        session = await manager.import_session(source)
        session.append_message(user("c"))
        assert texts(session) == ["a", "b", "c"]
        assert session.get_cwd() == str(tmp_path)
        assert source.read_bytes() == before
        moved = await manager.import_session(source, cwd_override=manager.cwd)
        assert moved.get_cwd() == str(manager.cwd)

    asyncio.run(run())


@pytest.mark.parametrize("missing", [True, False])
def test_an_import_that_cannot_be_leaves_nothing_behind(manager: SessionManager, tmp_path: Path, missing: bool) -> None:
    gone = write_lines(tmp_path / "in" / "gone.jsonl", HEADER, user_line("a", None))
    path = tmp_path / "in" / "missing.jsonl" if missing else gone
    error = SessionFileMissingError if missing else MissingSessionCwdError

    async def run() -> None:
        with pytest.raises(error):
            await manager.import_session(path)
        assert await manager.list_all_sessions() == []

    asyncio.run(run())


def test_a_deleted_session_is_gone(manager: SessionManager) -> None:
    async def run() -> None:
        await conversation(manager, "hello")
        (listed,) = await manager.list_sessions()
        await manager.delete_session(listed.path)
        assert await manager.list_sessions() == []
        with pytest.raises(SessionError):
            await manager.delete_session(listed.path)

    asyncio.run(run())


def test_a_session_is_renamed_and_the_name_cleared(manager: SessionManager) -> None:
    async def run() -> None:
        await conversation(manager, "hello")
        (listed,) = await manager.list_sessions()
        await manager.rename_session(listed.path, "a\nname")
        assert [info.name for info in await manager.list_sessions()] == ["a name"]
        await manager.rename_session(listed.path, "")
        assert [info.name for info in await manager.list_sessions()] == [None]

    asyncio.run(run())


def test_a_listing_that_was_aborted_before_it_began_raises(manager: SessionManager) -> None:
    controller = AbortController()
    controller.abort()

    async def run() -> None:
        await conversation(manager, "hello")
        with pytest.raises(OperationAbortedError):
            await manager.list_sessions(signal=controller.signal)

    asyncio.run(run())


def test_new_sessions_have_the_id_and_parent_that_were_asked_for(manager: SessionManager) -> None:
    async def run() -> None:
        session = await manager.create_session(id="my.id-1", parent_session="/p.jsonl")
        assert session.get_session_id() == "my.id-1"
        assert session.get_header().parent_session == "/p.jsonl"
        with pytest.raises(SessionError, match="Invalid session id"):
            await manager.create_session(id="../x")

    asyncio.run(run())


def test_sessions_work_where_the_manager_works(manager: SessionManager, project: Path) -> None:
    session = asyncio.run(manager.create_session())
    assert session.get_cwd() == str(project) == str(manager.cwd)
    require_session_cwd(session, "/")
    session.set_cwd(project / "gone")
    with pytest.raises(MissingSessionCwdError, match="gone"):
        require_session_cwd(session, "/here")


# -- memory -----------------------------------------------------------------------------------------------------------


def test_memory_may_begin_with_a_conversation() -> None:
    session = InMemorySessionManager.create("/x")
    session.append_message(user("a"))
    manager = InMemorySessionManager(cwd="/x", entries=session.get_entries())
    assert texts(asyncio.run(manager.continue_recent_session())) == ["a"]
    assert manager.session_dir is None


def test_memory_gives_the_same_object_each_time_and_takes_no_id_twice() -> None:
    async def run() -> None:
        manager = InMemorySessionManager(cwd="/x")
        session = await manager.create_session(id="one")
        assert await manager.open_session("one", cwd_override="/y") is session
        assert session.get_cwd() == "/y"
        with pytest.raises(SessionError, match="already a session"):
            await manager.create_session(id="one")
        with pytest.raises(SessionError, match="'two'"):
            await manager.open_session("two")

    asyncio.run(run())


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Sessions of two projects in the default folders below `agent`."""
    sessions = tmp_path / "agent" / "sessions"
    for project, ids in (("here", ("abc-1", "abd-2")), ("there", ("xyz-1", "abc-9"))):
        for number, session_id in enumerate(ids):
            header = HEADER.replace("idm", session_id).replace("/nowhere", f"/{project}")
            line = user_line("a", None).replace('"timestamp":1}', f'"timestamp":{number + 1000}}}')
            write_lines(sessions / f"--{project}--" / f"{number}.jsonl", header, line)
    return tmp_path / "agent"


@pytest.mark.parametrize(
    ("argument", "kind", "name", "other"),
    [
        ("abc-1", "local", "--here--/0.jsonl", None),
        ("abd", "local", "--here--/1.jsonl", None),
        ("ab", "local", "--here--/1.jsonl", None),
        ("abc-9", "elsewhere", "--there--/1.jsonl", "/there"),
        ("x", "elsewhere", "--there--/0.jsonl", "/there"),
        ("nope", "missing", None, None),
        ("", "missing", None, None),
    ],
)
def test_a_session_argument_is_an_id_here_or_elsewhere(
    stored: Path, argument: str, kind: str, name: str | None, other: str | None
) -> None:
    found = asyncio.run(LocalSessionManager(cwd="/here", agent_dir=stored).resolve(argument))
    assert (found.kind, found.other_cwd) == (kind, other)
    assert (None if found.path is None else found.path.relative_to(stored / "sessions").as_posix()) == name


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("sub/s", "/here/sub/s"),
        ("../up.jsonl", "/up.jsonl"),
        ("plain.jsonl", "/here/plain.jsonl"),
        ("/abs/s.jsonl", "/abs/s.jsonl"),
        ("~/s.jsonl", str(Path.home() / "s.jsonl")),
    ],
)
def test_a_session_argument_with_a_separator_or_suffix_is_a_path(stored: Path, argument: str, path: str) -> None:
    found = asyncio.run(LocalSessionManager(cwd="/here", agent_dir=stored).resolve(argument))
    assert (found.kind, str(found.path)) == ("path", path)


def test_in_a_chosen_folder_ids_of_other_projects_are_elsewhere(tmp_path: Path) -> None:
    write_lines(tmp_path / "s.jsonl", HEADER, user_line("a", None))
    here = LocalSessionManager(cwd="/nowhere", session_dir=tmp_path)
    there = LocalSessionManager(cwd="/there", session_dir=tmp_path)
    assert asyncio.run(here.resolve("idm")).kind == "local"
    assert asyncio.run(there.resolve("idm")).other_cwd == "/nowhere"
    assert asyncio.run(there.find_by_id("idm")) is None


def test_the_documented_class_names_make_and_open_files(tmp_path: Path) -> None:
    session = LocalSessionManager.create("/proj", tmp_path, id="one", parent_session="/p")
    session.append_message(user("a"))
    path = session.get_session_file()
    assert path is not None
    opened = asyncio.run(LocalSessionManager.open_reference(path, None, "/moved"))
    assert (texts(opened), opened.get_cwd(), opened.get_session_dir()) == (["a"], "/moved", tmp_path)


def test_a_foreign_file_is_neither_deleted_nor_renamed(tmp_path: Path) -> None:
    foreign = write_lines(tmp_path / "notes.jsonl", '{"hello":1}')
    manager = LocalSessionManager(cwd="/proj", session_dir=tmp_path)
    with pytest.raises(NotASessionError):
        asyncio.run(manager.delete_session(foreign))
    with pytest.raises(NotASessionError):
        asyncio.run(manager.rename_session(foreign, "n"))
    with pytest.raises(SessionFileMissingError):
        asyncio.run(manager.rename_session(tmp_path / "missing.jsonl", "n"))
    assert foreign.read_bytes() == b'{"hello":1}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize(
    ("script", "method"),
    [
        ('rm "$1"', "trash"),
        ('mkdir -p trash; mv -- "$1" trash/', "trash"),
        ("exit 1", "unlink"),
        ('rm "$1"; exit 1', "trash"),
    ],
)
def test_deleting_uses_the_trash_where_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, method: str
) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER)
    trash = tmp_path / "bin" / "trash"
    trash.parent.mkdir()
    trash.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
    trash.chmod(0o755)
    monkeypatch.setenv("PATH", f"{trash.parent}:{os.environ['PATH']}")
    result = asyncio.run(LocalSessionManager(cwd="/proj", session_dir=tmp_path).delete_session(path))
    assert result.method == method
    assert not path.exists()


def test_managers_fit_the_seam() -> None:
    managers: list[SessionManager] = [LocalSessionManager(cwd="/x"), InMemorySessionManager(cwd="/x")]
    assert [manager.cwd for manager in managers] == [Path("/x"), Path("/x")]
