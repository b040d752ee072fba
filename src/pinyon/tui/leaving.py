"""What is left on the terminal after the program: the conversation, and how to go on with it."""

from __future__ import annotations

import shlex
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segments
from textual.strip import Strip

from pinyon.tui.header import HeaderBlock

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_MAX_ROWS = 2_000


def farewell(app: PinyonApp) -> str:
    """The text for the normal screen; empty where there was no conversation."""
    desk = app.desk
    if desk is None:
        return ""
    from pinyon.resources.setting import FULLSCREEN_EXIT_OUTPUT

    shown = ""
    if desk.setting(FULLSCREEN_EXIT_OUTPUT) == "transcript" and app.exit_status == 0:
        shown = transcript_text(app)
    return shown + resume_hint(app)


def transcript_text(app: PinyonApp) -> str:
    """The rows of the transcript in the colours of the terminal; of a very long one the end."""
    blocks = app.transcript.list
    blocks.width = max(1, app.size.width)
    rows: list[Strip] = []
    for number in range(len(blocks.slots) - 1, -1, -1):
        if isinstance(blocks.slots[number].block, HeaderBlock):
            continue
        rows[:0] = blocks.rows(number)
        if len(rows) > _MAX_ROWS:
            break
    if not rows:
        return ""
    no_color = app.no_color
    console = Console(
        file=StringIO(), force_terminal=True, no_color=no_color, width=blocks.width, color_system="truecolor"
    )
    for row in rows[-_MAX_ROWS:]:
        console.print(Segments(row), end="\n", soft_wrap=True)
    file = console.file
    assert isinstance(file, StringIO)
    return "\n".join(line.rstrip(" ") for line in file.getvalue().split("\n")) + "\n"


def resume_hint(app: PinyonApp) -> str:
    """The command that opens the session again; empty for one that is not stored."""
    session = app.session.session
    if not session.is_stored():
        return ""
    folder = session.get_session_dir()
    place = f"--session-dir {shlex.quote(str(folder))} " if folder and not session.uses_default_session_dir() else ""
    return f"Go on with: pinyon {place}--session {session.get_session_id()}\n"
