"""What every block of the transcript can do: give its rows, tell that it changed, be folded and searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from pinyon.tui.canvas import blank, inset
from pinyon.tui.tone import Tone

if TYPE_CHECKING:
    from pinyon.tui.picture import Picture


class Block:
    """One block. Subclasses implement `render` and `plain_text`, and call `changed` when they look different.

    `is_prompt` marks what prompt jumps stop at; `is_tight` leaves out the blank row before the block.
    """

    is_prompt = False
    is_tight = False
    can_expand = False

    def __init__(self) -> None:
        self.version = 0
        self.is_expanded = False
        self.entry_id: str | None = None
        self.pictures: Sequence[Picture] = ()
        self.on_change: Callable[[Block], None] | None = None

    def render(self, width: int, tone: Tone) -> list[Strip]:
        """The rows, each exactly `width` columns; none hide the block."""
        raise NotImplementedError

    def plain_text(self) -> str:
        """The text for searching and copying."""
        return ""

    def estimate(self, width: int) -> int:
        """About how many rows there will be, without rendering."""
        text = self.plain_text()
        return 1 + text.count("\n") + len(text) // max(20, width)

    def set_expanded(self, expanded: bool) -> None:
        """Unfold or fold; blocks that cannot ignore it."""
        if self.can_expand and expanded != self.is_expanded:
            self.is_expanded = expanded
            self.changed()

    def changed(self) -> None:
        """Note that the rows are no longer right."""
        self.version += 1
        if self.on_change is not None:
            self.on_change(self)


def padded(rows: list[Strip], tone: Tone) -> list[Strip]:
    """Rows with the blank columns that the settings ask for."""
    return inset(rows, tone.pad, tone.pad)


def margin(tone: Tone) -> Strip | None:
    """The blank columns at one side, None where the settings ask for none."""
    return blank(tone.pad) if tone.pad else None


def inner_width(width: int, tone: Tone) -> int:
    """The columns that are left between the blank ones."""
    return max(1, width - 2 * tone.pad)
