"""One conversation: a tree of entries that grows at its leaf, in memory or in a file.

Appends are synchronous and complete: when one returns, the entry is part of the tree and, once the file exists, of the
file. An append that raises has changed neither. The file comes into being with the first user or assistant message;
what was recorded before is written with it. Opening a file never changes it: a missing last newline and the step to the
current format version are written with the first append.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from pinyon._util.clock import iso_from_ms, now_ms
from pinyon._util.ids import uuid7
from pinyon.session import kind
from pinyon.session.branch import branched_lines, linear_lines, table_of_lines
from pinyon.session.entry import SessionEntry
from pinyon.session.error import SessionError, SessionReadOnlyError
from pinyon.session.header import SessionHeader, assert_valid_session_id
from pinyon.session.loader import LoadedSession, SessionDiagnostic, load_session_file
from pinyon.session.naming import absolute_cwd, default_session_dir, session_file_name
from pinyon.session.store import FileStore, SessionStore, WriterLease
from pinyon.session.table import EntryTable
from pinyon.session.writer import TreeWriter

CreateFileOn = Literal["conversation", "assistant"]
"""Which message brings the file into being: the first of user or assistant, or the first answer."""

_STARTERS = {"conversation": (kind.USER, kind.ASSISTANT), "assistant": (kind.ASSISTANT,)}


class SessionKeywords(TypedDict, total=False):
    """How a session stores itself.

    `agent_dir` is where default session folders lie, `lease` makes the right to write a file, `store` replaces files by
    something else (path and size of what was read), `clock` gives Unix milliseconds.
    """

    create_file_on: CreateFileOn
    agent_dir: str | Path | None
    lease: Callable[[], WriterLease] | None
    store: Callable[[Path, int], SessionStore] | None
    clock: Callable[[], int]


class Session(TreeWriter):
    """A conversation tree. Make one with `create`, `open` or `in_memory`, or let a session manager do it.

    Not safe for use from several threads at once.
    """

    def __init__(
        self,
        *,
        cwd: str | Path | None = None,
        session_dir: str | Path | None = None,
        persist: bool = True,
        **keywords: Unpack[SessionKeywords],
    ) -> None:
        super().__init__(EntryTable(), keywords.get("clock") or now_ms)
        self._cwd = absolute_cwd(cwd or Path.cwd())
        self._session_dir = None if session_dir is None else Path(absolute_cwd(session_dir))
        self._persist = persist
        self._keywords = keywords
        self._starters = _STARTERS[keywords.get("create_file_on", "conversation")]
        self._store: SessionStore | None = None
        self._is_stored = False
        self._needs_rewrite = False
        self.is_read_only = False
        """Whether appends are refused, because another process writes the file."""
        self.diagnostics: list[SessionDiagnostic] = []
        """What was wrong in the file that this session was read from."""
        self._header = self._new_header(None, None)

    @classmethod
    def create(
        cls,
        cwd: str | Path | None = None,
        session_dir: str | Path | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
        **keywords: Unpack[SessionKeywords],
    ) -> Session:
        """A new session with a file to come; `session_dir` defaults to the folder of the working directory.

        Raises `SessionError` where there is no home directory to put sessions in and `InvalidSessionIdError` for an id
        that cannot be part of a file name.
        """
        session = cls(cwd=cwd, session_dir=session_dir, **keywords)
        session.new_session(id=id, parent_session=parent_session)
        return session

    @classmethod
    def open(
        cls,
        path: str | Path,
        session_dir: str | Path | None = None,
        cwd_override: str | Path | None = None,
        **keywords: Unpack[SessionKeywords],
    ) -> Session:
        """The session in a file; a missing file becomes a new session that will be stored there.

        Its working directory is `cwd_override`, else that of the header, else the current one. Raises
        `NotASessionError` for a non-empty file that is none.
        """
        file = Path(absolute_cwd(path))
        session = cls(cwd=cwd_override, session_dir=session_dir or file.parent, **keywords)
        session._load(file, keep_cwd=cwd_override is not None)
        return session

    @classmethod
    def in_memory(
        cls,
        cwd: str | Path | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
        lines: Iterable[bytes] = (),
        **keywords: Unpack[SessionKeywords],
    ) -> Session:
        """A new session that lives in this process only, with the entries in `lines`, which hold no header."""
        session = cls(cwd=cwd, persist=False, **keywords)
        session._become(session._new_header(id, parent_session), table_of_lines(lines), None, is_stored=False)
        return session

    def new_session(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the field's own name
        parent_session: str | None = None,
    ) -> Path | None:
        """Begin a new, empty session in this object; returns the path that its file will have."""
        header = self._new_header(id, parent_session)
        self._become(header, EntryTable(), self._store_for(header), is_stored=False)
        return self.get_session_file()

    def set_session_file(self, path: str | Path) -> None:
        """Switch to the session in a file; a missing file becomes a new session that will be stored there."""
        self._load(Path(absolute_cwd(path)), keep_cwd=False)

    def _load(self, path: Path, *, keep_cwd: bool) -> None:
        try:
            loaded = load_session_file(path)
        except FileNotFoundError:
            loaded = LoadedSession(None, EntryTable(), [])
        header = loaded.header
        if header is not None and header.cwd and not keep_cwd:
            self._cwd = header.cwd
        self._persist = True
        store = self._make_store(path, loaded.size_bytes)
        self._become(header or self._new_header(None, None), loaded.table, store, is_stored=header is not None)
        self._needs_rewrite = loaded.is_migrated
        self.diagnostics = loaded.diagnostics

    def _become(self, header: SessionHeader, table: EntryTable, store: SessionStore | None, *, is_stored: bool) -> None:
        if self._store is not None:
            self._store.close()
        self._use(table)
        self._header, self._store, self._is_stored = header, store, is_stored
        self._needs_rewrite = False
        self.diagnostics = []

    def _new_header(self, session_id: str | None, parent_session: str | None) -> SessionHeader:
        if session_id is not None:
            assert_valid_session_id(session_id)
        now = self._clock()
        return SessionHeader.create(session_id or uuid7(now), iso_from_ms(now), self._cwd, parent_session)

    def _store_for(self, header: SessionHeader) -> SessionStore | None:
        if not self._persist:
            return None
        if self._session_dir is None:
            self._session_dir = self._default_dir()
        if self._session_dir is None:
            raise SessionError(
                "There is no home directory to store sessions in; set PI_CODING_AGENT_SESSION_DIR or store none."
            )
        return self._make_store(self._session_dir / session_file_name(header), 0)

    def _make_store(self, path: Path, size_bytes: int) -> SessionStore:
        make, lease = self._keywords.get("store"), self._keywords.get("lease")
        if make is not None:
            return make(path, size_bytes)
        return FileStore(path, size_bytes=size_bytes, lease=lease() if lease is not None else None)

    def _default_dir(self) -> Path | None:
        return default_session_dir(self._cwd, self._keywords.get("agent_dir"))

    def claim(self) -> None:
        """Take the right to write the file now, so that other processes notice that it is in use.

        Without a claim it is taken with the first write. Raises `SessionInUseError` where another writer has it. Does
        nothing for a session that is read only, has no file yet or is stored without such a right.
        """
        if self._store is not None and self._is_stored and not self.is_read_only:
            self._store.claim()

    def require_writable(self) -> None:
        """Raise `SessionReadOnlyError` where entries cannot be added."""
        if self.is_read_only:
            raise SessionReadOnlyError(self.get_session_file())

    def close(self) -> None:
        """Give the file back. Entries of a large file that nobody holds can then no longer be read."""
        if self._store is not None:
            self._store.close()
        self._table.close()

    def get_header(self) -> SessionHeader:
        """The header."""
        return self._header

    def get_session_id(self) -> str:
        """The session id."""
        return self._header.id

    def get_cwd(self) -> str:
        """The working directory of the conversation."""
        return self._cwd

    def set_cwd(self, cwd: str | Path) -> None:
        """Work in another directory from now on; the header keeps the one that the session was made in."""
        self._cwd = absolute_cwd(cwd)

    def get_session_dir(self) -> Path | None:
        """The folder that the file is in or will be in; None for a session in memory."""
        return self._session_dir

    def get_session_file(self) -> Path | None:
        """The path of the file, which may not exist yet; None for a session in memory."""
        return None if self._store is None else self._store.path

    def is_persisted(self) -> bool:
        """Whether the session is, or will be, in a file."""
        return self._store is not None

    def is_stored(self) -> bool:
        """Whether the file has been written."""
        return self._is_stored

    def uses_default_session_dir(self) -> bool:
        """Whether the file stands in the folder of its working directory."""
        return self._session_dir is not None and self._session_dir == self._default_dir()

    def lines(self) -> Iterator[bytes]:
        """The lines of the session's file, header first, without newlines."""
        yield self._header.line
        yield from self._table.lines()

    def branch_lines(self) -> list[bytes]:
        """The lines of the branch at the leaf, each with the one before it as parent; no header."""
        return linear_lines(self._table, self._leaf)

    def _write(self, entry: SessionEntry) -> None:
        self.require_writable()
        store = self._store
        if store is None:
            return
        if not self._is_stored:
            if self._has_conversation(self._table):
                store.create(self.lines())
                self._is_stored = True
            return
        try:
            if self._needs_rewrite:
                store.rewrite(self.lines())
            else:
                store.append(entry.line)
        except FileNotFoundError:
            # somebody removed the file: the conversation goes on, so it is stored again as a whole
            store.create(self.lines())
        self._needs_rewrite = False

    def _has_conversation(self, table: EntryTable) -> bool:
        return any(starter in table.kinds for starter in self._starters)

    def create_branched_session(self, leaf_id: str) -> Path | None:
        """Turn this object into a new session that holds only the branch up to an entry.

        Returns the path of its file, which is written at once if there is a conversation in it; None in memory.
        """
        header, table, store, is_stored = self._branch_off(leaf_id)
        self._become(header, table, store, is_stored=is_stored)
        return self.get_session_file()

    def branched(self, leaf_id: str) -> Session:
        """A new session that holds only the branch up to an entry; this one stays as it is.

        Its file is written at once if there is a conversation in it.
        """
        return self._from_parts(self, *self._branch_off(leaf_id))

    @classmethod
    def _from_parts(
        cls, like: Session, header: SessionHeader, table: EntryTable, store: SessionStore | None, is_stored: bool
    ) -> Session:
        persist = store is not None
        session = cls(cwd=like.get_cwd(), session_dir=like.get_session_dir(), persist=persist, **like.keywords)
        session._become(header, table, store, is_stored=is_stored)
        return session

    @property
    def keywords(self) -> SessionKeywords:
        """How this session stores itself."""
        return self._keywords

    def _branch_off(self, leaf_id: str) -> tuple[SessionHeader, EntryTable, SessionStore | None, bool]:
        leaf = self._require(leaf_id)
        source = self.get_session_file()
        if source is not None and not self._is_stored:
            raise SessionError("The session has no file yet; send a message before forking it.")
        header = self._new_header(None, None if source is None else str(source))
        table = table_of_lines(branched_lines(self._table, leaf, self._current_labels()))
        store = self._store_for(header)
        is_stored = store is not None and self._has_conversation(table)
        if store is not None and is_stored:
            store.create([header.line, *table.lines()])
        return header, table, store, is_stored
