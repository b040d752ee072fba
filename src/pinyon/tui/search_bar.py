"""The line that searches the transcript."""

from __future__ import annotations

from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import text_rows
from pinyon.tui.keymap import Keymap
from pinyon.tui.rows import RowsWidget
from pinyon.tui.text_field import TextField
from pinyon.tui.tone import Tone
from pinyon.tui.transcript import Transcript


class SearchBar(RowsWidget):
    """Closed it takes no room. While open it has the keys."""

    def __init__(self, transcript: Transcript, *, id: str | None = None) -> None:  # noqa: A002 - the widget's own name
        super().__init__(id=id)
        self.tone = Tone()
        self.is_open = False
        self._transcript = transcript
        self._field = TextField(placeholder="search the transcript")
        self._found: tuple[int, int] | None = None

    def open(self) -> None:
        """Begin to search."""
        self.is_open = True
        self._field = TextField(placeholder="search the transcript")
        self._found = None
        self.update_rows()

    def close(self) -> None:
        """End the search; the transcript stays where it is."""
        self.is_open = False
        self._transcript.end_search()
        self.update_rows()

    def handle(self, key: str, character: str | None, keymap: Keymap) -> None:
        """Type, go to the next or previous match, or close."""
        if keymap.is_bound(key, "tui.altScreen.searchClose"):
            self.close()
            return
        if keymap.is_bound(key, "tui.altScreen.searchNext"):
            self._found = self._transcript.search(self._field.text, -1, skip_current=True)
        elif keymap.is_bound(key, "tui.altScreen.searchPrevious"):
            self._found = self._transcript.search(self._field.text, 1, skip_current=True)
        elif self._field.handle(key, character, keymap):
            self._found = self._transcript.search(self._field.text)
        self.update_rows()

    def paste(self, text: str) -> None:
        """Search for a pasted text."""
        self._field.paste(text)
        self._found = self._transcript.search(self._field.text)
        self.update_rows()

    def build(self, width: int) -> list[Strip]:
        """The line, or nothing."""
        if not self.is_open:
            return []
        note = ""
        if self._field.text:
            note = f"{self._found[0]}/{self._found[1]} " if self._found is not None else "no match "
        left = self._field.row(max(1, width - len(note)), self.tone, "⌕ ")
        right = text_rows(Text(note, style=self.tone.style("dim")), max(1, len(note)))[0] if note else Strip([])
        return [Strip.join([left, right])]
