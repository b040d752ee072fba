"""A session file to look at: its tree, and what a model would be sent at any point of it. Nothing is ever written."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.ai.message import Message
from pinyon.session.context import DEFAULT_THINKING_LEVEL, Branch, SessionProjection, path_to
from pinyon.session.entry import SessionEntry
from pinyon.session.header import SessionHeader
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.loader import SessionDiagnostic
from pinyon.session.table import NO_PARENT, EntryTable
from pinyon.session.transfer import load_existing


class BranchContext(msgspec.Struct):
    """What a model is sent for a branch. Provider and model are None where the branch records none."""

    messages: list[Message]
    thinking_level: str = DEFAULT_THINKING_LEVEL
    provider: str | None = None
    model_id: str | None = None


class SessionTree:
    """The entries of a session file. `leaf_id` is the last entry, None for a file without entries."""

    def __init__(
        self, header: SessionHeader, table: EntryTable, diagnostics: list[SessionDiagnostic] | None = None
    ) -> None:
        self.header = header
        self.diagnostics = diagnostics or []
        """What is wrong in the file."""
        self._table = table

    @classmethod
    def load(cls, path: str | Path) -> SessionTree:
        """Read a session file. Raises `SessionFileMissingError` or `NotASessionError`."""
        loaded = load_existing(path)
        assert loaded.header is not None
        return cls(loaded.header, loaded.table, loaded.diagnostics)

    @property
    def entries(self) -> list[SessionEntry]:
        """All entries in file order."""
        return list(map(self._table.entry, range(len(self._table))))

    @property
    def leaf_id(self) -> str | None:
        """The last entry in the file."""
        return self._table.ids[-1] if len(self._table) else None

    def branch(self, from_id: str | None = None) -> list[SessionEntry]:
        """The entries from the root to an entry (default, and for an unknown id: the last one)."""
        return list(map(self._table.entry, path_to(self._table, UNSET if from_id is None else from_id)))

    def build_context(self, leaf_id: str | UnsetType | None = UNSET) -> BranchContext:
        """What a model is sent at a leaf (default: the last entry; None: before the first)."""
        projection = SessionProjection(Branch(self._table, path_to(self._table, leaf_id)))
        model = projection.model
        return BranchContext(
            messages=convert_to_llm(projection.messages),
            thinking_level=projection.thinking_level,
            provider=None if model is None else model.provider,
            model_id=None if model is None else model.model_id,
        )

    def build_context_null(self) -> BranchContext:
        """What a model is sent before the first entry: nothing."""
        return BranchContext(messages=[])

    def leaves(self) -> list[SessionEntry]:
        """The entries without children, in file order."""
        parents = {parent for parent in self._table.parents if parent != NO_PARENT}
        return [self._table.entry(position) for position in range(len(self._table)) if position not in parents]


def load_session_messages(path: str | Path) -> list[Message]:
    """What a model is sent when the conversation in a file goes on at its last entry."""
    return SessionTree.load(path).build_context().messages
