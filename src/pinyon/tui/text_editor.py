"""A dialog that asks for several lines of text."""

from __future__ import annotations

from textual.strip import Strip

from pinyon.tui.canvas import hard_rows
from pinyon.tui.editor.layout import layout, row_of
from pinyon.tui.overlay import Overlay
from pinyon.tui.text_field import TextField

_CURSOR = "▏"


class TextEditor(Overlay):
    """The result is the text, None when closed. Enter accepts, the key of new lines begins one."""

    def __init__(self, title: str, text: str = "") -> None:
        super().__init__(title)
        self.field = TextField(text)

    def handle(self, key: str, character: str | None) -> None:
        """Type, accept or close."""
        buffer = self.field.buffer
        if self.keymap.is_bound(key, "tui.input.newLine"):
            buffer.insert("\n")
        elif self.keymap.is_bound(key, "tui.select.confirm"):
            self.finish(buffer.text)
        elif self.keymap.is_bound(key, "tui.select.cancel"):
            self.finish(None)
        elif self.keymap.is_bound(key, "tui.editor.cursorUp") or self.keymap.is_bound(key, "tui.editor.cursorDown"):
            self._move(-1 if self.keymap.is_bound(key, "tui.editor.cursorUp") else 1)
        else:
            self.field.handle(key, character, self.keymap)
        self.update_rows()

    def _move(self, count: int) -> None:
        buffer = self.field.buffer
        rows = layout(buffer.text, max(1, self.screen_width() - 4), {})
        at = row_of(rows, buffer.cursor)
        if 0 <= at + count < len(rows):
            buffer.move_to(rows[at + count].index_at(rows[at].column_of(buffer.cursor)))

    def paste(self, text: str) -> None:
        """Insert a pasted text with its lines."""
        self.field.buffer.insert(text.replace("\r\n", "\n").replace("\r", "\n"))
        self.update_rows()

    def build(self, width: int) -> list[Strip]:
        """Title, a window of the text around the cursor, keys."""
        buffer = self.field.buffer
        shown = buffer.text[: buffer.cursor] + _CURSOR + buffer.text[buffer.cursor :]
        rows = layout(shown, max(1, width - 4), {})
        limit = self.max_rows(reserved=9)
        first = max(0, min(row_of(rows, buffer.cursor) - limit + 1, len(rows) - limit))
        lines = ["  " + "".join(cell.shown for cell in row.cells) for row in rows[first : first + limit]]
        body = [strip for line in lines for strip in hard_rows(line, width, self.tone.style("text"))]
        newline = f"{self.keymap.hint('tui.input.newLine')} new line"
        return self.framed(body, width, self.select_hint(newline).replace("chooses", "accepts"))
