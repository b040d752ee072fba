"""The first line of a session file: which session it is, where it ran and what it came from."""

from __future__ import annotations

import re
from typing import Any

from pinyon._util.os_text import file_name
from pinyon.session.error import InvalidSessionIdError
from pinyon.session.line import decode_object, encode_line, with_fields

CURRENT_SESSION_VERSION = 3
"""Version of the session file format that is written."""

MAX_SESSION_ID_LENGTH = 200
"""Characters of the longest session id; with time and suffix it still makes a file name."""

_SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)


def is_valid_session_id(session_id: object) -> bool:
    """Whether an id may name a session: at most 200 letters, digits, `.`, `_`, `-`, alphanumeric at both ends."""
    if not isinstance(session_id, str) or len(session_id) > MAX_SESSION_ID_LENGTH:
        return False
    return _SESSION_ID.fullmatch(session_id) is not None


def assert_valid_session_id(session_id: object) -> None:
    """Raise `InvalidSessionIdError` unless the id may name a session."""
    if not is_valid_session_id(session_id):
        raise InvalidSessionIdError(session_id)


class SessionHeader:
    """A session header as it stands in its file. Unknown keys stay in `line` and `object`."""

    __slots__ = ("line", "object")

    type = "session"

    def __init__(self, line: bytes, value: dict[str, Any]) -> None:
        self.line = line
        """The raw line without its newline."""
        self.object = value
        """The decoded object, to be read only."""

    @classmethod
    def from_line(cls, line: bytes) -> SessionHeader | None:
        """The header in a line, None where the line is none."""
        value = decode_object(line)
        if value is None or value.get("type") != "session" or not isinstance(value.get("id"), str):
            return None
        return cls(line, value)

    @classmethod
    def create(cls, session_id: str, timestamp: str, cwd: str, parent_session: str | None = None) -> SessionHeader:
        """A header for a new session; `timestamp` is ISO 8601."""
        fields = {
            "type": "session",
            "version": CURRENT_SESSION_VERSION,
            "id": session_id,
            "timestamp": timestamp,
            "cwd": cwd,
        }
        if parent_session:
            fields["parentSession"] = parent_session
        line = encode_line(fields)
        return cls(line, decode_object(line) or fields)

    @property
    def id(self) -> str:
        """The session id."""
        value: str = self.object["id"]
        return value

    @property
    def version(self) -> int:
        """Version of the format; files without one are version 1."""
        value = self.object.get("version")
        if value is None:
            return 1
        return value if isinstance(value, int) else CURRENT_SESSION_VERSION

    @property
    def timestamp(self) -> str:
        """When the session was made, ISO 8601; empty where unknown."""
        return self._text("timestamp")

    @property
    def cwd(self) -> str:
        """The working directory that the session was made in; empty where unknown."""
        return file_name(self._text("cwd"))

    @property
    def parent_session(self) -> str | None:
        """Path of the session file that this one was forked from."""
        return file_name(self._text("parentSession")) or None

    def _text(self, key: str) -> str:
        value = self.object.get(key)
        return value if isinstance(value, str) else ""

    def with_version(self, version: int) -> SessionHeader:
        """The same header for another version of the format."""
        line = with_fields(self.line, version=version)
        return SessionHeader(line, {**self.object, "version": version})

    def __repr__(self) -> str:
        return f"SessionHeader(id={self.id!r}, cwd={self.cwd!r}, version={self.version})"
