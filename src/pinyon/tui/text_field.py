"""One line of text with a cursor, for searching and for short answers."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from pinyon.tui.canvas import clamped
from pinyon.tui.editor.buffer import EditBuffer
from pinyon.tui.grapheme import fit, graphemes
from pinyon.tui.keymap import Keymap
from pinyon.tui.tone import Tone

_PREFIX = "tui.editor."


class TextField:
    """An editable line. `is_secret` shows dots instead of the text."""

    def __init__(self, text: str = "", *, placeholder: str = "", is_secret: bool = False) -> None:
        self.buffer = EditBuffer()
        self.buffer.set_text(text)
        self.placeholder = placeholder
        self.is_secret = is_secret

    @property
    def text(self) -> str:
        """The text."""
        return self.buffer.text

    def handle(self, key: str, character: str | None, keymap: Keymap) -> bool:
        """Do what a key means in a line of text; False where it means nothing."""
        buffer = self.buffer
        actions = {
            "cursorLeft": buffer.left,
            "cursorRight": buffer.right,
            "cursorWordLeft": buffer.word_left,
            "cursorWordRight": buffer.word_right,
            "cursorLineStart": buffer.to_line_start,
            "cursorLineEnd": buffer.to_line_end,
            "deleteCharBackward": buffer.delete_back,
            "deleteCharForward": buffer.delete_forward,
            "deleteWordBackward": buffer.kill_word_back,
            "deleteWordForward": buffer.kill_word_forward,
            "deleteToLineStart": buffer.kill_to_line_start,
            "deleteToLineEnd": buffer.kill_to_line_end,
            "yank": buffer.yank,
            "undo": buffer.undo,
        }
        action = keymap.first(key, tuple(_PREFIX + name for name in actions))
        if action is not None:
            actions[action.removeprefix(_PREFIX)]()
            return True
        if character is not None and character.isprintable() and not key.startswith(("ctrl+", "alt+", "super+")):
            buffer.type(character)
            return True
        return False

    def paste(self, text: str) -> None:
        """Insert a pasted text as one line."""
        self.buffer.insert(" ".join(text.split()))

    def row(self, width: int, tone: Tone, sign: str = "› ") -> Strip:
        """The line with its cursor, scrolled so that the cursor is seen."""
        segments = [Segment(sign, tone.style("accent"))]
        text, cursor = self.buffer.text, self.buffer.cursor
        cells = [("•" if self.is_secret else text[start:end], start, size) for start, end, size in graphemes(text)]
        room = max(1, width - len(sign) - 1)
        while cells and cells[0][1] < cursor and sum(size for _, start, size in cells if start < cursor) > room:
            cells.pop(0)
        if not cells or cursor >= len(text):
            cells.append((" ", len(text), 1))
        for shown, start, _ in cells:
            segments.append(Segment(shown, Style(reverse=True) if start == cursor else tone.style("text")))
        if not text and self.placeholder:
            segments.append(Segment(fit(self.placeholder, room - 1), tone.style("dim")))
        return clamped(Strip(segments), width)
