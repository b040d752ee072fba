"""Themes on the running screen: choosing, files that change or are broken, and terminals that turn light."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.tui.stage import Stage, stage

from pinyon.resources.theme import TOKENS
from pinyon.tui.input_decoder import TerminalReply
from pinyon.tui.theme.palette import DARK, LIGHT, PLAIN


def write_theme(folder: Path, name: str, **colors: Any) -> Path:
    path = folder / "agent" / "themes" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, "colors": dict.fromkeys(TOKENS, "#808080") | colors}))
    return path


def footer_color(running: Stage) -> str:
    style = next(segment.style for segment in running.app.footer.render_line(0) if segment.text.strip())
    assert style is not None
    assert style.color is not None
    return style.color.name


@pytest.mark.parametrize(("theme", "palette"), [("dark", DARK), ("light", LIGHT), ("system", PLAIN)])
def test_a_built_in_theme_is_used(tmp_path: Path, theme: str, palette: object) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"theme": theme}) as running:
            assert running.app.tone.palette is palette

    asyncio.run(run())


def test_a_pair_follows_the_background_of_the_terminal(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"theme": "light/dark"}) as running:
            app = running.app
            assert app.tone.palette is DARK
            for text in ("]11;rgb:ffff/ffff/ffff", "[?62c"):
                app.post_message(TerminalReply(text))
            await running.until(lambda: app.tone.palette is LIGHT)

    asyncio.run(run())


def test_answers_without_an_end_are_used_after_a_moment(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path) as running:
            running.app.post_message(TerminalReply("]11;rgb:1e1e/1e1e/1e1e"))
            await running.until(lambda: running.app.tone.palette.has_panels)
            assert running.app.tone.palette.is_dark

    asyncio.run(run())


def test_a_terminal_that_turns_light_is_followed(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"theme": "light/dark"}) as running:
            running.app.post_message(TerminalReply("[?997;2n"))
            await running.until(lambda: running.app.tone.palette is LIGHT)
            running.app.post_message(TerminalReply("[?997;1n"))
            await running.until(lambda: running.app.tone.palette is DARK)

    asyncio.run(run())


def test_a_file_of_the_user_is_used_and_its_changes_recolour_everything(tmp_path: Path) -> None:
    async def run() -> None:
        write_theme(tmp_path, "mine", dim="#112233")
        async with stage(tmp_path, settings={"theme": "mine"}) as running:
            assert footer_color(running) == "#112233"
            write_theme(tmp_path, "mine", dim="#abcdef", accent="#445566")
            await running.until(lambda: footer_color(running) == "#abcdef")

    asyncio.run(run())


def test_a_broken_file_is_told_about_and_what_was_drawn_last_stays(tmp_path: Path) -> None:
    async def run() -> None:
        path = write_theme(tmp_path, "mine", dim="#112233")
        async with stage(tmp_path, settings={"theme": "mine"}) as running:
            path.write_text('{"name": "mine", "colors": {"dimm": "#112233"}}')
            await running.until_shown("colors.dimm")
            assert footer_color(running) == "#112233"
            write_theme(tmp_path, "mine", dim="#00ff00")
            await running.until(lambda: footer_color(running) == "#00ff00")

    asyncio.run(run())


def test_a_theme_that_is_not_there_falls_back_and_is_named(tmp_path: Path) -> None:
    async def run() -> None:
        async with stage(tmp_path, settings={"theme": "nowhere"}) as running:
            assert running.app.tone.palette is PLAIN
            await running.until_shown("'nowhere'")

    asyncio.run(run())


def test_a_preview_is_not_kept(tmp_path: Path) -> None:
    async def run() -> None:
        write_theme(tmp_path, "mine")
        async with stage(tmp_path, settings={"theme": "dark"}) as running:
            look = running.app.look
            assert look.theme_names() == ["system", "dark", "light", "mine"]
            look.preview("light")
            assert running.app.tone.palette is LIGHT
            look.preview(None)
            assert running.app.tone.palette is DARK

    asyncio.run(run())


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("- one\n- two", "- one"),
        ("2) two\n3) three", "3) three"),
        (r"a \* b \_ c", r"a \* b \_ c"),
        ("say **it** now", "say it now"),
        ("    code here", "code here"),
        ("&amp; <b>x</b>", "&amp; <b>x</b>"),
    ],
)
def test_a_prompt_is_markdown_with_its_markers_as_typed(typed: str, shown: str) -> None:
    from pinyon.tui.block.prose import UserBlock
    from pinyon.tui.tone import Tone

    rows = UserBlock(typed).render(60, Tone())
    assert shown in "\n".join(row.text for row in rows)
    assert {row.cell_length for row in rows} == {60}
