"""Lines of the program itself: what it did, what to mind, what went wrong."""

from __future__ import annotations

from typing import Literal

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.block.block import Block, inner_width, padded
from pinyon.tui.canvas import clean, text_rows
from pinyon.tui.markdown.render import markdown_rows
from pinyon.tui.tone import Tone

NoticeKind = Literal["status", "info", "warning", "error"]
_ROLES = {"status": "dim", "info": "muted", "warning": "warning", "error": "error"}
_SIGNS = {"status": "", "info": "", "warning": "! ", "error": "✗ "}


class NoticeBlock(Block):
    """A notice. `detail` is shown when it is unfolded."""

    def __init__(self, kind: NoticeKind, text: str, detail: str = "") -> None:
        super().__init__()
        self.kind: NoticeKind = kind
        self.text = text
        self.detail = detail
        self.can_expand = bool(detail)

    def set_text(self, text: str) -> None:
        """Say something else in the same place."""
        self.text = text
        self.changed()

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The text in the colour of its kind."""
        room = inner_width(width, tone)
        style = tone.style(_ROLES[self.kind])
        rows = text_rows(Text(_SIGNS[self.kind] + clean(self.text), style=style), room)
        if self.is_expanded:
            rows += text_rows(Text(clean(self.detail), style=tone.style("dim")), room)
        return padded(rows, tone)

    def plain_text(self) -> str:
        """The text."""
        return self.text


class MarkdownBlock(Block):
    """Help and lists of the program, as Markdown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The rendered text."""
        return padded(list(markdown_rows(self.text, inner_width(width, tone), tone, Style())), tone)

    def plain_text(self) -> str:
        """The text."""
        return self.text
