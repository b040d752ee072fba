"""Failures of the file system in words that a model can act on."""

from __future__ import annotations

import errno

from pinyon._util.os_text import readable_name
from pinyon.errors import ToolError


class FileAccessError(ToolError):
    """Raised when a file cannot be read or written; `code` is the symbolic error number such as `ENOENT`."""

    def __init__(self, action: str, path: str, error: OSError, advice: str = "") -> None:
        self.code = errno_name(error)
        self.path = path
        reason = error.strerror or str(error)
        super().__init__(
            f"Cannot {action} {readable_name(path)!r}: {reason} ({self.code}).{' ' + advice if advice else ''}"
        )


def errno_name(error: OSError) -> str:
    """Symbolic name of the error number, `EIO` where there is none."""
    return errno.errorcode.get(error.errno or 0, "EIO")
