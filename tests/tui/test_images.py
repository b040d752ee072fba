"""Images in tool rows: drawn where the terminal can, cut by the edge, and told as text elsewhere."""

from __future__ import annotations

import asyncio
import base64
import re
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.tui.stage import stage
from textual.strip import Strip

from pinyon.ai.content import ImageContent
from pinyon.tui.block.tool import ToolBlock
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.capability import ImageProtocol
from pinyon.tui.image_painter import ImagePainter
from pinyon.tui.picture import Picture, Placement, placements
from pinyon.tui.theme.palette import DARK
from pinyon.tui.tone import Tone


def image(width: int = 40, height: int = 20, kind: str = "PNG") -> ImageContent:
    target = BytesIO()
    pixels = Image.new("RGB", (width, height), (200, 30, 30))
    pixels.paste((30, 30, 200), (0, 0, width, height // 2))
    pixels.save(target, kind)
    return ImageContent(data=base64.b64encode(target.getvalue()).decode(), mime_type=f"image/{kind.lower()}")


def tool_row(content: ImageContent) -> ToolBlock:
    block = ToolBlock(ToolCallView(name="read", arguments={"path": "a.png"}))
    block.finish("", None, images=[content], is_error=False)
    return block


def text(rows: list[Strip]) -> str:
    return "\n".join(row.text for row in rows)


@pytest.mark.parametrize("columns", [0, 30])
def test_a_terminal_without_images_gets_kind_and_size_as_text(columns: int) -> None:
    shown = text(tool_row(image()).render(80, Tone(palette=DARK, image_columns=columns)))
    assert ("[image image/png 40×20]" in shown) == (columns == 0)


def test_what_is_no_image_is_told_as_text_on_every_terminal() -> None:
    broken = ImageContent(data=base64.b64encode(b"not an image").decode(), mime_type="image/png")
    assert "[image image/png]" in text(tool_row(broken).render(80, Tone(image_columns=30)))


@pytest.mark.parametrize(
    ("size", "room", "wanted", "cells"),
    [
        ((40, 20), 80, 60, (60, 15)),
        ((40, 20), 20, 60, (20, 5)),
        ((10, 1000), 80, 60, (1, 30)),
        ((900, 1), 80, 60, (60, 1)),
    ],
)
def test_an_image_keeps_its_shape(size: tuple[int, int], room: int, wanted: int, cells: tuple[int, int]) -> None:
    assert Picture(image(*size)).cells(room, Tone(image_columns=wanted)) == cells


@pytest.mark.parametrize("width", [3, 12, 20, 80, 200])
def test_rows_of_an_image_fill_their_width(width: int) -> None:
    rows = tool_row(image()).render(width, Tone(palette=DARK, image_columns=60))
    assert {row.cell_length for row in rows} == {width}


def placement(first_row: int = 0, shown_rows: int = 5, y: int = 3, kind: str = "PNG") -> Placement:
    return Placement(Picture(image(kind=kind)), 4, y, 20, 5, first_row, shown_rows)


def test_the_place_of_an_image_is_found_also_when_it_is_cut() -> None:
    picture = Picture(image())
    tone = Tone(image_columns=20)
    style = tone.style("")
    rows = picture.strips(40, tone, style, style)
    (found,) = placements([Strip.blank(40), *rows[2:4]], {picture.number: picture})
    assert (found.y, found.x, found.first_row, found.shown_rows, found.columns, found.rows) == (1, 0, 2, 2, 20, 5)


def test_kitty_gets_an_image_once_and_then_only_its_place() -> None:
    written: list[str] = []
    painter = ImagePainter("kitty", written.append)
    first = placement()
    painter.paint([first])
    assert "".join(written).count("a=t,") == 1
    assert "\x1b[4;5H" in "".join(written)
    written.clear()
    painter.paint([first])
    assert not written
    moved = Placement(first.picture, 4, 0, 20, 5, 2, 3)
    painter.paint([moved])
    assert "a=t," not in "".join(written)
    assert re.search(r"a=p,i=\d+,p=1,c=20,r=3,x=0,y=8,w=40,h=12,C=1", "".join(written))
    written.clear()
    painter.paint([])
    assert "a=d,d=i" in "".join(written)


def test_a_long_transmission_is_cut_into_pieces_that_terminals_take() -> None:
    written: list[str] = []
    noise = Image.effect_noise((200, 200), 90)
    target = BytesIO()
    noise.save(target, "PNG")
    content = ImageContent(data=base64.b64encode(target.getvalue()).decode(), mime_type="image/png")
    ImagePainter("kitty", written.append).paint([Placement(Picture(content), 0, 0, 10, 5, 0, 5)])
    pieces = re.findall(r"\x1b_G[^;]*m=([01]);([^\x1b]*)\x1b\\", "".join(written))
    assert len(pieces) > 1
    assert [more for more, _ in pieces] == ["1"] * (len(pieces) - 1) + ["0"]
    assert all(len(data) <= 4096 for _, data in pieces)
    assert base64.b64decode("".join(data for _, data in pieces)) == target.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_iterm2_gets_the_part_that_is_shown(kind: str) -> None:
    written: list[str] = []
    ImagePainter("iterm2", written.append).paint([placement(3, 2, kind=kind)])
    match = re.search(
        r"\]1337;File=inline=1;width=20;height=2;preserveAspectRatio=0;size=\d+:([^\x07]*)\x07", written[0]
    )
    assert match is not None
    with Image.open(BytesIO(base64.b64decode(match[1]))) as shown:
        assert shown.format == "PNG"
        assert shown.size == (40, 8)


@pytest.mark.parametrize("protocol", ["kitty", "iterm2"])
def test_images_are_drawn_on_the_screen_and_follow_the_scrolling(
    tmp_path: Path, protocol: ImageProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_IMAGE_PROTOCOL", protocol)
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    async def run() -> None:
        async with stage(tmp_path, settings={"terminal": {"imageWidthCells": 20}}) as running:
            painted: list[list[Placement]] = []
            painter = running.app.look.painter
            assert painter is not None
            assert painter.protocol == protocol
            transcript = running.app.transcript
            transcript.on_pictures = painted.append
            transcript.add(tool_row(image()))
            await running.until(lambda: painted and painted[-1])
            first = painted[-1][0]
            assert (first.columns, first.shown_rows) == (20, 5)
            transcript.extend([tool_row(image()) for _ in range(10)])
            await running.until(lambda: len(painted[-1]) > 2)
            transcript.extend([ToolBlock(ToolCallView(name="ls")) for _ in range(40)])
            await running.until(lambda: not painted[-1])

    asyncio.run(run())


def test_images_are_not_drawn_where_the_settings_say_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_IMAGE_PROTOCOL", "kitty")
    monkeypatch.delenv("TMUX", raising=False)

    async def run() -> None:
        async with stage(tmp_path, settings={"terminal": {"showImages": False}}) as running:
            assert running.app.look.painter is None
            running.app.transcript.add(tool_row(image()))
            await running.until_shown("[image image/png 40×20]")

    asyncio.run(run())
