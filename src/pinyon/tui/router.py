"""From a key to what it does: overlays first, then the transcript, the program, and at last the editor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pinyon.tui.key import normal_key

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_TWICE_S = 0.5
_MENU_PAGE = 5


class Router:
    """Sends each key to the first part of the program that wants it."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app
        self._last_clear = 0.0
        self._last_escape = 0.0
        self.shortcuts: dict[str, Callable[[], None]] = {}
        """Keys of extensions, in normal spelling."""
        view = app.transcript
        self._view: dict[str, Callable[[], object]] = {
            "tui.altScreen.pageUp": lambda: view.scroll_page(-1),
            "tui.altScreen.pageDown": lambda: view.scroll_page(1),
            "tui.altScreen.halfPageUp": lambda: view.scroll_page(-0.5),
            "tui.altScreen.halfPageDown": lambda: view.scroll_page(0.5),
            "tui.altScreen.lineUp": lambda: view.scroll_rows(-1),
            "tui.altScreen.lineDown": lambda: view.scroll_rows(1),
            "tui.altScreen.previousPrompt": lambda: view.jump_to_prompt(-1),
            "tui.altScreen.nextPrompt": lambda: view.jump_to_prompt(1),
            "tui.altScreen.search": app.open_search,
            "tui.altScreen.top": view.to_start,
            "tui.altScreen.bottom": view.to_end,
        }
        self._program: dict[str, Callable[[], object]] = {
            "app.clipboard.pasteImage": app.paste_from_clipboard,
            "tui.editor.historyPrevious": lambda: app.editing.browse(-1),
            "tui.editor.historyNext": lambda: app.editing.browse(1),
            "tui.editor.historySearch": app.search_history,
            "app.suspend": app.go_to_sleep,
            "app.editor.external": app.edit_externally,
            "app.session.new": lambda: app.run_command("new"),
            "app.session.tree": lambda: app.run_command("tree"),
            "app.session.fork": lambda: app.run_command("fork"),
            "app.session.resume": lambda: app.run_command("resume"),
            "app.model.select": lambda: app.run_command("model"),
            "app.model.cycleForward": lambda: app.cycle_model(1),
            "app.model.cycleBackward": lambda: app.cycle_model(-1),
            "app.thinking.cycle": app.cycle_thinking,
            "app.thinking.toggle": app.toggle_thinking,
            "app.tools.expand": app.toggle_expanded,
            "app.message.copy": app.copy_last,
            "app.message.followUp": lambda: app.submit("followUp"),
            "app.message.dequeue": app.take_queue_back,
        }

    def handle(self, raw: str, character: str | None) -> None:
        """Do what a key means at the moment."""
        key = normal_key(raw)
        app = self._app
        if app.overlays.front is not None:
            app.overlays.front.handle(key, character)
            return
        if not app.is_ready:
            self._while_starting(key, character)
            return
        for table in (self._view, self.shortcuts):
            action = self._found(key, table)
            if action is not None and not self._is_editor_page(key):
                action()
                return
        if self._menu(key) or self._end_of_work(key):
            return
        action = self._found(key, self._program)
        if action is not None:
            action()
            return
        self._editor(key, character)

    def _found(self, key: str, table: Mapping[str, Callable[[], object]]) -> Callable[[], object] | None:
        if key in table:
            return table[key]
        action = self._app.keymap.first(key, tuple(table))
        return table[action] if action is not None else None

    def _is_editor_page(self, key: str) -> bool:
        """Page keys belong to the list of completions while it is open."""
        return self._app.editor.menu is not None and key in ("pageUp", "pageDown")

    def _while_starting(self, key: str, character: str | None) -> None:
        app = self._app
        if app.keymap.is_bound(key, "app.clear"):
            self._clear()
        elif app.keymap.is_bound(key, "app.exit") and not app.editor.buffer.text:
            app.quit()
        elif app.keymap.is_bound(key, "tui.input.submit"):
            app.say_starting()
        else:
            self._editor(key, character)

    # Completions.

    def _menu(self, key: str) -> bool:
        app = self._app
        menu, keymap = app.editor.menu, app.keymap
        if menu is None:
            if keymap.is_bound(key, "tui.input.tab"):
                app.completer.request(is_forced=True)
                return True
            return False
        if keymap.is_bound(key, "tui.select.up"):
            menu.move(-1)
        elif keymap.is_bound(key, "tui.select.down"):
            menu.move(1)
        elif keymap.is_bound(key, "tui.select.pageUp"):
            menu.move(-_MENU_PAGE, wraps=False)
        elif keymap.is_bound(key, "tui.select.pageDown"):
            menu.move(_MENU_PAGE, wraps=False)
        elif keymap.is_bound(key, "app.interrupt"):
            app.completer.close()
        elif keymap.is_bound(key, "tui.input.tab"):
            app.completer.accept()
        elif keymap.is_bound(key, "tui.input.submit"):
            return app.completer.accept_by_enter()
        else:
            return False
        app.editor.update_rows()
        return True

    # Escape, Ctrl+C, Ctrl+D.

    def _end_of_work(self, key: str) -> bool:
        app, keymap = self._app, self._app.keymap
        if keymap.is_bound(key, "app.interrupt"):
            self._escape()
        elif keymap.is_bound(key, "app.clear"):
            if app.copy_selection():
                return True
            self._clear()
        elif keymap.is_bound(key, "app.exit") and not app.editor.buffer.text:
            app.quit()
        else:
            return False
        return True

    def _escape(self) -> None:
        app = self._app
        if app.search_bar.is_open:
            app.close_search()
        elif app.stop_work():
            return
        elif app.editor.buffer.text.startswith("!"):
            app.editing.set_text("")
            app.text_changed()
        elif not app.editor.buffer.text:
            now = time.monotonic()
            if now - self._last_escape < _TWICE_S:
                self._last_escape = 0.0
                app.double_escape()
            else:
                self._last_escape = now

    def _clear(self) -> None:
        app = self._app
        now = time.monotonic()
        if now - self._last_clear < _TWICE_S:
            app.quit()
            return
        self._last_clear = now
        if app.editor.buffer.text:
            app.editing.set_text("")
            app.text_changed()
        else:
            app.hint(f"{app.keymap.hint('app.clear')} again quits")

    # The editor.

    def _editor(self, key: str, character: str | None) -> None:
        app = self._app
        if app.is_ready and app.keymap.is_bound(key, "tui.input.submit"):
            if app.editor.buffer.text.endswith("\\") and app.editor.buffer.cursor == len(app.editor.buffer.text):
                app.editing.view.buffer.delete_back()
                app.editing.insert("\n")
                app.text_changed()
            else:
                app.submit("steer")
        elif app.editing.handle(key, character):
            app.text_changed()
