r"""What an edit changed, for people (numbered lines) and for programs (a unified patch).

Only windows around the replaced places are looked at, so the cost follows the edit and not the file. Line differences
come from the greedy algorithm of Myers (1986), given up for "all old lines out, all new lines in" where the texts have
too little in common. Overlong lines are clipped around the change in the numbered form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from pinyon.tools.edit_match import Replacement, apply_replacements, common_prefix_length

CONTEXT_LINES = 4
"""Unchanged lines shown before and after a change."""

WINDOW_LINES = 32
"""Unchanged lines looked at before and after a replaced place."""

MAX_EDIT_DISTANCE = 400
"""Added plus removed lines up to which a minimal difference is searched for."""

MAX_DIFF_LINE_CHARS = 2000
"""Longest line of the numbered form."""

MAX_PATCH_LINE_CHARS = 20_000
"""Longest line of a patch: longer context is left out, a longer change has no patch."""

_CHARS_BEFORE_CHANGE = 200


class EditDiff(msgspec.Struct, frozen=True, rename="camel"):
    """A change for display (`diff`), as a unified diff (`patch`), and the new number of its first line."""

    diff: str
    patch: str
    first_changed_line: int | None


class LineChange(msgspec.Struct, frozen=True):
    """`old[old_start:old_end]` became `new[new_start:new_end]`; one of the two may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class DiffWindow(msgspec.Struct, frozen=True):
    """A stretch of both texts as lines with their ends; `old_first` and `new_first` number its first line from 1."""

    old: list[str]
    new: list[str]
    old_first: int
    new_first: int
    changes: list[LineChange]


def describe_change(path: str, text: str, replacements: Sequence[Replacement]) -> EditDiff:
    r"""What the replacements (in order, not overlapping) do to `text`, whose lines end in `\n`."""
    windows = list(_windows(text, replacements))
    added = sum(item.text.count("\n") - text.count("\n", item.start, item.end) for item in replacements)
    old_lines = text.count("\n") + 1
    width = len(str(max(old_lines, old_lines + added)))
    first = next((window.new_first + window.changes[0].new_start for window in windows if window.changes), None)
    return EditDiff(_display(windows, width), _patch(path, windows), first)


# windows


def _windows(text: str, replacements: Sequence[Replacement]) -> Iterator[DiffWindow]:
    line, at, shift = 1, 0, 0
    for start, end, inside in _spans(text, replacements):
        line += text.count("\n", at, start)
        at = start
        moved = [Replacement(item.start - start, item.end - start, item.text, item.index) for item in inside]
        before = text[start:end]
        after = apply_replacements(before, moved)
        old, new = _split(before), _split(after)
        yield DiffWindow(old, new, line, line + shift, diff_lines(old, new))
        shift += after.count("\n") - before.count("\n")


def _spans(text: str, replacements: Sequence[Replacement]) -> Iterator[tuple[int, int, list[Replacement]]]:
    """Windows around the replacements, overlapping ones merged, with what they hold."""
    start = end = -1
    inside: list[Replacement] = []
    for item in replacements:
        last = item.end - (item.end > item.start and text[item.end - 1] == "\n")
        item_start, item_end = _lines_before(text, item.start), _lines_after(text, last)
        if inside and item_start > end:
            yield start, end, inside
            inside = []
        if not inside:
            start = item_start
        end = max(end, item_end) if inside else item_end
        inside.append(item)
    if inside:
        yield start, end, inside


def _lines_before(text: str, offset: int) -> int:
    for _ in range(WINDOW_LINES + 1):
        offset = text.rfind("\n", 0, offset)
        if offset < 0:
            return 0
    return offset + 1


def _lines_after(text: str, offset: int) -> int:
    for _ in range(WINDOW_LINES + 1):
        offset = text.find("\n", offset) + 1
        if not offset:
            return len(text)
    return offset


def _split(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


# differences of lines


def diff_lines(old: Sequence[str], new: Sequence[str]) -> list[LineChange]:
    """The changes that turn `old` into `new`, in order."""
    head = _common_head(old, new)
    matches = _matches(old[head:], new[head:])
    if matches is None:
        tail = _common_tail(old, new, head)
        return [LineChange(head, len(old) - tail, head, len(new) - tail)]
    changes: list[LineChange] = []
    old_at = new_at = head
    for old_index, new_index in [*((x + head, y + head) for x, y in matches), (len(old), len(new))]:
        if old_index > old_at or new_index > new_at:
            changes.append(LineChange(old_at, old_index, new_at, new_index))
        old_at, new_at = old_index + 1, new_index + 1
    return changes


def _common_head(old: Sequence[str], new: Sequence[str]) -> int:
    shorter = min(len(old), len(new))
    return next((index for index in range(shorter) if old[index] != new[index]), shorter)


def _common_tail(old: Sequence[str], new: Sequence[str], head: int) -> int:
    shorter = min(len(old), len(new)) - head
    return next((index for index in range(shorter) if old[-1 - index] != new[-1 - index]), shorter)


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]] | None:
    """Pairs of equal lines of a shortest edit script; None beyond `MAX_EDIT_DISTANCE`.

    On diagonal k = old index - new index, `furthest[k]` is the furthest old index reached so far.
    """
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for distance in range(min(len(a) + len(b), MAX_EDIT_DISTANCE) + 1):
        trace.append(furthest.copy())
        for k in range(-distance, distance + 1, 2):
            x = _step(furthest, k, distance)
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            furthest[k] = x
            if x >= len(a) and x - k >= len(b):
                return _trace_back(trace, len(a), len(b))
    return None


def _step(furthest: dict[int, int], k: int, distance: int) -> int:
    if k == -distance or (k != distance and furthest[k - 1] < furthest[k + 1]):
        return furthest[k + 1]
    return furthest[k - 1] + 1


def _trace_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for distance in range(len(trace) - 1, -1, -1):
        furthest, k = trace[distance], x - y
        down = k == -distance or (k != distance and furthest[k - 1] < furthest[k + 1])
        previous_k = k + 1 if down else k - 1
        previous_x = furthest[previous_k] if distance else 0
        previous_y = previous_x - previous_k if distance else 0
        while x > previous_x and y > previous_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = previous_x, previous_y
    return pairs[::-1]


# numbered lines for people


def _display(windows: Sequence[DiffWindow], width: int) -> str:
    skip = f" {'':{width}} ..."
    shown: list[str] = []
    for window in windows:
        for line in _window_lines(window, width, skip):
            if line != skip or not shown or shown[-1] != skip:
                shown.append(line)
    return "\n".join(shown)


def _window_lines(window: DiffWindow, width: int, skip: str) -> Iterator[str]:
    at = 0
    for number, change in enumerate(window.changes):
        yield from _context(window, at, change.old_start, width, skip, after=number > 0, before=True)
        yield from _changed(window, change, width)
        at = change.old_end
    if window.changes:
        yield from _context(window, at, len(window.old), width, skip, after=True, before=False)


def _context(
    window: DiffWindow, start: int, end: int, width: int, skip: str, *, after: bool, before: bool
) -> Iterator[str]:
    """Unchanged lines after the previous and before the next change, with a skip line where some are left out."""
    head = CONTEXT_LINES if after else 0
    tail = CONTEXT_LINES if before else 0
    if end - start <= head + tail:
        head, tail = end - start, 0
    skipped = start + head < end - tail
    for index in range(start, end):
        if index < start + head or index >= end - tail:
            yield f" {window.old_first + index:{width}} {_clip(window.old[index])}"
        elif skipped:
            yield skip
            skipped = False


def _changed(window: DiffWindow, change: LineChange, width: int) -> Iterator[str]:
    old, new = window.old[change.old_start : change.old_end], window.new[change.new_start : change.new_end]
    for index, line in enumerate(old):
        other = new[index] if index < len(new) else ""
        yield f"-{window.old_first + change.old_start + index:{width}} {_clip(line, other)}"
    for index, line in enumerate(new):
        other = old[index] if index < len(old) else ""
        yield f"+{window.new_first + change.new_start + index:{width}} {_clip(line, other)}"


def _clip(line: str, other: str = "") -> str:
    """A line without its end; of an overlong one the part around its first difference from `other`."""
    line = line.removesuffix("\n")
    if len(line) <= MAX_DIFF_LINE_CHARS:
        return line
    focus = common_prefix_length(line, other) if other else 0
    start = max(0, min(focus - _CHARS_BEFORE_CHANGE, len(line) - MAX_DIFF_LINE_CHARS))
    end = start + MAX_DIFF_LINE_CHARS
    before = f"[{start} characters] ... " if start else ""
    after = f" ... [{len(line) - end} characters]" if end < len(line) else ""
    return before + line[start:end] + after


# unified patch


class _Hunk(msgspec.Struct):
    old_start: int
    old_end: int
    changes: list[LineChange]


def _patch(path: str, windows: Sequence[DiffWindow]) -> str:
    pieces = [f"--- {path}\n+++ {path}\n"]
    for window in windows:
        if any(_is_too_long(window, change) for change in window.changes):
            return ""
        pieces += [_hunk_text(window, hunk) for hunk in _hunks(window)]
    return "".join(pieces)


def _is_too_long(window: DiffWindow, change: LineChange) -> bool:
    lines = window.old[change.old_start : change.old_end] + window.new[change.new_start : change.new_end]
    return any(len(line) > MAX_PATCH_LINE_CHARS for line in lines)


def _hunks(window: DiffWindow) -> Iterator[_Hunk]:
    hunk: _Hunk | None = None
    for change in window.changes:
        start = _context_start(window, change.old_start)
        if hunk is not None and start <= hunk.old_end:
            hunk.changes.append(change)
            hunk.old_end = _context_end(window, change.old_end)
            continue
        if hunk is not None:
            yield hunk
        hunk = _Hunk(start, _context_end(window, change.old_end), [change])
    if hunk is not None:
        yield hunk


def _context_start(window: DiffWindow, start: int) -> int:
    least = max(0, start - CONTEXT_LINES)
    while start > least and len(window.old[start - 1]) <= MAX_PATCH_LINE_CHARS:
        start -= 1
    return start


def _context_end(window: DiffWindow, end: int) -> int:
    most = min(len(window.old), end + CONTEXT_LINES)
    while end < most and len(window.old[end]) <= MAX_PATCH_LINE_CHARS:
        end += 1
    return end


def _hunk_text(window: DiffWindow, hunk: _Hunk) -> str:
    lines: list[str] = []
    at = hunk.old_start
    for change in hunk.changes:
        lines += [" " + line for line in window.old[at : change.old_start]]
        lines += ["-" + line for line in window.old[change.old_start : change.old_end]]
        lines += ["+" + line for line in window.new[change.new_start : change.new_end]]
        at = change.old_end
    lines += [" " + line for line in window.old[at : hunk.old_end]]
    first = hunk.changes[0]
    new_start = first.new_start - (first.old_start - hunk.old_start)
    removed = sum(line[0] != "+" for line in lines)
    added = sum(line[0] != "-" for line in lines)
    old_range = _range(window.old_first + hunk.old_start, removed)
    new_range = _range(window.new_first + new_start, added)
    body = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"@@ -{old_range} +{new_range} @@\n{body}"


def _range(start: int, count: int) -> str:
    return f"{start if count else start - 1},{count}"
