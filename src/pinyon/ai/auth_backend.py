"""Where credentials are kept: the shared `auth.json`, or memory.

A backend gives the stored text and replaces it under a lock. It knows nothing of what the text means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import Protocol

from pinyon._util.atomic import make_private_folder, replace_file
from pinyon._util.lock import Lock, LockError, hold_lock, hold_lock_async
from pinyon._util.safe_path import read_file
from pinyon.errors import AuthError


class CredentialBackend(Protocol):
    """Stores one text. `change` gets the present text (None if there is none) and returns the new one, None for no
    change; it may raise, and then nothing is written.
    """

    @property
    def name(self) -> str:
        """What to call this store in messages, such as its path."""
        ...

    def revision(self) -> Hashable:
        """Differs whenever the text may have changed."""
        ...

    def load(self) -> str | None:
        """The text; raises `AuthError` when it cannot be read."""
        ...

    def update(self, change: Callable[[str | None], str | None]) -> None:
        """Read, change and write under the lock; raises `AuthError`."""
        ...

    async def update_async(self, change: Callable[[str | None], Awaitable[str | None]]) -> None:
        """The same for a change that takes time, such as a token refresh."""
        ...


class MemoryBackend:
    """Keeps the text in memory."""

    def __init__(self, text: str | None = None) -> None:
        self._text = text
        self._revision = 0
        self._turn: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def name(self) -> str:
        """Says that nothing is stored on disk."""
        return "the credentials in memory"

    def revision(self) -> Hashable:
        """Counts the writes."""
        return self._revision

    def load(self) -> str | None:
        """The text."""
        return self._text

    def update(self, change: Callable[[str | None], str | None]) -> None:
        """Change the text."""
        self._store(change(self._text))

    async def update_async(self, change: Callable[[str | None], Awaitable[str | None]]) -> None:
        """Change the text; tasks take turns."""
        loop = asyncio.get_running_loop()
        if self._turn is None or self._turn[0] is not loop:
            self._turn = (loop, asyncio.Lock())
        async with self._turn[1]:
            self._store(await change(self._text))

    def _store(self, text: str | None) -> None:
        if text is not None:
            self._text = text
            self._revision += 1


class FileBackend:
    """A file that other processes use too; created with mode 0600 in a folder of mode 0700, replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def revision(self) -> Hashable:
        """Modification time, size and identity of the file; None without one."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(error) from None
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    def load(self) -> str | None:
        """The text without a byte order mark; None without a file."""
        try:
            return read_file(self.path).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            raise AuthError(
                f"{self.name!r} is not UTF-8 text (byte {error.start}); mend or move the file, it was not changed"
            ) from None
        except OSError as error:
            raise self._unreadable(error) from None

    def update(self, change: Callable[[str | None], str | None]) -> None:
        """Change the file under the lock that other programs keep to."""
        self._make_folder()
        try:
            with hold_lock(self.path) as lock:
                self._publish(change(self.load()), lock)
        except LockError as error:
            raise self._unwritable(str(error)) from error

    async def update_async(self, change: Callable[[str | None], Awaitable[str | None]]) -> None:
        """Change the file under the lock, which is renewed while `change` works."""
        self._make_folder()
        try:
            async with hold_lock_async(self.path) as lock:
                self._publish(await change(self.load()), lock)
        except LockError as error:
            raise self._unwritable(str(error)) from error

    def _make_folder(self) -> None:
        try:
            make_private_folder(self.path.parent)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def _publish(self, text: str | None, lock: Lock) -> None:
        if text is None:
            return
        try:
            replace_file(self.path, text.encode(), private=True, before_publish=lock.ensure_held)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def _unreadable(self, error: OSError) -> AuthError:
        return AuthError(f"cannot read {self.name!r}: {error.strerror or error}; check its permissions")

    def _unwritable(self, reason: str) -> AuthError:
        return AuthError(f"cannot write {self.name!r}: {reason}; the file is as it was")
