"""Finding, making and removing sessions: the seam between programs and where sessions are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from pinyon._util.abort import AbortSignal
from pinyon.session.delete import DeleteResult
from pinyon.session.error import MissingSessionCwdError
from pinyon.session.listing import ListProgress, SessionInfo
from pinyon.session.session import Session


class SessionManager(Protocol):
    """Life cycle and discovery of sessions. `session_dir` is None where there are no files."""

    @property
    def cwd(self) -> Path:
        """The working directory that sessions are made for and listed by."""
        ...

    @property
    def session_dir(self) -> Path | None:
        """The folder of the session files."""
        ...

    async def create_session(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
    ) -> Session:
        """A new, empty session."""
        ...

    async def open_session(self, ref: str | Path, *, cwd_override: str | Path | None = None) -> Session:
        """The session at a path, or with an id where sessions are kept in memory."""
        ...

    async def continue_recent_session(self) -> Session:
        """The session that was used last, or a new one."""
        ...

    async def list_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> list[SessionInfo]:
        """The sessions of the working directory, newest first."""
        ...

    async def list_all_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> list[SessionInfo]:
        """The sessions of all working directories, newest first."""
        ...

    async def find_by_id(self, id: str) -> str | None:  # noqa: A002 - the field's own name
        """What `open_session` takes for the session of the working directory with exactly this id."""
        ...

    async def fork_session(
        self,
        source: str | Path | Session,
        *,
        target_cwd: str | Path | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
    ) -> Session:
        """A copy of a whole session under a new id."""
        ...

    async def branch_session(self, session: Session, leaf_id: str) -> Session:
        """A new session with one branch of another, which stays as it is."""
        ...

    async def import_session(self, path: str | Path, *, cwd_override: str | Path | None = None) -> Session:
        """A session file from elsewhere, taken in and opened."""
        ...

    async def delete_session(self, ref: str | Path) -> DeleteResult:
        """Remove a session."""
        ...

    async def rename_session(self, ref: str | Path, name: str) -> None:
        """Give a session another name; an empty one clears it."""
        ...


def require_session_cwd(session: Session, current_cwd: str | Path) -> None:
    """Raise `MissingSessionCwdError` when the working directory of a session does not exist any more."""
    if not Path(session.get_cwd()).is_dir():
        raise MissingSessionCwdError(session.get_session_file(), session.get_cwd(), current_cwd)
