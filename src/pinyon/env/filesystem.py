"""Files as an execution environment offers them, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec


class FileKind(StrEnum):
    """What a directory entry is; symbolic links are not followed."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


class FileInfo(msgspec.Struct, frozen=True):
    """One directory entry: absolute `path`, base `name`, `size` in bytes, `mtime` in seconds since the epoch."""

    path: str
    name: str
    kind: FileKind
    size: int
    mtime: float


class FileSystem(Protocol):
    """Files of an environment. Relative paths count from `cwd`; every failure is a `FileError`."""

    @property
    def cwd(self) -> str:
        """The absolute directory that relative paths count from."""
        ...

    async def absolute_path(self, path: str) -> str:
        """`path` made absolute, without looking whether it exists and without resolving links."""
        ...

    async def join_path(self, parts: Sequence[str]) -> str:
        """`parts` joined by the rules of this environment."""
        ...

    async def read_text_file(self, path: str) -> str:
        """The whole file as UTF-8; invalid bytes become U+FFFD."""
        ...

    async def read_text_lines(self, path: str, max_lines: int = 0) -> list[str]:
        """The first `max_lines` lines without their line ends; 0 or less means all."""
        ...

    async def read_binary_file(self, path: str) -> bytes:
        """The whole file."""
        ...

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Create or replace a file and the directories above it; text is written as UTF-8."""
        ...

    async def append_file(self, path: str, content: str | bytes) -> None:
        """Add to the end of a file, creating it and the directories above it."""
        ...

    async def rename_file(self, source: str, target: str) -> None:
        """Move `source` over `target` in one step; never falls back to a copy."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """What stands at `path`, a final link not followed."""
        ...

    async def list_dir(self, path: str) -> list[FileInfo]:
        """The direct children of a directory by name, links not followed."""
        ...

    async def canonical_path(self, path: str) -> str:
        """The real path of something that exists, all links resolved."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether something stands at `path`, links followed; only "not found" is False, other failures raise."""
        ...

    async def create_dir(self, path: str, *, recursive: bool = True) -> None:
        """Create a directory; with `recursive` its parents too, and an existing directory is fine."""
        ...

    async def remove(self, path: str, *, recursive: bool = False, force: bool = False) -> None:
        """Delete a file, link or empty directory, with `recursive` a tree; with `force` a missing path is fine."""
        ...

    async def create_temp_dir(self, prefix: str = "tmp-") -> str:
        """A new empty directory for temporary files; gone after `cleanup`."""
        ...

    async def create_temp_file(self, prefix: str = "tmp-", suffix: str = "") -> str:
        """A new empty temporary file; gone after `cleanup`."""
        ...

    async def cleanup(self) -> None:
        """Release what the environment holds; never raises."""
        ...
