"""What each tool needs from the world. A tool given other operations works on other files and other machines.

Paths are absolute. Files that cannot be used raise `OSError` (a `FileError` is one).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from pinyon._util.abort import AbortSignal


class ReadOperations(Protocol):
    """What the read tool needs."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        ...

    async def access(self, path: str) -> None:
        """Raise where the file cannot be read."""
        ...


@runtime_checkable
class StreamReadOperations(Protocol):
    """Read operations that can also read in pieces; without them the whole file is loaded."""

    def create_read_stream(self, path: str, *, signal: AbortSignal | None = None) -> AsyncIterator[bytes]:
        """The bytes of the file in blocks, until its end or the abort."""
        ...


@runtime_checkable
class ImageTypeOperations(Protocol):
    """Read operations that know the image type of a file; without them the built-in detection is used."""

    async def detect_image_mime_type(self, path: str) -> str | None:
        """MIME type of a supported image, None for everything else."""
        ...


@runtime_checkable
class SizedReadOperations(Protocol):
    """Read operations that know the size of a file without reading it."""

    async def size(self, path: str) -> int:
        """Size of the file in bytes."""
        ...


class EditOperations(Protocol):
    """What the edit tool needs."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        ...

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Replace the content of the file; text is written as UTF-8."""
        ...

    async def access(self, path: str) -> None:
        """Raise where the file cannot be read and written."""
        ...


class WriteOperations(Protocol):
    """What the write tool needs."""

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create the file or replace its content; text is written as UTF-8."""
        ...

    async def mkdir(self, path: str) -> None:
        """Create a directory and its parents; an existing one is fine."""
        ...


@runtime_checkable
class ReadableWriteOperations(Protocol):
    """Write operations that can also read, so that what looked undecodable is not written over with its looks."""

    async def read_file(self, path: str) -> bytes:
        """The whole file."""
        ...


class BashExecOptions(msgspec.Struct, kw_only=True):
    """How to run a command: where its output goes, how long it may take, its whole environment (None: inherited)."""

    on_data: Callable[[bytes], None]
    timeout_seconds: float | None = None
    env: Mapping[str, str] | None = None


class BashOperations(Protocol):
    """What the bash and powershell tools need."""

    async def exec(
        self, command: str, cwd: str, options: BashExecOptions, signal: AbortSignal | None = None
    ) -> int | None:
        """Run `command` in `cwd` and give its exit code, None where there is none.

        Raises `ShellAbortedError` after an abort and `ShellTimeoutError` after the timeout.
        """
        ...


class GrepOperations(Protocol):
    """What the grep tool needs to find its way; the search itself runs on the local disk."""

    async def is_directory(self, path: str) -> bool:
        """Whether `path` is a directory; raises where nothing is there."""
        ...


@runtime_checkable
class ContentOperations(Protocol):
    """Grep operations that give file contents: matching then happens in this process."""

    async def read_file(self, path: str) -> bytes | str:
        """The whole file."""
        ...


class DirectoryEntry(msgspec.Struct, frozen=True):
    """A child of a directory as a search sees it: links are not followed, `is_file` is a regular file."""

    name: str
    is_directory: bool
    is_file: bool


@runtime_checkable
class WalkOperations(Protocol):
    """Search operations on files that are not on the local disk."""

    async def list_entries(self, path: str) -> list[DirectoryEntry]:
        """The direct children of a directory."""
        ...

    async def read_file(self, path: str) -> bytes | str:
        """The whole file; ignore files are read with it."""
        ...


class FindOperations(Protocol):
    """What the find tool needs; without more the search runs on the local disk."""

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`."""
        ...


@runtime_checkable
class GlobOperations(Protocol):
    """Find operations that do the whole search."""

    async def glob(self, pattern: str, cwd: str, *, ignore: Sequence[str], limit: int) -> list[str]:
        """Paths below `cwd` that match `pattern` and none of `ignore`, at most `limit`, absolute or relative to it."""
        ...


class EntryStat(msgspec.Struct, frozen=True):
    """What ls shows of an entry, links followed."""

    is_directory: bool


class LsOperations(Protocol):
    """What the ls tool needs."""

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`."""
        ...

    async def stat(self, path: str) -> EntryStat:
        """What stands at `path`, links followed; raises where nothing does."""
        ...

    async def readdir(self, path: str) -> list[str]:
        """Names of the direct children, hidden ones included."""
        ...


@runtime_checkable
class BatchStatOperations(Protocol):
    """Ls operations that look at many entries at once."""

    async def stat_many(self, paths: Sequence[str]) -> list[EntryStat | None]:
        """What stands at each path, links followed; None where nothing does."""
        ...
