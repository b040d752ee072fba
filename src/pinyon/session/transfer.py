"""Whole sessions from file to file: forks, imports and exports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from pinyon._util.clock import iso_from_ms, now_ms
from pinyon._util.ids import uuid7
from pinyon.session.error import (
    MissingSessionCwdError,
    NotASessionError,
    SessionError,
    SessionFileExistsError,
    SessionFileMissingError,
    SessionWriteError,
)
from pinyon.session.header import SessionHeader, assert_valid_session_id
from pinyon.session.loader import LoadedSession, load_session_file, read_session_header
from pinyon.session.naming import SESSION_SUFFIX, absolute_cwd, session_file_name
from pinyon.session.session import Session
from pinyon.session.store import FileStore

_COPY_BYTES = 1024 * 1024


def fork_session_file(
    source: str | Path | Session, target_cwd: str | Path, session_dir: Path, session_id: str | None = None
) -> Path:
    """Copy all entries of a session under a new header that names the source; returns the new file.

    Raises `SessionFileMissingError`, `NotASessionError`, `InvalidSessionIdError` or `SessionWriteError`.
    """
    if session_id is not None:
        assert_valid_session_id(session_id)
    session = source if isinstance(source, Session) else open_existing(source)
    now = now_ms()
    origin = session.get_session_file()
    header = SessionHeader.create(
        session_id or uuid7(now), iso_from_ms(now), absolute_cwd(target_cwd), None if origin is None else str(origin)
    )
    path = session_dir / session_file_name(header)
    FileStore(path).create(_with_header(header, session))
    return path


def _with_header(header: SessionHeader, session: Session) -> Iterator[bytes]:
    lines = session.lines()
    next(lines)
    yield header.line
    yield from lines


def open_existing(path: str | Path) -> Session:
    """The session in a file that must exist and hold one.

    Raises `SessionFileMissingError` or `NotASessionError`.
    """
    session = Session.open(path)
    if not session.is_stored():
        raise _nothing_in(path)
    return session


def load_existing(path: str | Path) -> LoadedSession:
    """What a session file holds that must exist and hold something.

    Raises `SessionFileMissingError` or `NotASessionError`.
    """
    try:
        loaded = load_session_file(Path(path))
    except FileNotFoundError:
        raise SessionFileMissingError(path) from None
    if loaded.header is None:
        raise NotASessionError(path)
    return loaded


def _nothing_in(path: str | Path) -> SessionError:
    return NotASessionError(path) if Path(absolute_cwd(path)).exists() else SessionFileMissingError(path)


def import_session_file(
    path: str | Path, session_dir: Path, *, current_cwd: str | Path, cwd_override: str | Path | None = None
) -> Path:
    """Copy a session file into a folder of sessions, under a free name; returns the copy.

    A file that is already there is used in place. Raises `SessionFileMissingError` and `NotASessionError`, and
    `MissingSessionCwdError` where the stored working directory is gone and `cwd_override` names no other; then nothing
    is copied.
    """
    source = Path(absolute_cwd(path))
    header = _header_of(source)
    if cwd_override is None and header.cwd and not Path(header.cwd).is_dir():
        raise MissingSessionCwdError(source, header.cwd, current_cwd)
    if source.resolve().parent == session_dir.resolve():
        return source
    return _copy_to_free_name(source, session_dir)


def _header_of(path: Path) -> SessionHeader:
    try:
        header = read_session_header(path)
    except OSError:
        header = None
    if header is None:
        header = load_existing(path).header
        assert header is not None
    return header


def _copy_to_free_name(source: Path, folder: Path) -> Path:
    from shutil import copyfileobj

    stem, suffix = source.stem, source.suffix
    if suffix != SESSION_SUFFIX:
        stem, suffix = source.name, SESSION_SUFFIX
    for number in count():
        target = folder / f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy, source.open("rb") as original:
                try:
                    copyfileobj(original, copy, _COPY_BYTES)
                except OSError:
                    target.unlink(missing_ok=True)
                    raise
            return target
        except FileExistsError:
            continue
        except OSError as error:
            raise SessionWriteError(target, error) from error
    raise AssertionError("numbers do not end")


def export_session_to_jsonl(session: Session, path: str | Path | None = None) -> Path:
    """Write the current branch as a session file of its own; returns its path.

    `path` defaults to `session-<time>.jsonl` in the current directory. An earlier export of the same session is
    replaced; any other existing file raises `SessionFileExistsError`.
    """
    now = iso_from_ms(now_ms())
    target = Path(absolute_cwd(path or f"session-{re.sub('[:.]', '-', now)}{SESSION_SUFFIX}"))
    _require_replaceable(session, target)
    header = SessionHeader.create(session.get_session_id(), now, session.get_cwd())
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.unlink(missing_ok=True)
        FileStore(draft).create([header.line, *session.branch_lines()])
        draft.replace(target)
    except OSError as error:
        raise SessionWriteError(target, error) from error
    finally:
        draft.unlink(missing_ok=True)
    return target


def _require_replaceable(session: Session, target: Path) -> None:
    if not target.exists():
        return
    own = session.get_session_file()
    is_own = own is not None and own.exists() and own.samefile(target)
    header = read_session_header(target) if target.is_file() and not is_own else None
    if header is None or header.id != session.get_session_id():
        raise SessionFileExistsError(target)
