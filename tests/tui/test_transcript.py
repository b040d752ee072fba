"""The transcript: following, scrolling, anchors, search, and work that does not grow with the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.tui.stage import stage
from textual.strip import Strip

from pinyon.testing import faux_assistant_message, faux_tool_call
from pinyon.tui.block.block import Block
from pinyon.tui.block.notice import NoticeBlock
from pinyon.tui.block.prose import UserBlock
from pinyon.tui.canvas import plain
from pinyon.tui.scroll import BlockList
from pinyon.tui.tone import Tone


class CountedBlock(Block):
    """Rows with a number; counts how often it is rendered."""

    can_expand = True

    def __init__(self, name: str, rows: int = 3) -> None:
        super().__init__()
        self.name = name
        self.rows = rows
        self.renders = 0

    def render(self, width: int, tone: Tone) -> list[Strip]:
        self.renders += 1
        count = self.rows * (4 if self.is_expanded else 1)
        return [plain(f"{self.name}.{row}", width) for row in range(count)]

    def plain_text(self) -> str:
        return self.name


def list_of(count: int, height: int = 10) -> BlockList:
    blocks = BlockList()
    blocks.width, blocks.height = 20, height
    for number in range(count):
        blocks.slot(CountedBlock(f"b{number}"))
    return blocks


def shown(blocks: BlockList) -> list[str]:
    return [blocks.rows(number)[row].text.strip() for number, row in blocks.visible()]


def test_the_end_is_followed_as_blocks_come() -> None:
    blocks = list_of(50)
    assert shown(blocks)[-1] == "b49.2"
    blocks.slot(CountedBlock("new"))
    assert shown(blocks)[-1] == "new.2"


def test_new_output_does_not_move_what_is_read() -> None:
    blocks = list_of(50)
    blocks.scroll(-30)
    before = shown(blocks)
    blocks.slot(CountedBlock("new"))
    blocks.prepend([CountedBlock("older")])
    assert shown(blocks) == before
    assert not blocks.follow


def test_scrolling_down_to_the_end_follows_again() -> None:
    blocks = list_of(50)
    blocks.scroll(-12)
    blocks.scroll(11)
    assert not blocks.follow
    blocks.scroll(1)
    assert blocks.follow


def test_the_first_row_is_the_end_of_scrolling_up() -> None:
    blocks = list_of(50)
    blocks.scroll(-10_000)
    assert shown(blocks)[0] == "b0.0"
    assert len(shown(blocks)) == 10


def test_only_what_is_near_the_screen_is_rendered() -> None:
    blocks = list_of(5_000)
    blocks.visible()
    rendered = [slot for slot in blocks.slots if isinstance(slot.block, CountedBlock) and slot.block.renders]
    assert len(rendered) <= 10


def test_a_change_renders_one_block_again() -> None:
    blocks = list_of(20)
    blocks.visible()
    last = blocks.slots[-1].block
    last.changed()
    blocks.visible()
    again = [slot.block for slot in blocks.slots if isinstance(slot.block, CountedBlock) and slot.block.renders > 1]
    assert again == [last]


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_any_place_of_the_scroll_bar_shows_a_full_screen(fraction: float) -> None:
    blocks = list_of(50)
    blocks.to_fraction(fraction)
    assert len(shown(blocks)) == 10


def test_unfolding_keeps_the_middle_of_the_screen_where_it_is(tmp_path: Path) -> None:
    async def play() -> tuple[str, str]:
        async with stage(tmp_path) as running:
            transcript = running.app.transcript
            transcript.extend([CountedBlock(f"block{number}") for number in range(40)])
            await running.drawn()
            transcript.scroll_rows(-60)
            await running.drawn()
            middle = len(transcript._lines) // 2
            before = transcript._lines[middle].text.strip()
            await running.press("ctrl+o")
            await running.drawn()
            return before, transcript._lines[middle].text.strip()

    before, after = asyncio.run(play())
    assert before.partition(".")[0] == after.partition(".")[0]


def test_search_finds_what_is_scrolled_away_and_escape_ends_it(tmp_path: Path) -> None:
    async def play() -> tuple[str, str]:
        async with stage(tmp_path) as running:
            running.app.transcript.extend([NoticeBlock("info", f"line {number}") for number in range(100)])
            running.app.transcript.add(
                NoticeBlock("info", "the needle is here"), before=running.app.transcript.blocks[9]
            )
            await running.drawn()
            await running.press("ctrl+shift+f")
            await running.type("NEEDLE")
            await running.drawn()
            found = running.screen
            await running.press("escape", "ctrl+end")
            await running.drawn()
            return found, running.screen

    found, after = asyncio.run(play())
    assert "the needle is here" in found
    assert "1/1" in found
    assert "⌕" not in after
    assert "line 99" in after


def test_prompts_are_jumped_to_and_the_label_names_the_way_back(tmp_path: Path) -> None:
    async def play() -> tuple[str, str]:
        async with stage(tmp_path) as running:
            for number in range(6):
                running.app.transcript.add(UserBlock(f"prompt {number}"))
                running.app.transcript.extend([NoticeBlock("info", f"answer {number}")] * 1)
                running.app.transcript.extend([CountedBlock(f"filler{number}", rows=20)])
            await running.drawn()
            await running.press("ctrl+up", "ctrl+up")
            await running.drawn()
            up = running.screen
            await running.press("ctrl+end")
            await running.drawn()
            return up, running.screen

    up, end = asyncio.run(play())
    assert up.startswith("▌ prompt 3")
    assert "newest Ctrl+End" in up
    assert "newest" not in end


def test_a_click_unfolds_one_tool_row(tmp_path: Path) -> None:
    calls = faux_assistant_message([faux_tool_call("bash", {"command": "seq 1 9"})])

    async def play() -> tuple[str, str]:
        async with stage(tmp_path, [calls, faux_assistant_message("ok")]) as running:
            await running.say("go")
            folded = running.transcript
            row = next(y for y, line in enumerate(running.screen.split("\n")) if "seq 1 9" in line)
            await running.pilot.click(running.app.transcript, offset=(5, row))
            await running.drawn()
            return folded, running.transcript

    folded, unfolded = asyncio.run(play())
    assert "4 earlier lines" in folded
    assert "earlier lines" not in unfolded
    assert "   1\n" in unfolded


@pytest.mark.parametrize("size", [(20, 8), (22, 10), (40, 12), (80, 24), (200, 60)])
def test_every_size_is_drawn_without_an_overlong_line(tmp_path: Path, size: tuple[int, int]) -> None:
    words = "Wide 漢字漢字 ✅ \u3164 👩\u200d👩\u200d👧 🇩🇪 e\u0301 \u0600x"
    text = f"{words}\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n\n```py\nx = 1\n```"
    calls = faux_assistant_message([faux_tool_call("bash", {"command": "echo 漢字漢字漢字漢字漢字漢字漢字"})])

    async def play() -> set[int]:
        async with stage(tmp_path, [calls, faux_assistant_message(text)], size=size) as running:
            await running.say("prompt with 漢字 and ✅")
            await running.pilot.resize_terminal(size[0] + 7, size[1])
            await running.drawn()
            await running.pilot.resize_terminal(*size)
            await running.drawn()
            return {line.cell_length for line in running.app.transcript._lines}

    assert asyncio.run(play()) == {size[0]}
