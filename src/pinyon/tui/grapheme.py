"""Characters as people see them, with the columns that they take on a terminal."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, split_graphemes

_REGIONAL = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def graphemes(text: str) -> list[tuple[int, int, int]]:
    """The graphemes of one line: start and end index, and columns; flags and skin tones are one each."""
    if text.isascii():
        return [(index, index + 1, 1) for index in range(len(text))]
    return list(_graphemes(text))


@lru_cache(maxsize=512)
def _graphemes(text: str) -> tuple[tuple[int, int, int], ...]:
    spans, _ = split_graphemes(text)
    joined: list[tuple[int, int, int]] = []
    flag_open = False
    for start, end, width in spans:
        first = ord(text[start])
        if joined and first in _REGIONAL and flag_open:
            joined[-1] = (joined[-1][0], end, joined[-1][2] + width)
            flag_open = False
        elif joined and first in _SKIN_TONES:
            joined[-1] = (joined[-1][0], end, joined[-1][2] + width)
        else:
            joined.append((start, end, width))
            flag_open = first in _REGIONAL
    return tuple(joined)


def previous_boundary(text: str, index: int) -> int:
    """The start of the grapheme before `index`."""
    for start, end, _ in reversed(graphemes(text)):
        if start < index <= end:
            return start
    return 0


def next_boundary(text: str, index: int) -> int:
    """The end of the grapheme at `index`."""
    for start, end, _ in graphemes(text):
        if start <= index < end:
            return end
    return len(text)


def fit(text: str, width: int, *, ellipsis: str = "…") -> str:
    """`text` cut to `width` columns, with an ellipsis where something is missing."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    room = width - cell_len(ellipsis)
    used, end = 0, 0
    for _, stop, columns in graphemes(text):
        if used + columns > room:
            break
        used, end = used + columns, stop
    return (text[:end] + ellipsis) if room >= 0 else text[:0]
