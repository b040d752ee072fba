"""Lists of stored sessions, and continuing the last one."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.session.samples import DATA, HEADER, answer_line, entry_line, user_line, write_lines

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.session.listing import NO_MESSAGES, SessionInfo, read_session_info
from pinyon.session.local import LocalSessionManager, latest_session, list_sessions
from pinyon.session.session import Session

RECORDED = json.loads((DATA / "session_manager" / "results.json").read_text("utf-8"))


def header(session_id: str, cwd: str, **fields: Any) -> str:
    value = {"type": "session", "version": 3, "id": session_id, "timestamp": "2025-01-01T00:00:00.000Z", "cwd": cwd}
    return json.dumps({**value, **fields})


def message(entry_id: str, role: str, content: Any, timestamp: int | None = None) -> str:
    value = {"role": role, "content": content} | ({} if timestamp is None else {"timestamp": timestamp})
    line = {"type": "message", "id": entry_id, "parentId": None, "timestamp": "2025-01-02T00:00:00.000Z"}
    return json.dumps({**line, "message": value})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the recording."""
    write_lines(
        tmp_path / "a.jsonl",
        header("a", "/proj"),
        message("1", "user", "first q", 1_735_900_000_000),
        message("2", "assistant", [{"type": "text", "text": "ans"}], 1_735_900_001_000),
        entry_line("session_info", "3", "2", name=" Named "),
    )
    change = entry_line("model_change", "1", None, provider="p", modelId="m")
    write_lines(tmp_path / "b.jsonl", header("b", "/proj", parentSession="/p.jsonl"), change)
    blocks = [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "", "mimeType": ""},
        {"type": "text", "text": "y"},
    ]
    write_lines(
        tmp_path / "c.jsonl",
        header("c", "/other"),
        message("1", "user", "string content", 1_735_800_000_000),
        message("2", "user", blocks),
        entry_line("session_info", "3", "2", name="n1"),
        entry_line("session_info", "4", "3", name=""),
    )
    write_lines(tmp_path / "d.jsonl", message("1", "user", "no header"))
    write_lines(tmp_path / "e.txt", header("e", "/proj"))
    for age, name in enumerate(("c.jsonl", "b.jsonl", "a.jsonl")):
        os.utime(tmp_path / name, (1_735_900_000 - age * 100, 1_735_900_000 - age * 100))
    return tmp_path


def as_recorded(infos: Sequence[SessionInfo]) -> list[dict[str, Any]]:
    found = []
    for info in infos:
        value = {key: item for key, item in msgspec.to_builtins(info).items() if item is not None}
        value["path"] = Path(value["path"]).name
        found.append(value)
    return found


def expected(name: str) -> list[dict[str, Any]]:
    return [
        {**value, "firstMessage": NO_MESSAGES if "<<" in value["firstMessage"] else value["firstMessage"]}
        for value in RECORDED["listing"][name]
    ]


def test_a_chosen_folder_lists_the_recorded_sessions_of_a_project(folder: Path) -> None:
    manager = LocalSessionManager(cwd="/proj", session_dir=folder)
    other = LocalSessionManager(cwd="/other", session_dir=folder)
    assert as_recorded(asyncio.run(manager.list_sessions())) == expected("customDirFilteredToProj")
    assert as_recorded(asyncio.run(other.list_sessions())) == expected("customDirOther")
    assert as_recorded(asyncio.run(LocalSessionManager.list("/other", folder))) == expected("customDirOther")


def test_listing_all_of_a_chosen_folder_does_not_ask_for_the_project(folder: Path) -> None:
    infos = asyncio.run(LocalSessionManager.list_all(folder))
    assert [Path(info.path).name for info in infos] == RECORDED["listing"]["listAllCustom"]


def test_continuing_takes_the_file_written_last_in_this_project(folder: Path) -> None:
    os.utime(folder / "d.jsonl", (2_000_000_000, 2_000_000_000))
    session = asyncio.run(LocalSessionManager.continue_recent("/other", folder))
    file = session.get_session_file()
    assert file is not None
    assert file.name == RECORDED["continueRecentCustomDir"]
    assert asyncio.run(LocalSessionManager.continue_recent("/proj", folder)).get_session_id() == "b"
    fresh = asyncio.run(LocalSessionManager.continue_recent("/third", folder))
    assert not fresh.is_stored()


def test_info_has_the_names_of_the_programming_interface(folder: Path) -> None:
    info = read_session_info(folder / "a.jsonl")
    assert info is not None
    assert (info.timestamp, info.messages) == (info.created, info.message_count)


def test_renaming_does_not_change_the_time_of_a_session(folder: Path) -> None:
    before = read_session_info(folder / "a.jsonl")
    Session.open(folder / "a.jsonl").append_session_info("other")
    after = read_session_info(folder / "a.jsonl")
    assert before is not None
    assert after is not None
    assert after.modified == before.modified
    assert after.name == "other"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, NO_MESSAGES),
        (7, NO_MESSAGES),
        ([], NO_MESSAGES),
        ([1, {"type": "text", "text": "t"}, {"type": "text", "text": 5}], "t"),
    ],
)
def test_odd_content_costs_its_text_and_not_the_session(tmp_path: Path, content: Any, text: str) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, message("1", "user", content))
    info = read_session_info(path)
    assert info is not None
    assert (info.message_count, info.first_message) == (1, text)


@pytest.mark.parametrize("timestamp", [-5, 1e300, 10**18, 0])
def test_absurd_message_times_fall_back_to_the_entry(tmp_path: Path, timestamp: Any) -> None:
    path = write_lines(tmp_path / "s.jsonl", HEADER, message("1", "user", "x", timestamp))
    info = read_session_info(path)
    assert info is not None
    assert info.modified == "2025-01-02T00:00:00.000Z"


def test_a_session_without_any_time_is_as_old_as_its_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", '{"type":"session","id":"x"}')
    os.utime(path, (1_700_000_000, 1_700_000_000))
    info = read_session_info(path)
    assert info is not None
    assert info.modified == "2023-11-14T22:13:20.000Z"
    assert info.cwd == ""


def test_damaged_lines_are_listed_like_they_are_loaded(tmp_path: Path) -> None:
    glued = answer_line("torn", None)[:40] + user_line("a", None, "recovered")
    path = write_lines(tmp_path / "s.jsonl", "", "{bad", HEADER, "\x00" * 50, glued, answer_line("b", "a", "reply"))
    info = read_session_info(path)
    assert info is not None
    assert (info.message_count, info.all_messages_text) == (2, "recovered reply")


def numbered(folder: Path, count: int) -> None:
    for number in range(count):
        write_lines(
            folder / f"{number:03}.jsonl", header(f"id{number}", "/proj"), message("1", "user", "x", number + 1)
        )


@pytest.mark.parametrize(("count", "everywhere"), [(0, False), (1, False), (25, False), (25, True), (230, True)])
def test_progress_publishes_the_first_and_then_partial_lists(tmp_path: Path, count: int, everywhere: bool) -> None:
    numbered(tmp_path, count)
    calls: list[tuple[int, int, list[int] | None]] = []

    def note(loaded: int, total: int, partial: Sequence[SessionInfo] | None) -> None:
        calls.append((loaded, total, None if partial is None else [info.modified_ms for info in partial]))

    manager = LocalSessionManager(cwd="/proj", session_dir=tmp_path)
    list_them = manager.list_all_sessions if everywhere else manager.list_sessions
    infos = asyncio.run(list_them(on_progress=note))
    assert [info.modified_ms for info in infos] == list(range(count, 0, -1))
    assert calls[-1] == (count, count, list(range(count, 0, -1)))
    assert {total for _, total, _ in calls} == {count}
    assert [loaded for loaded, _, _ in calls] == sorted(loaded for loaded, _, _ in calls)
    published = [partial for _, _, partial in calls if partial is not None]
    assert all(partial == sorted(partial, reverse=True) for partial in published)
    if count > 1:
        assert calls[0][0] == 1
        assert calls[0][2] is not None
        assert 2 <= len(published) <= 2 + (count - 1) // (100 if everywhere else 10)


def test_a_listing_can_be_aborted(tmp_path: Path) -> None:
    numbered(tmp_path, 60)
    controller = AbortController()
    manager = LocalSessionManager(cwd="/proj", session_dir=tmp_path)

    def stop(loaded: int, total: int, partial: Sequence[SessionInfo] | None) -> None:
        controller.abort()

    with pytest.raises(OperationAbortedError):
        asyncio.run(manager.list_sessions(on_progress=stop, signal=controller.signal))


def test_default_folders_are_found_by_project_and_all_together(tmp_path: Path) -> None:
    sessions = tmp_path / "agent" / "sessions"
    for project in ("one", "two"):
        write_lines(
            sessions / f"--{project}--" / "s.jsonl", header(project, f"/{project}"), message("1", "user", project, 5)
        )
    linked = tmp_path / "elsewhere"
    write_lines(linked / "s.jsonl", header("linked", "/linked"))
    (sessions / "--linked--").symlink_to(linked, target_is_directory=True)
    write_lines(sessions / "stray.jsonl", header("stray", "/stray"))
    manager = LocalSessionManager(cwd="/one", agent_dir=tmp_path / "agent")
    assert [info.id for info in asyncio.run(manager.list_sessions())] == ["one"]
    assert {info.id for info in asyncio.run(manager.list_all_sessions())} == {"one", "two", "linked"}
    assert [info.id for info in list_sessions("/two", tmp_path / "agent")] == ["two"]
    latest = latest_session("/two", tmp_path / "agent")
    assert latest is not None
    assert latest.id == "two"
    assert latest_session("/three", tmp_path / "agent") is None


def test_unreadable_and_vanished_files_are_left_out(tmp_path: Path) -> None:
    numbered(tmp_path, 2)
    (tmp_path / "broken-link.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    assert len(asyncio.run(LocalSessionManager.list("/proj", tmp_path))) == 2
    assert asyncio.run(LocalSessionManager.list("/proj", tmp_path / "missing")) == []


def test_a_time_that_is_true_is_no_time(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", header("a", "/proj"), message("1", "user", "q", timestamp=True))
    info = read_session_info(tmp_path / "a.jsonl")
    assert info is not None
    assert info.modified == "2025-01-02T00:00:00.000Z"
