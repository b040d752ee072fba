"""Images in the transcript: how many cells they take, and the rows that keep their place free."""

from __future__ import annotations

import base64
import binascii
from io import BytesIO
from itertools import count

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from pinyon.ai.content import ImageContent
from pinyon.tui.canvas import plain
from pinyon.tui.grapheme import fit
from pinyon.tui.tone import Tone

_HEADER_CHARS = 64 * 1024
_MAX_ROWS = 30
_CELL_SHAPE = 0.5
"""Width of a cell by its height."""
_META = "picture"
_ids = count(1)


class Placement(msgspec.Struct, frozen=True):
    """Where a picture is on the screen: column and line, its size in cells, and which of its rows are shown."""

    picture: Picture
    x: int
    y: int
    columns: int
    rows: int
    first_row: int
    shown_rows: int


class Picture:
    """One image. `number` names it to the terminal."""

    def __init__(self, image: ImageContent) -> None:
        self.image = image
        self.number = next(_ids)
        self._size: tuple[int, int] | None = None
        self._is_measured = False

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels, read from the head of the image; None where it is none."""
        if not self._is_measured:
            self._is_measured = True
            self._size = _size_of(self.image.data[:_HEADER_CHARS]) or _size_of(self.image.data)
        return self._size

    @property
    def label(self) -> str:
        """What stands for the image as text."""
        size = f" {self.size[0]}×{self.size[1]}" if self.size is not None else ""
        return f"[image {self.image.mime_type}{size}]"

    def cells(self, room: int, tone: Tone) -> tuple[int, int]:
        """Columns and rows in which it is drawn; 0 rows where it is not."""
        columns = min(tone.image_columns, room)
        if columns < 2 or self.size is None or not all(self.size):
            return 0, 0
        rows = max(1, round(columns * _CELL_SHAPE * self.size[1] / self.size[0]))
        if rows > _MAX_ROWS:
            return max(1, columns * _MAX_ROWS // rows), _MAX_ROWS
        return columns, rows

    def strips(self, room: int, tone: Tone, base: Style, note: Style) -> list[Strip]:
        """Free rows for the image, or a line of text where it cannot be drawn."""
        columns, rows = self.cells(room, tone)
        if not rows:
            return [plain(fit(self.label, room), room, note)]
        return [
            Strip([Segment(" " * columns, base + Style(meta={_META: [self.number, row, columns, rows]}))]
                  + ([Segment(" " * (room - columns), base)] if room > columns else []), room)
            for row in range(rows)
        ]  # fmt: skip


def placements(lines: list[Strip], pictures: dict[int, Picture]) -> list[Placement]:
    """Where the pictures are in these lines."""
    found: dict[int, Placement] = {}
    for y, line in enumerate(lines):
        x = 0
        for segment in line:
            mark = segment.style.meta.get(_META) if segment.style is not None else None
            if mark is not None and mark[0] in pictures:
                number, row, columns, rows = mark
                old = found.get(number)
                found[number] = (
                    Placement(pictures[number], x, y, columns, rows, row, 1)
                    if old is None
                    else msgspec.structs.replace(old, shown_rows=old.shown_rows + 1)
                )
            x += segment.cell_length
    return list(found.values())


def _size_of(data: str) -> tuple[int, int] | None:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(BytesIO(base64.b64decode(data[: len(data) // 4 * 4]))) as image:
            return image.size
    except (UnidentifiedImageError, OSError, ValueError, binascii.Error):
        return None
