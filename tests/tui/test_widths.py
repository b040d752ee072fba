"""Every row is exactly as wide as the screen, whatever stands in it; the editor keeps every character."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.strip import Strip

from pinyon.tui.block.block import Block
from pinyon.tui.block.notice import NoticeBlock
from pinyon.tui.block.prose import AnswerBlock, CustomBlock, SummaryBlock, ThinkingBlock, UserBlock
from pinyon.tui.block.shell import ShellBlock
from pinyon.tui.block.tool import ToolBlock
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.canvas import chopped
from pinyon.tui.editor.layout import layout, row_of
from pinyon.tui.grapheme import fit, graphemes
from pinyon.tui.scroll import BlockList
from pinyon.tui.theme.palette import DARK
from pinyon.tui.tone import Tone

SPECIMENS = (
    "✅ done",
    "\u3164",
    "中文 mixed with Latin",
    "👨\u200d👩\u200d👧 family",
    "🇩🇪🇫🇷🇯🇵",
    "e\u0301\u0302\u0303",
    "\u0600\u0601 arabic signs",
    "مرحبا بالعالم",
    "a\tb\tc",
    "한국어",
    "👍🏽👍🏿",
    "\u200b\u200d\ufe0f",
    "☁️ ⚠️ ❤️",
    "ｆｕｌｌ width",
    "x" * 200,
    "\x1b[31mred\x1b[0m",
    "नमस्ते",
    "🏴\U000e0067\U000e0062\U000e007f",
    "\U0010eeee",
    "a\u00adb",
    "\u202eabc\u202c",
)
MARKUP = (
    "# ",
    "- ",
    "> ",
    "> > > > ",
    "1. ",
    "```\n",
    "| a | b |\n|---|---|\n| ",
    "**",
    "`",
    "\n",
    "\n\n",
    "    ",
    "[l](http://x) ",
)
texts = st.lists(st.sampled_from(SPECIMENS + MARKUP) | st.text(max_size=12), max_size=12).map("".join)
TONE = Tone(palette=DARK, hyperlinks=True)


def rows_of(block: Block, width: int) -> list[Strip]:
    """The rows as the transcript draws them."""
    blocks = BlockList()
    blocks.width, blocks.tone = width, TONE
    blocks.slot(block)
    return blocks.rows(0)


def answer_in_pieces(text: str) -> Block:
    block = AnswerBlock(is_final=False)
    for end in range(0, len(text), 7):
        block.set_text(text[:end])
        block.render(40, TONE)
    block.set_text(text)
    return block


def tool(name: str, text: str) -> Block:
    arguments = {"path": text, "command": text, "pattern": text, "content": text, "other": [text]}
    block = ToolBlock(ToolCallView(name=name, arguments=arguments))
    diff = "\n".join(f"{sign}{number} {text}" for number, sign in enumerate("-+ "))
    block.finish(text, {"diff": diff} if name == "edit" else None, is_error=name == "grep")
    block.set_expanded(True)
    return block


def shell(text: str) -> Block:
    block = ShellBlock(text)
    block.finish(text, 1, cancelled=False, truncated=False, full_output_path=None)
    return block


def unfolded(block: Block) -> Block:
    block.set_expanded(True)
    return block


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 130), st.sampled_from([
    UserBlock, AnswerBlock, answer_in_pieces, ThinkingBlock, shell,
    lambda text: CustomBlock(text, text), lambda text: unfolded(SummaryBlock(text, text, text)),
    lambda text: unfolded(NoticeBlock("error", text, text)),
    lambda text: tool("read", text), lambda text: tool("bash", text), lambda text: tool("edit", text),
    lambda text: tool("write", text), lambda text: tool("grep", text), lambda text: tool("mcp", text),
]))  # fmt: skip
def test_rows_of_every_block_fill_the_screen_exactly(text: str, width: int, make: object) -> None:
    assert callable(make)
    for row in rows_of(make(text), width):
        assert row.cell_length == width
        assert sum(cell_len(segment.text) for segment in row) == width
        assert not set("\n\r\x1b\t\x07") & set(row.text)


@pytest.mark.parametrize("text", SPECIMENS)
@pytest.mark.parametrize("width", [1, 2, 3, 20, 119])
def test_specimens_fit_at_widths_that_cut_them(text: str, width: int) -> None:
    for block in (UserBlock(text), AnswerBlock(text * 9), tool("bash", text * 9), tool("edit", text)):
        assert {row.cell_length for row in rows_of(block, width)} <= {width}


@given(texts, st.integers(1, 60))
def test_the_editor_shows_every_character_once_and_finds_each_by_its_column(text: str, width: int) -> None:
    text = text.replace("\t", "    ").replace("\r", "")
    rows = layout(text, width, {})
    assert "".join(cell.shown for row in rows for cell in row.cells) == text.replace("\n", "")
    for row in rows:
        assert (
            sum(cell.width for cell in row.cells) <= max(width, *(cell.width for cell in row.cells), 0)
            or len(row.cells) == 1
        )
        for cell in row.cells:
            if cell.width:
                assert row.index_at(row.column_of(cell.start)) == cell.start
    for index in range(len(text) + 1):
        assert 0 <= row_of(rows, index) < len(rows)


@given(texts)
def test_graphemes_are_the_whole_text_in_order(text: str) -> None:
    line = text.replace("\n", " ")
    spans = graphemes(line)
    assert "".join(line[start:end] for start, end, _ in spans) == line
    assert all(end == spans[number + 1][0] for number, (_, end, _) in enumerate(spans[:-1]))


@given(texts, st.integers(1, 40))
def test_cutting_keeps_within_the_columns_and_loses_nothing_when_breaking(text: str, width: int) -> None:
    line = text.replace("\n", " ")
    assert cell_len(fit(line, width)) <= width
    assert "".join(chopped(line, width)) == line
