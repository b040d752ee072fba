"""The mouse: wheel, scroll bar, clicks in the editor, selecting and copying, links."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.tui.stage import Stage, stage

from pinyon.tui.block.notice import NoticeBlock
from pinyon.tui.block.prose import AnswerBlock
from pinyon.tui.wheel import Wheel
from pinyon.tui.word import paragraph_rows, word_columns


class FakeTime:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("rows", "is_far", "gaps", "steps"),
    [
        ("auto", False, [1, 1, 1], [3, 3, 3]),
        ("auto", False, [1, 0.01, 0.01, 0.01, 0.01], [3, 4, 5, 6, 6]),
        ("auto", True, [1], [15]),
        (2, False, [1, 0.01], [2, 2]),
        (2, True, [1], [10]),
    ],
)
def test_the_wheel_scrolls_as_far_as_the_settings_say(
    rows: int | str, is_far: bool, gaps: list[float], steps: list[int]
) -> None:
    time = FakeTime()
    wheel = Wheel(time)
    wheel.rows = rows
    found = []
    for gap in gaps:
        time.now_s += gap
        found.append(wheel.step(1, is_far=is_far))
    assert found == steps


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [
        ("see src/app.py:12 now", 6, "src/app.py:12"),
        ("the end.", 5, "end"),
        ("a 你好 b", 3, "你好"),
        ("a  b", 1, None),
        ("a", 9, None),
    ],
)
def test_a_double_click_takes_a_word_and_a_path_whole(line: str, column: int, word: str | None) -> None:
    columns = word_columns(line, column)
    if word is None:
        assert columns is None
    else:
        before = line.index(word)
        assert columns == (cell_len(line[:before]), cell_len(line[: before + len(word)]))


@given(st.text(max_size=40).map(lambda text: text.replace("\n", " ")), st.integers(0, 60))
def test_a_word_is_inside_of_its_line(line: str, column: int) -> None:
    columns = word_columns(line, column)
    if columns is not None:
        assert 0 <= columns[0] <= column <= columns[1] <= cell_len(line)


def test_a_triple_click_takes_the_lines_around() -> None:
    assert paragraph_rows(["", "a", "b", "", "c"], 2) == (1, 2)
    assert paragraph_rows(["", "a"], 0) is None


async def filled(running: Stage) -> None:
    running.app.transcript.extend([NoticeBlock("info", f"line {number}") for number in range(80)])
    await running.drawn()


@pytest.mark.parametrize(
    ("scrollbar", "at_end", "away"), [("auto", False, True), ("always", True, True), ("hidden", False, False)]
)
def test_the_scroll_bar_is_there_when_the_settings_say_so(
    tmp_path: Path, scrollbar: str, at_end: bool, away: bool
) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"fullscreenScrollbar": scrollbar}) as running:
            await filled(running)
            assert ("┃" in running.screen) == at_end
            running.app.transcript.scroll_rows(-20)
            await running.drawn()
            assert ("┃" in running.screen) == away
            assert "newest" in running.screen

    asyncio.run(run())


def test_a_bar_that_is_always_there_covers_no_text(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(
            tmp_path, size=(40, 20), settings={"fullscreenScrollbar": "always", "outputPad": 0}
        ) as running:
            running.app.transcript.add(AnswerBlock("x" * 78))
            await running.drawn()
            assert running.screen.count("x") >= 78

    asyncio.run(run())


def test_the_wheel_setting_is_used_on_the_screen(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"fullscreenWheelScrollLines": 7}) as running:
            await filled(running)
            transcript = running.app.transcript
            await running.pilot._post_mouse_events([events.MouseScrollUp], transcript, offset=(3, 3))
            await running.drawn()
            before = transcript.list.total() - transcript.size.height
            assert before - transcript.list.before() == 7

    from textual import events

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "x", "y", "at"),
    [
        ("hello world", 4, 1, 2),
        ("hello world", 60, 1, 11),
        ("one\ntwo\nthree", 3, 2, 5),
        ("a你好b", 5, 1, 2),
        ("👨‍👩‍👧x", 4, 1, len("👨‍👩‍👧")),
    ],
)
def test_a_click_puts_the_cursor_where_the_mouse_is(tmp_path: Path, text: str, x: int, y: int, at: int) -> None:
    async def run() -> None:
        async with stage(tmp_path) as running:
            running.app.editing.set_text(text)
            running.app.text_changed()
            await running.drawn()
            await running.pilot.click(running.app.editor, offset=(x, y))
            assert running.app.editor.buffer.cursor == at

    asyncio.run(run())


def fake_program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that gets what a fake clipboard program is given."""
    target = tmp_path / "copied"
    fake_program(tmp_path / "bin", "wl-copy", f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read())")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    return target


async def drag(running: Stage, start: tuple[int, int], end: tuple[int, int]) -> None:
    pilot: Any = running.pilot
    await pilot.mouse_down(running.app.transcript, offset=start)
    await pilot.hover(running.app.transcript, offset=end)
    await pilot.mouse_up(running.app.transcript, offset=end)
    await pilot.pause()


@pytest.mark.parametrize("is_on", [True, False])
def test_what_is_selected_is_copied_where_the_settings_say_so(tmp_path: Path, copied: Path, is_on: bool) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"fullscreenCopyOnSelect": is_on, "quietStartup": True}) as running:
            running.app.transcript.add(AnswerBlock("some words to copy"))
            await running.drawn()
            row = running.screen.split("\n").index(" some words to copy")
            await drag(running, (6, row), (10, row))
            if is_on:
                await running.until(copied.exists)
                await running.until(lambda: copied.read_text().startswith("words"))
                await running.until(lambda: not running.app.screen.selections)
            else:
                is_copied = copied.exists
                assert not is_copied()
                await running.press("ctrl+x")
                await running.until(is_copied)
                await running.until(lambda: copied.read_text().startswith("words"))

    asyncio.run(run())


def test_a_double_click_copies_a_word(tmp_path: Path, copied: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"quietStartup": True}) as running:
            running.app.transcript.add(AnswerBlock("see src/app.py for it"))
            await running.drawn()
            row = running.screen.split("\n").index(" see src/app.py for it")
            await running.pilot.double_click(running.app.transcript, offset=(9, row))
            await running.until(lambda: copied.exists() and copied.read_text() == "src/app.py")

    asyncio.run(run())
