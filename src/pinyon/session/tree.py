"""Reading a session tree: its leaf, branches, labels and name. `Session` adds writing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pinyon.session import kind
from pinyon.session.context import Branch, SessionContext, SessionProjection
from pinyon.session.entry import SessionEntry
from pinyon.session.table import NO_PARENT, EntryTable


class SessionTreeNode(msgspec.Struct):
    """An entry with the branches below it, oldest first."""

    entry: SessionEntry
    children: list[SessionTreeNode]
    label: str | None = None
    label_timestamp: str | None = None


class Label(msgspec.Struct, frozen=True):
    """The label that an entry has now, and when it was given."""

    text: str
    timestamp: str


class TreeReader:
    """A tree of entries with a leaf, the point where the next entry is added."""

    def __init__(self, table: EntryTable) -> None:
        self._use(table)

    def _use(self, table: EntryTable) -> None:
        """Show another tree, with its last entry as the leaf."""
        self._table = table
        self._leaf = len(table) - 1
        self._branch: tuple[int, Branch] | None = None
        self._labels: dict[str, Label] | None = None

    def get_leaf_id(self) -> str | None:
        """Id of the leaf, None before the first entry."""
        return None if self._leaf == NO_PARENT else self._table.ids[self._leaf]

    def get_leaf_entry(self) -> SessionEntry | None:
        """The leaf, None before the first entry."""
        return None if self._leaf == NO_PARENT else self._table.entry(self._leaf)

    def get_entry(self, entry_id: str) -> SessionEntry | None:
        """The entry with this id, None where there is none."""
        position = self._table.position(entry_id)
        return None if position is None else self._table.entry(position)

    def get_entries(self) -> list[SessionEntry]:
        """All entries in file order, without the header."""
        return [self._table.entry(position) for position in range(len(self._table))]

    def get_entry_count(self) -> int:
        """Number of entries, without the header."""
        return len(self._table)

    def get_branch(self, from_id: str | None = None) -> list[SessionEntry]:
        """The entries from the root to an entry (default: the leaf); none for an unknown id."""
        position = self._leaf if from_id is None else self._table.position(from_id)
        return [] if position is None else [self._table.entry(at) for at in self._table.path(position)]

    def upwards(self) -> Iterator[SessionEntry]:
        """The entries from the leaf to the root, each made when it is asked for."""
        for position in reversed(self._table.path(self._leaf)):
            yield self._table.entry(position)

    def branch_has(self, entry_type: str) -> bool:
        """Whether an entry of this type stands on the branch at the leaf; decodes nothing."""
        wanted = {number for number, name in kind.TYPE_BY_KIND.items() if name == entry_type}
        if not wanted:
            return any(entry.type == entry_type for entry in self.get_branch())
        kinds = self._table.kinds
        return any(kinds[position] in wanted for position in self._table.path(self._leaf))

    def get_children(self, parent_id: str | None) -> list[SessionEntry]:
        """The entries right below an entry in file order; the roots for None."""
        parent = NO_PARENT if parent_id is None else self._table.position(parent_id)
        if parent is None:
            return []
        return [self._table.entry(at) for at, above in enumerate(self._table.parents) if above == parent]

    def get_tree(self) -> list[SessionTreeNode]:
        """The roots with everything below them; the children of a node in the order of their times."""
        labels = self._current_labels()
        nodes = []
        for entry in self.get_entries():
            node = SessionTreeNode(entry, [])
            if (label := labels.get(entry.id)) is not None:
                node.label, node.label_timestamp = label.text, label.timestamp
            nodes.append(node)
        roots: list[SessionTreeNode] = []
        for node, parent in zip(nodes, self._table.parents, strict=True):
            (roots if parent == NO_PARENT else nodes[parent].children).append(node)
        for node in nodes:
            if len(node.children) > 1:
                node.children.sort(key=lambda child: child.entry.timestamp_ms)
        return roots

    def get_label(self, entry_id: str) -> str | None:
        """The label of an entry, None where it has none."""
        label = self._current_labels().get(entry_id)
        return None if label is None else label.text

    def _current_labels(self) -> dict[str, Label]:
        if self._labels is None:
            self._labels = {}
            for position in self._table.positions_of_kind(kind.LABEL):
                self._note_label(self._table.entry(position))
        return self._labels

    def _note_label(self, entry: SessionEntry) -> None:
        if self._labels is None:
            return
        if entry.label is None:
            self._labels.pop(entry.target_id, None)
        else:
            self._labels[entry.target_id] = Label(entry.label, entry.timestamp)

    def get_session_name(self) -> str | None:
        """The name that was given last, None where there is none."""
        position = self._table.last_of_kind(kind.SESSION_INFO)
        return None if position is None else self._table.entry(position).name

    def build_session_projection(self) -> SessionProjection:
        """The messages of the branch at the leaf with the entries that they came from."""
        return SessionProjection(self._current_branch())

    def build_session_context(self) -> SessionContext:
        """Messages, thinking level and model of the branch at the leaf."""
        return self.build_session_projection()

    def build_context_entries(self) -> list[SessionEntry]:
        """The entries that make the context at the leaf."""
        return self.build_session_projection().context_entries

    def _current_branch(self) -> Branch:
        leaf = self._leaf
        if self._branch is None or self._branch[0] != leaf:
            path = [] if leaf == NO_PARENT else self._table.path(leaf)
            self._branch = (leaf, self._extended(leaf) or Branch(self._table, path))
        return self._branch[1]

    def _extended(self, leaf: int) -> Branch | None:
        """The projection of the branch before its last entries, carried on, where that is possible."""
        if self._branch is None or leaf == NO_PARENT:
            return None
        base, branch = self._branch
        added = [leaf]
        while (parent := self._table.parents[added[-1]]) != base and parent > base:
            added.append(parent)
        carried: Branch | None = branch if parent == base and base != NO_PARENT else None
        for position in reversed(added):
            carried = carried and carried.extended(position)
        return carried
