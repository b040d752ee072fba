"""What the program tells the terminal beside its picture: notices, progress, title, clipboard."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tui.stage import stage

from pinyon.testing import faux_assistant_message
from pinyon.tui.attention import Attention


def written(folder: Path, settings: dict[str, Any], *, env: dict[str, str] | None = None, focus: bool = False) -> str:
    """What one answer makes the program write beside its picture."""

    async def run() -> str:
        async with stage(folder, [faux_assistant_message("done")], settings=settings) as running:
            app = running.app
            sent: list[str] = []
            app.attention = Attention(app, env or {}, write=sent.append)
            app.app_focus = focus
            await running.say("go")
            app.desk_or_fail.name_window()
            return "".join(sent)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "env", "expected"),
    [
        ("bell", {}, "\x07"),
        ("desktop", {}, "\x1b]9;The answer is there\x07"),
        ("desktop", {"TERM": "foot"}, "\x1b]777;notify;Pinyon;The answer is there\x07"),
        ("desktop", {"TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;The answer is there\x07\x1b\\"),
    ],
)
def test_the_end_of_a_run_is_told_when_another_window_has_the_focus(
    tmp_path: Path, kind: str, env: dict[str, str], expected: str
) -> None:
    settings = {"terminal": {"notifications": kind, "title": False}}
    assert written(tmp_path, settings, env=env) == expected


def test_nothing_is_told_to_who_looks_or_did_not_ask_for_it(tmp_path: Path) -> None:
    assert written(tmp_path, {"terminal": {"notifications": "both", "title": False}}, focus=True) == ""


def test_nothing_is_told_by_default(tmp_path: Path) -> None:
    assert written(tmp_path, {"terminal": {"title": False}}) == ""


def test_progress_is_shown_while_a_run_goes_on(tmp_path: Path) -> None:
    text = written(tmp_path, {"terminal": {"showTerminalProgress": True, "title": False}})
    assert text.startswith("\x1b]9;4;3\x07")
    assert text.endswith("\x1b]9;4;0\x07")


def test_the_window_is_named_after_the_folder(tmp_path: Path) -> None:
    assert written(tmp_path, {}) == "\x1b]0;pinyon - project\x07"


def test_a_program_of_the_user_gets_the_notice(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = tmp_path / "tell.py"
    script.write_text(f"import sys; open({str(told)!r}, 'w').write(sys.argv[-1])", encoding="utf-8")

    async def run() -> str:
        settings = {"terminal": {"notifications": "bell", "notifyCommand": f"{sys.executable} {script}"}}
        async with stage(tmp_path, [faux_assistant_message("done")], settings=settings) as running:
            running.app.app_focus = False
            await running.say("go")
            await running.until(lambda: told.exists() and told.read_text())
            return told.read_text(encoding="utf-8")

    assert asyncio.run(run()) == "The answer is there"
