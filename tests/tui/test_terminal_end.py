"""Real processes in a pseudo-terminal: whatever ends the program, the terminal is as before and the session is kept."""

from __future__ import annotations

import os
import signal
import sys
import termios
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are a thing of Unix", allow_module_level=True)
from tests.tui.program import Program


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_leaving_gives_the_terminal_back(home: Path) -> None:
    program = Program(home)
    try:
        program.until("Which model should answer")
        os.write(program.master, b"\x04")
        assert program.end() == 0
        assert b"\x1b[?1049l" in program.seen
        assert termios.tcgetattr(program.slave) == program.before
    finally:
        program.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_gives_the_terminal_back_and_names_itself(home: Path, number: signal.Signals, code: int) -> None:
    program = Program(home)
    try:
        program.until("Which model should answer")
        program.process.send_signal(number)
        assert program.end() == code
        assert b"\x1b[?1049l" in program.seen
        assert termios.tcgetattr(program.slave) == program.before
    finally:
        program.close()


def test_a_terminal_that_is_closed_ends_the_program(home: Path) -> None:
    program = Program(home)
    try:
        program.until("Which model should answer")
        os.close(program.slave)
        os.close(program.master)
        assert program.process.wait(timeout=30) == 129
    finally:
        program.close()


def test_what_is_typed_before_the_screen_is_there_is_in_the_editor(home: Path) -> None:
    program = Program(home)
    try:
        os.write(program.master, b"early")
        program.until("No model can be used yet")
        program.until("early")
    finally:
        program.close()


def test_a_line_that_was_typed_before_the_screen_is_there_is_a_prompt_of_its_own(home: Path) -> None:
    program = Program(home)
    try:
        os.write(program.master, b"!echo typed-$((40+2))\rearly rest")
        program.until("typed-42")
        program.until("early rest")
    finally:
        program.close()


def test_the_setting_for_line_by_line_is_followed(home: Path) -> None:
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"tuiMode": "regular"}', encoding="utf-8")
    program = Program(home)
    try:
        program.until("Type a line and press Enter")
        os.write(program.master, b"/quit\n")
        assert program.end() == 0
        assert b"\x1b[?1049h" not in program.seen
    finally:
        program.close()


def test_a_start_that_fails_says_why_on_the_normal_screen(home: Path) -> None:
    program = Program(home, "--session", "no-such-session")
    try:
        assert program.end(40) == 1
        tail = program.seen.rpartition(b"\x1b[?1049l")[2]
        assert b"there is no session 'no-such-session'" in tail
    finally:
        program.close()
