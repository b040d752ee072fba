"""The first line of a tool row: what the model asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.style import Style
from rich.text import Text

from pinyon._util import json as _json
from pinyon.tui.block.tool_call import ToolCallView
from pinyon.tui.canvas import clean
from pinyon.tui.tone import Tone

Title = Callable[[ToolCallView, Tone, str], Text]
_MAX_SUMMARY_CHARS = 100
_MISSING = "..."


def tool_title(call: ToolCallView, tone: Tone, background: str) -> Text:
    """The title of a call in the colours of its background."""
    return _TITLES.get(call.name, _other)(call, tone, background)


def _named(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = Text(style=tone.style("", background))
    return text.append(clean(call.name) + " ", tone.style("toolTitle", background, bold=True))


def _path(call: ToolCallView, tone: Tone, background: str) -> Text:
    raw = next((call.arguments[name] for name in ("path", "file_path") if name in call.arguments), None)
    if raw is None:
        return Text(_MISSING, style=tone.style("dim", background))
    if not isinstance(raw, str):
        return Text("(not a path)", style=tone.style("error", background))
    style = tone.style("accent", background)
    if tone.hyperlinks:
        style += Style(link=(Path(call.cwd or ".") / Path(raw).expanduser()).absolute().as_uri())
    return Text(shown_path(raw, tone.home), style=style)


def shown_path(path: str, home: str) -> str:
    """A path with the home folder as `~`, in one line."""
    text = clean(path).replace("\n", " ")
    if home and (text == home or text.startswith(home + os.sep)):
        return "~" + text[len(home) :]
    return text


def _read(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = _named(call, tone, background) + _path(call, tone, background)
    start, limit = call.number("offset"), call.number("limit")
    if start is not None or limit is not None:
        first = start if start is not None else 1
        span = f":{first}" + (f"-{first + limit - 1}" if limit is not None else "")
        text.append(span, tone.style("warning", background))
    return text


def _file(call: ToolCallView, tone: Tone, background: str) -> Text:
    return _named(call, tone, background) + _path(call, tone, background)


def _command(call: ToolCallView, tone: Tone, background: str) -> Text:
    sign = "PS> " if call.name == "powershell" else "$ "
    command = clean(call.argument("command")).strip() or _MISSING
    text = Text(style=tone.style("", background))
    text.append(sign, tone.style("accent", background, bold=True))
    text.append(command, tone.style("toolTitle", background, bold=True))
    timeout = call.number("timeout")
    if timeout is not None:
        text.append(f" (timeout {timeout}s)", tone.style("muted", background))
    return text


def _grep(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = _named(call, tone, background)
    text.append(f"/{clean(call.argument('pattern'))}/", tone.style("accent", background))
    text.append(f" in {shown_path(call.argument('path') or '.', tone.home)}", tone.style("muted", background))
    if glob := call.argument("glob"):
        text.append(f" ({clean(glob)})", tone.style("muted", background))
    if (limit := call.number("limit")) is not None:
        text.append(f" limit {limit}", tone.style("muted", background))
    return text


def _find(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = _named(call, tone, background)
    text.append(clean(call.argument("pattern")) or _MISSING, tone.style("accent", background))
    text.append(f" in {shown_path(call.argument('path') or '.', tone.home)}", tone.style("muted", background))
    if (limit := call.number("limit")) is not None:
        text.append(f" (limit {limit})", tone.style("muted", background))
    return text


def _ls(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = _named(call, tone, background)
    text.append(shown_path(call.argument("path") or ".", tone.home), tone.style("accent", background))
    if (limit := call.number("limit")) is not None:
        text.append(f" (limit {limit})", tone.style("muted", background))
    return text


def _other(call: ToolCallView, tone: Tone, background: str) -> Text:
    text = _named(call, tone, background)
    pairs = " ".join(f"{key}={one_line(value)}" for key, value in call.arguments.items())
    cut = pairs if len(pairs) <= _MAX_SUMMARY_CHARS else pairs[: _MAX_SUMMARY_CHARS - 1] + "…"
    text.append(cut, tone.style("muted", background))
    return text


def one_line(value: Any) -> str:
    """An argument as one line of text."""
    text = value if isinstance(value, str) else _json.encode(value).decode("utf-8", "replace")
    return " ".join(clean(text).split())


_TITLES: dict[str, Title] = {
    "read": _read,
    "edit": _file,
    "write": _file,
    "bash": _command,
    "powershell": _command,
    "grep": _grep,
    "find": _find,
    "ls": _ls,
}
