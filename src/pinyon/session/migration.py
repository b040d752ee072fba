"""Files of earlier format versions, brought to the current one line by line.

Version 1 is a list without ids; version 2 has ids and calls the role of extension messages `hookMessage`. Keys are
added at the end of a line and all other bytes stay, so that nothing an older program wrote gets lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinyon.session.entry import SessionEntry
from pinyon.session.header import CURRENT_SESSION_VERSION, SessionHeader
from pinyon.session.line import decode_object, reencode_line, with_fields


def migrate_entry_lines(header: SessionHeader, lines: Sequence[bytes]) -> list[bytes]:
    """The lines of all entries in the current format; each must be a JSON object and none the header."""
    if header.version < 2:
        lines = _link_lines(header, lines)
    return [_rename_role(line) for line in lines] if header.version < CURRENT_SESSION_VERSION else list(lines)


def migrate_session_entries(entries: Sequence[SessionHeader | SessionEntry]) -> list[SessionHeader | SessionEntry]:
    """The same entries in the current format; entries that need no change are the same objects.

    The first header says which version they are in; without one they are taken as version 1.
    """
    header = next((entry for entry in entries if isinstance(entry, SessionHeader)), None)
    if header is None:
        header = SessionHeader(b"{}", {"id": ""})
    if header.version >= CURRENT_SESSION_VERSION:
        return list(entries)
    old = [entry for entry in entries if isinstance(entry, SessionEntry)]
    new = iter(migrate_entry_lines(header, [entry.line for entry in old]))
    migrated: list[SessionHeader | SessionEntry] = []
    for entry in entries:
        if isinstance(entry, SessionHeader):
            migrated.append(entry.with_version(CURRENT_SESSION_VERSION))
            continue
        line = next(new)
        migrated.append(entry if line == entry.line else SessionEntry.from_line(line) or entry)
    return migrated


def _link_lines(header: SessionHeader, lines: Sequence[bytes]) -> list[bytes]:
    """Give each entry an id and the entry before it as parent."""
    ids = _stable_ids(header.id, len(lines))
    linked = []
    for index, old in enumerate(lines):
        line = with_fields(old, id=ids[index], parentId=ids[index - 1] if index else None)
        linked.append(_name_first_kept(line, ids) if b'"firstKeptEntryIndex"' in line else line)
    return linked


def _stable_ids(session_id: str, count: int) -> list[str]:
    """Ids that are the same whenever the same file is read, until it is written in the current format."""
    from hashlib import blake2b

    ids: dict[str, None] = {}
    attempt = 0
    while len(ids) < count:
        ids[blake2b(f"{session_id}:{attempt}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()] = None
        attempt += 1
    return list(ids)


def _name_first_kept(line: bytes, ids: Sequence[str]) -> bytes:
    """Replace the index of the first kept entry, which counts the header as 0, by the id of that entry."""
    value = decode_object(line) or {}
    if value.get("type") != "compaction" or "firstKeptEntryIndex" not in value:
        return line
    index: Any = value.pop("firstKeptEntryIndex")
    if isinstance(index, int | float) and index == int(index) and 1 <= index <= len(ids):
        value["firstKeptEntryId"] = ids[int(index) - 1]
    return reencode_line(value)


def _rename_role(line: bytes) -> bytes:
    if b'"hookMessage"' not in line:
        return line
    value = decode_object(line) or {}
    message = value.get("message")
    if not isinstance(message, dict) or message.get("role") != "hookMessage":
        return line
    message["role"] = "custom"
    return reencode_line(value)
