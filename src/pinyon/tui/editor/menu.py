"""The list of completions under the editor."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Literal, Protocol

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import clean, plain, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.tone import Tone

CompletionKind = Literal["command", "argument", "path"]
_MIN_LABEL, _MAX_LABEL = 12, 32


class Completion(msgspec.Struct, frozen=True):
    """One proposal: what is inserted, what is shown, and a word about it."""

    value: str
    label: str
    detail: str = ""


class Completions(msgspec.Struct, frozen=True):
    """Proposals for the text from `start` to the cursor. `is_single_direct` inserts a lone one when Tab asked."""

    start: int
    items: tuple[Completion, ...]
    kind: CompletionKind
    is_single_direct: bool = False


class CompletionSource(Protocol):
    """Something that knows how to go on with a text. `is_forced` tells that Tab was pressed."""

    def complete(self, text: str, cursor: int, *, is_forced: bool) -> Awaitable[Completions | None]:
        """Proposals at the cursor, None where this source has nothing to say."""
        ...


class Menu:
    """The open list and the chosen row. `was_moved` tells that the user chose, not the program."""

    def __init__(self, found: Completions, typed: str, visible: int) -> None:
        self.found = found
        self.visible = max(1, visible)
        self.was_moved = False
        self.at = self._preselected(typed)

    def _preselected(self, typed: str) -> int:
        values = [item.value.strip() for item in self.found.items]
        if typed in values:
            return values.index(typed)
        return next((number for number, value in enumerate(values) if typed and value.startswith(typed)), 0)

    @property
    def chosen(self) -> Completion:
        """The chosen proposal."""
        return self.found.items[self.at]

    def move(self, rows: int, *, wraps: bool = True) -> None:
        """Choose another row."""
        count = len(self.found.items)
        self.at = (self.at + rows) % count if wraps else max(0, min(count - 1, self.at + rows))
        self.was_moved = True

    def rows(self, width: int, tone: Tone) -> list[Strip]:
        """The rows of the list."""
        items = self.found.items
        first = max(0, min(self.at - self.visible // 2, len(items) - self.visible))
        shown = items[first : first + self.visible]
        column = max(_MIN_LABEL, min(_MAX_LABEL, max(cell_len(item.label) for item in items)))
        if self.found.kind == "path":
            column = max(column, min(width // 2, max(cell_len(item.label) for item in shown)))
        rows = [self._row(item, first + number, column, width, tone) for number, item in enumerate(shown)]
        if len(items) > self.visible:
            rows.append(plain(f"  ({self.at + 1}/{len(items)})", width, tone.style("dim")))
        return rows

    def _row(self, item: Completion, number: int, column: int, width: int, tone: Tone) -> Strip:
        is_chosen = number == self.at
        label = fit(clean(item.label), column)
        text = Text().append("→ " if is_chosen else "  ", tone.style("accent"))
        text.append(
            label + " " * (column - cell_len(label)), tone.style("accent" if is_chosen else "text", bold=is_chosen)
        )
        if item.detail and width > column + 8:
            text.append("  " + fit(clean(item.detail).replace("\n", " "), width - column - 5), tone.style("dim"))
        return text_rows(text, width)[0]
