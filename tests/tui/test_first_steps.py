"""The interactive mode as a user meets it: start, prompt, tools, stopping, leaving."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.tui.stage import stage

from pinyon.ai.apis.faux import Pace
from pinyon.testing import faux_assistant_message, faux_text, faux_tool_call


def test_a_prompt_is_answered_on_the_screen(tmp_path: Path) -> None:
    async def play() -> str:
        async with stage(tmp_path, [faux_assistant_message("The **answer** is 42.")]) as running:
            await running.type("what is it")
            await running.press("enter")
            await running.settled()
            return running.screen

    screen = asyncio.run(play())
    assert "▌ what is it" in screen
    assert "The answer is 42." in screen


def test_what_is_typed_while_it_starts_is_kept_and_enter_waits(tmp_path: Path) -> None:
    async def play() -> tuple[str, str, bool]:
        gate = asyncio.Event()
        async with stage(tmp_path, [faux_assistant_message("ok")], wait=False, before_open=gate.wait) as running:
            await running.type("early words")
            await running.press("enter")
            await running.pilot.pause()
            before, was_ready = running.screen, running.app.is_ready
            gate.set()
            await running.until(lambda: running.app.is_ready)
            await running.settled()
            return before, running.app.editor.buffer.text, was_ready

    before, text, was_ready = asyncio.run(play())
    assert not was_ready
    assert "early words" in before
    assert "Still starting" in before
    assert text == "early words"


def test_tool_rows_show_output_time_and_difference(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x = 1\n", encoding="utf-8")
    calls = faux_assistant_message(
        [
            faux_text("Looking."),
            faux_tool_call("read", {"path": "a.py"}),
            faux_tool_call("edit", {"path": "a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]}),
            faux_tool_call("bash", {"command": "seq 1 9; exit 3"}),
        ]
    )

    async def play() -> str:
        async with stage(tmp_path, [calls, faux_assistant_message("Done.")]) as running:
            await running.say("go")
            return running.transcript

    shown = asyncio.run(play())
    assert "✓ read a.py  1 line, 6 B" in shown
    assert "-1 x = 1" in shown
    assert "+1 x = 2" in shown
    assert "✗ $ seq 1 9; exit 3" in shown
    assert "earlier lines (Ctrl+O shows all)" in shown


def test_escape_stops_the_answer_and_gives_queued_messages_back(tmp_path: Path) -> None:
    slow = Pace(tokens_per_second=40)

    async def play() -> tuple[str, str]:
        async with stage(tmp_path, [faux_assistant_message("word " * 400)], pace=slow) as running:
            running.app.editing.set_text("go")
            await running.press("enter")
            await running.until_shown("word")
            await running.type("steer me")
            await running.press("enter")
            await running.until_shown("next: steer me")
            await running.type("later")
            await running.press("alt+enter")
            await running.until_shown("later: later")
            await running.press("escape")
            await running.settled()
            return running.screen, running.app.editor.buffer.text

    screen, text = asyncio.run(play())
    assert "✗ Stopped." in screen
    assert text == "steer me\n\nlater"


def test_a_shell_command_streams_into_the_transcript_and_the_context(tmp_path: Path) -> None:
    async def play() -> tuple[str, int]:
        async with stage(tmp_path) as running:
            await running.say("!echo from the shell; exit 2")
            return running.screen, running.app.session.message_count

    screen, count = asyncio.run(play())
    assert "$ echo from the shell; exit 2" in screen
    assert "(exit code 2)" in screen
    assert count == 1


def test_two_presses_of_ctrl_c_leave(tmp_path: Path) -> None:
    async def play() -> tuple[str, bool]:
        async with stage(tmp_path) as running:
            await running.type("draft")
            await running.press("ctrl+c")
            text = running.app.editor.buffer.text
            await running.press("ctrl+c")
            await running.pilot.pause()
            return text, running.app._exit

    text, has_left = asyncio.run(play())
    assert text == ""
    assert has_left
