"""What is drawn over the transcript while it is scrolled: the bar at its edge and the way back to the end."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from pinyon.tui.canvas import blank
from pinyon.tui.grapheme import fit
from pinyon.tui.scroll import BlockList
from pinyon.tui.tone import Tone

_MIN_THUMB = 1


def with_bar(lines: list[Strip], blocks: BlockList, width: int, tone: Tone) -> list[Strip]:
    """The lines with the bar in their last column."""
    height = len(lines)
    total = max(1, blocks.total())
    size = max(_MIN_THUMB, min(height, height * height // total))
    at_end = blocks.follow
    first = height - size if at_end else min(height - size, blocks.before() * height // total)
    thumb, track = tone.style("scrollbarThumb"), tone.style("scrollbarTrack")
    marks = [
        Strip([Segment("┃" if first <= y < first + size else "│", thumb if first <= y < first + size else track)], 1)
        for y in range(height)
    ]
    return [Strip.join([line.crop(0, width - 1), mark]) for line, mark in zip(lines, marks, strict=True)]


def with_label(line: Strip, hint: str, width: int, tone: Tone) -> Strip:
    """The last line with the label that leads to the newest message."""
    label = fit(f" ↓ newest {hint} ".replace("  ", " "), width - 4)
    start = max(0, (width - len(label)) // 2)
    tag = Strip([Segment(label, tone.style("accent", "selectedBg", bold=True))], len(label))
    return Strip.join([blank(start), tag, line.crop(width - 1, width)]).adjust_cell_length(width)
