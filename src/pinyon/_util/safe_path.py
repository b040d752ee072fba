"""Looking at paths and files that somebody else named: no answer raises, and no read waits or never ends.

A name may be too long, hold a NUL, or stand in a folder that may not be entered; a file may be a pipe that nobody
writes to, or a device without an end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_FILE_BYTES = 64 * 1024 * 1024
"""More than any file of settings or instructions is long."""


def path_exists(path: Path) -> bool:
    """Whether there is something, links followed; False where that cannot be seen."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib raises for names that are too long


def is_file(path: Path) -> bool:
    """Whether there is a regular file, links followed; False where that cannot be seen."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises for folders that may not be entered


def is_folder(path: Path) -> bool:
    """Whether there is a folder, links followed; False where that cannot be seen."""
    return os.path.isdir(path)  # noqa: PTH112 - pathlib raises for folders that may not be entered


def read_file(path: Path, limit_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file. Raises `OSError`, also for a pipe and for more than `limit_bytes`."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError(errno.ESPIPE, "it is a pipe, not a file", str(path))
        data = file.read(limit_bytes + 1) or b""
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes // 1024**2} MiB", str(path))
    return data
