"""Sharing and writing out a conversation from the interactive mode."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from tests.tui.stage import stage

from pinyon.testing import faux_assistant_message

ANSWER = faux_assistant_message("fine")


def put_gh_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """A `gh` that is signed in and does `body` for a gist."""
    folder.mkdir()
    script = folder / "gh"
    script.write_text(f"#!{sys.executable}\nimport sys, time\nif sys.argv[1] == 'gist':\n    {body}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for gh is a script")
def test_a_shared_conversation_is_shown_with_its_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_gh_on_path(tmp_path / "bin", monkeypatch, "print('https://gist.github.com/someone/0123abc')")

    async def play() -> str:
        async with stage(tmp_path, [ANSWER]) as running:
            await running.say("hello")
            await running.say("/share")
            await running.until_shown("Gist: ")
            return running.transcript

    shown = asyncio.run(play())
    assert "https://pi.dev/session/#0123abc" in shown
    assert "https://gist.github.com/someone/0123abc" in shown


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for gh is a script")
@pytest.mark.parametrize("key", ["escape", "enter"])
def test_sharing_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    put_gh_on_path(tmp_path / "bin", monkeypatch, "time.sleep(60)")

    async def play() -> str:
        async with stage(tmp_path, [ANSWER]) as running:
            await running.say("hello")
            await running.say("/share")
            await running.until_shown("Making a secret gist")
            await running.press(key)
            await running.until_shown("Nothing was shared.")
            return running.screen

    assert "Sharing this branch" not in asyncio.run(play())


def test_without_gh_sharing_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    async def play() -> None:
        async with stage(tmp_path, [ANSWER]) as running:
            await running.say("hello")
            await running.say("/share")
            await running.until_shown("install it")

    asyncio.run(play())


def test_a_written_session_file_holds_the_branch_and_replaces_nothing_of_others(tmp_path: Path) -> None:
    async def play() -> None:
        async with stage(tmp_path, [ANSWER, ANSWER]) as running:
            await running.say("hello")
            entry = running.app.session.session.get_branch()[-1].id
            await running.say("left behind")
            await running.app.session.navigate_tree(entry)
            (tmp_path / "project/mine.jsonl").write_text("mine")
            await running.say("/export mine.jsonl")
            await running.say("/export branch.jsonl")
            await running.until((tmp_path / "project/branch.jsonl").exists)

    asyncio.run(play())
    assert (tmp_path / "project/mine.jsonl").read_text() == "mine"
    lines = [json.loads(line) for line in (tmp_path / "project/branch.jsonl").read_text().splitlines()]
    assert lines[0]["type"] == "session"
    assert "left behind" not in str(lines)
    assert "hello" in str(lines)
