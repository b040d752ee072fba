"""The right to write a session file: an advisory lock beside it that the operating system gives back after a crash.

The lock file `.<name>.lock` holds the process id of the writer, for messages. What counts is the lock on it, which ends
with the process, however it ends. Programs that do not know the lock are not kept out; their lines become branches.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import msgspec

from pinyon.session.error import SessionInUseError

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_ATTEMPTS = 3
_DELAY_S = 0.005
"""Tries to take a lock: whoever only asks for the writer holds it for a moment."""

_LOCKED_BYTE = 1 << 30
"""Offset of the byte that is locked on Windows, where the locked range itself cannot be read."""


class SessionWriter(msgspec.Struct, frozen=True):
    """Who writes a session file. `pid` is None where the writer left no readable id."""

    pid: int | None


class SessionLease:
    """Holds the right to write one session file. Implements `WriterLease`.

    Where a file system knows no locks, or the folder cannot be written, everybody may write: lines of two writers do
    not harm each other.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._path: Path | None = None

    def acquire(self, path: Path) -> None:
        """Take the file for this object. Raises `SessionInUseError` where another one, in any process, has it."""
        lock = lock_path(path)
        while self._descriptor is None:
            descriptor = _open(lock)
            if descriptor is None:
                return
            if not _lock_soon(descriptor):
                pid = _read_pid(descriptor)
                os.close(descriptor)
                raise SessionInUseError(path, pid)
            if not _is_current(descriptor, lock):
                os.close(descriptor)  # the holder before removed it; the next one is made anew
                continue
            self._descriptor, self._path = descriptor, lock
            _write_pid(descriptor)

    def release(self) -> None:
        """Give the file back and remove the lock file."""
        if self._descriptor is None or self._path is None:
            return
        if os.name == "nt":  # an open file cannot be removed there, and a removed one is missed by nobody
            os.close(self._descriptor)
            _remove(self._path)
        else:  # whoever opened it meanwhile sees that it is gone
            _remove(self._path)
            os.close(self._descriptor)
        self._descriptor = self._path = None


def find_writer(path: Path) -> SessionWriter | None:
    """Who has the right to write a session file now; None where nobody has."""
    lock = lock_path(path)
    try:
        descriptor = os.open(lock, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        return None if _lock(descriptor) else SessionWriter(_read_pid(descriptor))
    finally:
        os.close(descriptor)


def lock_path(path: Path) -> Path:
    """Where the lock of a session file stands: beside the real file, after symbolic links."""
    real = Path(os.path.realpath(path))
    return real.with_name(f".{real.name}.lock")


def _remove(lock: Path) -> None:
    with contextlib.suppress(OSError):
        lock.unlink()


def _open(lock: Path) -> int | None:
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        return os.open(lock, _FLAGS, 0o600)
    except OSError:
        return None  # the write that follows tells what is wrong with the folder


def _lock_soon(descriptor: int) -> bool:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_DELAY_S)
        if _lock(descriptor):
            return True
    return False


def _lock(descriptor: int) -> bool:
    """Lock without waiting; True also where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _is_current(descriptor: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except OSError:
        return False


def _write_pid(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())


def _read_pid(descriptor: int) -> int | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
