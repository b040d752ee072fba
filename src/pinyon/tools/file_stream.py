"""A local file as a stream of blocks, read in worker threads and never past what it was at the start."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from pinyon._util.abort import AbortSignal

BLOCK_BYTES = 256 * 1024
"""Size of one block."""

_POLL_S = 0.02

Result = TypeVar("Result")


async def read_blocks(path: str, *, signal: AbortSignal | None = None) -> AsyncIterator[bytes]:
    """The bytes of a file in blocks.

    A regular file is read up to the size it had when it was opened, so that a growing log ends. Files that tell no size
    (`/proc`, pipes, devices) are read to their end; waiting for a slow one blocks no thread and ends with the abort.
    Raises `OSError`, also for a terminal, whose input belongs to the user.
    """
    source = await _Source.open(path)
    try:
        while True:
            if signal is not None:
                signal.raise_if_aborted()
            block = await source.read()
            if block is None:
                await asyncio.sleep(_POLL_S)
                continue
            if not block:
                return
            yield block
    finally:
        source.close()


class _Source:
    """A descriptor that is closed only when no thread is reading from it any more."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._left = size or None
        self._reading: asyncio.Future[bytes | None] | None = None

    @classmethod
    async def open(cls, path: str) -> _Source:
        opening = _in_thread(lambda: _open(path))
        try:
            descriptor, size = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unused)
            raise
        return cls(descriptor, size)

    async def read(self) -> bytes | None:
        """The next block, empty at the end, None where nothing has arrived yet."""
        if self._left == 0:
            return b""
        wanted = BLOCK_BYTES if self._left is None else min(self._left, BLOCK_BYTES)
        self._reading = _in_thread(lambda: _read(self._descriptor, wanted))
        block = await asyncio.shield(self._reading)
        if block and self._left is not None:
            self._left -= len(block)
        return block

    def close(self) -> None:
        if self._reading is None or self._reading.done():
            os.close(self._descriptor)
        else:
            self._reading.add_done_callback(lambda _: os.close(self._descriptor))


def _in_thread(work: Callable[[], Result]) -> asyncio.Future[Result]:
    return asyncio.get_running_loop().run_in_executor(None, work)


def _open(path: str) -> tuple[int, int]:
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(path, flags)
    try:
        return descriptor, _size_of(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise


def _size_of(descriptor: int, path: str) -> int:
    info = os.fstat(descriptor)
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.isatty(descriptor):
        raise OSError(errno.ENOTSUP, "is a terminal, not a file", path)
    return info.st_size if stat.S_ISREG(info.st_mode) else 0


def _read(descriptor: int, size: int) -> bytes | None:
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None


def _close_unused(opening: asyncio.Future[tuple[int, int]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        os.close(opening.result()[0])
