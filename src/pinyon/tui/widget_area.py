"""Rows that programs put above or below the editor."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import blank, clean, text_rows
from pinyon.tui.rows import RowsWidget
from pinyon.tui.tone import Tone

RowMaker = Callable[[int, Tone], list[Strip]]
"""Makes rows for a width."""


class WidgetArea(RowsWidget):
    """Widgets by key, in the order in which they were added. A maker that raises shows why.

    `is_apart` puts a blank row before them, and one where there are none.
    """

    def __init__(self, *, is_apart: bool = False, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.tone = Tone()
        self.is_apart = is_apart
        self._makers: dict[str, RowMaker] = {}

    def put(self, key: str, content: RowMaker | list[str] | None) -> None:
        """Show lines or what a maker makes; None takes the widget away."""
        if content is None:
            self._makers.pop(key, None)
        else:
            self._makers[key] = _lines(content) if isinstance(content, list) else content
        self.update_rows()

    def clear(self) -> None:
        """Take all widgets away."""
        self._makers.clear()
        self.update_rows()

    def build(self, width: int) -> list[Strip]:
        """The rows of all widgets."""
        rows: list[Strip] = [blank(width)] if self.is_apart else []
        for key, make in self._makers.items():
            try:
                rows += make(width, self.tone)
            except Exception as error:  # noqa: BLE001 - the border between the screen and foreign widgets
                rows += text_rows(Text(f"widget {key!r} failed: {error}", style=self.tone.style("error")), width)
        return rows


def _lines(lines: list[str]) -> RowMaker:
    def make(width: int, tone: Tone) -> list[Strip]:
        return [row for line in lines for row in text_rows(Text(clean(line), style=tone.style("text")), width)]

    return make
