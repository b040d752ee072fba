"""What keys do in the editor: every action of the table applied to the buffer, the history and the completions."""

from __future__ import annotations

import re
from collections.abc import Callable

from pinyon.tui.editor.attachment import Attachment, is_large, without_marks
from pinyon.tui.editor.history import PromptHistory
from pinyon.tui.editor.view import EditorView
from pinyon.tui.keymap import Keymap

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_CSI_U = re.compile(r"\x1b\[(\d+)(?:;(\d+))?u")
_PREFIX = "tui.editor."


class Editing:
    """Applies keys to an editor. `on_text` is called after every change of text or cursor, `on_jump` tells nothing."""

    def __init__(self, view: EditorView, history: PromptHistory, keymap: Callable[[], Keymap]) -> None:
        self.view = view
        self.history = history
        self._keymap = keymap
        self._jump: bool | None = None
        buffer = view.buffer
        self._actions: dict[str, Callable[[], object]] = {
            "cursorLeft": buffer.left,
            "cursorRight": buffer.right,
            "cursorWordLeft": buffer.word_left,
            "cursorWordRight": buffer.word_right,
            "cursorLineStart": buffer.to_line_start,
            "cursorLineEnd": buffer.to_line_end,
            "pageUp": lambda: view.page(-1),
            "pageDown": lambda: view.page(1),
            "deleteCharBackward": buffer.delete_back,
            "deleteCharForward": buffer.delete_forward,
            "deleteWordBackward": buffer.kill_word_back,
            "deleteWordForward": buffer.kill_word_forward,
            "deleteToLineStart": buffer.kill_to_line_start,
            "deleteToLineEnd": buffer.kill_to_line_end,
            "yank": buffer.yank,
            "yankPop": buffer.yank_pop,
            "undo": buffer.undo,
            "redo": buffer.redo,
            "cursorUp": self._up,
            "cursorDown": self._down,
            "historyPrevious": lambda: self.browse(-1),
            "historyNext": lambda: self.browse(1),
            "jumpForward": lambda: self._begin_jump(forward=True),
            "jumpBackward": lambda: self._begin_jump(forward=False),
        }
        self._names = tuple(_PREFIX + name for name in self._actions)

    @property
    def text(self) -> str:
        """The text with what was pasted in full."""
        return self.view.attachments.expand(self.view.buffer.text)

    def handle(self, key: str, character: str | None) -> bool:
        """Do what a key means here; False where it means nothing."""
        if self._jump is not None:
            return self._finish_jump(key, character)
        action = self._keymap().first(key, self._names)
        if action is not None:
            name = action.removeprefix(_PREFIX)
            version = self.view.buffer.version
            self._actions[name]()
            if name not in ("cursorUp", "cursorDown", "pageUp", "pageDown"):
                self.view.forget_column()
            if self.view.buffer.version != version and name not in (
                "cursorUp",
                "cursorDown",
                "historyPrevious",
                "historyNext",
            ):
                self.history.stop()
            return True
        if self._keymap().is_bound(key, "tui.input.newLine"):
            self.insert("\n")
            return True
        if character is not None and character.isprintable() and not key.startswith(("ctrl+", "alt+", "super+")):
            self._type(character)
            return True
        return False

    def _type(self, character: str) -> None:
        self.history.stop()
        self.view.buffer.type(without_marks(character))
        self.view.forget_column()

    def insert(self, text: str) -> None:
        """Insert a text as one step of undo."""
        self.history.stop()
        self.view.buffer.insert(text)
        self.view.forget_column()

    def set_text(self, text: str) -> None:
        """Replace the text; can be undone."""
        self.view.buffer.set_text(text)
        self.view.forget_column()

    def take(self) -> str:
        """Empty the editor; returns the text with marks in it."""
        text = self.view.buffer.text
        self.view.buffer.forget()
        self.history.stop()
        return text

    # Pasting.

    def paste(self, text: str) -> None:
        """Insert a pasted text; a large one as a mark."""
        text = clean_paste(text)
        if not text:
            return
        buffer = self.view.buffer
        before = buffer.text[buffer.cursor - 1 : buffer.cursor]
        if text.startswith(("/", "~", ".")) and before and (before.isalnum() or before == "_"):
            text = " " + text
        if is_large(text):
            text = self.view.attachments.add(Attachment(text=text))
        self.insert(text)

    # The history and vertical moves.

    def browse(self, direction: int) -> bool:
        """Show an older (-1) or newer (1) prompt."""
        buffer = self.view.buffer
        text = self.history.older(buffer.text) if direction < 0 else self.history.newer()
        if text is None:
            return False
        buffer.set_text(text, 0 if direction < 0 else len(text))
        return True

    def _up(self) -> None:
        view, buffer = self.view, self.view.buffer
        if self.history.is_browsing and view.cursor_row() == 0:
            self.browse(-1)
        elif view.move_rows(-1):
            return
        elif not buffer.text or buffer.cursor == 0:
            self.browse(-1)
        else:
            buffer.move_to(0)

    def _down(self) -> None:
        view, buffer = self.view, self.view.buffer
        if view.move_rows(1):
            return
        if buffer.cursor < len(buffer.text) and not self.history.is_browsing:
            buffer.move_to(len(buffer.text))
        else:
            self.browse(1)

    # Jumping to a character.

    def _begin_jump(self, *, forward: bool) -> None:
        self._jump = forward

    def _finish_jump(self, key: str, character: str | None) -> bool:
        forward, self._jump = self._jump, None
        if character is not None and character.isprintable():
            self.view.buffer.jump(character, forward=bool(forward))
            return True
        return self._keymap().first(key, (_PREFIX + "jumpForward", _PREFIX + "jumpBackward")) is not None


def clean_paste(text: str) -> str:
    """A pasted text as the editor keeps it: newlines as such, tabs as blanks, no other control characters."""
    text = _CSI_U.sub(_decoded, text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return without_marks(_CONTROL.sub("", text))


def _decoded(match: re.Match[str]) -> str:
    """The control character that a terminal sent as a key code."""
    code, modifiers = int(match[1]), int(match[2] or 1) - 1
    if modifiers & 4 and 0x40 <= code & 0x5F < 0x60:
        return chr(code & 0x1F)
    return chr(code) if code < 0x110000 else ""
