"""What code outside of the program may do on the screen, as small interfaces, and their one implementation here.

Everything takes and gives plain values, so that hosts without a screen can offer the same. A closed dialog answers
None; a timeout or the end of the session closes it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pinyon._util.abort import AbortSignal
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.dialog import Pager, TextPrompt
from pinyon.tui.editor.menu import CompletionSource
from pinyon.tui.key import normal_key
from pinyon.tui.overlay import Overlay
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.widget_area import RowMaker

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp
    from pinyon.tui.message_block import Renderers

NoticeKind = Literal["status", "info", "warning", "error"]
Placement = Literal["above", "below"]


class Dialogs(Protocol):
    """Questions to the user. Several may be open at once; each is answered on its own."""

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> str | None:
        """One of the options."""
        ...

    async def confirm(self, title: str, message: str = "", *, timeout_s: float | None = None) -> bool:
        """Yes or no; closing is no."""
        ...

    async def input(
        self, title: str, *, placeholder: str = "", is_secret: bool = False, timeout_s: float | None = None
    ) -> str | None:
        """A line of text."""
        ...

    async def editor(self, title: str, text: str = "") -> str | None:
        """Several lines of text, beginning with `text`."""
        ...


class Notices(Protocol):
    """What the program says without asking."""

    def notify(self, text: str, kind: NoticeKind = "info") -> None:
        """A line in the transcript."""
        ...

    def set_status(self, key: str, text: str | None) -> None:
        """An entry of the line under the footer; None removes it."""
        ...

    def set_widget(self, key: str, content: RowMaker | list[str] | None, *, placement: Placement = "above") -> None:
        """Rows above or below the editor; None removes them."""
        ...

    def set_title(self, title: str) -> None:
        """The title of the window; empty for the usual one."""
        ...

    def set_working_text(self, text: str) -> None:
        """The word beside the spinner while a run is in progress; empty for the usual one."""
        ...


class Components(Protocol):
    """Parts of the screen that are drawn by somebody else."""

    async def custom(self, overlay: Overlay) -> Any:
        """Show an overlay in place of the editor; its result, None when closed."""
        ...

    def set_header(self, make: RowMaker | None) -> None:
        """Rows in place of the header; None for the usual one."""
        ...

    def set_footer(self, make: RowMaker | None) -> None:
        """Rows in place of the footer; None for the usual one."""
        ...

    @property
    def renderers(self) -> Renderers:
        """Renderers of tools, messages and entries, to be added to."""
        ...


class EditorAccess(Protocol):
    """The text that is being written."""

    def get_text(self) -> str:
        """The text with pastes in full."""
        ...

    def set_text(self, text: str) -> None:
        """Replace it; can be undone."""
        ...

    def paste(self, text: str) -> None:
        """Insert at the cursor, as a paste."""
        ...

    def add_completions(self, source: CompletionSource) -> Callable[[], None]:
        """Ask this source first; returns what removes it."""
        ...

    def add_shortcut(self, key: str, action: Callable[[], None]) -> Callable[[], None]:
        """Do something at a key; returns what removes it."""
        ...

    def add_command(self, command: SlashCommand) -> None:
        """Offer a slash command."""
        ...


class AppSeam:
    """All of these on the running application."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app

    # Dialogs

    async def select(self, title: str, options: Sequence[str], *, timeout_s: float | None = None) -> str | None:
        """One of the options, None when closed."""
        choices = [Choice(option, option) for option in options]
        answer = await self.ask(Selector(title, choices, is_searchable=len(options) > 10), timeout_s)
        return answer if isinstance(answer, str) else None

    async def confirm(self, title: str, message: str = "", *, timeout_s: float | None = None) -> bool:
        """Yes or no."""
        text = f"{title}\n{message}" if message else title
        return await self.ask(_yes_or_no(text), timeout_s) is True

    async def input(
        self, title: str, *, placeholder: str = "", is_secret: bool = False, timeout_s: float | None = None
    ) -> str | None:
        """A line of text, None when closed."""
        answer = await self.ask(TextPrompt(title, placeholder=placeholder, is_secret=is_secret), timeout_s)
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, text: str = "") -> str | None:
        """Several lines of text, None when closed."""
        from pinyon.tui.text_editor import TextEditor

        answer = await self.ask(TextEditor(title, text))
        return answer if isinstance(answer, str) else None

    async def show_text(self, title: str, markdown: str) -> None:
        """A text to read."""
        await self.ask(Pager(title, markdown))

    async def ask(self, overlay: Overlay, timeout_s: float | None = None, signal: AbortSignal | None = None) -> Any:
        """The answer to a dialog; None when it is closed, by the user, the clock or the signal."""
        if signal is not None and signal.aborted:
            return None
        if timeout_s is not None:
            overlay.deadline = time.monotonic() + timeout_s
        remove = signal.add_listener(lambda: overlay.finish(None)) if signal is not None else None
        self._app.attention.call(overlay.title.partition("\n")[0])
        try:
            async with asyncio.timeout(timeout_s):
                return await self._app.ask(overlay)
        except TimeoutError:
            return None
        finally:
            if remove is not None:
                remove()

    # Notices

    def notify(self, text: str, kind: NoticeKind = "info") -> None:
        """A line in the transcript."""
        self._app.notify_user(text, kind)

    def set_status(self, key: str, text: str | None) -> None:
        """An entry of the status line."""
        if text is None:
            self._app.statuses.pop(key, None)
        else:
            self._app.statuses[key] = text
        self._app.footer_soon()

    def set_widget(self, key: str, content: RowMaker | list[str] | None, *, placement: Placement = "above") -> None:
        """Rows above or below the editor."""
        (self._app.above if placement == "above" else self._app.below).put(key, content)

    def set_title(self, title: str) -> None:
        """The title of the window; empty for the usual one."""
        if title:
            self._app.attention.set_title(title)
        else:
            self._app.desk_or_fail.name_window()

    def set_working_text(self, text: str) -> None:
        """The word beside the spinner."""
        self._app.spinner.working_text = text or "Working"

    # Components

    async def custom(self, overlay: Overlay) -> Any:
        """An overlay in place of the editor."""
        return await self._app.ask(overlay)

    def set_header(self, make: RowMaker | None) -> None:
        """Rows in place of the header."""
        self._app.header.replace(make)

    def set_footer(self, make: RowMaker | None) -> None:
        """Rows in place of the footer."""
        self._app.footer.replacement = make
        self._app.footer.update_rows()

    @property
    def renderers(self) -> Renderers:
        """Renderers of the session that is open."""
        return self._app.desk_or_fail.renderers

    # The editor

    def get_text(self) -> str:
        """The text with pastes in full."""
        return self._app.editing.text

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self._app.editing.set_text(text)
        self._app.text_changed()

    def paste(self, text: str) -> None:
        """Insert at the cursor."""
        self._app.editing.paste(text)
        self._app.text_changed()

    def add_completions(self, source: CompletionSource) -> Callable[[], None]:
        """Ask this source first."""
        sources = self._app.completer.sources
        sources.insert(0, source)
        return lambda: sources.remove(source) if source in sources else None

    def add_shortcut(self, key: str, action: Callable[[], None]) -> Callable[[], None]:
        """Do something at a key."""
        shortcuts = self._app.router.shortcuts
        shortcuts[normal_key(key)] = action
        return lambda: shortcuts.pop(normal_key(key), None) and None

    def add_command(self, command: SlashCommand) -> None:
        """Offer a slash command."""
        self._app.commands.add(command)


def _yes_or_no(title: str) -> Selector:
    return Selector(title, [Choice(True, "Yes"), Choice(False, "No")], is_searchable=False)
