"""Where the raw lines of an opened file come from: memory for small files, the file itself for large ones."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from threading import Lock
from typing import Protocol

from pinyon.session.error import SessionChangedError, SessionError

WINDOW_BYTES = 256 * 1024


class LineSource(Protocol):
    """Gives back bytes that were seen while the file was read."""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes at `offset`."""
        ...

    def window(self, offset: int, length: int) -> tuple[int, bytes]:
        """A piece of the file that holds these bytes, and where it begins; for reading many lines in a row."""
        ...

    def close(self) -> None:
        """Release what the source holds; later reads fail."""
        ...


class MemoryLines:
    """A file that is held in memory whole."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes at `offset`."""
        return self._data[offset : offset + length]

    def window(self, offset: int, length: int) -> tuple[int, bytes]:  # noqa: ARG002 - the window is everything
        """The whole file."""
        return 0, self._data

    def close(self) -> None:
        """Nothing to release."""


class FileLines:
    """A file that stays open for reading, with one window of it in memory.

    The open descriptor keeps the lines readable when the file is renamed, replaced or deleted meanwhile.
    """

    def __init__(self, path: Path, window_bytes: int = WINDOW_BYTES) -> None:
        self._path = path
        self._window_bytes = window_bytes
        self._window = (0, b"")
        self._lock = Lock()
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        self._finalizer = weakref.finalize(self, os.close, self._descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes at `offset`; raises `SessionChangedError` when the file holds fewer."""
        start, data = self.window(offset, length)
        return data[offset - start : offset - start + length]

    def window(self, offset: int, length: int) -> tuple[int, bytes]:
        """The current window where it holds these bytes, else a new one that begins with them."""
        start, data = self._window
        if start <= offset and offset + length <= start + len(data):
            return self._window
        data = self._read_at(offset, max(length, self._window_bytes))
        if len(data) < length:
            raise SessionChangedError(self._path, "was shortened by another program")
        self._window = (offset, data)
        return self._window

    def _read_at(self, offset: int, length: int) -> bytes:
        if not self._finalizer.alive:
            raise SessionError(f"Session file {str(self._path)!r} was closed; open the session again.")
        with self._lock:
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            pieces = []
            while length > 0 and (piece := os.read(self._descriptor, length)):
                pieces.append(piece)
                length -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file."""
        self._finalizer()
