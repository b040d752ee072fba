"""A Markdown text that grows: what is complete is rendered once, only its last block again and again."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from pinyon.tui.canvas import blank
from pinyon.tui.markdown.render import markdown_parser, markdown_rows
from pinyon.tui.tone import Tone

_NONE = Style()
_FENCES = ("```", "~~~")
_LONG_FENCE_LINES = 60
_FENCE_CHUNK_LINES = 40


class MarkdownView:
    """Feed it with `set_text` and ask for `rows`. A text that goes on where the old one ended costs only its tail."""

    def __init__(self, text: str = "", *, is_final: bool = False) -> None:
        self.text = ""
        self._settled: list[str] = []
        self._settled_chars = 0
        if is_final:
            # nothing is parsed before it is seen
            self.text, self._settled, self._settled_chars = text, [text] if text.strip() else [], len(text)
        self._rows: list[Strip] = []
        self._rendered = 0
        self._key: tuple[int, Tone, Style, Strip | None, Strip | None] = (0, Tone(), _NONE, None, None)
        if text and not is_final:
            self.set_text(text)

    def set_text(self, text: str) -> None:
        """Replace the text; the common case is that it grew."""
        if not text.startswith(self.text[: self._settled_chars]):
            self._restart()
        self.text = text
        self._settle()

    def finish(self) -> None:
        """The text is complete: its last block will not change either."""
        tail = self.text[self._settled_chars :]
        if tail.strip():
            self._settled.append(tail)
            self._settled_chars = len(self.text)

    def rows(
        self, width: int, tone: Tone, base: Style = _NONE, *, left: Strip | None = None, right: Strip | None = None
    ) -> list[Strip]:
        """The rows of the whole text, `width` columns between what stands at their sides."""
        key = (width, tone, base, left, right)
        count = self._rendered
        if key != self._key or count > len(self._settled):
            self._rows, count = [], 0
        self._key = key
        for source in self._settled[count:]:
            self._add(self._rows, markdown_rows(source, width, tone, base))
        self._rendered = len(self._settled)
        tail = self.text[self._settled_chars :]
        rows = list(self._rows)
        if tail.strip():
            self._add(rows, _tail_rows(tail, width, tone, base))
        return rows

    def _add(self, rows: list[Strip], more: tuple[Strip, ...]) -> None:
        """Add rows with their sides; those that are settled are put together only once."""
        width, _, base, left, right = self._key
        if rows and more:
            more = (blank(width, base), *more)
        if left is None and right is None:
            rows.extend(more)
            return
        before, after = left or (), right or ()
        columns = width + sum(side.cell_length for side in (left, right) if side is not None)
        rows.extend(Strip([*before, *row, *after], columns) for row in more)

    def _restart(self) -> None:
        self._settled, self._settled_chars = [], 0
        self._rendered, self._key = 0, (0, Tone(), _NONE, None, None)

    def _settle(self) -> None:
        """Move every block of the tail but the last one to what is settled."""
        tail = self.text[self._settled_chars :]
        if tail.count("\n") < 1:
            return
        starts = _block_starts(tail)
        if len(starts) < 2:
            return
        lines = tail.split("\n")
        first = 0
        for bound in starts[1:]:
            source = "\n".join(lines[first:bound]) + "\n"
            self._settled.append(source)
            self._settled_chars += len(source)
            first = bound


def _block_starts(text: str) -> list[int]:
    """The first line of each top-level block."""
    tokens = markdown_parser().parse(text)
    return [token.map[0] for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]


def _tail_rows(tail: str, width: int, tone: Tone, base: Style) -> tuple[Strip, ...]:
    stripped = tail.lstrip("\n")
    if stripped.startswith(_FENCES) and stripped.count("\n") > _LONG_FENCE_LINES:
        return _long_fence_rows(stripped, width, tone, base)
    # not through the cache: this text will never come again
    return markdown_rows.__wrapped__(tail, width, tone, base)


def _long_fence_rows(tail: str, width: int, tone: Tone, base: Style) -> tuple[Strip, ...]:
    """Code that is still being written, coloured in pieces of which all but the last are kept."""
    fence = tail[:3]
    head, _, body = tail.partition("\n")
    lines = body.split("\n")
    rows: list[Strip] = []
    for at in range(0, len(lines), _FENCE_CHUNK_LINES):
        chunk = lines[at : at + _FENCE_CHUNK_LINES]
        source = "\n".join([head, *chunk, fence])
        is_open = at + _FENCE_CHUNK_LINES >= len(lines)
        piece = (markdown_rows.__wrapped__ if is_open else markdown_rows)(source, width, tone, base)
        rows += piece[0 if at == 0 else 1 : len(piece) if is_open else -1]
    return tuple(rows)
