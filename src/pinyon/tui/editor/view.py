"""The editor on the screen: borders with the state of the work in them, the text with its cursor, the completions."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset
from textual.strip import Strip

from pinyon.tui.canvas import clamped
from pinyon.tui.editor.attachment import MARK, Attachments
from pinyon.tui.editor.buffer import EditBuffer
from pinyon.tui.editor.layout import Row, layout, row_of
from pinyon.tui.editor.menu import Menu
from pinyon.tui.grapheme import fit
from pinyon.tui.rows import RowsWidget
from pinyon.tui.tone import Tone

_MIN_ROWS = 1
_SHARE = 0.3
_LEAST_MAX_ROWS = 5


class EditorView(RowsWidget, can_focus=True):
    """Draws a buffer. `border_role` is the colour of the border, `status` what stands in its upper line."""

    DEFAULT_CSS = "EditorView { height: 3; }"
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.buffer = EditBuffer()
        self.attachments = Attachments()
        self.tone = Tone()
        self.border_role = "thinkingOff"
        self.status: list[tuple[str, str]] = []
        self.placeholder = ""
        self.menu: Menu | None = None
        self.padding = 0
        self._rows: list[Row] = []
        self._first = 0
        self._sticky: int | None = None

    # Where things are.

    def text_width(self) -> int:
        """Columns for text; one is kept for the cursor at the end of a full row."""
        return max(1, self.screen_width() - 2 * self.padding - 3)

    def laid_out(self) -> list[Row]:
        """The rows of the whole text."""
        text = self.buffer.text
        self._rows = layout(text, self.text_width(), self.attachments.labels(text) if MARK.search(text) else {})
        return self._rows

    def max_rows(self) -> int:
        """How many rows of text are shown at most."""
        return max(_LEAST_MAX_ROWS, int(self.app.size.height * _SHARE))

    def cursor_row(self) -> int:
        """The row of the cursor, 0 the first."""
        return row_of(self.laid_out(), self.buffer.cursor)

    def move_rows(self, count: int) -> bool:
        """Move the cursor up or down, keeping its column; False at the edge of the text."""
        rows = self.laid_out()
        at = row_of(rows, self.buffer.cursor)
        target = at + count
        if not 0 <= target < len(rows):
            return False
        column = self._sticky if self._sticky is not None else rows[at].column_of(self.buffer.cursor)
        self.buffer.move_to(rows[target].index_at(column))
        self._sticky = column
        return True

    def page(self, direction: int) -> None:
        """Move by as many rows as are shown."""
        rows = self.laid_out()
        at = row_of(rows, self.buffer.cursor)
        target = max(0, min(len(rows) - 1, at + direction * self.max_rows()))
        self.move_rows(target - at)

    def forget_column(self) -> None:
        """Let the next vertical move begin from where the cursor is."""
        self._sticky = None

    def index_at(self, x: int, y: int) -> int | None:
        """The index of the text at a place of the widget; None outside of the text."""
        row = self._first + y - 1
        if not 0 <= row < len(self._rows) or y < 1:
            return None
        return self._rows[row].index_at(max(0, x - self.padding - 2))

    # Rows.

    def build(self, width: int) -> list[Strip]:
        """Borders, text and completions."""
        rows = self.laid_out()
        shown = max(_MIN_ROWS, min(len(rows), self.max_rows()))
        at = row_of(rows, self.buffer.cursor)
        self._first = max(0, min(self._first, at, len(rows) - shown))
        if at >= self._first + shown:
            self._first = at - shown + 1
        below = len(rows) - self._first - shown
        lines = [self._upper_border(width, self._first)]
        lines += [
            self._text_row(rows[number], width, is_first=number == 0, has_cursor=number == at)
            for number in range(self._first, self._first + shown)
        ]
        lines.append(self._border(width, [], f" ↓ {below} more " if below > 0 else ""))
        if self.menu is not None:
            lines += self.menu.rows(width, self.tone)
        self._place_terminal_cursor(rows[at], at - self._first + 1)
        return lines

    def _upper_border(self, width: int, above: int) -> Strip:
        return self._border(width, self.status, f" ↑ {above} more " if above > 0 else "")

    def _border(self, width: int, status: list[tuple[str, str]], note: str) -> Strip:
        line = self.tone.style(self.border_role)
        segments = [Segment("─", line)]
        used = 1
        for text, role in status:
            piece = fit(text, width - used - 2)
            segments.append(Segment(piece, self.tone.style(role or self.border_role)))
            used += cell_len(piece)
        if note and used + len(note) + 4 < width:
            gap = max(1, (width - len(note)) // 2 - used)
            segments += [Segment("─" * gap, line), Segment(note, self.tone.style("muted"))]
            used += gap + len(note)
        segments.append(Segment("─" * max(0, width - used), line))
        return clamped(Strip(segments), width)

    def _text_row(self, row: Row, width: int, *, is_first: bool, has_cursor: bool) -> Strip:
        sign = "› " if is_first else "  "
        bash = self.buffer.text.startswith("!")
        segments = [Segment(" " * self.padding), Segment(sign, self.tone.style("bashMode" if bash else "accent"))]
        focus = self.has_focus
        style, mark = self.tone.style("text"), self.tone.style("accent")
        cursor = self.buffer.cursor
        has_drawn = False
        for cell in row.cells:
            look = mark if MARK.match(self.buffer.text[cell.start]) else style
            if has_cursor and focus and cell.start <= cursor < cell.end:
                look, has_drawn = look + Style(reverse=True), True
            segments.append(Segment(cell.shown, look))
        if has_cursor and focus and not has_drawn:
            segments.append(Segment(" ", Style(reverse=True)))
        if not self.buffer.text and self.placeholder:
            segments.append(Segment(fit(self.placeholder, self.text_width()), self.tone.style("dim")))
        return clamped(Strip(segments), width)

    def _place_terminal_cursor(self, row: Row, line: int) -> None:
        """Put the terminal's own cursor where the text goes on, for input methods."""
        x = self.padding + 2 + row.column_of(self.buffer.cursor)
        if self.has_focus and self.is_mounted:
            self.app.cursor_position = self.content_region.offset + Offset(x, line)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor where the mouse is, behind the end of a short row too."""
        index = self.index_at(event.x, event.y)
        if index is not None:
            self.buffer.move_to(index)
            self.forget_column()
            self.update_rows()

    def on_mouse_scroll_up(self) -> None:
        """Move up in a text that is higher than the editor."""
        self._wheel(-1)

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self._wheel(1)

    def _wheel(self, direction: int) -> None:
        if self.move_rows(direction):
            self.update_rows()

    def on_focus(self) -> None:
        """Show the cursor."""
        self.update_rows()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.update_rows()
