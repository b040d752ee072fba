"""`/debug`: what stands on the screen and in the session, written to a file for whoever looks for a fault."""

from __future__ import annotations

import asyncio
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._version import __version__
from pinyon.ai.known_secret import known_secrets
from pinyon.tui.command.command import SlashCommand

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

DEBUG_FILE = "pi-debug.log"


async def debug(app: PinyonApp, argument: str) -> None:
    """Write `pi-debug.log` into the agent folder; credentials are left out."""
    del argument
    folder = app.pi.services.agent_dir
    if folder is None:
        app.notify_user("There is no agent folder to write to; set HOME or PI_CODING_AGENT_DIR.", "error")
        return
    text = debug_text(app)
    for secret in known_secrets(app.pi.services.auth_storage):
        text = text.replace(secret, "***")
    path = folder / DEBUG_FILE
    await asyncio.to_thread(_write, path, text)
    app.notify_user(f"Written to {str(path)!r}; it holds this conversation.", "info")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8", errors="replace")


def debug_text(app: PinyonApp) -> str:
    """Version, terminal, rows of the transcript with their widths, and the lines of the branch."""
    blocks = app.transcript.list
    size = app.size
    lines = [f"Pinyon {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    lines += [f"screen {size.width}x{size.height}, {len(blocks.slots)} blocks", "", "# Rows", ""]
    for number in range(len(blocks.slots)):
        lines += [f"{row.cell_length:>4} {row.text!r}" for row in blocks.rows(number)]
    lines += ["", "# Entries", ""]
    lines += [line.decode("utf-8", "replace") for line in app.session.session.branch_lines()]
    return "\n".join(lines) + "\n"


DEBUG = (SlashCommand(name="debug", doc="write screen and session to a file", run=debug, is_hidden=True),)
