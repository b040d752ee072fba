"""The world around the program: clipboard, other editors, sleeping."""

from __future__ import annotations

import asyncio
import base64
import os
import shlex
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon.resources.setting import EXTERNAL_EDITOR, TERMINAL_CLIPBOARD
from pinyon.tui import clipboard

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_FLASH_S = 1.0


class Outside:
    """What leaves the program and what comes in."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app

    # The clipboard.

    def copy_last(self) -> None:
        """Copy the selection, else the last answer."""
        if self.copy_selection():
            return
        text = self._app.session.get_last_assistant_text()
        if text:
            self.copy(text, "The last answer was copied")
        else:
            self._app.notify_user("There is no answer to copy yet.", "status")

    def copy_selection(self) -> bool:
        """Copy what the mouse selected; False where nothing is selected."""
        app = self._app
        text = app.screen.get_selected_text()
        if not text:
            return False
        self.copy(text, "Copied")
        app.screen.clear_selection()
        return True

    def copy_marked(self) -> None:
        """Copy what the mouse selected and take the marks away a moment later."""
        text = self._app.screen.get_selected_text()
        if text and text.strip():
            self.copy(text, "Copied")
            marked = dict(self._app.screen.selections)
            self._app.set_timer(_FLASH_S, lambda: self._end_marks(marked))

    def _end_marks(self, marked: object) -> None:
        if self._app.screen.selections == marked:
            self._app.screen.clear_selection()

    def copy(self, text: str, told: str) -> None:
        """Copy a text and say so."""
        self._app.start(self._copy(text, told))

    async def _copy(self, text: str, told: str) -> None:
        app = self._app
        done = await clipboard.copy_text(text)
        rule = app.desk_or_fail.setting(TERMINAL_CLIPBOARD)
        is_wanted = rule == "always" or not done or clipboard.wants_terminal_copy(os.environ)
        if is_wanted and rule != "never":
            encoded = base64.b64encode(text.encode("utf-8", "replace"))
            if len(encoded) <= clipboard.OSC52_LIMIT:
                app.copy_to_clipboard(text)
                done = True
        app.hint(told if done else "The text is too long for the terminal's clipboard")

    def paste(self) -> None:
        """Insert what is in the clipboard: an image as an attachment, else text."""
        self._app.start(self._paste())

    async def _paste(self) -> None:
        app = self._app
        data = await clipboard.read_image()
        if data is not None:
            await app.attach_image(data, "image/png")
            return
        text = await clipboard.read_text()
        if text:
            app.editing.paste(text)
            app.text_changed()
        else:
            app.hint("The clipboard holds nothing that can be pasted")

    # Other programs.

    def edit_externally(self) -> None:
        """Write the prompt in the user's own editor."""
        app = self._app
        command = self._editor_command()
        text = app.editing.text
        with tempfile.TemporaryDirectory(prefix="pinyon-") as folder:
            path = Path(folder) / "prompt.md"
            path.write_text(text, encoding="utf-8")
            code = self._run_in_terminal([*command, str(path)])
            if code != 0:
                app.notify_user(f"The editor {command[0]!r} did not end well; the prompt is as it was.", "status")
                return
            edited = path.read_text(encoding="utf-8", errors="replace")
        app.editing.set_text(edited.removesuffix("\n"))
        app.text_changed()

    def _editor_command(self) -> list[str]:
        chosen = self._app.pi.services.settings.get(EXTERNAL_EDITOR)
        default = "notepad" if os.name == "nt" else "nano"
        command = chosen or os.environ.get("VISUAL") or os.environ.get("EDITOR") or default
        return shlex.split(command, posix=os.name != "nt") or [default]

    def _run_in_terminal(self, command: list[str]) -> int:
        """Run a program that takes the terminal over; its exit code, 127 when it cannot be started."""
        import subprocess

        with self._app.suspend():
            try:
                return subprocess.run(command, check=False).returncode
            except OSError:
                return 127

    def go_to_sleep(self) -> None:
        """Give the terminal back to the shell until it calls again."""
        if os.name != "nt" and not self._app.is_headless:
            os.kill(os.getpid(), signal.SIGTSTP)

    async def run_quietly(self, command: list[str], limit_s: float) -> str | None:
        """The output of a small program, None when it fails or takes too long."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            return None
        try:
            output, _ = await asyncio.wait_for(process.communicate(), limit_s)
        except TimeoutError:
            process.kill()
            await process.wait()
            return None
        return output.decode("utf-8", "replace").strip() if process.returncode == 0 else None
