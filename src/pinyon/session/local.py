"""Sessions in files: a folder for each working directory, or one flat folder that somebody chose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, Unpack

from pinyon._util.abort import AbortSignal
from pinyon.session.delete import DeleteResult, delete_session_file
from pinyon.session.error import SessionError
from pinyon.session.lease import SessionLease
from pinyon.session.listing import (
    ListProgress,
    SessionInfo,
    collect_session_infos,
    has_cwd,
    newest_first,
    read_session_info,
    readable_headers,
    session_files,
    session_folders,
)
from pinyon.session.lookup import SessionLookup, SessionRef, resolve_session_argument
from pinyon.session.naming import absolute_cwd, default_session_dir, sessions_root
from pinyon.session.session import Session, SessionKeywords
from pinyon.session.transfer import fork_session_file, import_session_file, open_existing

SessionInfos: TypeAlias = list[SessionInfo]
Pathish: TypeAlias = str | Path

_PUBLISH_HERE = 10
_PUBLISH_ALL = 100


class LocalSessionManager:
    """Makes and finds the session files of one working directory.

    Without `session_dir` they lie in the folder that belongs to the working directory, below the agent folder. A folder
    given as `session_dir` is flat and may hold sessions of several working directories; only those of `cwd` are listed
    and continued. Files are read in threads; a session in use must be changed only through its own object. Its sessions
    hold a `SessionLease` while they write, unless `lease` says otherwise.
    """

    def __init__(
        self, *, cwd: Pathish | None = None, session_dir: Pathish | None = None, **keywords: Unpack[SessionKeywords]
    ) -> None:
        self._cwd = Path(absolute_cwd(cwd or Path.cwd()))
        keywords.setdefault("lease", SessionLease)
        self._keywords = keywords
        default = default_session_dir(self._cwd, keywords.get("agent_dir"))
        self._dir = default if session_dir is None else Path(absolute_cwd(session_dir))
        self._is_custom = self._dir != default

    @property
    def cwd(self) -> Path:
        """The working directory that sessions are made for and listed by."""
        return self._cwd

    @property
    def session_dir(self) -> Path | None:
        """The folder of the session files; None without a home directory."""
        return self._dir

    # -- documented names of the class itself -------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        cwd: Pathish | None = None,
        session_dir: Pathish | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
    ) -> Session:
        """A new session; its file appears with the first message."""
        return Session.create(cwd, session_dir, id=id, parent_session=parent_session, lease=SessionLease)

    @classmethod
    async def open_reference(
        cls, path: Pathish, session_dir: Pathish | None = None, cwd_override: Pathish | None = None
    ) -> Session:
        """The session in a file; a missing file becomes a new session that will be stored there."""
        return await asyncio.to_thread(Session.open, path, session_dir, cwd_override, lease=SessionLease)

    @classmethod
    async def continue_recent(cls, cwd: Pathish | None = None, session_dir: Pathish | None = None) -> Session:
        """The session of a working directory that was written last, or a new one."""
        return await cls(cwd=cwd, session_dir=session_dir).continue_recent_session()

    @classmethod
    async def fork_from(
        cls,
        source: Pathish,
        target_cwd: Pathish,
        session_dir: Pathish | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
    ) -> Session:
        """A copy of a whole session file, for work in another directory."""
        return await cls(cwd=target_cwd, session_dir=session_dir).fork_session(source, id=id)

    @classmethod
    async def list(
        cls,
        cwd: Pathish | None = None,
        session_dir: Pathish | None = None,
        on_progress: ListProgress | None = None,
    ) -> SessionInfos:
        """The sessions of a working directory, newest first."""
        return await cls(cwd=cwd, session_dir=session_dir).list_sessions(on_progress=on_progress)

    @classmethod
    async def list_all(
        cls, session_dir: Pathish | None = None, on_progress: ListProgress | None = None
    ) -> SessionInfos:
        """The sessions of all working directories, newest first."""
        return await cls(session_dir=session_dir).list_all_sessions(on_progress=on_progress)

    # -- the seam -----------------------------------------------------------------------------------------------------

    async def create_session(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
    ) -> Session:
        """A new session; its file appears with the first message."""
        return self._create(id, parent_session)

    def _create(self, session_id: str | None = None, parent_session: str | None = None) -> Session:
        return Session.create(self._cwd, self._dir, id=session_id, parent_session=parent_session, **self._keywords)

    async def open_session(self, ref: Pathish, *, cwd_override: Pathish | None = None) -> Session:
        """The session in a file; a missing file becomes a new session that will be stored there.

        Whether its working directory still exists is for the caller to check (`require_session_cwd`).
        """
        return await asyncio.to_thread(self._open, ref, cwd_override)

    def _open(self, ref: Pathish, cwd_override: Pathish | None = None) -> Session:
        return Session.open(ref, None, cwd_override, **self._keywords)

    async def continue_recent_session(self) -> Session:
        """The session that was written last, opened for this working directory, or a new one."""
        return await asyncio.to_thread(self._continue_recent)

    def _continue_recent(self) -> Session:
        for path, header in readable_headers(newest_first(self._files())):
            if not self._is_custom or has_cwd(header, self._cwd):
                return self._open(path, self._cwd)
        return self._create()

    async def list_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> SessionInfos:
        """The sessions of the working directory, newest first."""
        paths = await asyncio.to_thread(self._files)
        cwd = self._cwd if self._is_custom else None
        return await collect_session_infos(
            paths, publish_every=_PUBLISH_HERE, cwd=cwd, on_progress=on_progress, signal=signal
        )

    async def list_all_sessions(
        self, *, on_progress: ListProgress | None = None, signal: AbortSignal | None = None
    ) -> SessionInfos:
        """The sessions of all working directories, newest first; in a chosen folder, of all that are in it."""
        paths = await asyncio.to_thread(self._all_files)
        return await collect_session_infos(paths, publish_every=_PUBLISH_ALL, on_progress=on_progress, signal=signal)

    def _files(self) -> Sequence[Path]:
        return [] if self._dir is None else session_files(self._dir)

    def _all_files(self) -> Sequence[Path]:
        if self._is_custom:
            return newest_first(self._files())
        root = sessions_root(self._keywords.get("agent_dir"))
        folders = [] if root is None else session_folders(root)
        return newest_first(path for folder in folders for path in session_files(folder))

    async def find_by_id(self, id: str) -> str | None:  # noqa: A002 - the field's own name
        """Path of the session of the working directory with exactly this id."""
        found = await asyncio.to_thread(self._find_by_id, id)
        return None if found is None else str(found)

    def _find_by_id(self, session_id: str) -> Path | None:
        # files are usually named after their session, so most searches read one header
        files = sorted(self._files(), key=lambda path: session_id not in path.name)
        for path, header in readable_headers(files):
            if header.id == session_id and (not self._is_custom or has_cwd(header, self._cwd)):
                return path
        return None

    async def resolve(self, argument: str) -> SessionLookup:
        """What a session argument stands for: a path, or an id or its beginning, here first and then everywhere."""
        return await asyncio.to_thread(
            resolve_session_argument,
            argument,
            cwd=self._cwd,
            local=lambda: self._refs(argument, self._files, only_here=self._is_custom),
            everywhere=lambda: self._refs(argument, self._all_files, only_here=False),
        )

    def _refs(self, argument: str, files: Callable[[], Sequence[Path]], *, only_here: bool) -> Sequence[SessionRef]:
        """The sessions whose id begins with `argument`, latest message first."""
        refs = [
            SessionRef(path, header.id, header.cwd)
            for path, header in readable_headers(files())
            if header.id.startswith(argument) and (not only_here or has_cwd(header, self._cwd))
        ]
        return refs if len(refs) < 2 else sorted(refs, key=lambda ref: -_modified_ms(ref.path))

    async def fork_session(
        self,
        source: Pathish | Session,
        *,
        target_cwd: Pathish | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
    ) -> Session:
        """A copy of a whole session under a new id, in the folder of `target_cwd` (default: this one's).

        Raises `SessionError` where the id is taken there.
        """
        if target_cwd is not None and absolute_cwd(target_cwd) != str(self._cwd) and not self._is_custom:
            return await LocalSessionManager(cwd=target_cwd, **self._keywords).fork_session(source, id=id)
        return await asyncio.to_thread(self._fork, source, target_cwd, id)

    def _fork(self, source: Pathish | Session, target_cwd: Pathish | None, session_id: str | None) -> Session:
        if session_id is not None and self._find_by_id(session_id) is not None:
            raise SessionError(f"There is already a session {session_id!r} here; choose another id.")
        path = fork_session_file(source, target_cwd or self._cwd, self._require_dir(), session_id)
        return self._open(path)

    def _require_dir(self) -> Path:
        if self._dir is None:
            raise SessionError("There is no home directory to store sessions in; give a session folder.")
        return self._dir

    async def branch_session(self, session: Session, leaf_id: str) -> Session:
        """A new session file with one branch of another session, which stays as it is."""
        return session.branched(leaf_id)

    async def import_session(self, path: Pathish, *, cwd_override: Pathish | None = None) -> Session:
        """A copy of a session file from elsewhere, opened; a file of this folder is opened in place.

        Raises `SessionFileMissingError`, `NotASessionError`, or `MissingSessionCwdError` where its working directory is
        gone and `cwd_override` names no other. Then nothing is copied.
        """
        return await asyncio.to_thread(self._import, path, cwd_override)

    def _import(self, path: Pathish, cwd_override: Pathish | None) -> Session:
        folder = self._require_dir()
        copy = import_session_file(path, folder, current_cwd=self._cwd, cwd_override=cwd_override)
        return self._open(copy, cwd_override)

    async def delete_session(self, ref: Pathish) -> DeleteResult:
        """Remove a session file, into the trash where there is one."""
        return await asyncio.to_thread(delete_session_file, Path(absolute_cwd(ref)))

    async def rename_session(self, ref: Pathish, name: str) -> None:
        """Give the session in a file another name; an empty one clears it."""
        session = await asyncio.to_thread(open_existing, ref)
        session.append_session_info(name)
        session.close()


def _modified_ms(path: Path) -> int:
    try:
        info = read_session_info(path)
    except OSError:
        return 0
    return 0 if info is None else info.modified_ms


def list_sessions(cwd: Pathish | None = None, agent_dir: Pathish | None = None) -> SessionInfos:
    """The stored sessions of a working directory (default: the current one), newest first; for plain scripts."""
    folder = default_session_dir(cwd or Path.cwd(), agent_dir)
    infos = []
    for path in [] if folder is None else session_files(folder):
        try:
            info = read_session_info(path)
        except OSError:
            continue
        if info is not None:
            infos.append(info)
    return sorted(infos, key=lambda info: -info.modified_ms)


def latest_session(cwd: Pathish | None = None, agent_dir: Pathish | None = None) -> SessionInfo | None:
    """The stored session of a working directory with the latest message, None where there is none."""
    return next(iter(list_sessions(cwd, agent_dir)), None)
