"""When completions are looked for and what accepting one does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

from pinyon.tui.editor.editing import Editing
from pinyon.tui.editor.menu import Completions, CompletionSource, Menu
from pinyon.tui.editor.view import EditorView

_DEBOUNCE_S = 0.02
_TRIGGER = re.compile(r"""(^/[^\n]*$)|((?:^|[\s"'=(\[{<`，。、])@[^\n]*$)|((?:^|\s)(?:\./|\.\./|~/|/)\S*$)""")


class Completer:
    """Asks the sources after each change and shows the first answer. A newer question ends the older one.

    `run` starts a coroutine that the program owns; `submit` sends the text.
    """

    def __init__(
        self,
        view: EditorView,
        editing: Editing,
        sources: list[CompletionSource],
        *,
        run: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        submit: Callable[[], None],
        visible: Callable[[], int],
    ) -> None:
        self._view = view
        self._editing = editing
        self.sources = sources
        self._run = run
        self._submit = submit
        self._visible = visible
        self._task: asyncio.Task[None] | None = None
        self._shown_for = ("", 0)

    def text_changed(self) -> None:
        """Look for completions where the text calls for them, else close the list."""
        buffer = self._view.buffer
        if _TRIGGER.search(buffer.text[: buffer.cursor]):
            self.request(is_forced=False)
        else:
            self.close()

    def request(self, *, is_forced: bool) -> None:
        """Ask the sources at the cursor."""
        if self._task is not None:
            self._task.cancel()
        self._task = self._run(self._ask(is_forced=is_forced))

    def close(self) -> None:
        """Show no completions."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        if self._view.menu is not None:
            self._view.menu = None
            self._view.update_rows()

    async def _ask(self, *, is_forced: bool) -> None:
        buffer = self._view.buffer
        text, cursor = buffer.text, buffer.cursor
        if "@" in text[:cursor]:
            await asyncio.sleep(_DEBOUNCE_S)
        for source in self.sources:
            found = await source.complete(text, cursor, is_forced=is_forced)
            if (buffer.text, buffer.cursor) != (text, cursor):
                return
            if found is not None and found.items:
                self._show(found, text[found.start : cursor], is_forced=is_forced)
                return
        self._view.menu = None
        self._view.update_rows()

    def _show(self, found: Completions, typed: str, *, is_forced: bool) -> None:
        self._shown_for = (self._view.buffer.text, self._view.buffer.cursor)
        is_lone = len(found.items) == 1
        if is_lone and is_forced and found.is_single_direct:
            self._insert(found, 0)
            return
        if is_lone and found.items[0].value.strip() == typed.strip() and found.kind != "command":
            self._view.menu = None
        else:
            self._view.menu = Menu(found, typed.strip(), self._visible())
        self._view.update_rows()

    def accept(self) -> None:
        """Insert the chosen completion."""
        menu = self._view.menu
        if menu is not None and self._is_current():
            self._insert(menu.found, menu.at)

    def accept_by_enter(self) -> bool:
        """What Enter does while the list is open; False where it should send the text as it stands.

        A command is inserted and sent; an argument only when the user moved to it.
        """
        menu = self._view.menu
        if menu is None or not self._is_current():
            self.close()
            return False
        if menu.found.kind == "argument" and not menu.was_moved:
            self.close()
            return False
        kind = menu.found.kind
        self._insert(menu.found, menu.at)
        if kind == "command":
            self._submit()
        return True

    def _is_current(self) -> bool:
        """Whether the list was made for the text as it stands; a fast typist is ahead of it."""
        return self._shown_for == (self._view.buffer.text, self._view.buffer.cursor)

    def _insert(self, found: Completions, number: int) -> None:
        buffer = self._view.buffer
        item = found.items[number]
        rest = buffer.text[buffer.cursor : buffer.cursor + 1]
        value = item.value.rstrip(" ") if rest == " " and item.value.endswith(" ") else item.value
        buffer.replace(found.start, buffer.cursor, value)
        self._view.menu = None
        self._view.update_rows()
        if value.endswith("/") and found.kind == "path":
            self.request(is_forced=False)
