"""Where the lines of one session go: the seam between the tree in memory and a file.

Nothing here knows what a line says. An append is one write of one complete line; a write that fails leaves the file as
it was. Files are opened for each write and never locked while idle.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from pinyon.session.error import SessionChangedError, SessionFileExistsError, SessionWriteError

_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_BATCH_BYTES = 1024 * 1024


class WriterLease(Protocol):
    """Says who may write a session file. Taken before the first write, given back when the session is closed."""

    def acquire(self, path: Path) -> None:
        """Take the file for this process; raises `SessionError` when another live process has it."""
        ...

    def release(self) -> None:
        """Give the file back; does nothing where it was not taken."""
        ...


class SessionStore(Protocol):
    """Stores the lines of one session. Methods raise `SessionError` and then have changed nothing."""

    @property
    def path(self) -> Path:
        """The file of the session."""
        ...

    def create(self, lines: Iterable[bytes]) -> None:
        """Make the file with these lines; an existing file that is not empty is never touched."""
        ...

    def append(self, line: bytes) -> None:
        """Add one line; raises `FileNotFoundError` when the file is gone."""
        ...

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the whole file by these lines at once; raises `FileNotFoundError` when it is gone."""
        ...

    def claim(self) -> None:
        """Take the right to write now; raises `SessionInUseError` where another writer has it."""
        ...

    def close(self) -> None:
        """Give up the right to write."""
        ...


class FileStore:
    """Lines in a file. `size_bytes` is what was read of an existing file, so that a foreign change is noticed."""

    def __init__(self, path: Path, *, size_bytes: int = 0, lease: WriterLease | None = None) -> None:
        self._path = path
        self._known_size = size_bytes
        self._lease = lease
        self._leased = False

    @property
    def path(self) -> Path:
        """The file of the session."""
        return self._path

    def claim(self) -> None:
        """Take the right to write, if there is one to take; done before the first write at the latest."""
        if self._lease is not None and not self._leased:
            self._lease.acquire(self._path)
            self._leased = True

    def _open_for_write(self, flags: int) -> int:
        self.claim()
        return os.open(self._path, flags | _FLAGS, 0o666)

    def create(self, lines: Iterable[bytes]) -> None:
        """Make the file, and its folder where needed. What was written of a failed attempt is removed again."""
        _make_folder(self._path)
        try:
            descriptor, is_new = self._open_new()
        except FileExistsError:
            raise SessionFileExistsError(self._path) from None
        except OSError as error:
            raise SessionWriteError(self._path, error) from error
        try:
            self._known_size = _write_lines(descriptor, lines)
        except BaseException as error:
            os.ftruncate(descriptor, 0)
            if is_new:
                self._path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise SessionWriteError(self._path, error) from error
            raise
        finally:
            os.close(descriptor)

    def _open_new(self) -> tuple[int, bool]:
        try:
            return self._open_for_write(os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND), True
        except FileExistsError:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | _FLAGS)
            if os.fstat(descriptor).st_size == 0:
                return descriptor, False
            os.close(descriptor)
            raise

    def append(self, line: bytes) -> None:
        """Add one line, after the newline that the last one may lack."""
        try:
            descriptor = self._open_for_write(os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SessionWriteError(self._path, error) from error
        try:
            size = os.fstat(descriptor).st_size
            if size < self._known_size:
                raise SessionChangedError(self._path, "was shortened by another program")
            data = line + b"\n"
            if size and _byte_at(descriptor, size - 1) != b"\n":
                data = b"\n" + data
            _write_or_undo(descriptor, data, size)
            self._known_size = size + len(data)
        except OSError as error:
            raise SessionWriteError(self._path, error) from error
        finally:
            os.close(descriptor)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Write a file beside the old one and put it in its place in one step."""
        self.claim()
        target = self._path.resolve()
        draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            old = target.stat()
            if old.st_size != self._known_size:
                raise SessionChangedError(self._path, "was written by another program")
            self._known_size = _write_draft(draft, lines, old.st_mode & 0o777)
            draft.replace(target)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SessionWriteError(self._path, error) from error
        finally:
            draft.unlink(missing_ok=True)

    def close(self) -> None:
        """Give up the right to write."""
        if self._lease is not None and self._leased:
            self._leased = False
            self._lease.release()


def _write_draft(draft: Path, lines: Iterable[bytes], mode: int) -> int:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600)
    try:
        size = _write_lines(descriptor, lines)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.chmod(mode)
    return size


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SessionWriteError(path, error) from error


def _byte_at(descriptor: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, 1)


def _batches(lines: Iterable[bytes]) -> Iterator[bytes]:
    batch, size = [], 0
    for line in lines:
        batch.append(line)
        size += len(line) + 1
        if size >= _BATCH_BYTES:
            yield b"\n".join((*batch, b""))
            batch, size = [], 0
    if batch:
        yield b"\n".join((*batch, b""))


def _write_lines(descriptor: int, lines: Iterable[bytes]) -> int:
    size = 0
    for batch in _batches(lines):
        _write_all(descriptor, batch)
        size += len(batch)
    return size


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def _write_or_undo(descriptor: int, data: bytes, size: int) -> None:
    """Write all of `data` after the first `size` bytes, or leave the file at that size."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except BaseException:
        # what another process appended meanwhile must stay
        if written and os.fstat(descriptor).st_size == size + written:
            os.ftruncate(descriptor, size)
        raise
