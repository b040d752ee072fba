"""Changes of settings on their way to the files: only the keys meant, on what the file holds at that moment.

A write takes the lock, reads the file again and lays the changed keys over it, so that what other programs wrote in the
meantime stays. A file that is not a JSON object is never touched.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from pinyon._util import json as _json
from pinyon.errors import ConfigError
from pinyon.resources.settings_merge import Settings, migrate_settings
from pinyon.resources.settings_storage import SettingsScope, SettingsStorage

KeyPath = tuple[str, ...]
REMOVED = object()
"""In place of a value: the key is taken out of the file."""

_INDENT = re.compile(r'\{\s*\n([ \t]+)"')


class SettingsWriter:
    """Collects changes and writes them, one write after the other. `report(scope, error)` hears what failed."""

    def __init__(
        self,
        storage: SettingsStorage,
        parse: Callable[[str | None], Settings],
        report: Callable[[SettingsScope, Exception], None],
    ) -> None:
        self._storage = storage
        self._parse = parse
        self._report = report
        self._changes: dict[SettingsScope, dict[KeyPath, Any]] = {}
        self._task: asyncio.Task[None] | None = None

    def mark(self, scope: SettingsScope, path: KeyPath, value: Any) -> None:
        """Write `value` (or `REMOVED`) under `path`: in the background of a running event loop, else at once."""
        changes = self._changes.setdefault(scope, {})
        if callable(value) and path in changes:
            value = _after(changes[path], value)
        for later in [known for known in changes if known[: len(path)] == path]:
            del changes[later]
        changes[path] = value
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._write_all()
            return
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_in_background())

    async def flush(self) -> None:
        """Wait until everything that was marked is written, or has failed."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)
        if self._changes:
            await asyncio.to_thread(self._write_all)

    async def _write_in_background(self) -> None:
        while self._changes:
            await asyncio.to_thread(self._write_all)

    def _write_all(self) -> None:
        for scope in tuple(self._changes):
            changes = self._changes.pop(scope)
            try:
                self._storage.with_lock(scope, lambda text, changes=changes: self._changed(text, changes))  # type: ignore[misc]
            except (OSError, ValueError, ConfigError) as error:
                self._report(scope, error)

    def _changed(self, text: str | None, changes: dict[KeyPath, Any]) -> str | None:
        settings = migrate_settings(self._parse(text))
        for path, value in changes.items():
            settings = with_value(settings, path, value)
        rendered = _json.encode_pretty(settings).decode()
        indent = _INDENT.search(text or "")
        if indent is not None and indent[1] != "  ":
            rendered = re.sub(r"^(?:  )+", lambda found: indent[1] * (len(found[0]) // 2), rendered, flags=re.MULTILINE)
        return rendered + ("\n" if text is None or text.endswith("\n") else "")


def _after(earlier: Any, edit: Callable[[Any], Any]) -> Any:
    """An edit behind a change that is not written yet, as one change."""
    if callable(earlier):
        return lambda current: edit(earlier(current))
    return edit(None if earlier is REMOVED else earlier)


def with_value(settings: Settings, path: KeyPath, value: Any) -> Settings:
    """A copy in which `path` leads to `value`, or to nothing for `REMOVED`; what is in its way is replaced.

    A function in place of a value gets the present one, None without it, and returns the new one.
    """
    key, *rest = path
    changed = dict(settings)
    if rest:
        below = settings.get(key)
        if value is REMOVED and not isinstance(below, dict):
            return changed
        changed[key] = with_value(below if isinstance(below, dict) else {}, tuple(rest), value)
    elif value is REMOVED:
        changed.pop(key, None)
    else:
        changed[key] = value(changed.get(key)) if callable(value) else value
    return changed
