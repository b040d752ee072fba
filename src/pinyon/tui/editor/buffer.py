"""The text being written: cursor, word and line movement, deleting, undo. Knows nothing of a screen."""

from __future__ import annotations

import re

import msgspec

from pinyon.tui.editor.attachment import MARK
from pinyon.tui.editor.kill_ring import KillRing
from pinyon.tui.grapheme import next_boundary, previous_boundary

_WORD = re.compile(r"\w+|[^\w\s]+", re.UNICODE)


class _Snapshot(msgspec.Struct, frozen=True):
    text: str
    cursor: int


class EditBuffer:
    """Text with a cursor, an index into it. Lines are separated by newlines.

    `on_change` style notification is left to the owner; every method that changes the text raises `version`.
    """

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self.version = 0
        self.kill_ring = KillRing()
        self._undo: list[_Snapshot] = []
        self._redo: list[_Snapshot] = []
        self._last = ""
        self._yanked: tuple[int, int] | None = None

    # What is where.

    def line_start(self) -> int:
        """Index of the first character of the cursor's line."""
        return self.text.rfind("\n", 0, self.cursor) + 1

    def line_end(self) -> int:
        """Index of the end of the cursor's line."""
        end = self.text.find("\n", self.cursor)
        return len(self.text) if end < 0 else end

    # Moves.

    def move_to(self, index: int) -> None:
        """Put the cursor at an index."""
        self.cursor = max(0, min(index, len(self.text)))
        self._last = "move"

    def left(self) -> None:
        """One character back, over the end of a line too."""
        self.move_to(self._before(self.cursor))

    def right(self) -> None:
        """One character on."""
        self.move_to(self._after(self.cursor))

    def word_left(self) -> None:
        """To the start of the word before the cursor."""
        self.move_to(self._word_start(self.cursor))

    def word_right(self) -> None:
        """To the end of the word after the cursor."""
        self.move_to(self._word_end(self.cursor))

    def to_line_start(self) -> None:
        """To the start of the line."""
        self.move_to(self.line_start())

    def to_line_end(self) -> None:
        """To the end of the line."""
        self.move_to(self.line_end())

    def jump(self, character: str, *, forward: bool) -> bool:
        """To the next or previous place of a character; False where there is none."""
        at = self.text.find(character, self.cursor + 1) if forward else self.text.rfind(character, 0, self.cursor)
        if at < 0:
            return False
        self.move_to(at)
        return True

    def _before(self, index: int) -> int:
        start = self.text.rfind("\n", 0, index) + 1
        if index <= start:
            return max(0, index - 1)
        return start + previous_boundary(self.text[start:index], index - start)

    def _after(self, index: int) -> int:
        if index >= len(self.text) or self.text[index] == "\n":
            return min(len(self.text), index + 1)
        end = self.text.find("\n", index)
        line = self.text[index : len(self.text) if end < 0 else end]
        return index + next_boundary(line, 0)

    def _word_start(self, index: int) -> int:
        head = self.text[:index].rstrip()
        if head and MARK.match(head[-1]):
            return len(head) - 1
        start = 0
        for match in _WORD.finditer(head, max(0, len(head) - 2000)):
            start = match.start()
        return start if head else 0

    def _word_end(self, index: int) -> int:
        match = re.compile(r"\s*").match(self.text, index)
        at = match.end() if match else index
        if at < len(self.text) and MARK.match(self.text[at]):
            return at + 1
        word = _WORD.match(self.text, at)
        return word.end() if word else len(self.text)

    # Changes.

    def set_text(self, text: str, cursor: int | None = None) -> None:
        """Replace everything; can be undone."""
        self._remember("set")
        self._put(text, len(text) if cursor is None else cursor)

    def type(self, text: str) -> None:
        """Insert what was typed. Letters of one word are undone together."""
        kind = "space" if text.isspace() else "type"
        if not (self._last == "type" and kind == "type") and not (self._last == "space" and kind == "type"):
            self._remember(kind)
        self._splice(self.cursor, self.cursor, text)
        self._last = kind

    def insert(self, text: str) -> None:
        """Insert as one step of undo."""
        self._remember("insert")
        self._splice(self.cursor, self.cursor, text)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a stretch as one step of undo; the cursor goes behind the new text."""
        self._remember("insert")
        self._splice(start, end, text)

    def delete_back(self) -> None:
        """Delete the character before the cursor."""
        self._delete(self._before(self.cursor), self.cursor, "delete")

    def delete_forward(self) -> None:
        """Delete the character at the cursor."""
        self._delete(self.cursor, self._after(self.cursor), "delete")

    def kill_word_back(self) -> None:
        """Delete the word before the cursor into the kill ring."""
        self._kill(self._word_start(self.cursor), self.cursor, is_backward=True)

    def kill_word_forward(self) -> None:
        """Delete the word after the cursor into the kill ring."""
        self._kill(self.cursor, self._word_end(self.cursor), is_backward=False)

    def kill_to_line_start(self) -> None:
        """Delete to the start of the line, or the line break before it."""
        start = self.line_start()
        self._kill(start if start < self.cursor else self._before(self.cursor), self.cursor, is_backward=True)

    def kill_to_line_end(self) -> None:
        """Delete to the end of the line, or the line break there."""
        end = self.line_end()
        self._kill(self.cursor, end if end > self.cursor else self._after(self.cursor), is_backward=False)

    def yank(self) -> None:
        """Insert the newest kill."""
        self._insert_kill(self.kill_ring.newest())

    def yank_pop(self) -> None:
        """Right after a yank: put the kill before it in its place."""
        if self._last != "yank" or self._yanked is None:
            return
        start, end = self._yanked
        text = self.kill_ring.older()
        self._splice(start, end, text)
        self._yanked, self._last = (start, start + len(text)), "yank"

    def _insert_kill(self, text: str) -> None:
        if not text:
            return
        self._remember("yank")
        start = self.cursor
        self._splice(start, start, text)
        self._yanked, self._last = (start, start + len(text)), "yank"

    def undo(self) -> bool:
        """Go back one step; False where there is none."""
        return self._swap(self._undo, self._redo)

    def redo(self) -> bool:
        """Take an undo back; False where there is none."""
        return self._swap(self._redo, self._undo)

    def forget(self) -> None:
        """Empty the text and the undo steps, as after sending."""
        self._undo.clear()
        self._redo.clear()
        self._last = ""
        self._put("", 0)

    def _swap(self, source: list[_Snapshot], target: list[_Snapshot]) -> bool:
        if not source:
            return False
        target.append(_Snapshot(self.text, self.cursor))
        snapshot = source.pop()
        self._put(snapshot.text, snapshot.cursor)
        self._last = "undo"
        return True

    def _delete(self, start: int, end: int, kind: str) -> None:
        if start >= end:
            return
        self._remember(kind)
        self._splice(start, end, "")
        self._last = kind

    def _kill(self, start: int, end: int, *, is_backward: bool) -> None:
        if start >= end:
            return
        extends = self._last == "kill"
        killed = self.text[start:end]
        self._remember("kill")
        self._splice(start, end, "")
        self.kill_ring.push(killed, is_backward=is_backward, extends=extends)
        self._last = "kill"

    def _remember(self, kind: str) -> None:
        self._undo.append(_Snapshot(self.text, self.cursor))
        self._redo.clear()
        self._last = kind

    def _splice(self, start: int, end: int, text: str) -> None:
        self._put(self.text[:start] + text + self.text[end:], start + len(text))

    def _put(self, text: str, cursor: int) -> None:
        self.text = text
        self.cursor = max(0, min(cursor, len(text)))
        self.version += 1
