"""Differences of a file as rows: removed, added and unchanged lines, changed words marked."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.canvas import blank, clean, plain, text_rows
from pinyon.tui.tone import Tone

_LINE = re.compile(r"^([-+ ])(\s*\d*)( ?)(.*)$")
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_COMPARED_CHARS = 600
_ROLES = {"-": "toolDiffRemoved", "+": "toolDiffAdded", " ": "toolDiffContext"}


def diff_rows(diff: str, width: int, tone: Tone, background: str) -> list[Strip]:
    """The rows of a difference in the form `-N text`, `+N text`, ` N text`."""
    lines = clean(diff).rstrip("\n").split("\n")
    base = tone.style("", background)
    rows: list[Strip] = []
    for index, line in enumerate(lines):
        text = Text(style=base)
        _append_line(text, line, _partner(lines, index), tone, background)
        rows += text_rows(text, width, base) if text.cell_len > width else [_row(text, width, base)]
    return rows or [blank(width, base)]


def _row(text: Text, width: int, base: Style) -> Strip:
    return text_rows(text, width, base)[0] if len(text) else plain("", width, base)


def _append_line(text: Text, line: str, partner: str | None, tone: Tone, background: str) -> None:
    sign = line[:1] or " "
    style = tone.style(_ROLES.get(sign, "toolDiffContext"), background)
    match = _LINE.match(line)
    if match is None or partner is None:
        text.append(line, style)
        return
    text.append(line[: match.start(4)], style)
    other = _LINE.match(partner)
    own, theirs = match[4], other[4] if other else ""
    for part, is_changed in _parts(own, theirs):
        text.append(part, style + Style(reverse=True) if is_changed else style)


def _partner(lines: list[str], index: int) -> str | None:
    """The other half of a replacement of exactly one line by one."""
    sign = lines[index][:1]
    if sign == "-":
        before, after, beyond = index - 1, index + 1, index + 2
        wanted = "+"
    elif sign == "+":
        before, after, beyond = index + 1, index - 1, index - 2
        wanted = "-"
    else:
        return None
    if not 0 <= after < len(lines) or lines[after][:1] != wanted:
        return None
    if 0 <= before < len(lines) and lines[before][:1] == sign:
        return None
    if 0 <= beyond < len(lines) and lines[beyond][:1] == wanted:
        return None
    return lines[after]


def _parts(own: str, other: str) -> list[tuple[str, bool]]:
    """`own` cut into what both lines have and what only it has; the indentation counts as common."""
    if len(own) + len(other) > _MAX_COMPARED_CHARS:
        return [(own, False)]
    left, right = _WORDS.findall(own), _WORDS.findall(other)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.3:
        return [(own, False)]
    parts = []
    for tag, start, end, _, _ in matcher.get_opcodes():
        if start < end:
            text = "".join(left[start:end])
            parts.append((text, tag != "equal" and bool(text.strip())))
    return parts
