"""Execution environments: files and a shell in one place. Other places than this machine plug in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.env.error import (
        ExecutionError,
        ExecutionErrorCode,
        FileError,
        FileErrorCode,
        ShellAbortedError,
        ShellTimeoutError,
    )
    from pinyon.env.filesystem import FileInfo, FileKind, FileSystem
    from pinyon.env.local import LocalEnv
    from pinyon.env.memory import CommandCall, CommandHandler, MemoryEnv
    from pinyon.env.process import LIVE_COMMANDS, LiveCommands
    from pinyon.env.shell import ExecutionEnv, Shell, ShellExecOptions, ShellResult

__all__ = [
    "LIVE_COMMANDS",
    "CommandCall",
    "CommandHandler",
    "ExecutionEnv",
    "ExecutionError",
    "ExecutionErrorCode",
    "FileError",
    "FileErrorCode",
    "FileInfo",
    "FileKind",
    "FileSystem",
    "LiveCommands",
    "LocalEnv",
    "MemoryEnv",
    "Shell",
    "ShellAbortedError",
    "ShellExecOptions",
    "ShellResult",
    "ShellTimeoutError",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.env.error": (
            "ExecutionError",
            "ExecutionErrorCode",
            "FileError",
            "FileErrorCode",
            "ShellAbortedError",
            "ShellTimeoutError",
        ),
        "pinyon.env.filesystem": ("FileInfo", "FileKind", "FileSystem"),
        "pinyon.env.local": ("LocalEnv",),
        "pinyon.env.memory": ("CommandCall", "CommandHandler", "MemoryEnv"),
        "pinyon.env.process": ("LIVE_COMMANDS", "LiveCommands"),
        "pinyon.env.shell": ("ExecutionEnv", "Shell", "ShellExecOptions", "ShellResult"),
    },
)
