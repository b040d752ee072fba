"""Where settings stand: the user's and the project's file, or two texts in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from pinyon._util.config import CONFIG_DIR_NAME
from pinyon._util.safe_path import path_exists, read_file

SettingsScope = Literal["global", "project"]
"""Whose settings: the user's (`<agent folder>/settings.json`) or the project's (`<cwd>/.pi/settings.json`)."""

SettingsUpdate = Callable[[str | None], str | None]
"""Gets the current text, None without a file; returns the new text, or None to leave it as it is.

May be called more than once for one update.
"""

_WRITE_ATTEMPTS = 1500
_WRITE_DELAY_S = 0.01
"""A change waits longer than a lock that a dead program left behind lasts."""

_PAUSE_S = 0.05
"""Between two changes of one program the lock stays free for this long: others give up after ten looks, 20 ms apart."""


class SettingsStorage(Protocol):
    """The two texts that settings are read from and written to."""

    def path(self, scope: SettingsScope) -> Path | None:
        """The file of a scope, None where there is none."""
        ...

    def read(self, scope: SettingsScope) -> str | None:
        """The text of a scope, None where it does not exist; raises `OSError` or `UnicodeDecodeError`."""
        ...

    def with_lock(self, scope: SettingsScope, update: SettingsUpdate) -> None:
        """Read, change and write the text of a scope while no other program does."""
        ...


class FileSettingsStorage:
    """Settings in the two files that pi uses, under its lock. Files and folders appear with the first write."""

    def __init__(self, cwd: Path, agent_dir: Path | None) -> None:
        self._paths: dict[SettingsScope, Path | None] = {
            "global": None if agent_dir is None else agent_dir / "settings.json",
            "project": cwd / CONFIG_DIR_NAME / "settings.json",
        }
        self._released: dict[SettingsScope, float] = {}

    def path(self, scope: SettingsScope) -> Path | None:
        """The file of a scope; None for the global one without an agent folder."""
        return self._paths[scope]

    def read(self, scope: SettingsScope) -> str | None:
        """The text of a file without its byte order mark; waits for a program that is writing it."""
        path = self._paths[scope]
        if path is None:
            return None
        text = _read_text(path)
        if text is None or not os.path.isdir(f"{os.path.realpath(path)}.lock"):  # noqa: PTH112 - hot start-up path
            return text
        return _read_under_lock(path)

    def with_lock(self, scope: SettingsScope, update: SettingsUpdate) -> None:
        """Change a file by replacing it as a whole; raises `ConfigError` when it stays locked or has no home."""
        from pinyon._util.atomic import replace_file
        from pinyon._util.lock import hold_lock
        from pinyon.errors import ConfigError

        path = self._paths[scope]
        if path is None:
            raise ConfigError("there is no agent folder to keep settings in: set HOME or PI_CODING_AGENT_DIR")
        if not path_exists(path) and update(None) is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        time.sleep(max(0.0, self._released.get(scope, 0.0) + _PAUSE_S - time.monotonic()))
        with hold_lock(path, attempts=_WRITE_ATTEMPTS, delay_s=_WRITE_DELAY_S) as lock:
            text = update(_read_text(path))
            if text is not None:
                replace_file(path, text.encode(), before_publish=lock.ensure_held)
        self._released[scope] = time.monotonic()


class MemorySettingsStorage:
    """Settings in memory, for tests and for programs that bring their own."""

    def __init__(self, texts: dict[SettingsScope, str] | None = None) -> None:
        self.texts: dict[SettingsScope, str] = dict(texts or {})

    def path(self, scope: SettingsScope) -> Path | None:
        """Memory has no files."""
        del scope
        return None

    def read(self, scope: SettingsScope) -> str | None:
        """The text of a scope."""
        return self.texts.get(scope)

    def with_lock(self, scope: SettingsScope, update: SettingsUpdate) -> None:
        """Change a text."""
        text = update(self.texts.get(scope))
        if text is not None:
            self.texts[scope] = text


def _read_text(path: Path) -> str | None:
    try:
        data = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return data.decode("utf-8-sig")


def _read_under_lock(path: Path) -> str | None:
    from pinyon._util.lock import LockError, hold_lock

    try:
        with hold_lock(path):
            return _read_text(path)
    except LockError:
        return _read_text(path)  # reading needs no permission to write, and a lock may be left over
