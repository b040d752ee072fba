"""Small questions: one line of text, several lines, and texts to read."""

from __future__ import annotations

from textual.strip import Strip

from pinyon.tui.canvas import blank
from pinyon.tui.markdown.render import markdown_rows
from pinyon.tui.overlay import Overlay
from pinyon.tui.text_field import TextField


class TextPrompt(Overlay):
    """Asks for one line; the result is the text, None when closed."""

    def __init__(self, title: str, *, text: str = "", placeholder: str = "", is_secret: bool = False) -> None:
        super().__init__(title)
        self.field = TextField(text, placeholder=placeholder, is_secret=is_secret)

    def handle(self, key: str, character: str | None) -> None:
        """Type, accept or close."""
        if self.keymap.is_bound(key, "tui.select.confirm"):
            self.finish(self.field.text)
        elif self.keymap.is_bound(key, "tui.select.cancel"):
            self.finish(None)
        else:
            self.field.handle(key, character, self.keymap)
        self.update_rows()

    def paste(self, text: str) -> None:
        """Insert a pasted text."""
        self.field.paste(text)
        self.update_rows()

    def build(self, width: int) -> list[Strip]:
        """Title and line."""
        hint = f"{self.keymap.hint('tui.select.confirm')} accepts · {self.keymap.hint('tui.select.cancel')} closes"
        return self.framed([self.field.row(width, self.tone, " › ")], width, hint)


class Pager(Overlay):
    """A Markdown text to read and scroll."""

    def __init__(self, title: str, markdown: str) -> None:
        super().__init__(title)
        self.markdown = markdown
        self._first = 0

    def _room(self) -> int:
        return max(3, self.app.size.height * 2 // 3 - 4)

    def _text(self, width: int) -> list[Strip]:
        return list(markdown_rows(self.markdown, max(1, width - 2), self.tone))

    def handle(self, key: str, character: str | None) -> None:
        """Scroll or close."""
        page = self._room() - 1
        steps = {
            "tui.select.up": -1,
            "tui.select.down": 1,
            "tui.select.pageUp": -page,
            "tui.select.pageDown": page,
        }
        action = self.keymap.first(key, (*steps, "tui.select.cancel", "tui.select.confirm"))
        if action in steps:
            self._scroll(steps[action])
        elif action is not None or character == "q":
            self.finish(None)
        elif key in ("home", "end"):
            self._scroll(-1_000_000 if key == "home" else 1_000_000)
        self.update_rows()

    def _scroll(self, rows: int) -> None:
        last = max(0, len(self._text(self.screen_width())) - self._room())
        self._first = max(0, min(last, self._first + rows))

    def on_mouse_scroll_up(self) -> None:
        """Scroll up."""
        self._scroll(-3)
        self.update_rows()

    def on_mouse_scroll_down(self) -> None:
        """Scroll down."""
        self._scroll(3)
        self.update_rows()

    def build(self, width: int) -> list[Strip]:
        """A window of the text."""
        text = self._text(width)
        room = self._room()
        body = [Strip.join([blank(1), row, blank(1)]) for row in text[self._first : self._first + room]]
        more = len(text) - self._first - room
        place = f"{more} more lines · " if more > 0 else ""
        return self.framed(body, width, f"{place}{self.keymap.hint('tui.select.cancel')} closes")
