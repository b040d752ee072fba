"""Sessions in the memory of one process: kept, listed, opened and forked like files, and gone with the process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from pinyon._util.abort import AbortSignal
from pinyon.session.context import SessionEntryLike, entries_of
from pinyon.session.delete import DeleteResult
from pinyon.session.error import SessionError
from pinyon.session.listing import ListProgress, SessionInfo, SessionSummary
from pinyon.session.manager import require_session_cwd
from pinyon.session.naming import absolute_cwd
from pinyon.session.session import Session
from pinyon.session.transfer import open_existing

SessionInfos: TypeAlias = list[SessionInfo]


class InMemorySessionManager:
    """Keeps its sessions by id. `entries` is a conversation to begin with."""

    def __init__(self, *, cwd: str | Path | None = None, entries: Iterable[SessionEntryLike] | None = None) -> None:
        self._cwd = Path(absolute_cwd(cwd or Path.cwd()))
        self._sessions: dict[str, Session] = {}
        if entries is not None:
            self._keep(Session.in_memory(self._cwd, lines=(entry.line for entry in entries_of(entries))))

    @property
    def cwd(self) -> Path:
        """The working directory of new sessions."""
        return self._cwd

    @property
    def session_dir(self) -> None:
        """There is no folder."""

    @classmethod
    def create(cls, cwd: str | Path | None = None) -> Session:
        """A session that is kept by nobody else."""
        return Session.in_memory(cwd)

    def _keep(self, session: Session) -> Session:
        """Remember a session, as the last one used."""
        self._sessions.pop(session.get_session_id(), None)
        self._sessions[session.get_session_id()] = session
        return session

    def _find(self, ref: str | Path) -> Session:
        session = self._sessions.get(str(ref))
        if session is None:
            raise SessionError(f"There is no session {str(ref)!r} in memory; use an id from the list.")
        return session

    async def create_session(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
    ) -> Session:
        """A new, empty session. Raises `SessionError` where the id is taken."""
        if id is not None and id in self._sessions:
            raise SessionError(f"There is already a session {id!r} in memory; choose another id.")
        return self._keep(Session.in_memory(self._cwd, id=id, parent_session=parent_session))

    async def open_session(self, ref: str | Path, *, cwd_override: str | Path | None = None) -> Session:
        """The session with this id: always the same object."""
        session = self._keep(self._find(ref))
        if cwd_override is not None:
            session.set_cwd(cwd_override)
        return session

    async def continue_recent_session(self) -> Session:
        """The session that was made or opened last, or a new one."""
        last = next(reversed(self._sessions.values()), None)
        return last if last is not None else await self.create_session()

    async def list_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> SessionInfos:
        """The sessions of the working directory, newest first; `path` is their id."""
        here = str(self._cwd)
        return _listed([s for s in self._sessions.values() if s.get_cwd() == here], on_progress, signal)

    async def list_all_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> SessionInfos:
        """All sessions, newest first; `path` is their id."""
        return _listed(list(self._sessions.values()), on_progress, signal)

    async def find_by_id(self, id: str) -> str | None:  # noqa: A002 - the field's own name
        """The id, where there is such a session."""
        return id if id in self._sessions else None

    async def fork_session(
        self,
        source: str | Path | Session,
        *,
        target_cwd: str | Path | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
    ) -> Session:
        """A copy of a whole session, given itself or by its id, under a new id."""
        session = source if isinstance(source, Session) else self._find(source)
        if id is not None and id in self._sessions:
            raise SessionError(f"There is already a session {id!r} in memory; choose another id.")
        return self._keep(_copy(session, target_cwd or self._cwd, id))

    async def branch_session(self, session: Session, leaf_id: str) -> Session:
        """A new session with one branch of another, which stays as it is."""
        return self._keep(session.branched(leaf_id))

    async def import_session(self, path: str | Path, *, cwd_override: str | Path | None = None) -> Session:
        """The conversation of a session file, copied into memory; the file stays as it is."""
        return self._keep(await asyncio.to_thread(self._import, path, cwd_override))

    def _import(self, path: str | Path, cwd_override: str | Path | None) -> Session:
        session = open_existing(path)
        if cwd_override is None:
            require_session_cwd(session, self._cwd)
        return _copy(session, cwd_override or session.get_cwd(), None)

    async def delete_session(self, ref: str | Path) -> DeleteResult:
        """Forget the session with this id."""
        del self._sessions[self._find(ref).get_session_id()]
        return DeleteResult("unlink")

    async def rename_session(self, ref: str | Path, name: str) -> None:
        """Give the session with this id another name; an empty one clears it."""
        self._find(ref).append_session_info(name)


def _copy(session: Session, cwd: str | Path, session_id: str | None) -> Session:
    lines = session.lines()
    next(lines)
    origin = session.get_session_file()
    parent = session.get_session_id() if origin is None else str(origin)
    return Session.in_memory(cwd, id=session_id, parent_session=parent, lines=lines)


def _listed(sessions: list[Session], on_progress: ListProgress | None, signal: AbortSignal | None) -> SessionInfos:
    if signal is not None:
        signal.raise_if_aborted()
    infos = sorted(map(_info, sessions), key=lambda info: -info.modified_ms)
    if on_progress is not None:
        on_progress(len(infos), len(infos), infos)
    return infos


def _info(session: Session) -> SessionInfo:
    summary = SessionSummary()
    lines = session.lines()
    next(lines)
    for line in lines:
        summary.take(line)
    return summary.info(session.get_session_id(), session.get_header(), 0)
