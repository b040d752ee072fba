"""The list of stored sessions: found, sorted, renamed and deleted while they are still being read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from rich.text import Text
from textual.strip import Strip

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.errors import PinyonError
from pinyon.session.listing import SessionInfo
from pinyon.session.manager import SessionManager
from pinyon.session.search import parse_search_query, search_sessions
from pinyon.tui.canvas import clean, text_rows
from pinyon.tui.picker.session_thread import threaded
from pinyon.tui.place import home_short_text
from pinyon.tui.quantity import shown_age
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.text_field import TextField

Sort = Literal["threaded", "recent", "relevance"]
_SORTS: tuple[Sort, ...] = ("threaded", "recent", "relevance")
_STATUS_S = 3.0
_PREVIEW_CHARS = 400
_PATH_CHARS = 28
_ACTIONS = ("rename", "delete", "deleteNoninvasive", "toggleSort", "toggleNamedFilter", "togglePath")


class SessionList(Selector):
    """The result is the path of a session. `start` runs what takes time, as long as the list is open."""

    wraps = False

    def __init__(
        self, manager: SessionManager, *, current: str, start: Callable[[Awaitable[None]], object], query: str = ""
    ) -> None:
        self._manager = manager
        self._current = current
        self._start = start
        self._infos: list[SessionInfo] = []
        self._prefixes: dict[str, str] = {}
        self._loading: AbortController | None = None
        self._progress = ""
        self._status: tuple[str, str, float] | None = None
        self._renaming: TextField | None = None
        self._asks_delete = False
        self._was_moved = False
        self.shows_all = False
        self.shows_paths = False
        self.named_only = False
        self.sort: Sort = "threaded"
        actions = dict.fromkeys([f"app.session.{name}" for name in _ACTIONS], _nothing)
        super().__init__("Open a session", [], query=query, actions={**actions, "tui.input.tab": _nothing})

    # Loading.

    def on_mount(self) -> None:
        """Begin to read."""
        super().on_mount()
        self._reload()

    def _reload(self) -> None:
        if self._loading is not None:
            self._loading.abort()
        self._infos, self._progress = [], "…"
        self._loading = AbortController()
        self._start(self._load(self._loading))

    async def _load(self, controller: AbortController) -> None:
        def progress(loaded: int, total: int, infos: Sequence[SessionInfo] | None) -> None:
            if controller is self._loading and not self.result.done():
                self._progress = f"{loaded}/{total}"
                if infos is not None:
                    self._show(list(infos))
                self.update_rows()

        read = self._manager.list_all_sessions if self.shows_all else self._manager.list_sessions
        try:
            infos = await read(on_progress=progress, signal=controller.signal)
        except OperationAbortedError:
            return
        if controller is self._loading and not self.result.done():
            self._progress = ""
            self._show(infos)

    def _show(self, infos: list[SessionInfo]) -> None:
        self._infos = infos
        self._rearrange()

    def _rearrange(self) -> None:
        chosen = self.chosen.value if self.chosen is not None else None
        self.refilter()
        if self._was_moved:
            self.select(chosen)
        self.update_rows()

    def finish(self, value: object) -> None:
        """Close, and stop reading."""
        if self._loading is not None:
            self._loading.abort()
        super().finish(value)

    # What is shown.

    def matches(self, query: str) -> list[Choice]:
        """The sessions that the query, the filter and the order give."""
        self._prefixes = {}
        if query or self.sort != "threaded":
            sort: Literal["recent", "relevance"] = "recent" if self.sort == "recent" else "relevance"
            infos = search_sessions(self._infos, query, sort=sort, named_only=self.named_only)
        else:
            infos, self._prefixes = threaded(
                search_sessions(self._infos, "", sort="recent", named_only=self.named_only)
            )
        return [self._choice(info) for info in infos]

    def _choice(self, info: SessionInfo) -> Choice:
        age = shown_age(time.time() - info.modified_ms / 1000)
        folder = home_short_text(info.cwd) if self.shows_all else ""
        path = _tail(home_short_text(info.path)) if self.shows_paths else ""
        note = "  ".join(part for part in (path, folder, f"{info.message_count:>4} {age:>4}") if part)
        title = info.name or info.first_message
        return Choice(
            info.path,
            self._prefixes.get(info.path, "") + " ".join(title.split()),
            note=note,
            is_current=info.path == self._current,
            role="warning" if info.name else "",
            detail=_preview(info),
        )

    def nothing(self) -> str:
        """Why nothing is listed."""
        error = parse_search_query(self.field.text).error
        if error:
            return error
        if self._progress:
            return "reading…"
        if self._infos:
            return "nothing matches"
        where = "" if self.shows_all else f" for this folder; {self.keymap.hint('tui.input.tab')} shows all folders"
        return f"there are no stored sessions{where}"

    def head(self, width: int) -> list[Strip]:
        """Whose sessions, which ones, in which order; or the question that must be answered first."""
        if self._renaming is not None:
            return [self._renaming.row(width, self.tone, " new name › ")]
        if self._asks_delete and self.chosen is not None:
            return text_rows(Text("   Delete this session?", style=self.tone.style("warning", bold=True)), width)[:1]
        if self._status is not None and self._status[2] > time.monotonic():
            role, said, _ = self._status
            return text_rows(Text(f"   {clean(said)}", style=self.tone.style(role)), width)[:1]
        text = Text("   ", no_wrap=True)
        for name, is_on in (("this folder", not self.shows_all), ("all folders", self.shows_all)):
            text.append(f"{'●' if is_on else '○'} {name}  ", self.tone.style("accent" if is_on else "dim"))
        text.append(f"· {self.sort} · {'named only' if self.named_only else 'all'}", self.tone.style("muted"))
        if self._progress:
            text.append(f" · {self._progress}", self.tone.style("dim"))
        return text_rows(text, width)[:1]

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        confirm, cancel = hint("tui.select.confirm"), hint("tui.select.cancel")
        if self._renaming is not None:
            return f"{confirm} renames · {cancel} keeps the name"
        if self._asks_delete:
            return f"{confirm} deletes · {cancel} keeps it"
        names = {
            "app.session.rename": "renames",
            "app.session.delete": "deletes",
            "app.session.toggleSort": "order",
            "app.session.toggleNamedFilter": "named",
            "app.session.togglePath": "paths",
        }
        keys = " · ".join(f"{hint(action)} {name}" for action, name in names.items() if hint(action))
        return f"{confirm} opens · {hint('tui.input.tab')} folders · {keys}"

    # Keys.

    def handle(self, key: str, character: str | None) -> None:
        """Renaming and the question about deleting take the keys before the list."""
        if self._renaming is not None:
            self._rename_key(self._renaming, key, character)
        elif self._asks_delete:
            self._delete_key(key)
        elif not self.field.text and self.keymap.is_bound(key, "app.session.deleteNoninvasive"):
            self.act("app.session.delete")
        elif self.keymap.is_bound(key, "app.session.deleteNoninvasive"):
            self._search(key, character)
        else:
            super().handle(key, character)
            return
        self.update_rows()

    def moved(self) -> None:
        """Stay where the user went while more sessions are read."""
        self._was_moved = True

    def act(self, action: str) -> None:
        """Change the list, or begin to change a session."""
        match action:
            case "tui.input.tab":
                self.shows_all = not self.shows_all
                self._reload()
            case "app.session.toggleSort":
                self.sort = _SORTS[(_SORTS.index(self.sort) + 1) % len(_SORTS)]
            case "app.session.toggleNamedFilter":
                self.named_only = not self.named_only
            case "app.session.togglePath":
                self.shows_paths = not self.shows_paths
            case "app.session.rename" if (info := self._info()) is not None:
                self._renaming = TextField(info.name or "")
                return
            case "app.session.delete" if (info := self._info()) is not None:
                if info.path == self._current:
                    self._say("warning", "The open session cannot be deleted.")
                else:
                    self._asks_delete = True
                return
            case _:
                return
        self._rearrange()

    def _info(self) -> SessionInfo | None:
        path = self.chosen.value if self.chosen is not None else None
        return next((info for info in self._infos if info.path == path), None)

    def _rename_key(self, field: TextField, key: str, character: str | None) -> None:
        if self.keymap.is_bound(key, "tui.select.confirm"):
            self._renaming = None
            if (info := self._info()) is not None:
                self._start(self._rename(info, field.text.strip()))
        elif self.keymap.is_bound(key, "tui.select.cancel"):
            self._renaming = None
        else:
            field.handle(key, character, self.keymap)

    def _delete_key(self, key: str) -> None:
        info = self._info()
        if self.keymap.is_bound(key, "tui.select.confirm") and info is not None:
            self._start(self._delete(info))
        self._asks_delete = False

    def paste(self, text: str) -> None:
        """Into the name while renaming, else into the search."""
        if self._renaming is not None:
            self._renaming.paste(text)
            self.update_rows()
        else:
            super().paste(text)

    async def _rename(self, info: SessionInfo, name: str) -> None:
        try:
            await self._manager.rename_session(info.path, name)
        except (PinyonError, OSError) as error:
            self._say("error", str(error))
            return
        info.name = name or None
        self._say("success", "Renamed." if name else "The name was taken away.")
        self._rearrange()

    async def _delete(self, info: SessionInfo) -> None:
        try:
            done = await self._manager.delete_session(info.path)
        except (PinyonError, OSError) as error:
            self._say("error", str(error))
            return
        at = self.at
        self._infos = [other for other in self._infos if other.path != info.path]
        self._say("success", "Moved to the trash." if done.method == "trash" else "Deleted.")
        self._rearrange()
        self.at = max(0, min(at, len(self.shown) - 1))
        self.update_rows()

    def _say(self, role: str, text: str) -> None:
        self._status = (role, text, time.monotonic() + _STATUS_S)
        self._start(self._forget_status())
        self.update_rows()

    async def _forget_status(self) -> None:
        await asyncio.sleep(_STATUS_S)
        if not self.result.done():
            self.update_rows()


def _preview(info: SessionInfo) -> str:
    """The beginning of what was said, and where."""
    text = " ".join(info.all_messages_text[:_PREVIEW_CHARS].split())
    return f"{home_short_text(info.cwd)} · {text}" if info.cwd else text


def _tail(path: str) -> str:
    """The end of a path, which tells more than its beginning."""
    return path if len(path) <= _PATH_CHARS else f"…{path[1 - _PATH_CHARS :]}"


def _nothing(choice: Choice) -> None:
    del choice
