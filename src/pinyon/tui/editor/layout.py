"""From the text of the editor to the rows on the screen and back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rich.cells import cell_len

from pinyon.tui.grapheme import graphemes


class Cell(msgspec.Struct, frozen=True):
    """One character as it is shown: where it stands in the text, how it looks, and its columns."""

    start: int
    end: int
    shown: str
    width: int


class Row(msgspec.Struct, frozen=True):
    """One row of the screen: the stretch of the text that it shows. `is_last` tells that a line of the text ends."""

    start: int
    end: int
    cells: tuple[Cell, ...]
    is_last: bool

    def column_of(self, index: int) -> int:
        """The column at which the character at `index` begins."""
        return sum(cell.width for cell in self.cells if cell.end <= index)

    def index_at(self, column: int) -> int:
        """The index of the character at a column; behind the last one, where a cursor may stand in this row."""
        at = 0
        for cell in self.cells:
            if column < at + cell.width:
                return cell.start
            at += cell.width
        if self.is_last or not self.cells:
            return self.end
        return self.cells[-1].start


def layout(text: str, width: int, labels: Mapping[str, str]) -> list[Row]:
    """The rows of `text` in `width` columns: broken at blanks where possible. `labels` are shown for marks."""
    rows: list[Row] = []
    at = 0
    for line in text.split("\n"):
        rows += _wrapped(_cells(line, at, labels), at, at + len(line), max(1, width))
        at += len(line) + 1
    return rows


def row_of(rows: list[Row], index: int) -> int:
    """The number of the row in which the cursor at `index` stands."""
    for number, row in enumerate(rows):
        if index < row.end or (index == row.end and row.is_last):
            return number
    return len(rows) - 1


def _cells(line: str, at: int, labels: Mapping[str, str]) -> list[Cell]:
    cells = []
    for start, end, width in graphemes(line):
        label = labels.get(line[start:end])
        shown, columns = (line[start:end], width) if label is None else (label, cell_len(label))
        cells.append(Cell(at + start, at + end, shown, columns))
    return cells


def _wrapped(cells: list[Cell], start: int, end: int, width: int) -> list[Row]:
    rows: list[Row] = []
    first = 0
    while True:
        stop = _row_stop(cells, first, width)
        if stop >= len(cells):
            rows.append(Row(cells[first].start if first < len(cells) else start, end, tuple(cells[first:]), True))
            break
        rows.append(Row(cells[first].start, cells[stop].start, tuple(cells[first:stop]), False))
        first = stop
    last = rows[-1]
    if cells and sum(cell.width for cell in last.cells) >= width:
        rows[-1] = Row(last.start, last.end, last.cells, False)
        rows.append(Row(end, end, (), True))
    return rows


def _row_stop(cells: list[Cell], first: int, width: int) -> int:
    """Index of the cell that begins the next row."""
    used, breakable = 0, -1
    for number in range(first, len(cells)):
        cell = cells[number]
        if used + cell.width > width and number > first:
            return breakable if breakable > first else number
        used += cell.width
        if cell.shown.isspace() or cell.width == 2:
            breakable = number + 1
    return len(cells)
