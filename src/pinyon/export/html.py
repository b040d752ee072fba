"""Pages written to files."""

from __future__ import annotations

from pathlib import Path

from pinyon._util.atomic import replace_file
from pinyon.errors import SessionError
from pinyon.export.page import PageExtras, session_page
from pinyon.session.session import Session
from pinyon.session.transfer import open_existing

HTML_SUFFIX = ".html"
_MARK = b'<meta name="generator" content="pinyon session">'
"""Stands near the beginning of every page; a file with it may be replaced by a newer page."""
_MARK_WITHIN_BYTES = 2_000


def html_file_name(session_file: Path) -> str:
    """The name of the page of a session file, where the user gives none."""
    return f"pi-session-{session_file.stem}{HTML_SUFFIX}"


def export_session_to_html(session: Session, path: str | Path | None = None, extras: PageExtras | None = None) -> Path:
    """Write the page of a stored session; returns its path, as given, or a name in the current folder.

    An earlier page is replaced, any other existing file is not. Raises `SessionError` for a session that is kept in
    memory or holds nothing yet, and for a path that cannot be written.
    """
    source = session.get_session_file()
    if source is None:
        raise SessionError("a session that is kept in memory has no file to export; start without --no-session")
    if not session.is_stored():
        raise SessionError("nothing is saved yet: the session gets its file with the first message")
    target = Path(path).expanduser() if path is not None else Path(html_file_name(source))
    _require_replaceable(target, source)
    try:
        replace_file(target, session_page(session, extras).encode("utf-8", "replace"))
    except OSError as error:
        reason = error.strerror or error
        raise SessionError(f"cannot write {str(target)!r}: {reason}; the folder must exist and be writable") from error
    return target


def export_from_file(source: str | Path, output: str | Path | None = None, extras: PageExtras | None = None) -> Path:
    """Write the page of a session file. Raises `SessionError`, also where the file is missing or holds no session."""
    return export_session_to_html(open_existing(Path(source).expanduser()), output, extras)


def _require_replaceable(target: Path, source: Path) -> None:
    if not target.exists():
        return
    if target.is_file() and not target.samefile(source):
        with target.open("rb") as file:
            if _MARK in file.read(_MARK_WITHIN_BYTES):
                return
    raise SessionError(f"{str(target)!r} exists and is no exported page; choose another name or remove it")
