"""One branch of a tree as the lines of a session of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pinyon._util.ids import entry_id
from pinyon.ai.message import UserMessage
from pinyon.session import kind
from pinyon.session.entry import SessionEntry
from pinyon.session.error import EntryNotFoundError, SessionError
from pinyon.session.line import decode_object, encode_line, reencode_line, with_parent
from pinyon.session.table import EntryTable
from pinyon.session.tree import Label, TreeReader

ForkPosition = Literal["before", "at"]


class ForkPoint(msgspec.Struct, frozen=True):
    """Where a fork begins. `leaf_id` None is before the first entry; `selected_text` is what the user may edit."""

    leaf_id: str | None
    selected_text: str | None = None


def fork_point(session: TreeReader, entry_id: str, position: ForkPosition = "before") -> ForkPoint:
    """The leaf of a fork at an entry, or before a user message whose text is given back for editing.

    Raises `EntryNotFoundError` for an unknown id and `SessionError` where `before` names no user message.
    """
    entry = session.get_entry(entry_id)
    if entry is None:
        raise EntryNotFoundError(entry_id)
    if position == "at":
        return ForkPoint(entry.id)
    message = entry.message
    if not isinstance(message, UserMessage):
        raise SessionError(f"Cannot fork before entry {entry_id!r}: it is no user message; fork at it instead.")
    above = session.get_branch(entry.id)[:-1]
    return ForkPoint(above[-1].id if above else None, message.text)


def linear_lines(table: EntryTable, leaf: int) -> list[bytes]:
    """The lines from the root to a leaf, each with the one before it as parent."""
    lines = []
    parent: str | None = None
    for position in table.path(leaf):
        lines.append(with_parent(table.line(position), parent))
        parent = table.ids[position]
    return lines


def branched_lines(table: EntryTable, leaf: int, labels: Mapping[str, Label]) -> list[bytes]:
    """The lines from the root to a leaf for a new session.

    Labels on the way are taken out of the chain; those that still hold for an entry of it are added at the end, with
    new ids and their old times.
    """
    path = table.path(leaf)
    kept = [position for position in path if table.kinds[position] != kind.LABEL]
    moved = _moved_targets(table, path)
    lines = []
    parent: str | None = None
    for position in kept:
        line = table.line(position)
        if moved and table.kinds[position] == kind.COMPACTION:
            line = _with_first_kept(line, moved)
        lines.append(with_parent(line, parent))
        parent = table.ids[position]
    return lines + _label_lines({table.ids[position] for position in kept}, labels, parent)


def _moved_targets(table: EntryTable, path: list[int]) -> dict[str, str]:
    """For each label on the path the next entry that is none."""
    moved = {}
    following: str | None = None
    for position in reversed(path):
        if table.kinds[position] != kind.LABEL:
            following = table.ids[position]
        elif following is not None:
            moved[table.ids[position]] = following
    return moved


def _with_first_kept(line: bytes, moved: Mapping[str, str]) -> bytes:
    value = decode_object(line) or {}
    target = moved.get(str(value.get("firstKeptEntryId")))
    return line if target is None else reencode_line({**value, "firstKeptEntryId": target})


def _label_lines(kept: set[str], labels: Mapping[str, Label], parent: str | None) -> list[bytes]:
    taken = set(kept)
    lines = []
    for target, label in labels.items():
        if target not in kept:
            continue
        new_id = entry_id(taken)
        taken.add(new_id)
        value = {"type": "label", "id": new_id, "parentId": parent, "timestamp": label.timestamp}
        lines.append(encode_line({**value, "targetId": target, "label": label.text}))
        parent = new_id
    return lines


def table_of_lines(lines: Iterable[bytes]) -> EntryTable:
    """A table that holds lines which are known to be entries."""
    entries = (SessionEntry.from_line(line) for line in lines)
    return EntryTable.of_entries(entry for entry in entries if entry is not None)
