"""Terminals that are tiny, huge, without colours, that change their size all the time or call another program."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tui.stage import Stage, stage

from pinyon.ai.apis.faux import Pace
from pinyon.testing import faux_assistant_message, faux_text, faux_thinking, faux_tool_call

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are a thing of Unix", allow_module_level=True)
from tests.tui.program import Program

READY = "fake-model"
ANSWER = (
    "# 标题 with 你好 and 👨\u200d👩\u200d👧 and 🇩🇪\n\nمرحبا بالعالم e\u0301\u0302 ✅ \u3164\n\n"
    "| a | b | c |\n|---|---|---|\n| 你好 | x | y |\n\n> > > deep quote\n\n- one\n  - two\n    - three\n\n"
    "```python\ndef f(x):\n\treturn x\n```\n" + "word " * 60
)


def answers() -> list[Any]:
    call = faux_tool_call("bash", {"command": "printf 'a\\tb\\n%0500d\\n' 7; echo 你好👍🏽"})
    return [
        faux_assistant_message([faux_thinking("hm 你好 " * 20), faux_text("On it."), call]),
        faux_assistant_message([faux_text(ANSWER)]),
    ]


def check_rows(running: Stage) -> None:
    width, height = running.app.size
    lines = running.app.screen._compositor.render_strips()
    assert len(lines) >= height
    assert {line.cell_length for line in lines[:height]} == {width}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    agent_dir = folder / ".pi" / "agent"
    agent_dir.mkdir(parents=True)
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k"}
    models = {"providers": {"fake": {**provider, "models": [{"id": "fake-model"}]}}}
    (agent_dir / "models.json").write_text(json.dumps(models))
    (agent_dir / "settings.json").write_text(json.dumps({"defaultProvider": "fake", "defaultModel": "fake-model"}))
    return folder


@pytest.mark.parametrize("size", [(20, 10), (12, 3), (40, 12), (400, 100)])
def test_a_conversation_fits_every_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async def run() -> None:
        async with stage(tmp_path, answers(), size=size) as running:
            await running.say("please 你好 **do** it\n" + "x" * 300)
            check_rows(running)
            await running.press("ctrl+o")
            await running.drawn()
            check_rows(running)
            running.app.transcript.to_start()
            await running.drawn()
            check_rows(running)
            await running.type("/se")
            await running.drawn()
            check_rows(running)
            assert "deep quote" in running.transcript or size[0] < 40

    asyncio.run(run())


def test_a_terminal_that_changes_its_size_all_the_time_while_an_answer_comes(tmp_path: Path) -> None:
    sizes = [(120, 40), (22, 8), (80, 24), (20, 30), (200, 12), (5, 3), (60, 20)]

    async def run() -> None:
        pace = Pace(tokens_per_second=400)
        async with stage(tmp_path, answers(), pace=pace) as running:
            running.app.editing.set_text("go")
            await running.press("enter")
            for size in sizes * 3:
                await running.pilot.resize_terminal(*size)
                await running.pilot.pause(0.01)
                check_rows(running)
            await running.pilot.resize_terminal(100, 40)
            await running.settled()
            assert "deep quote" in running.transcript
            check_rows(running)

    asyncio.run(run())


def test_no_colour_means_no_colour(home: Path) -> None:
    program = Program(home, environ={"NO_COLOR": "1", "COLORTERM": "truecolor"})
    try:
        program.until(READY)
        program.type("\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62cx")
        program.until("x")
        program.type("\x7f\x04")
        assert program.end() == 0
        colours = re.findall(rb"\x1b\[[\d;]*(?:3[0-7]|4[0-7]|9[0-7]|[34]8;[25];[\d;]+)m", program.seen)
        assert not colours
    finally:
        program.close()


@pytest.mark.parametrize(
    ("environ", "pattern"), [({"COLORTERM": "truecolor"}, rb"38;2;\d"), ({"PI_TRUE_COLOR": "0"}, rb"38;5;\d")]
)
def test_as_many_colours_as_the_terminal_has(home: Path, environ: dict[str, str], pattern: bytes) -> None:
    program = Program(home, "--use-theme", "dark", environ={"COLORTERM": "", **environ})
    try:
        program.until(READY)
        program.type("\x04")
        assert program.end() == 0
        other = rb"38;5;\d" if pattern == rb"38;2;\d" else rb"38;2;\d"
        screen = program.seen.rpartition(b"\x1b[?1049l")[0]
        assert re.search(pattern, screen)
        assert not re.search(other, screen)
    finally:
        program.close()


def test_a_dumb_terminal_gets_lines(home: Path) -> None:
    program = Program(home, environ={"TERM": "dumb"})
    try:
        program.until("> ")
        program.type("/quit\r")
        assert program.end() == 0
        assert b"\x1b" not in program.seen
    finally:
        program.close()


def test_a_terminal_of_twenty_columns_starts_and_ends_well(home: Path) -> None:
    program = Program(home, size=(20, 6))
    try:
        program.until("›")
        program.resize(400, 100)
        program.signal(signal.SIGWINCH)
        program.until(READY)
        program.type("hello there")
        program.until("hello there")
        program.type("\x03\x04")
        assert program.end() == 0
        assert termios.tcgetattr(program.slave) == program.before
    finally:
        program.close()


EDITOR = """
import sys
path = sys.argv[-1]
text = open(path, encoding="utf-8").read()
open(path, "w", encoding="utf-8").write(text.upper() + " AND MORE\\n")
raise SystemExit({code})
"""


@pytest.mark.parametrize(("code", "shown"), [(0, "SOME DRAFT AND MORE"), (3, "some draft")])
def test_another_editor_changes_the_prompt_only_when_it_ends_well(home: Path, code: int, shown: str) -> None:
    script = home / "editor.py"
    script.write_text(EDITOR.format(code=code))
    program = Program(home, environ={"VISUAL": f"'{sys.executable}' '{script}'"})
    try:
        program.until(READY)
        program.type("some draft")
        program.until("some draft")
        program.seen = b""
        program.type("\x07")
        program.until(shown)
        assert b"\x1b[?1049l" in program.seen
        program.type("\x03\x04")
        assert program.end() == 0
        assert termios.tcgetattr(program.slave) == program.before
    finally:
        program.close()


def test_an_editor_that_is_not_there_is_told_and_the_prompt_stays(home: Path) -> None:
    program = Program(home, environ={"VISUAL": "/no/such/editor"})
    try:
        program.until(READY)
        program.type("some draft")
        program.until("some draft")
        program.seen = b""
        program.type("\x07")
        program.until("some draft")
        program.type("\x03\x04")
        assert program.end() == 0
    finally:
        program.close()


class Shell:
    """An interactive shell in tmux, which can stop and continue programs."""

    def __init__(self, folder: Path) -> None:
        self.socket = f"pinyon-{uuid.uuid4().hex[:8]}"
        command = f"cd '{folder}' && HOME='{folder}' PI_OFFLINE=1 PS1='shell> ' bash --norc --noprofile -i"
        self.run("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "80", "-y", "24", command)

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout

    def keys(self, *keys: str) -> None:
        self.run("send-keys", "-t", "t", *keys)

    def until(self, text: str, limit_s: float = 40) -> str:
        began = time.monotonic()
        while text not in (screen := self.run("capture-pane", "-p", "-t", "t")):
            assert time.monotonic() - began < limit_s, f"{text!r} is not in\n{screen}"
            time.sleep(0.05)
        return screen


@pytest.fixture
def shell(home: Path) -> Iterator[Shell]:
    if shutil.which("tmux") is None or shutil.which("bash") is None:
        pytest.skip("tmux and bash are needed")
    terminal = Shell(home)
    yield terminal
    terminal.run("kill-server")


def test_the_program_sleeps_and_wakes_with_its_text(shell: Shell) -> None:
    shell.until("shell>")
    shell.keys(f"'{sys.executable}' -m pinyon", "Enter")
    shell.until(READY)
    shell.keys("-l", "half a thought")
    shell.until("half a thought")
    shell.keys("C-z")
    screen = shell.until("Stopped")
    assert "half a thought" not in screen
    shell.keys("stty -a | grep -o -- '-\\?icanon'", "Enter")
    shell.until("\nicanon")
    shell.keys("fg", "Enter")
    shell.until("half a thought")
    shell.keys("-l", " goes on")
    shell.until("half a thought goes on")
    shell.keys("C-c", "C-d")
    shell.until("shell>")
