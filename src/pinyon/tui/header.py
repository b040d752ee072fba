"""The first block of the transcript: name and version, the most useful keys, and what was loaded."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.strip import Strip

from pinyon._version import __version__
from pinyon.tui.block.block import Block, inner_width, padded
from pinyon.tui.canvas import blank, clean, text_rows
from pinyon.tui.keymap import Keymap
from pinyon.tui.tone import Tone
from pinyon.tui.widget_area import RowMaker

_SECTION_ROLE = "mdHeading"


class HeaderBlock(Block):
    """Two lines that say what this is and how to get on. Text of the user may hide it (`quietStartup`)."""

    def __init__(self, keymap: Callable[[], Keymap]) -> None:
        super().__init__()
        self._keymap = keymap
        self._make: RowMaker | None = None

    def replace(self, make: RowMaker | None) -> None:
        """Show other rows; None for the usual ones."""
        self._make = make
        self.changed()

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """Mark, version and keys."""
        if self._make is not None:
            return self._make(width, tone)
        room = inner_width(width, tone)
        first = Text()
        first.append("▟▙ ", tone.style("accent"))
        first.append("Pinyon", tone.style("accent", bold=True))
        first.append(f" v{__version__}", tone.style("dim"))
        second = Text()
        second.append("▜▛ ", tone.style("accent"))
        second.append_text(self._hints(tone))
        rows = [blank(room), *text_rows(first, room), *text_rows(second, room)]
        return padded(rows, tone)

    def _hints(self, tone: Tone) -> Text:
        hint = self._keymap().hint
        pairs = [
            (hint("app.interrupt"), "stops"),
            (f"{hint('app.clear')} twice", "quits"),
            ("/", "commands"),
            ("@", "files"),
            ("!", "shell"),
            (hint("app.tools.expand"), "unfolds output"),
        ]
        text = Text(style=tone.style("dim"))
        for number, (key, doc) in enumerate(pairs):
            if number:
                text.append("  ")
            text.append(key, tone.style("muted"))
            text.append(f" {doc}")
        return text

    def plain_text(self) -> str:
        """Name and version."""
        return f"Pinyon v{__version__}"


class ResourcesBlock(Block):
    """What was loaded, by section: a line each, or a list when unfolded."""

    can_expand = True

    def __init__(self, sections: list[tuple[str, list[str]]]) -> None:
        super().__init__()
        self.sections = [(name, items) for name, items in sections if items]

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The sections."""
        room = inner_width(width, tone)
        rows: list[Strip] = []
        for name, items in self.sections:
            text = Text().append(f"[{name}] ", tone.style(_SECTION_ROLE))
            if self.is_expanded:
                rows += text_rows(text, room)
                for item in items:
                    rows += text_rows(Text(f"  {clean(item)}", style=tone.style("dim")), room)
            else:
                text.append(clean(", ".join(items)), tone.style("dim"))
                rows += text_rows(text, room)
        return padded(rows, tone) if rows else []

    def plain_text(self) -> str:
        """The sections."""
        return "\n".join(f"[{name}] {', '.join(items)}" for name, items in self.sections)
