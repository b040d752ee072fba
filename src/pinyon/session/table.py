"""All entries of one session in file order, held as columns: ids, kinds, parents and where each line stands.

A position is the index of an entry in file order. Entry objects and messages are made when somebody asks for them, so a
tree of a hundred thousand entries costs a few megabytes and walking a path decodes nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

import msgspec

from pinyon.ai.message import AgentMessage
from pinyon.session.entry import SessionEntry, decode_message
from pinyon.session.kind import HOST_MESSAGE, KIND_BY_ROLE, KIND_BY_TYPE, OTHER, TYPE_BY_KIND
from pinyon.session.line import LineHead, decode_head, read_head, with_parent
from pinyon.session.source import LineSource

NO_PARENT = -1
_NEWLINE, _RETURN = b"\n\r"


class EntryTable:
    """The entries of a session. `kinds` and `parents` may be read freely; parents are positions, -1 for roots."""

    __slots__ = (
        "_breaks",
        "_held",
        "_index",
        "_indexed",
        "_lengths",
        "_offsets",
        "_source",
        "_unresolved",
        "_views",
        "bridged",
        "ids",
        "kinds",
        "parents",
    )

    def __init__(self, source: LineSource | None = None) -> None:
        self.ids: list[str] = []
        self.kinds = bytearray()
        self.parents = array("i")
        # entries whose parent is not the entry before them; between two of them the tree is a plain chain
        self._breaks = array("i")
        self.bridged: set[int] = set()
        """Entries whose parent is lost and that hang on an older entry instead."""
        # positions by id, for the first `_indexed` entries; the rest follows when somebody looks something up
        self._index: dict[str, int] = {}
        self._indexed = 0
        self._source = source
        self._offsets = array("q")
        self._lengths = array("q")
        self._held: dict[int, SessionEntry] = {}
        self._views: WeakValueDictionary[int, SessionEntry] = WeakValueDictionary()
        self._unresolved: dict[int, str] = {}

    @classmethod
    def of_entries(cls, entries: Iterable[SessionEntry]) -> EntryTable:
        """A table that holds these entries in memory."""
        table = cls()
        for entry in entries:
            table.add(entry)
        table.settle()
        return table

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._positions()

    def _positions(self) -> dict[str, int]:
        """The last position of each id among all entries so far."""
        count = len(self.ids)
        if self._indexed < count:
            self._index.update(zip(self.ids[self._indexed :], range(self._indexed, count), strict=True))
            self._indexed = count
        return self._index

    def add_line(self, entry_id: str, parent_id: str | None, kind: int, offset: int, length: int) -> None:
        """Add an entry whose line stands in the source; call `settle` after the last one.

        A parent is the last entry before it with that id, so that a duplicate id never leads a branch astray.
        """
        position = len(self.ids)
        self._add_parent(position, entry_id, parent_id)
        self.ids.append(entry_id)
        self.kinds.append(kind)
        self._offsets.append(offset)
        self._lengths.append(length)

    def _add_parent(self, position: int, entry_id: str, parent_id: str | None) -> None:
        parent = NO_PARENT if parent_id is None else self._positions().get(parent_id, NO_PARENT)
        if parent == NO_PARENT and parent_id is not None and parent_id != entry_id:
            self._unresolved[position] = parent_id
        if position == 0 or parent != position - 1:
            self._breaks.append(position)
        self.parents.append(parent)

    def add_lines(self, lines: Iterable[bytes], offset: int) -> tuple[bytes | None, int, int]:
        """Add entries line by line up to the first line that is anything but an ordinary entry with its newline.

        Returns that line (None at the end), its offset and the number of lines before it. This loop decides how long
        opening a large session takes.
        """
        decode, roles, types = decode_head, KIND_BY_ROLE, KIND_BY_TYPE
        add_id, add_kind, add_parent = self.ids.append, self.kinds.append, self.parents.append
        add_offset, add_length = self._offsets.append, self._lengths.append
        position = first = len(self.ids)
        last_id = self.ids[-1] if self.ids else None
        for line in lines:
            try:
                head = decode(line)
            except (msgspec.DecodeError, RecursionError):
                return line, offset, position - first
            entry_id, parent_id, message = head.id, head.parentId, head.message
            if message is not None and head.type == "message":
                kind = roles.get(message.role, HOST_MESSAGE)
            else:
                kind = types.get(head.type, OTHER)
            if kind == OTHER or line[-1] != _NEWLINE:
                return line, offset, position - first
            if parent_id is not None and parent_id == last_id:
                add_parent(position - 1)
            else:
                self._add_parent(position, entry_id, parent_id)
            length = len(line)
            last_id = entry_id
            add_id(entry_id)
            add_kind(kind)
            add_offset(offset)
            add_length(length - 2 if line[-2] == _RETURN else length - 1)
            offset += length
            position += 1
        return None, offset, position - first

    def add(self, entry: SessionEntry) -> None:
        """Add an entry that is held in memory; call `settle` after the last one."""
        self._held[len(self.ids)] = entry
        self.add_line(entry.id, entry.parent_id, entry.kind, -1, -1)

    def settle(self) -> dict[int, str]:
        """Resolve parents that stand later in the file. Looking an id up afterwards gives its last entry.

        Returns the entries whose parent exists nowhere, with the id that they name.
        """
        lost = {}
        for position, parent_id in self._unresolved.items():
            parent = self._positions().get(parent_id, NO_PARENT)
            self.parents[position] = parent
            if parent == NO_PARENT:
                lost[position] = parent_id
        self._unresolved = {}
        return lost

    def bridge(self, position: int, parent: int) -> None:
        """Hang an entry whose parent is lost on another one."""
        self.parents[position] = parent
        self.bridged.add(position)

    def append(self, entry: SessionEntry, parent: int) -> int:
        """Add a new entry below `parent`; returns its position."""
        position = len(self.ids)
        self._held[position] = entry
        self._offsets.append(-1)
        self._lengths.append(-1)
        self.ids.append(entry.id)
        self.kinds.append(entry.kind)
        self.parents.append(parent)
        if position == 0 or parent != position - 1:
            self._breaks.append(position)
        return position

    def remove_last(self) -> None:
        """Undo the last `append`."""
        position = len(self.ids) - 1
        if self._indexed > position:
            del self._index[self.ids[position]]
            self._indexed = position
        if self._breaks[-1] == position:
            self._breaks.pop()
        del self._held[position]
        for column in (self.ids, self.kinds, self.parents, self._offsets, self._lengths):
            column.pop()

    def position(self, entry_id: str) -> int | None:
        """Where the entry with this id stands, None where there is none."""
        return self._positions().get(entry_id)

    def line(self, position: int) -> bytes:
        """The raw line of an entry."""
        held = self._held.get(position)
        if held is not None:
            return held.line
        assert self._source is not None
        return self._source.read(self._offsets[position], self._lengths[position])

    def entry(self, position: int) -> SessionEntry:
        """The entry at a position; the same object as long as somebody holds it."""
        held = self._held.get(position) or self._views.get(position)
        if held is not None:
            return held
        line = self.line(position)
        view = self._views[position] = SessionEntry(line, self._head(position, line))
        return view

    def _head(self, position: int, line: bytes) -> LineHead:
        """The head of a line, from the columns where they say all."""
        parent, kind = self.parents[position], self.kinds[position]
        if parent == NO_PARENT or kind == OTHER or position in self.bridged:
            head = read_head(line)
            assert head is not None
            return head
        return LineHead(TYPE_BY_KIND[kind], self.ids[position], self.ids[parent], kind)

    def message(self, position: int) -> AgentMessage:
        """The message of a `message` entry, decoded without making the entry."""
        held = self._held.get(position) or self._views.get(position)
        message = None if held is None else held.message
        return decode_message(self.line(position)) if message is None else message

    def messages(self, positions: Iterable[int]) -> Iterator[AgentMessage]:
        """The messages of many `message` entries in a row."""
        offsets, lengths, source = self._offsets, self._lengths, self._source
        start, data = 0, b""
        for position in positions:
            offset, length = offsets[position], lengths[position]
            if offset < 0 or source is None:
                yield self.message(position)
                continue
            if offset < start or offset + length > start + len(data):
                start, data = source.window(offset, length)
            yield decode_message(data[offset - start : offset - start + length])

    def path(self, leaf: int) -> list[int]:
        """Positions from the root to `leaf`; a cycle of parents ends the path."""
        path: list[int] = []
        position = leaf
        while position >= 0:
            start = self._breaks[bisect_right(self._breaks, position) - 1]
            path.extend(range(position, start - 1, -1))
            position = self.parents[start]
            if position >= start:
                self._walk_carefully(path, position)
                break
        path.reverse()
        return path

    def _walk_carefully(self, path: list[int], position: int) -> None:
        """Go on with a path in which an entry named a later one, so that it may come back to itself."""
        visited = set(path)
        while position >= 0 and position not in visited:
            path.append(position)
            visited.add(position)
            position = self.parents[position]

    def lines(self) -> Iterator[bytes]:
        """All lines in file order, with the parents under which their entries really hang."""
        for position in range(len(self.ids)):
            yield self.linked_line(position)

    def linked_line(self, position: int) -> bytes:
        """The line of an entry; where its parent was lost, with the one that it hangs on instead."""
        line = self.line(position)
        if position in self.bridged:
            parent = self.parents[position]
            return with_parent(line, None if parent == NO_PARENT else self.ids[parent])
        return line

    def last_of_kind(self, kind: int) -> int | None:
        """Position of the last entry of a kind in file order."""
        found = self.kinds.rfind(kind)
        return None if found < 0 else found

    def positions_of_kind(self, kind: int) -> list[int]:
        """Positions of all entries of a kind in file order."""
        kinds, found = self.kinds, []
        at = kinds.find(kind)
        while at >= 0:
            found.append(at)
            at = kinds.find(kind, at + 1)
        return found

    def close(self) -> None:
        """Release the source; entries that nobody holds can no longer be read."""
        if self._source is not None:
            self._source.close()
