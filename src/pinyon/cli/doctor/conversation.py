"""The doctor's look at stored sessions: whether the folder can be used, and which files are damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pinyon.cli.doctor.finding import Finding
from pinyon.errors import SessionError

_MAX_FILES = 300
_MAX_BYTES = 256 * 1024 * 1024
"""How much of a long history is read; the newest files come first."""


def look_at_sessions(folder: Path) -> Iterator[Finding]:
    """Read the newest session files whole and say what is lost in them; nothing is changed."""
    from pinyon.session.listing import newest_first, session_files, session_folders

    if not folder.exists():
        yield Finding("sessions", "note", "there are none yet", str(folder))
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        mend = f"chmod u+rwx {folder}"
        yield Finding("sessions", "broken", "the folder cannot be read and written", str(folder), mend)
        return
    files = newest_first(path for place in (folder, *session_folders(folder)) for path in session_files(place))
    damaged, read, size = 0, 0, 0
    for path in files[:_MAX_FILES]:
        size += path.stat().st_size
        if read and size > _MAX_BYTES:
            break
        read += 1
        for finding in _damage(path):
            damaged += 1
            yield finding
    rest = f"; the newest {read} were read" if read < len(files) else ""
    yield Finding("sessions", "used", f"{len(files)} sessions, {damaged or 'none'} damaged{rest}", str(folder))


def _damage(path: Path) -> Iterator[Finding]:
    from pinyon.session.loader import load_session_file

    if path.stat().st_size == 0:
        return
    try:
        loaded = load_session_file(path)
    except (SessionError, OSError) as error:
        yield Finding("sessions", "broken", str(error), str(path), "move the file away, or restore it from a backup")
        return
    if loaded.diagnostics:
        first, more = loaded.diagnostics[0].message, len(loaded.diagnostics) - 1
        message = first + (f" ({more} more)" if more else "")
        mend = "nothing has to be done: all that is left is used; a copy can be mended by hand"
        yield Finding("sessions", "ignored", message, str(path), mend)
