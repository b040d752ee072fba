"""Removing a session file: into the trash where there is one, else for good."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from pinyon.session.error import NotASessionError, SessionError, SessionFileMissingError
from pinyon.session.loader import read_session_header

_TRASH_TIMEOUT_S = 30


class DeleteResult(msgspec.Struct, frozen=True):
    """How a session was removed: `trash`, from where it can be taken back, or `unlink`."""

    method: Literal["trash", "unlink"]


def delete_session_file(path: Path) -> DeleteResult:
    """Remove a session file with the `trash` command, else from the disk.

    Raises `SessionFileMissingError` for a missing file, `NotASessionError` for a non-empty file that is no session, and
    `SessionError` where the system refuses.
    """
    try:
        if path.stat().st_size and read_session_header(path) is None:
            raise NotASessionError(path)
        if _trash(path):
            return DeleteResult("trash")
        path.unlink()
    except FileNotFoundError:
        raise SessionFileMissingError(path) from None
    except OSError as error:
        raise SessionError(f"Cannot delete session file {str(path)!r}: {error.strerror or error}.") from error
    return DeleteResult("unlink")


def _trash(path: Path) -> bool:
    """Whether the file is in the trash now, or at least gone."""
    import subprocess

    name = str(path)
    command = ["trash", "--", name] if name.startswith("-") else ["trash", name]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRASH_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return not path.exists()
    return done.returncode == 0 or not path.exists()
