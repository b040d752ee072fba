"""What stands under the first line of a tool row: output, file text, differences, notes about what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from pinyon.tui.block.diff import diff_rows
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.block.tool_title import one_line
from pinyon.tui.canvas import blank, clean, hard_rows, plain, text_rows
from pinyon.tui.grapheme import fit
from pinyon.tui.markdown.code import highlighted, language_of
from pinyon.tui.quantity import counted, shown_size
from pinyon.tui.tone import Tone

_SHELL_ROWS = 5
_WRITE_ROWS = 10
_HEAD_ROWS = {"grep": 15, "find": 20, "ls": 20}
_OTHER_ROWS = 10
_LIMITS = (("matchLimitReached", "matches"), ("resultLimitReached", "results"), ("entryLimitReached", "entries"))
_LIVE_CODE_LINES = 50


class Panel(msgspec.Struct, frozen=True):
    """Where a body is drawn: columns, tone, the role of the background, and whether it is unfolded."""

    width: int
    tone: Tone
    background: str
    is_expanded: bool

    def style(self, token: str) -> Style:
        """The style of a role on the background."""
        return self.tone.style(token, self.background)

    def note(self, text: str, token: str = "dim") -> Strip:  # noqa: S107 - a colour role
        """One line about the output."""
        return plain(fit(text, self.width), self.width, self.style(token))


Body = Callable[[ToolCallView, Panel], list[Strip]]


def tool_body(call: ToolCallView, panel: Panel) -> list[Strip]:
    """The rows under the title."""
    rows = _BODIES.get(call.name, _other)(call, panel)
    rows += [panel.note(note, "warning") for note in truncation_notes(call)]
    for picture in call.pictures:
        rows += picture.strips(panel.width, panel.tone, panel.style(""), panel.style("muted"))
    return rows


def _read(call: ToolCallView, panel: Panel) -> list[Strip]:
    if call.is_error or call.state != "done":
        return _error(call, panel)
    if panel.is_expanded:
        return _code(call.text.rstrip("\n"), call.argument("path", "file_path"), panel)
    return []


def read_extent(call: ToolCallView) -> str:
    """How much a finished `read` gave; empty for images and failures."""
    if call.name != "read" or call.state != "done" or call.is_error or call.pictures or not call.text:
        return ""
    lines = call.text.rstrip("\n").count("\n") + 1
    return f"{counted(lines, 'line')}, {shown_size(len(call.text.encode('utf-8', 'replace')))}"


def _shell(call: ToolCallView, panel: Panel) -> list[Strip]:
    if not call.text.strip():
        return []
    style = panel.style("error" if call.is_error and call.state != "done" else "toolOutput")
    rows = hard_rows(clean(call.text).strip("\n"), panel.width, style)
    return _tail(rows, _SHELL_ROWS, panel)


def _edit(call: ToolCallView, panel: Panel) -> list[Strip]:
    if call.is_error:
        return _error(call, panel)
    diff = call.detail("diff") or call.diff_preview
    if isinstance(diff, str) and diff:
        return diff_rows(diff, panel.width, panel.tone, panel.background)
    return [panel.note(call.preview_error, "warning")] if call.preview_error else []


def _write(call: ToolCallView, panel: Panel) -> list[Strip]:
    content = call.argument("content").rstrip("\n")
    lines = content.split("\n") if content else []
    limit = len(lines) if panel.is_expanded else _WRITE_ROWS
    shown = lines[:limit]
    path = call.argument("path", "file_path") if call.state != "arguments" or len(lines) <= _LIVE_CODE_LINES else ""
    rows = _code("\n".join(shown), path, panel) if shown else []
    if len(lines) > limit:
        rows.append(panel.note(f"… {len(lines) - limit} more of {len(lines)} lines{_unfold(panel)}"))
    return rows + (_error(call, panel) if call.is_error else [])


def _listing(call: ToolCallView, panel: Panel) -> list[Strip]:
    if call.is_error:
        return _error(call, panel)
    return _head(hard_rows(clean(call.text).strip("\n"), panel.width, panel.style("toolOutput")), call, panel)


def _other(call: ToolCallView, panel: Panel) -> list[Strip]:
    rows: list[Strip] = []
    if panel.is_expanded:
        for key, value in call.arguments.items():
            text = Text().append(f"{clean(key)}: ", panel.style("muted"))
            text.append(one_line(value), panel.style("toolOutput"))
            rows += text_rows(text, panel.width, panel.style(""))
    if call.is_error:
        return rows + _error(call, panel)
    if call.text.strip():
        rows += _head(hard_rows(clean(call.text).strip("\n"), panel.width, panel.style("toolOutput")), call, panel)
    return rows


def _error(call: ToolCallView, panel: Panel) -> list[Strip]:
    if not call.text.strip():
        return []
    text = Text(clean(call.text).strip("\n"), style=panel.style("error" if call.is_error else "toolOutput"))
    return _head(text_rows(text, panel.width, panel.style("")), call, panel)


def _code(code: str, path: str, panel: Panel) -> list[Strip]:
    base = panel.style("")
    text = highlighted(clean(code), language_of(path) if path else "", panel.tone.palette)
    rows: list[Strip] = []
    for line in text.split("\n", allow_blank=True):
        rows += text_rows(line, panel.width, base) if len(line) else [blank(panel.width, base)]
    return rows


def _tail(rows: list[Strip], limit: int, panel: Panel) -> list[Strip]:
    hidden = len(rows) - limit
    if panel.is_expanded or hidden <= 0:
        return rows
    return [panel.note(f"… {counted(hidden, 'earlier line')}{_unfold(panel)}"), *rows[-limit:]]


def _head(rows: list[Strip], call: ToolCallView, panel: Panel) -> list[Strip]:
    limit = _HEAD_ROWS.get(call.name, _OTHER_ROWS)
    hidden = len(rows) - limit
    if panel.is_expanded or hidden <= 0:
        return rows
    return [*rows[:limit], panel.note(f"… {counted(hidden, 'more line')}{_unfold(panel)}")]


def _unfold(panel: Panel) -> str:
    return f" ({panel.tone.expand_hint} shows all)" if panel.tone.expand_hint else ""


def truncation_notes(call: ToolCallView) -> Sequence[str]:
    """What the details say was left out."""
    notes = []
    cut = call.detail("truncation")
    if isinstance(cut, dict) and cut.get("truncated"):
        if cut.get("firstLineExceedsLimit"):
            notes.append(f"the first line is longer than {_limit(cut)}")
        elif cut.get("truncatedBy") == "lines":
            notes.append(f"{cut.get('outputLines')} of {cut.get('totalLines')} lines")
        else:
            notes.append(f"{cut.get('outputLines')} of {cut.get('totalLines')} lines, cut at {_limit(cut)}")
    if path := call.detail("fullOutputPath"):
        notes.append(f"whole output: {path}")
    for name, noun in (
        ("matchLimitReached", "matches"),
        ("resultLimitReached", "results"),
        ("entryLimitReached", "entries"),
    ):
        if limit := call.detail(name):
            notes.append(f"stopped at {limit} {noun}")
    if call.detail("linesTruncated"):
        notes.append("long lines were cut")
    return notes


def _limit(cut: dict[str, object]) -> str:
    size = cut.get("maxBytes")
    return shown_size(size) if isinstance(size, int) else "the limit"


_BODIES: dict[str, Body] = {
    "read": _read,
    "bash": _shell,
    "powershell": _shell,
    "edit": _edit,
    "write": _write,
    "grep": _listing,
    "find": _listing,
    "ls": _listing,
}
