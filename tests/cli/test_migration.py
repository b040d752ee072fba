"""Files of older versions move to their place at the start: each once, none over another, none lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import Home

from pinyon.cli.migration import migrate_agent_folder, migrate_project_folder, rename_keys
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

HEADER = {"type": "session", "version": 3, "id": "abc", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work/a"}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_everything_old_moves_to_its_place_and_is_told(tmp_path: Path) -> None:
    session = json.dumps(HEADER) + "\n"
    old = {"s.jsonl": session, "tools/rg": "RG", "tools/mine": "M", "commands/a/b.md": "T", "other.jsonl": "no session"}
    folder = write(tmp_path / "agent", old)
    migration = migrate_agent_folder(folder)
    assert contents(folder) == {
        "bin/rg": b"RG",
        "other.jsonl": b"no session",
        "prompts/a/b.md": b"T",
        "sessions/--work-a--/s.jsonl": session.encode(),
        "tools/mine": b"M",
    }
    assert migration.done == ["1 session → sessions", "tools/rg → bin", "commands → prompts"]
    assert migration.problems == []
    again = migrate_agent_folder(folder)
    assert [again.done, again.problems] == [[], []]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    session = json.dumps(HEADER) + "\n"
    files = {
        "s.jsonl": session,
        "sessions/--work-a--/s.jsonl": "newer",
        "tools/fd": "old",
        "bin/fd": "newer",
        "commands/a.md": "old",
        "prompts/b.md": "newer",
    }
    folder = write(tmp_path / "agent", files)
    before = contents(folder)
    assert migrate_agent_folder(folder).done == []
    assert contents(folder) == before


def test_what_cannot_be_moved_stays_and_is_told(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "agent", {"s.jsonl": json.dumps(HEADER), "sessions": "a file", "tools/rg": "RG", "bin": ""}
    )
    before = contents(folder)
    migration = migrate_agent_folder(folder)
    assert contents(folder) == before
    assert migration.done == []
    assert [name for name in ("s.jsonl", "rg") if name not in "".join(migration.problems)] == []


@pytest.mark.parametrize("name", ["commands", "tools", "s.jsonl"])
@pytest.mark.parametrize("kind", ["file", "folder", "link to nothing", "circle"])
def test_other_things_of_those_names_are_left_alone(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    if kind == "file":
        path.write_bytes(b"{}")
    elif kind == "folder" and name != "commands":
        path.mkdir()
    elif kind == "circle":
        path.symlink_to(path)
    else:
        path.symlink_to(tmp_path / "nowhere")
    migration = migrate_agent_folder(tmp_path)
    assert [migration.done, migration.problems] == [[], []]
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_without_an_agent_folder_nothing_happens(tmp_path: Path) -> None:
    assert migrate_agent_folder(tmp_path / "missing").done == []
    assert not (tmp_path / "missing").exists()


def test_old_names_of_keys_become_present_ones_and_present_ones_win(tmp_path: Path) -> None:
    keys = {"submit": "ctrl+s", "mine": 1, "tui.select.up": "k", "selectUp": "j"}
    write(tmp_path, {"keybindings.json": json.dumps(keys)})
    assert rename_keys(tmp_path).done
    found = json.loads((tmp_path / "keybindings.json").read_text(encoding="utf-8"))
    assert found == {"tui.input.submit": "ctrl+s", "mine": 1, "tui.select.up": "k"}
    assert rename_keys(tmp_path).done == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tui.input.submit": "enter"}', '{"submit": "enter",}'])
def test_a_key_file_without_old_names_is_not_written(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"keybindings.json": text})
    assert rename_keys(tmp_path).done == []
    assert (tmp_path / "keybindings.json").read_text(encoding="utf-8") == text


def test_templates_of_a_project_move_too(tmp_path: Path) -> None:
    write(tmp_path, {".pi/commands/a.md": "T"})
    assert migrate_project_folder(tmp_path).done == ["commands → prompts"]
    assert contents(tmp_path) == {".pi/prompts/a.md": b"T"}


@pytest.mark.parametrize("flag", ["--approve", "--no-approve"])
def test_a_start_moves_what_is_the_users_and_what_a_trusted_project_has(tmp_path: Path, flag: str) -> None:
    with FakeServer([openai_answer("fine")]) as server:
        home = Home(tmp_path.resolve(), server.url)
        write(home.agent_dir, {"commands/mine.md": "MINE"})
        write(home.project, {".pi/commands/ours.md": "OURS"})
        code, _, errors = home.run("-p", flag, "/ours", "/mine")
        sent = json.dumps([request.json for request in server.requests])
    assert code == 0, errors
    assert errors.count("commands → prompts") == (2 if flag == "--approve" else 1)
    assert "MINE" in sent
    assert ("OURS" in sent) is (flag == "--approve")
    assert (home.project / ".pi" / "commands").exists() is (flag == "--no-approve")


def test_a_named_template_that_is_not_there_ends_a_start_without_a_screen(tmp_path: Path) -> None:
    home = Home(tmp_path.resolve(), "http://127.0.0.1:9")
    code, output, errors = home.run("-p", "--prompt-template", str(tmp_path / "missing"), "hi")
    assert (code, output) == (1, "")
    assert errors.startswith("Error: prompt")
    assert "missing" in errors
