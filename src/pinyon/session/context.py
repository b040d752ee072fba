"""From a branch of the tree to the messages that the model gets: the projection of the session.

The tree is the authority; the projection only reads it. Messages are decoded when they are asked for, so that opening a
session to look at its size, level and model costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.collector import collector_paused
from pinyon.ai.codec import block_from_wire, message_from_wire
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SystemMessage,
)
from pinyon.session import kind
from pinyon.session.entry import SessionEntry, virtual_message_entry
from pinyon.session.header import SessionHeader
from pinyon.session.table import EntryTable

_MANY_MESSAGES = 20_000
"""From here on a walk of the collector over all messages costs more than it can ever find."""

DEFAULT_THINKING_LEVEL = "off"
"""Level of a branch that records none."""

_Item: TypeAlias = int | SessionEntry
"""A position in the table, or an entry that stands in no file (a message that a compaction retained)."""


class SessionModel(msgspec.Struct, frozen=True, rename="camel"):
    """The model that a branch was last used with."""

    provider: str
    model_id: str


class ProjectedEntry(msgspec.Struct, frozen=True):
    """An entry of the context and the messages that it contributes, often one, sometimes none."""

    source: SessionEntry
    messages: tuple[AgentMessage, ...]


class Branch:
    """One path of a tree, projected. Nothing is worked out before it is asked for, and then only once.

    What it gives is shared: callers get copies through `SessionProjection`.
    """

    def __init__(self, table: EntryTable, path: list[int]) -> None:
        self._table = table
        self._path = path

    @cached_property
    def items(self) -> list[_Item]:
        """The entries of the context in order."""
        return context_items(self._table, self._path)

    @cached_property
    def edits(self) -> dict[str, Any]:
        """Replacement by target id; the last edit of a target counts."""
        table = self._table
        edits: dict[str, Any] = {}
        if kind.CONTEXT_EDIT not in table.kinds:
            return edits
        for item in self.items:
            if isinstance(item, int) and table.kinds[item] == kind.CONTEXT_EDIT:
                entry = table.entry(item)
                if "replacement" in entry.object:
                    edits[entry.target_id] = entry.replacement
        return edits

    @cached_property
    def groups(self) -> list[tuple[AgentMessage, ...]]:
        """The messages of each entry of the context."""
        kinds, edits, ids = self._table.kinds, self.edits, self._table.ids
        is_plain = [
            isinstance(item, int) and 0 < kinds[item] <= kind.LAST_MESSAGE and not (edits and ids[item] in edits)
            for item in self.items
        ]
        with collector_paused(keeps_objects=len(is_plain) >= _MANY_MESSAGES):
            plain = self._table.messages(compress(cast("list[int]", self.items), is_plain))
            return [
                (next(plain),) if is_plain[index] else self._messages_of(index, item)
                for index, item in enumerate(self.items)
            ]

    @cached_property
    def recorded_thinking_level(self) -> str | None:
        """The level that was set last, None where none was."""
        if kind.THINKING_LEVEL_CHANGE not in self._table.kinds:
            return None
        for position in reversed(self._path):
            if self._table.kinds[position] == kind.THINKING_LEVEL_CHANGE:
                level = self._table.entry(position).thinking_level
                if level:
                    return level
        return None

    @property
    def compaction(self) -> SessionEntry | None:
        """The compaction that heads the context, None without one."""
        first = self.items[0] if self.items else None
        is_one = isinstance(first, int) and self._table.kinds[first] == kind.COMPACTION
        return self.source(first) if is_one and first is not None else None

    @cached_property
    def model(self) -> SessionModel | None:
        """The model of the last model change or answer."""
        for position in reversed(self._path):
            entry_kind = self._table.kinds[position]
            if entry_kind == kind.MODEL_CHANGE:
                entry = self._table.entry(position)
                return SessionModel(entry.provider, entry.model_id)
            if entry_kind == kind.ASSISTANT:
                message = self._table.message(position)
                if isinstance(message, AssistantMessage):
                    return SessionModel(message.provider, message.model)
        return None

    @property
    def system_messages(self) -> list[SystemMessage]:
        """The system messages of the context in order; decodes nothing else."""
        kinds, found = self._table.kinds, []
        if self.compaction is not None:
            found.append(self.compaction.system_message)
        elif kind.SYSTEM not in kinds:
            return []
        for item in self.items:
            if isinstance(item, int) and kinds[item] == kind.SYSTEM:
                message = self._table.message(item)
                found.append(message if isinstance(message, SystemMessage) else None)
        return [message for message in found if message is not None]

    @cached_property
    def message_count(self) -> int:
        """How many messages there are; most are counted without decoding them."""
        if "groups" in self.__dict__:
            return sum(map(len, self.groups))
        if self.edits:
            return sum(len(self._messages_of(index, item)) for index, item in enumerate(self.items))
        stored = [item for item in self.items if isinstance(item, int)]
        kinds = bytes(map(self._table.kinds.__getitem__, stored))
        certain = sum(map(kinds.count, range(kind.SYSTEM, kind.LAST_MESSAGE + 1)))
        if _DECODED_KINDS.isdisjoint(kinds):
            return certain + len(self.items) - len(stored)
        return certain + sum(
            len(self._messages_of(index, item))
            for index, item in enumerate(self.items)
            if isinstance(item, SessionEntry) or self._table.kinds[item] in _DECODED_KINDS
        )

    def source(self, item: _Item) -> SessionEntry:
        """The entry behind an item."""
        return item if isinstance(item, SessionEntry) else self._table.entry(item)

    def _messages_of(self, index: int, item: _Item) -> tuple[AgentMessage, ...]:
        if isinstance(item, SessionEntry):
            return () if item.message is None else (item.message,)
        table = self._table
        entry_kind = table.kinds[item]
        if self.edits and table.ids[item] in self.edits:
            return edited_messages(table.entry(item), self.edits[table.ids[item]], is_first=index == 0)
        if kind.is_message(entry_kind):
            return (table.message(item),)
        if entry_kind in _DECODED_KINDS:
            return tuple(session_entry_to_context_messages(table.entry(item), is_first=index == 0))
        return ()

    def extended(self, position: int) -> Branch | None:
        """The branch with one more entry, keeping what is decoded; None where it must be worked out anew."""
        if self._table.kinds[position] in _REORDERING_KINDS:
            return None
        longer = Branch(self._table, [*self._path, position])
        if "groups" in self.__dict__:
            added = self._messages_of(len(self.items), position)
            longer.__dict__.update(items=[*self.items, position], edits=self.edits, groups=[*self.groups, added])
        added_kind = self._table.kinds[position]
        is_countable = added_kind not in _DECODED_KINDS and kind.CONTEXT_EDIT not in self._table.kinds
        if is_countable and "message_count" in self.__dict__:
            is_message = kind.SYSTEM <= added_kind <= kind.LAST_MESSAGE
            longer.__dict__["message_count"] = self.message_count + is_message
        return longer


class SessionProjection:
    """What a branch says, and which entry said it. Everything is worked out when it is first asked for."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    @cached_property
    def messages(self) -> list[AgentMessage]:
        """The messages in the order in which the model gets them; the list belongs to the caller."""
        return [message for group in self._branch.groups for message in group]

    @cached_property
    def entries(self) -> list[ProjectedEntry]:
        """All entries of the context in order, with their messages."""
        return list(map(ProjectedEntry, self.context_entries, self._branch.groups))

    @property
    def system_messages(self) -> list[SystemMessage]:
        """The system messages among `messages`; the others are not decoded for them."""
        return self._branch.system_messages

    @property
    def context_entries(self) -> list[SessionEntry]:
        """The entries of the context without their messages."""
        return list(map(self._branch.source, self._branch.items))

    @property
    def message_count(self) -> int:
        """How many messages there are; does not decode them."""
        return self._branch.message_count

    @property
    def thinking_level(self) -> str:
        """The level that was set last on the branch, `off` where none was."""
        return self._branch.recorded_thinking_level or DEFAULT_THINKING_LEVEL

    @property
    def recorded_thinking_level(self) -> str | None:
        """The level that was set last on the branch, None where none was."""
        return self._branch.recorded_thinking_level

    @property
    def compaction(self) -> SessionEntry | None:
        """The compaction that heads the context, None without one."""
        return self._branch.compaction

    @property
    def has_edits(self) -> bool:
        """Whether an edit changes or omits something in the context."""
        return bool(self._branch.edits)

    @property
    def model(self) -> SessionModel | None:
        """The model of the last model change or answer on the branch."""
        return self._branch.model


SessionContext: TypeAlias = SessionProjection
"""A projection where only messages, thinking level and model matter."""

_DECODED_KINDS = frozenset({kind.CUSTOM_MESSAGE, kind.BRANCH_SUMMARY, kind.COMPACTION})
_REORDERING_KINDS = frozenset({kind.COMPACTION, kind.CONTEXT_EDIT})


def context_items(table: EntryTable, path: list[int]) -> list[_Item]:
    """The entries of a path that make its context: all, or the last compaction, what it kept and what came after."""
    at = _last_compaction(table, path)
    if at is None:
        return list(path)
    compaction = table.entry(path[at])
    retained = compaction.retained_tail
    kept: list[_Item]
    if retained is not None:
        kept = [
            virtual_message_entry(f"{compaction.id}:retained:{n}", compaction.id, compaction.timestamp, message)
            for n, message in enumerate(retained)
        ]
    else:
        kept = [p for p in _kept_positions(table, path[:at], compaction) if table.kinds[p] != kind.SYSTEM]
    return [path[at], *kept, *path[at + 1 :]]


def _last_compaction(table: EntryTable, path: Sequence[int]) -> int | None:
    kinds = table.kinds
    if kind.COMPACTION not in kinds:
        return None
    return next((at for at in range(len(path) - 1, -1, -1) if kinds[path[at]] == kind.COMPACTION), None)


def _kept_positions(table: EntryTable, before: list[int], compaction: SessionEntry) -> list[int]:
    first = compaction.first_kept_entry_id
    return next((before[at:] for at, position in enumerate(before) if table.ids[position] == first), [])


def session_entry_to_context_messages(entry: SessionEntry, *, is_first: bool = True) -> list[AgentMessage]:
    """The messages of one entry, without edits. A compaction speaks only at the head of a context."""
    if entry.message is not None:
        return [entry.message]
    if entry.kind == kind.CUSTOM_MESSAGE:
        return [_custom_message(entry)]
    if entry.kind == kind.BRANCH_SUMMARY:
        summary = BranchSummaryMessage(summary=entry.summary, from_id=entry.from_id, timestamp=entry.timestamp_ms)
        return [summary] if entry.summary else []
    if entry.kind == kind.COMPACTION and is_first:
        system = entry.system_message
        summary_message = CompactionSummaryMessage(
            summary=entry.summary, tokens_before=entry.tokens_before, timestamp=entry.timestamp_ms
        )
        return [summary_message] if system is None else [system, summary_message]
    return []


def _custom_message(entry: SessionEntry) -> CustomMessage:
    content = entry.content
    if isinstance(content, list):
        content = [block_from_wire(block) for block in content if isinstance(block, dict)]
    return CustomMessage(
        custom_type=entry.custom_type,
        content=content if isinstance(content, str | list) else "",
        display=entry.display,
        timestamp=entry.timestamp_ms,
        details=entry.object.get("details", UNSET),
    )


def edited_messages(entry: SessionEntry, replacement: Any, *, is_first: bool = True) -> tuple[AgentMessage, ...]:
    """The messages of an entry after a context edit: none for null, the same with other content, else unchanged."""
    if replacement is None:
        return ()
    if isinstance(replacement, dict) and "content" in replacement:
        content = replacement["content"]
        message = entry.object.get("message")
        if entry.is_message and isinstance(message, dict):
            return (message_from_wire({**message, "content": content}),)
        if entry.kind == kind.CUSTOM_MESSAGE:
            return (_custom_message(SessionEntry.from_wire({**entry.object, "content": content})),)
    return tuple(session_entry_to_context_messages(entry, is_first=is_first))


SessionEntryLike: TypeAlias = SessionEntry | SessionHeader | Mapping[str, Any]
"""An entry as this room reads it, or its camelCase object."""


def entries_of(entries: Iterable[SessionEntryLike]) -> Iterator[SessionEntry]:
    """Entries as views, without headers."""
    for entry in entries:
        if isinstance(entry, SessionEntry):
            yield entry
        elif isinstance(entry, Mapping) and entry.get("type") != "session":
            yield SessionEntry.from_wire(entry)


def _table_of(entries: Iterable[SessionEntryLike]) -> EntryTable:
    return EntryTable.of_entries(entries_of(entries))


def path_to(table: EntryTable, leaf_id: str | UnsetType | None = UNSET) -> list[int]:
    """Positions from the root to a leaf. None is before the first entry; an unknown id means the last entry."""
    if leaf_id is None or not len(table):
        return []
    leaf = None if leaf_id is UNSET else table.position(str(leaf_id))
    return table.path(len(table) - 1 if leaf is None else leaf)


def build_session_projection(
    entries: Iterable[SessionEntryLike], leaf_id: str | UnsetType | None = UNSET
) -> SessionProjection:
    """The projection of a list of entries at a leaf (default: the last entry)."""
    table = _table_of(entries)
    return SessionProjection(Branch(table, path_to(table, leaf_id)))


def build_session_context(
    entries: Iterable[SessionEntryLike], leaf_id: str | UnsetType | None = UNSET
) -> SessionContext:
    """Messages, thinking level and model of a list of entries at a leaf (default: the last entry)."""
    return build_session_projection(entries, leaf_id)


def build_context_entries(
    entries: Iterable[SessionEntryLike], leaf_id: str | UnsetType | None = UNSET
) -> list[SessionEntry]:
    """The entries that make the context at a leaf (default: the last entry)."""
    return build_session_projection(entries, leaf_id).context_entries


def get_latest_compaction_entry(entries: Iterable[SessionEntry]) -> SessionEntry | None:
    """The last compaction among entries."""
    return next((entry for entry in reversed(list(entries)) if entry.kind == kind.COMPACTION), None)
