"""Tool operations on the local disk. Blocking calls run in a worker thread."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from pinyon._util.abort import AbortSignal
from pinyon.tools.file_stream import read_blocks
from pinyon.tools.operations.protocol import (
    EditOperations,
    EntryStat,
    FindOperations,
    GrepOperations,
    LsOperations,
    ReadOperations,
    WriteOperations,
)


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _write(path: str, content: str | bytes) -> None:
    """Write in place, so that links and modes stay; a file that is too large for the disk keeps its old content."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if is_regular:
            _reserve(descriptor, len(data))
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        if is_regular:
            file.truncate()


def _reserve(descriptor: int, size: int) -> None:
    """Take the space for a longer file before its old content is touched, where the system can."""
    old_size = os.fstat(descriptor).st_size
    if size <= old_size or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        os.ftruncate(descriptor, old_size)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


def _check_access(path: str, mode: int) -> None:
    if not os.access(path, mode):
        Path(path).stat()  # raises the system's own error where nothing is there
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


class LocalReadOperations:
    """Reads from the local disk."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        return await asyncio.to_thread(_read, path)

    async def access(self, path: str) -> None:
        """Raise where the file cannot be read."""
        await asyncio.to_thread(_check_access, path, os.R_OK)

    def create_read_stream(self, path: str, *, signal: AbortSignal | None = None) -> AsyncIterator[bytes]:
        """The bytes of the file in blocks; see `read_blocks`."""
        return read_blocks(path, signal=signal)

    async def size(self, path: str) -> int:
        """Size of the file in bytes."""
        return (await asyncio.to_thread(os.stat, path)).st_size


class LocalEditOperations:
    """Edits on the local disk."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        return await asyncio.to_thread(_read, path)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Replace the content of the file in place: links and modes stay."""
        await asyncio.to_thread(_write, path, content)

    async def access(self, path: str) -> None:
        """Raise where the file cannot be read and written."""
        await asyncio.to_thread(_check_access, path, os.R_OK | os.W_OK)


class LocalWriteOperations:
    """Writes to the local disk."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        return await asyncio.to_thread(_read, path)

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create the file or replace its content in place: links and modes stay."""
        await asyncio.to_thread(_write, path, content)

    async def mkdir(self, path: str) -> None:
        """Create a directory and its parents."""
        await asyncio.to_thread(os.makedirs, path, exist_ok=True)


class LocalGrepOperations:
    """Searches the local disk."""

    async def is_directory(self, path: str) -> bool:
        """Whether `path` is a directory; raises where nothing is there."""
        info = await asyncio.to_thread(os.stat, path)
        return stat.S_ISDIR(info.st_mode)


class LocalFindOperations:
    """Looks for files on the local disk."""

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`."""
        return await asyncio.to_thread(os.path.exists, path)


class LocalLsOperations:
    """Lists local directories."""

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`."""
        return await asyncio.to_thread(os.path.exists, path)

    async def stat(self, path: str) -> EntryStat:
        """What stands at `path`, links followed."""
        return EntryStat(is_directory=stat.S_ISDIR((await asyncio.to_thread(os.stat, path)).st_mode))

    async def stat_many(self, paths: Sequence[str]) -> list[EntryStat | None]:
        """What stands at each path, links followed; None where nothing does."""
        return await asyncio.to_thread(lambda: [_entry_stat(path) for path in paths])

    async def readdir(self, path: str) -> list[str]:
        """Names of the direct children."""
        return await asyncio.to_thread(os.listdir, path)


def _entry_stat(path: str) -> EntryStat | None:
    try:
        return EntryStat(is_directory=stat.S_ISDIR(Path(path).stat().st_mode))
    except OSError:
        return None


def default_read_operations() -> ReadOperations:
    """Read operations on the local disk."""
    return LocalReadOperations()


def default_edit_operations() -> EditOperations:
    """Edit operations on the local disk."""
    return LocalEditOperations()


def default_write_operations() -> WriteOperations:
    """Write operations on the local disk."""
    return LocalWriteOperations()


def default_grep_operations() -> GrepOperations:
    """Grep operations on the local disk."""
    return LocalGrepOperations()


def default_find_operations() -> FindOperations:
    """Find operations on the local disk."""
    return LocalFindOperations()


def default_ls_operations() -> LsOperations:
    """Ls operations on the local disk."""
    return LocalLsOperations()
