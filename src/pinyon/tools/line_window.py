r"""A window of lines taken from a text that arrives in pieces, in memory that does not grow with the text.

Only what can still be shown is stored; everything else is counted. A final `\n` makes no further line.
"""

from __future__ import annotations

import msgspec

from pinyon.tools.truncate import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    TruncationResult,
    truncate_head,
    utf8_len,
)


class LineWindow:
    """Collects lines `start` (zero-based) to `start + limit` of the text fed to it, within the output limits."""

    def __init__(
        self,
        start: int,
        limit: int | None,
        *,
        max_lines: int = DEFAULT_MAX_LINES,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self.start = start
        self._limit = limit
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._newlines = 0
        self._open_line = False
        self._pieces: list[str] = []
        self._stored_chars = 0
        self._chosen_newlines = 0
        self._chosen_bytes = 0
        self._closing_newline = False
        self._first_line_bytes = 0

    @property
    def is_settled(self) -> bool:
        """Whether nothing that may still come can change what is shown, except the counts of what follows."""
        return self._is_full or self._stored_chars > self._max_bytes or self._chosen_newlines > self._max_lines

    @property
    def total_lines(self) -> int:
        """Lines seen so far."""
        return self._newlines + self._open_line

    @property
    def first_line_bytes(self) -> int:
        """UTF-8 length of the first line of the window."""
        return self._first_line_bytes

    @property
    def _is_full(self) -> bool:
        return self._limit is not None and self._chosen_newlines >= self._limit

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        if not text:
            return
        at = self._skip_to_start(text)
        chosen_end = self._choose(text, at) if at < len(text) and not self._is_full else at
        if chosen_end < len(text):
            self._closing_newline = False
        self._newlines += text.count("\n", at)
        self._open_line = not text.endswith("\n")

    def _skip_to_start(self, text: str) -> int:
        missing = self.start - self._newlines
        if missing <= 0:
            return 0
        found = text.count("\n")
        if found < missing:
            self._newlines += found
            return len(text)
        at = 0
        for _ in range(missing):
            at = text.index("\n", at) + 1
        self._newlines += missing
        return at

    def _choose(self, text: str, at: int) -> int:
        end = self._end_of_window(text, at)
        piece = text[at:end]
        if not self._chosen_newlines:
            line_end = piece.find("\n")
            self._first_line_bytes += utf8_len(piece if line_end < 0 else piece[:line_end])
        self._chosen_newlines += piece.count("\n")
        self._chosen_bytes += utf8_len(piece)
        room = self._max_bytes + 2 - self._stored_chars  # two more than fit: enough to see which limit cuts
        if room > 0:
            self._pieces.append(piece[:room])
            self._stored_chars += len(piece[:room])
        self._closing_newline = self._is_full
        return end

    def _end_of_window(self, text: str, at: int) -> int:
        if self._limit is None:
            return len(text)
        missing = self._limit - self._chosen_newlines
        if text.count("\n", at) < missing:
            return len(text)
        for _ in range(missing):
            at = text.index("\n", at) + 1
        return at

    def finish(self) -> WindowContent:
        """What the window holds, cut to the output limits.

        The newline after the last line of a full window is kept only when it also ends the text.
        """
        text = "".join(self._pieces)
        size, lines = self._chosen_bytes, max(0, self.total_lines - self.start)
        if self._limit is not None:
            lines = min(lines, self._limit)
        if self._is_full and not self._closing_newline:
            size -= 1
            text = text[:-1] if utf8_len(text) > size else text
        result = truncate_head(text, self._max_lines, self._max_bytes)
        result.total_lines, result.total_bytes = lines, size
        if result.truncated and result.output_lines >= lines:
            # only the final newline did not fit
            result.truncated, result.truncated_by = False, None
        return WindowContent(result, self.start + lines, self.total_lines)


class WindowContent(msgspec.Struct, frozen=True):
    """The cut content of a window, the number of the line after which it ends, and the lines of the whole text."""

    truncation: TruncationResult
    end_line: int
    total_lines: int
