"""What execution environments raise: one class for files, one family for commands."""

from __future__ import annotations

import errno
import os
from typing import Literal

from pinyon.errors import EnvError

FileErrorCode = Literal[
    "aborted",
    "not_found",
    "permission_denied",
    "not_directory",
    "is_directory",
    "invalid",
    "not_supported",
    "unknown",
]
ExecutionErrorCode = Literal["aborted", "timeout", "shell_unavailable", "spawn_error", "callback_error", "unknown"]

_CODE_BY_ERRNO: dict[int, FileErrorCode] = {
    errno.ENOENT: "not_found",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.ENOTDIR: "not_directory",
    errno.EISDIR: "is_directory",
    errno.EINVAL: "invalid",
    errno.EEXIST: "invalid",
    errno.ENOTEMPTY: "invalid",
    errno.ENAMETOOLONG: "invalid",
    errno.ENOTSUP: "not_supported",
}
_ERRNO_BY_CODE: dict[FileErrorCode, int] = {
    "aborted": errno.ECANCELED,
    "not_found": errno.ENOENT,
    "permission_denied": errno.EACCES,
    "not_directory": errno.ENOTDIR,
    "is_directory": errno.EISDIR,
    "invalid": errno.EINVAL,
    "not_supported": errno.ENOTSUP,
    "unknown": errno.EIO,
}


class FileError(EnvError, OSError):
    """Raised when a file operation of an environment fails.

    `code` is the portable reason. It is an `OSError` too: `errno` and `filename` are set, so that code which handles
    local files handles every environment.
    """

    def __init__(self, code: FileErrorCode, message: str, path: str = "") -> None:
        super().__init__(message)
        self.code: FileErrorCode = code
        self.message = message
        self.path = path
        self.errno = _ERRNO_BY_CODE[code]
        self.strerror = os.strerror(self.errno)
        self.filename = path or None

    def __str__(self) -> str:
        return self.message

    @classmethod
    def from_os_error(cls, error: OSError, path: str) -> FileError:
        """The same failure with its portable code; `errno` stays what the system said."""
        code = _CODE_BY_ERRNO.get(error.errno or 0, "unknown")
        converted = cls(code, f"{error.strerror or error}: {path!r}", path)
        if error.errno is not None:
            converted.errno = error.errno
            converted.strerror = error.strerror
        return converted


class ExecutionError(EnvError):
    """Raised when a command cannot be run or is ended before its time; `code` is the portable reason."""

    def __init__(self, code: ExecutionErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ExecutionErrorCode = code
        self.message = message


class ShellTimeoutError(ExecutionError):
    """Raised when a command outlives its timeout of `seconds`.

    When the shell itself had already exited and only processes that it left behind kept the output busy, `exit_code`
    is its exit code and `exited_after_seconds` says when that was.
    """

    def __init__(
        self, seconds: float, *, exit_code: int | None = None, exited_after_seconds: float | None = None
    ) -> None:
        super().__init__("timeout", f"timeout:{seconds:.15g}")
        self.seconds = seconds
        self.exit_code = exit_code
        self.exited_after_seconds = exited_after_seconds


class ShellAbortedError(ExecutionError):
    """Raised when a command is ended by its abort signal."""

    def __init__(self) -> None:
        super().__init__("aborted", "aborted")
