"""All entries of one session in file order, held as columns: ids, kinds, parents and where each line stands.

A position is the index of an entry in file order. Entry objects and messages are made when somebody asks for them, so a
tree of a hundred thousand entries costs a few megabytes and walking a path decodes nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

from pinyon.ai.message import AgentMessage
from pinyon.session.entry import SessionEntry, decode_message
from pinyon.session.line import read_head, with_parent
from pinyon.session.source import LineSource

NO_PARENT = -1


class EntryTable:
    """The entries of a session. `kinds` and `parents` may be read freely; parents are positions, -1 for roots."""

    __slots__ = (
        "_held",
        "_index",
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
        self.bridged: set[int] = set()
        """Entries whose parent is lost and that hang on an older entry instead."""
        self._index: dict[str, int] = {}
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
        return entry_id in self._index

    def add_line(self, entry_id: str, parent_id: str | None, kind: int, offset: int, length: int) -> None:
        """Add an entry whose line stands in the source; call `settle` after the last one.

        A parent is the last entry before it with that id, so that a duplicate id never leads a branch astray.
        """
        position = len(self.ids)
        if parent_id is None:
            self.parents.append(NO_PARENT)
        else:
            parent = self._index.get(parent_id, NO_PARENT)
            self.parents.append(parent)
            if parent == NO_PARENT and parent_id != entry_id:
                self._unresolved[position] = parent_id
        self._index[entry_id] = position
        self.ids.append(entry_id)
        self.kinds.append(kind)
        self._offsets.append(offset)
        self._lengths.append(length)

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
            parent = self._index.get(parent_id, NO_PARENT)
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
        self._index[entry.id] = position
        return position

    def remove_last(self) -> None:
        """Undo the last `append`."""
        position = len(self.ids) - 1
        del self._held[position], self._index[self.ids[position]]
        for column in (self.ids, self.kinds, self.parents, self._offsets, self._lengths):
            column.pop()

    def position(self, entry_id: str) -> int | None:
        """Where the entry with this id stands, None where there is none."""
        return self._index.get(entry_id)

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
        head = read_head(line)
        assert head is not None
        view = self._views[position] = SessionEntry(line, head)
        return view

    def message(self, position: int) -> AgentMessage:
        """The message of a `message` entry, decoded without making the entry."""
        held = self._held.get(position) or self._views.get(position)
        message = None if held is None else held.message
        return decode_message(self.line(position)) if message is None else message

    def path(self, leaf: int) -> list[int]:
        """Positions from the root to `leaf`; a cycle of parents ends the path."""
        parents = self.parents
        path = []
        visited: set[int] | None = None
        position = leaf
        while position >= 0:
            path.append(position)
            parent = parents[position]
            if visited is not None:
                visited.add(position)
            elif parent >= position:
                # only an entry that names a later one can close a cycle
                visited = set(path)
            if visited is not None and parent in visited:
                break
            position = parent
        path.reverse()
        return path

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
