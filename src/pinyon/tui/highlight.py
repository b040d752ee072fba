"""Marking matches in a row of cells."""

from __future__ import annotations

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip


def marked(strip: Strip, query: str, style: Style) -> Strip:
    """The row with every occurrence of `query`, which is in lower case, in another style."""
    text = strip.text
    folded = text.lower()
    if not query or len(folded) != len(text) or query not in folded:
        return strip
    spans = []
    at = folded.find(query)
    while at >= 0:
        start = cell_len(text[:at])
        spans.append((start, start + cell_len(text[at : at + len(query)])))
        at = folded.find(query, at + len(query))
    parts, last = [], 0
    for start, end in spans:
        parts += [strip.crop(last, start), strip.crop(start, end).apply_style(style)]
        last = end
    parts.append(strip.crop(last, strip.cell_length))
    return Strip.join(parts)
