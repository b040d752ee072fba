"""Locks on shared files: a directory `<real path>.lock` beside the file, so that every program that keeps to the
protocol takes turns.

Making the directory takes the lock. The holder renews its modification time; a lock that was not renewed for
`stale_s` belongs to a dead process and is removed by whoever waits. A holder that was displaced (a suspended machine,
a clock jump) notices it through `Lock.ensure_held`, which writers call directly before they publish a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from pinyon.errors import ConfigError

STALE_S = 30.0
"""Age at which waiting tasks take a lock over."""

WAIT_S = 30.0
"""How long a task waits for a lock."""

SYNC_STALE_S = 10.0
"""Age at which blocking callers take a lock over."""

SYNC_ATTEMPTS = 10
SYNC_DELAY_S = 0.02


class LockError(ConfigError):
    """Raised when a shared file cannot be locked: another process holds it, or the folder refuses the lock."""


class LockLostError(LockError):
    """Raised when another process took over a lock that was believed to be held; nothing was written."""


class Lock:
    """A held lock on `path`. `directory` is its visible mark in the file system."""

    __slots__ = ("_identity", "directory", "path")

    def __init__(self, path: Path, directory: Path) -> None:
        self.path = path
        self.directory = directory
        self._identity = _identity(directory)

    def is_held(self) -> bool:
        """Whether the mark in the file system is still the one this lock made."""
        return self._identity is not None and _identity(self.directory) == self._identity

    def ensure_held(self) -> None:
        """Raise `LockLostError` if the lock was taken over, else renew it."""
        if not self.is_held():
            raise LockLostError(
                f"lost the lock {str(self.directory)!r} to another process, so {str(self.path)!r} was not written; "
                "try again"
            )
        self.renew()

    def renew(self) -> None:
        """Tell others that the holder is alive. Does nothing once the lock is lost."""
        if self.is_held():
            with contextlib.suppress(FileNotFoundError):
                os.utime(self.directory)
                self._identity = _identity(self.directory)

    def release(self) -> None:
        """Give the lock back; a lock that somebody else took over is left alone."""
        if self.is_held():
            with contextlib.suppress(FileNotFoundError):
                self.directory.rmdir()
        self._identity = None


def lock_directory(path: Path) -> Path:
    """Where the lock of `path` stands: beside the real file, after symbolic links."""
    return Path(os.path.realpath(path) + ".lock")


@contextlib.contextmanager
def hold_lock(
    path: Path, *, stale_s: float = SYNC_STALE_S, attempts: int = SYNC_ATTEMPTS, delay_s: float = SYNC_DELAY_S
) -> Iterator[Lock]:
    """Hold the lock of `path` for short, blocking work; raises `LockError` after `attempts` tries.

    The folder of `path` must exist. Nothing renews the lock meanwhile, so keep the work well below `stale_s`.
    """
    directory = lock_directory(path)
    for attempt in range(attempts):
        if attempt:
            time.sleep(delay_s)
        if _acquire(directory, stale_s):
            break
    else:
        raise _busy(path, directory, attempts * delay_s)
    lock = Lock(path, directory)
    try:
        yield lock
    finally:
        lock.release()


@contextlib.asynccontextmanager
async def hold_lock_async(path: Path, *, stale_s: float = STALE_S, wait_s: float = WAIT_S) -> AsyncIterator[Lock]:
    """Hold the lock of `path` across awaits, renewing it; raises `LockError` when it stays taken for `wait_s`.

    The folder of `path` must exist. Retries back off from 10 ms to one second, with jitter.
    """
    directory = lock_directory(path)
    deadline = time.monotonic() + wait_s
    delay_s = 0.01
    while not _acquire(directory, stale_s):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise _busy(path, directory, wait_s)
        await asyncio.sleep(min(left_s, delay_s * (1 + os.urandom(1)[0] / 255)))
        delay_s = min(delay_s * 2, 1.0)
    lock = Lock(path, directory)
    renewal = asyncio.create_task(_keep_alive(lock, stale_s / 2))
    try:
        yield lock
    finally:
        renewal.cancel()
        lock.release()


async def _keep_alive(lock: Lock, interval_s: float) -> None:
    while lock.is_held():
        await asyncio.sleep(interval_s)
        lock.renew()


def _acquire(directory: Path, stale_s: float) -> bool:
    if _make(directory):
        return True
    seen = _identity(directory)
    if seen is None:
        return _make(directory)
    if time.time() - seen[2] / 1e9 <= stale_s:
        return False
    return _take_over(directory, seen)


def _make(directory: Path) -> bool:
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return False
    except OSError as error:
        raise LockError(
            f"cannot create the lock {str(directory)!r}: {error.strerror or error}; make its folder writable"
        ) from error
    return True


def _take_over(directory: Path, seen: tuple[int, int, int]) -> bool:
    if _identity(directory) != seen:
        return False  # renewed, or another waiter was faster
    try:
        directory.rmdir()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LockError(
            f"cannot remove the stale lock {str(directory)!r}: {error.strerror or error}; "
            "remove it by hand when no other process uses the file"
        ) from error
    return _make(directory)


def _identity(directory: Path) -> tuple[int, int, int] | None:
    try:
        status = directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns)


def _busy(path: Path, directory: Path, waited_s: float) -> LockError:
    return LockError(
        f"{str(path)!r} is in use by another process: its lock {str(directory)!r} stayed taken for {waited_s:g} s; "
        "try again, or remove the lock if no other process is running"
    )
