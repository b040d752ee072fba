"""What the program tells outside of its screen: the window's title, progress in its tab, a notice when nobody looks.

Sequences: OSC 0 (title), OSC 9 of iTerm2 and OSC 777 of urxvt (notices), OSC 9;4 of ConEmu (progress), BEL.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.timer import Timer

from pinyon._util.terminal import strip_terminal_control
from pinyon.resources import setting
from pinyon.tui.notice_protocol import notice_protocol, passed_through

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_AGAIN_S = 1.0
_COMMAND_LIMIT_S = 10.0
_MOST_CHARS = 200


class Attention:
    """Writes to the terminal of the application. Each part is a setting of the user."""

    def __init__(
        self,
        app: PinyonApp,
        environ: Mapping[str, str] | None = None,
        *,
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._app = app
        self._write = write or app.write_terminal
        self._environ = os.environ if environ is None else environ
        self._progress: Timer | None = None
        self._title = ""

    def _is_on(self, item: setting.Setting[bool]) -> bool:
        desk = self._app.desk
        return desk is not None and bool(desk.setting(item))

    # The title of the window.

    def set_title(self, *parts: str) -> None:
        """Name the window, parts joined by dashes; empty ones are left out."""
        title = _line(" - ".join(part for part in parts if part))
        if title and title != self._title and self._is_on(setting.TERMINAL_TITLE):
            self._title = title
            self._write(f"\x1b]0;{title}\x07")

    # Progress in the tab or the task bar.

    def set_busy(self, *, is_busy: bool) -> None:
        """Show that something runs. Terminals forget it by and by, so it is said again every second."""
        if is_busy and self._progress is None and self._is_on(setting.TERMINAL_SHOW_TERMINAL_PROGRESS):
            self._say_busy()
            self._progress = self._app.set_interval(_AGAIN_S, self._say_busy)
        elif not is_busy and self._progress is not None:
            self._progress.stop()
            self._progress = None
            self._write("\x1b]9;4;0\x07")

    def _say_busy(self) -> None:
        self._write("\x1b]9;4;3\x07")

    # Notices.

    def call(self, text: str) -> None:
        """Tell a person who looks elsewhere."""
        app = self._app
        if app.app_focus or app.desk is None:
            return
        kind = app.desk.setting(setting.TERMINAL_NOTIFICATIONS)
        line = _line(text)[:_MOST_CHARS]
        if kind in ("desktop", "both"):
            protocol = notice_protocol(self._environ)
            body = f"777;notify;Pinyon;{line.replace(';', ',')}" if protocol == "777" else f"9;{line}"
            self._write(passed_through(f"\x1b]{body}\x07", self._environ))
        if kind in ("bell", "both"):
            self._write("\x07")
        command = app.desk.setting(setting.TERMINAL_NOTIFY_COMMAND)
        if command and kind != "off":
            app.start(self._run(command, line))

    async def _run(self, command: str, line: str) -> None:
        """Run the user's own program; it may fail without anybody being told."""
        try:
            words = shlex.split(command)
            process = await asyncio.create_subprocess_exec(
                *words,
                line,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except (OSError, ValueError):
            self._app.hint(f"{setting.TERMINAL_NOTIFY_COMMAND.key} cannot be run")
            return
        try:
            await asyncio.wait_for(process.wait(), _COMMAND_LIMIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    def end(self) -> None:
        """Leave the terminal as it was found."""
        self.set_busy(is_busy=False)


def _line(text: str) -> str:
    return " ".join(strip_terminal_control(text).split())
