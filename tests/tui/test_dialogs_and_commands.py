"""Selectors, dialogs, slash commands and what other code may show."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path

import pytest
from PIL import Image
from rich.text import Text
from tests.tui.stage import Stage, stage

from pinyon.testing import faux_assistant_message, faux_tool_call
from pinyon.tui.block.tool_body import Panel
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.canvas import plain
from pinyon.tui.editor.menu import Completion, Completions
from pinyon.tui.tone import Tone


def png(size: tuple[int, int] = (3, 2)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, "red").save(data, "PNG")
    return data.getvalue()


def test_two_dialogs_at_once_are_both_answered(tmp_path: Path) -> None:
    async def play() -> tuple[str | None, bool, bool]:
        async with stage(tmp_path) as running:
            seam = running.app.seam
            first = asyncio.ensure_future(seam.select("Which?", ["red", "blue"]))
            await running.until_shown("Which?")
            second = asyncio.ensure_future(seam.confirm("Sure?"))
            await running.until_shown("Sure?")
            await running.press("enter")
            await running.until_shown("Which?")
            await running.press("down", "enter")
            return await first, await second, running.app.editor.display

    assert asyncio.run(play()) == ("blue", True, True)


def test_a_new_session_closes_open_dialogs(tmp_path: Path) -> None:
    async def play() -> tuple[str | None, bool]:
        async with stage(tmp_path) as running:
            asked = asyncio.ensure_future(running.app.seam.input("Name?"))
            await running.until_shown("Name?")
            await running.app.pi.new_session()
            answer = await asyncio.wait_for(asked, 5)
            await running.drawn()
            return answer, running.app.overlays.front is None

    assert asyncio.run(play()) == (None, True)


def test_a_dialog_that_is_not_answered_in_time_is_closed(tmp_path: Path) -> None:
    async def play() -> str | None:
        async with stage(tmp_path) as running:
            return await running.app.seam.input("Name?", timeout_s=0.05)

    assert asyncio.run(play()) is None


def test_a_secret_is_not_shown_while_it_is_typed(tmp_path: Path) -> None:
    async def play() -> tuple[str, str | None]:
        async with stage(tmp_path) as running:
            asked = asyncio.ensure_future(running.app.seam.input("Key?", is_secret=True))
            await running.until_shown("Key?")
            await running.type("hunter2")
            screen = running.screen
            await running.press("enter")
            return screen, await asked

    screen, answer = asyncio.run(play())
    assert "hunter2" not in screen
    assert "•••••••" in screen
    assert answer == "hunter2"


def test_several_lines_are_edited_in_a_dialog(tmp_path: Path) -> None:
    async def play() -> str | None:
        async with stage(tmp_path) as running:
            asked = asyncio.ensure_future(running.app.seam.editor("Text", "one"))
            await running.until_shown("Text")
            await running.press("shift+enter")
            await running.type("two")
            await running.press("enter")
            return await asked

    assert asyncio.run(play()) == "one\ntwo"


def test_statuses_widgets_and_replaced_parts_are_shown(tmp_path: Path) -> None:
    def rows(width: int, tone: Tone) -> list[object]:
        return [plain("my own footer", width)]

    async def play() -> tuple[str, str]:
        async with stage(tmp_path) as running:
            seam = running.app.seam
            seam.set_status("b", "second")
            seam.set_status("a", "first")
            seam.set_widget("w", ["above the editor"])
            seam.set_widget("x", ["below the editor"], placement="below")
            seam.set_widget("bad", lambda width, tone: 1 / 0)  # type: ignore[arg-type, return-value]
            await running.until_shown("first  second")
            shown = running.screen
            seam.set_footer(rows)  # type: ignore[arg-type]
            await running.drawn()
            return shown, running.screen

    shown, replaced = asyncio.run(play())
    lines = shown.split("\n")
    above = next(number for number, line in enumerate(lines) if "above the editor" in line)
    below = next(number for number, line in enumerate(lines) if "below the editor" in line)
    assert above < next(number for number, line in enumerate(lines) if line.startswith("›")) < below
    assert "widget 'bad' failed" in shown
    assert "my own footer" in replaced


class Shouting:
    """A renderer of its own, and one that breaks at the body."""

    def title(self, call: ToolCallView, tone: Tone, background: str) -> Text:
        return Text("SHOUTED")

    def body(self, call: ToolCallView, panel: Panel) -> list[object]:
        raise ValueError("broken")


def test_a_renderer_that_breaks_falls_back_to_the_usual_rows(tmp_path: Path) -> None:
    calls = faux_assistant_message([faux_tool_call("bash", {"command": "echo kept"})])

    async def play() -> str:
        async with stage(tmp_path, [calls, faux_assistant_message("ok")]) as running:
            running.app.seam.renderers.tools["bash"] = Shouting()  # type: ignore[assignment]
            await running.say("go")
            return running.transcript

    assert "kept" in asyncio.run(play())


class Fruit:
    """Completes words that begin with a plus."""

    async def complete(self, text: str, cursor: int, *, is_forced: bool) -> Completions | None:
        at = text.rfind("+", 0, cursor)
        return (
            Completions(at, (Completion("+apple ", "apple"), Completion("+pear ", "pear")), "path") if at >= 0 else None
        )


def test_completions_of_other_code_are_offered(tmp_path: Path) -> None:
    async def play() -> str:
        async with stage(tmp_path) as running:
            running.app.seam.add_completions(Fruit())
            await running.type("buy +")
            await running.press("tab")
            await running.until_shown("pear")
            await running.press("down", "enter")
            return running.app.editor.buffer.text

    assert asyncio.run(play()) == "buy +pear "


@pytest.mark.parametrize("command", ["help", "hotkeys", "session", "changelog", "settings", "model", "tree", "fork"])
def test_what_a_command_opens_is_closed_by_escape(tmp_path: Path, command: str) -> None:
    async def play() -> tuple[bool, bool]:
        async with stage(tmp_path, [faux_assistant_message("hello")]) as running:
            await running.say("hi")
            running.app.editing.set_text(f"/{command}")
            await running.press("enter")
            await running.until(lambda: running.app.overlays.front is not None)
            await running.drawn()
            was_open = running.app.overlays.front is not None
            await running.press("escape")
            await running.drawn()
            return was_open, running.app.overlays.front is None

    assert asyncio.run(play()) == (True, True)


def test_the_menu_finds_a_command_and_enter_runs_it(tmp_path: Path) -> None:
    async def play() -> str | None:
        async with stage(tmp_path) as running:
            await running.type("/nam")
            await running.until_shown("name this session")
            await running.press("tab")
            await running.type("my work")
            await running.press("enter")
            await running.until_shown("'my work' now")
            return running.app.session.session_name

    assert asyncio.run(play()) == "my work"


def test_enter_after_fast_typing_sends_what_was_typed_and_not_an_older_completion(tmp_path: Path) -> None:
    async def play() -> str | None:
        async with stage(tmp_path) as running:
            await running.type("/name")
            await running.until(lambda: running.app.editor.menu is not None)
            for character in " night shift":
                running.app.router.handle("space" if character == " " else character, character)
            running.app.router.handle("enter", "\r")
            await running.until(lambda: running.app.session.session_name)
            return running.app.session.session_name

    assert asyncio.run(play()) == "night shift"


def test_enter_takes_no_argument_that_was_not_chosen(tmp_path: Path) -> None:
    async def play() -> tuple[str, bool]:
        async with stage(tmp_path) as running:
            before = running.app.session.thinking_level
            await running.type("/thinking ")
            await running.until(lambda: running.app.editor.menu is not None)
            await running.press("enter")
            await running.drawn()
            return before, running.app.session.thinking_level == before

    assert asyncio.run(play())[1]


async def _fork_choice(running: Stage) -> None:
    running.app.run_command("fork")
    await running.until_shown("Fork before which prompt?")


def test_a_fork_brings_the_prompt_back_into_the_editor(tmp_path: Path) -> None:
    async def play() -> tuple[str, str]:
        async with stage(tmp_path, [faux_assistant_message("one"), faux_assistant_message("two")]) as running:
            await running.say("first prompt")
            await running.say("second prompt")
            await _fork_choice(running)
            await running.press("enter")
            await running.until(lambda: running.app.editor.buffer.text)
            await running.drawn()
            return running.app.editor.buffer.text, running.transcript

    text, shown = asyncio.run(play())
    assert text == "second prompt"
    assert "first prompt" in shown
    assert "second prompt" not in shown


def test_moving_in_the_tree_shows_the_other_branch(tmp_path: Path) -> None:
    async def play() -> tuple[str, str]:
        async with stage(tmp_path, [faux_assistant_message("one"), faux_assistant_message("two")]) as running:
            await running.say("first prompt")
            await running.say("second prompt")
            running.app.run_command("tree")
            await running.until_shown("Session tree")
            await running.type("second prompt")
            await running.press("enter")
            await running.until_shown("Summarise the branch")
            await running.press("enter")
            await running.until(lambda: running.app.editor.buffer.text)
            await running.drawn()
            return running.app.editor.buffer.text, running.transcript

    text, shown = asyncio.run(play())
    assert text == "second prompt"
    assert "second prompt" not in shown


def test_a_dropped_image_is_attached_and_sent(tmp_path: Path) -> None:
    async def play() -> tuple[str, str, object]:
        async with stage(tmp_path, [faux_assistant_message("seen")]) as running:
            path = tmp_path / "project" / "a picture.png"
            path.write_bytes(png())
            running.app._paste(f"'{path}'")
            await running.until_shown("[image #1 3x2]")
            chip = running.screen
            await running.type("what is it")
            await running.press("enter")
            await running.settled()
            message = running.app.session.messages[-2]
            return chip, running.screen, getattr(message, "content", None)

    chip, screen, content = asyncio.run(play())
    assert "[image #1 3x2]" in chip
    assert "[1 image]" in screen
    assert isinstance(content, list)
    image = content[1]
    assert base64.b64decode(image.data).startswith(b"\x89PNG")


def test_a_large_paste_is_a_mark_and_is_sent_in_full(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(25))

    async def play() -> tuple[str, str, str]:
        async with stage(tmp_path, [faux_assistant_message("read")]) as running:
            running.app._paste(pasted)
            await running.drawn()
            screen = running.screen
            await running.press("enter")
            await running.settled()
            await running.press("up")
            message = running.app.session.messages[-2]
            return screen, getattr(message, "text", ""), running.app.editing.text

    screen, sent, recalled = asyncio.run(play())
    assert "[paste #1 +25 lines]" in screen
    assert sent == pasted
    assert recalled == pasted
