"""The errors of session files, entries and lookups; all derive from `pinyon.errors.SessionError`.

SessionError
├── NotASessionError         a file exists, is not empty and does not start with a session header
├── SessionFileMissingError  a file that must exist does not
├── SessionFileExistsError   a new session would overwrite an existing file
├── SessionWriteError        an entry could not be stored; the session is as it was before
├── SessionInUseError        another process has the session open and writes it
├── SessionReadOnlyError     an entry was to be added to a session that was opened for reading only
├── SessionChangedError      another program replaced or shortened the file of an open session
├── EntryNotFoundError       an entry id is not part of the session
├── InvalidSessionIdError    a session id does not follow the allowed pattern
└── MissingSessionCwdError   the working directory that a session was made in does not exist any more
"""

from __future__ import annotations

from os import PathLike, fspath

from pinyon.errors import SessionError

Pathish = str | PathLike[str]

__all__ = [
    "EntryNotFoundError",
    "InvalidSessionIdError",
    "MissingSessionCwdError",
    "NotASessionError",
    "SessionChangedError",
    "SessionError",
    "SessionFileExistsError",
    "SessionFileMissingError",
    "SessionInUseError",
    "SessionReadOnlyError",
    "SessionWriteError",
]


class NotASessionError(SessionError):
    """Raised when a non-empty file is opened as a session and does not start with a session header."""

    def __init__(self, path: Pathish) -> None:
        self.path = fspath(path)
        super().__init__(
            f"{self.path!r} is not a session file: its first entry is no session header. "
            "It was left untouched; name another file."
        )


class SessionFileMissingError(SessionError):
    """Raised when a session file that should be read does not exist."""

    def __init__(self, path: Pathish) -> None:
        self.path = fspath(path)
        super().__init__(f"Session file {self.path!r} does not exist; check the path.")


class SessionFileExistsError(SessionError):
    """Raised when a new session would take the place of an existing file."""

    def __init__(self, path: Pathish) -> None:
        self.path = fspath(path)
        super().__init__(f"{self.path!r} exists already; choose another session id or file name.")


class SessionWriteError(SessionError):
    """Raised when an entry could not be stored. Memory and file hold what they held before the attempt."""

    def __init__(self, path: Pathish, cause: OSError) -> None:
        self.path = fspath(path)
        self.reason = cause.strerror or str(cause)
        super().__init__(
            f"Cannot write session file {self.path!r}: {self.reason}. "
            "The entry was not stored, earlier history is unchanged; free space or fix the permissions and try again."
        )


class SessionChangedError(SessionError):
    """Raised when the file of an open session is not the one that was read, so that writing would mix two histories."""

    def __init__(self, path: Pathish, what: str) -> None:
        self.path = fspath(path)
        super().__init__(f"Session file {self.path!r} {what} since it was opened; open the session again.")


class SessionInUseError(SessionError):
    """Raised when another process has a session open, so that writing here would split it. `pid` is None if unknown."""

    def __init__(self, path: Pathish, pid: int | None = None) -> None:
        self.path = fspath(path)
        self.pid = pid
        who = "another process" if pid is None else f"the process {pid}"
        super().__init__(
            f"Session file {self.path!r} is in use by {who}. Fork it (--if-in-use fork), open it for reading only "
            "(--if-in-use read-only), or end the other process."
        )


class SessionReadOnlyError(SessionError):
    """Raised when an entry is to be added to a session that was opened for reading only."""

    def __init__(self, path: Pathish | None) -> None:
        self.path = None if path is None else fspath(path)
        where = "" if self.path is None else f" {self.path!r}"
        super().__init__(f"The session{where} is open for reading only, because another process writes it; fork it.")


class EntryNotFoundError(SessionError):
    """Raised when an entry id names nothing in the session."""

    def __init__(self, entry_id: str) -> None:
        self.entry_id = entry_id
        super().__init__(f"The session has no entry {entry_id!r}; use an id from its tree.")


class InvalidSessionIdError(SessionError):
    """Raised when a session id could not safely be part of a file name."""

    def __init__(self, session_id: object) -> None:
        self.session_id = session_id
        super().__init__(
            f"Invalid session id {session_id!r}: use at most 200 letters, digits, '.', '_' and '-', "
            "beginning and ending with a letter or digit."
        )


class MissingSessionCwdError(SessionError):
    """Raised when the stored working directory is gone and nobody said where to run instead."""

    def __init__(self, session_file: Pathish | None, session_cwd: Pathish, current_cwd: Pathish) -> None:
        self.session_file = None if session_file is None else fspath(session_file)
        self.session_cwd = fspath(session_cwd)
        self.current_cwd = fspath(current_cwd)
        where = "" if self.session_file is None else f" of session {self.session_file!r}"
        super().__init__(
            f"The working directory{where} does not exist any more: {self.session_cwd!r}. "
            f"Recreate it, or continue the session in {self.current_cwd!r} on purpose."
        )
