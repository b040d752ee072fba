"""What files gave when they were read last, so that loading again reads only what changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pinyon.resources.diagnostic import ResourceDiagnostic

T = TypeVar("T")

_FRESH_NS = 2_000_000_000
"""A file that changed this shortly before it was read may change again without a new time; it is not kept."""


class _Kept(msgspec.Struct, frozen=True):
    stamp: tuple[int, int, int, int]
    value: Any
    diagnostics: list[ResourceDiagnostic]


class FileCache:
    """Values by path, kept as long as the file stays what it was (device, inode, size, time of change)."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}
        self.reads = 0
        """How many files were read so far."""

    def load(
        self,
        path: Path,
        read: Callable[[Path, list[ResourceDiagnostic]], T | None],
        diagnostics: list[ResourceDiagnostic],
    ) -> T | None:
        """What `read` makes of the file, now or earlier; what it told is told again."""
        stamp = _stamp(path)
        kept = self._kept.get(path)
        if kept is None or stamp is None or kept.stamp != stamp:
            told: list[ResourceDiagnostic] = []
            self.reads += 1
            kept = _Kept(stamp or (0, 0, 0, 0), read(path, told), told)
            self._kept.pop(path, None)
            if stamp is not None and time.time_ns() - stamp[3] > _FRESH_NS:
                self._kept[path] = kept
        diagnostics += kept.diagnostics
        value: T | None = kept.value
        return value


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - hot
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
