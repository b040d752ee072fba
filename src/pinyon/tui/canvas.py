"""Turning text and rich renderables into strips: the rows of cells that the screen is made of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon._util.terminal import strip_terminal_control

NO_STYLE = Style()
_TAB = "   "


@lru_cache(maxsize=8)
def console_for(width: int) -> Console:
    """A console that renders to nothing but segments."""
    from io import StringIO

    return Console(
        file=StringIO(),
        width=width,
        color_system="truecolor",
        force_terminal=True,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def clean(text: str) -> str:
    """Foreign text as it may be shown: no control bytes, tabs as blanks."""
    return strip_terminal_control(text).replace("\t", _TAB)


def rendered(renderable: RenderableType, width: int, style: Style = NO_STYLE) -> list[Strip]:
    """The rows of a rich renderable, each exactly `width` columns."""
    width = max(1, width)
    console = console_for(width)
    options = console.options.update(width=width, height=None)
    lines = console.render_lines(renderable, options, style=style, pad=True)
    return [clamped(Strip(line), width, style) for line in lines]


def clamped(strip: Strip, width: int, style: Style = NO_STYLE) -> Strip:
    """A row brought to exactly `width` columns."""
    return strip if strip.cell_length == width else strip.adjust_cell_length(width, style)


def text_rows(text: Text, width: int, style: Style = NO_STYLE) -> list[Strip]:
    """A text wrapped at blanks."""
    width = max(1, width)
    rows = text.wrap(console_for(width), width, overflow="fold")
    return [text_row(line, width, style) for line in rows] or [Strip.blank(width, style)]


def text_row(line: Text, width: int, style: Style = NO_STYLE) -> Strip:
    """A text that fits as one row."""
    line.end = ""
    # rich leaves the text's own style to whoever prints it
    base = style + line.style if isinstance(line.style, Style) else style
    return clamped(Strip(Segment.apply_style(line.render(console_for(width)), base)), width, style)


def hard_rows(text: str, width: int, style: Style = NO_STYLE) -> list[Strip]:
    """Plain output, broken at the edge and nowhere else. Costs little: most of what tools print goes through here."""
    width = max(1, width)
    rows: list[Strip] = []
    for line in text.split("\n"):
        if len(line) <= width and line.isascii():
            rows.append(Strip([Segment(line.ljust(width), style)], width))
            continue
        rows += [plain(piece, width, style) for piece in chopped(line, width)]
    return rows


def chopped(line: str, width: int) -> list[str]:
    """A line in pieces of at most `width` columns."""
    from pinyon.tui.grapheme import graphemes

    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    pieces, first, used = [], 0, 0
    for start, _, columns in graphemes(line):
        if used + columns > width and start > first:
            pieces.append(line[first:start])
            first, used = start, 0
        used += columns
    pieces.append(line[first:])
    return pieces


def plain(text: str, width: int, style: Style = NO_STYLE) -> Strip:
    """One row of one style."""
    return clamped(Strip([Segment(text, style)], cell_len(text)), width, style)


def inset(strips: Iterable[Strip], left: int, right: int, style: Style = NO_STYLE) -> list[Strip]:
    """Rows with blank columns at both sides."""
    if not left and not right:
        return list(strips)
    before = [Strip([Segment(" " * left, style)], left)] if left else []
    after = [Strip([Segment(" " * right, style)], right)] if right else []
    return [Strip.join([*before, strip, *after]) for strip in strips]


def on_background(strips: Iterable[Strip], style: Style) -> list[Strip]:
    """Rows on a background; what has its own keeps it."""
    if style.bgcolor is None:
        return list(strips)
    return [Strip(Segment.apply_style(strip, style), strip.cell_length) for strip in strips]


def blank(width: int, style: Style = NO_STYLE) -> Strip:
    """An empty row."""
    return Strip.blank(width, style)
