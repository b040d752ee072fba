"""Growing a session tree at its leaf: one method for each type of entry, and moving the leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pinyon._util.clock import iso_from_ms, now_ms
from pinyon._util.ids import entry_id
from pinyon.ai.message import AgentMessage, AssistantMessage, UnknownMessage
from pinyon.ai.usage import Usage
from pinyon.session import kind
from pinyon.session.entry import SessionEntry
from pinyon.session.error import EntryNotFoundError, SessionError
from pinyon.session.line import encode_cleaned, read_head
from pinyon.session.naming import clean_session_name
from pinyon.session.table import NO_PARENT, EntryTable
from pinyon.session.tree import TreeReader

_EDITABLE_KINDS = frozenset({kind.USER, kind.ASSISTANT, kind.TOOL_RESULT, kind.CUSTOM_MESSAGE})


class TreeWriter(TreeReader):
    """A tree that takes new entries. What is done with each new line is up to `_write`."""

    def __init__(self, table: EntryTable, clock: Callable[[], int] = now_ms) -> None:
        super().__init__(table)
        self._clock = clock

    def _write(self, entry: SessionEntry) -> None:
        """Store an entry that is already part of the tree; raising takes it out again."""

    def append_message(self, message: AgentMessage | Mapping[str, Any]) -> str:
        """Add a message below the leaf; returns the id of its entry.

        Lone surrogates in it are stored, and read back, as U+FFFD.
        """
        if isinstance(message, AssistantMessage) and message.stop_reason == "pending":
            raise SessionError("An answer that is still streaming cannot be stored; wait for its end.")
        view = None if isinstance(message, Mapping) and not isinstance(message, UnknownMessage) else message
        return self._append("message", {"message": message}, message=view).id

    def append_thinking_level_change(self, level: str) -> str:
        """Record the thinking level that holds from here on; returns the id of the entry."""
        return self._append("thinking_level_change", {"thinkingLevel": level}).id

    def append_model_change(self, provider: str, model_id: str) -> str:
        """Record the model that holds from here on; returns the id of the entry."""
        return self._append("model_change", {"provider": provider, "modelId": model_id}).id

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str | None,
        tokens_before: int,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Usage | Mapping[str, Any] | None = None,
    ) -> str:
        """Put a summary in place of everything on the branch before `first_kept_entry_id` (None: of everything).

        The system message that holds now is stored with it. Returns the id of the entry.
        """
        from pinyon.ai.transcript import current_system_message

        system = current_system_message(self.build_session_projection().messages)
        new_id, now = entry_id(self._table), self._clock()
        if system is not None:
            system.timestamp = now
        fields = {
            "summary": summary,
            "firstKeptEntryId": first_kept_entry_id or new_id,
            "tokensBefore": tokens_before,
            **_present(details=details, usage=usage, fromHook=from_hook, systemMessage=system),
        }
        return self._append("compaction", fields, new_id=new_id, now=now).id

    def append_custom_entry(self, custom_type: str, data: Any = None) -> str:
        """Store a program's own state; models never see it. Returns the id of the entry."""
        return self._append("custom", {}, {"customType": custom_type, **_present(data=data)}).id

    def append_custom_message_entry(
        self,
        custom_type: str,
        content: str | list[Any],
        display: bool,
        details: Any = None,
    ) -> str:
        """Add a program's message that models see; `display` tells whether users do. Returns the id of the entry."""
        fields = {"customType": custom_type, "content": content, "display": display, **_present(details=details)}
        return self._append("custom_message", {}, fields).id

    def append_session_info(self, name: str) -> str:
        """Name the session; an empty name clears it. Line breaks become blanks, control characters go."""
        return self._append("session_info", {"name": clean_session_name(name)}).id

    def append_label_change(self, target_id: str, label: str | None) -> str:
        """Set or clear the label of an entry; returns the id of the label's own entry."""
        self._require(target_id)
        return self._append("label", {"targetId": target_id, **_present(label=label or None)}).id

    def append_context_edit(self, target_id: str, replacement: Mapping[str, Any] | None) -> str:
        """Take an entry of the branch out of the context (None) or give it other `content` there.

        The target must be a user, assistant or tool result message or a custom message on the active branch.
        """
        position = self._require(target_id)
        if self._table.kinds[position] not in _EDITABLE_KINDS:
            raise SessionError(
                f"Entry {target_id!r} cannot be edited: only user, assistant, tool result and custom messages can."
            )
        if self._leaf == NO_PARENT or position not in self._table.path(self._leaf):
            raise SessionError(f"Entry {target_id!r} is not on the active branch; move the leaf there first.")
        return self._append(
            "context_edit",
            {"targetId": target_id, "replacement": _replacement(self._table.kinds[position], replacement)},
        ).id

    def append_usage(
        self, kind: str, provider: str, model: str, usage: Usage | Mapping[str, Any], note: str | None = None
    ) -> SessionEntry:
        """Record tokens that were spent beside the conversation; returns the entry."""
        fields = {"kind": kind, "provider": provider, "model": model, "usage": usage, **_present(note=note)}
        return self._append("usage", fields)

    def _append(
        self,
        entry_type: str,
        fields: Mapping[str, Any],
        leading: Mapping[str, Any] | None = None,
        *,
        message: AgentMessage | None = None,
        new_id: str | None = None,
        now: int | None = None,
    ) -> SessionEntry:
        """Make an entry below the leaf, store it and move the leaf to it, or leave everything as it was."""
        parent = self._leaf
        value = {
            "type": entry_type,
            **(leading or {}),
            "id": new_id or entry_id(self._table),
            "parentId": self.get_leaf_id(),
            "timestamp": iso_from_ms(self._clock() if now is None else now),
            **fields,
        }
        line, was_cleaned = encode_cleaned(value)
        head = read_head(line)
        assert head is not None
        entry = SessionEntry(line, head, None if was_cleaned else message)
        self._leaf = self._table.append(entry, parent)
        try:
            self._write(entry)
        except BaseException:
            self._table.remove_last()
            self._leaf = parent
            raise
        if entry.kind == kind.LABEL:
            self._note_label(entry)
        return entry

    def _require(self, entry_id: str) -> int:
        position = self._table.position(entry_id)
        if position is None:
            raise EntryNotFoundError(entry_id)
        return position

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an entry; the next append begins a new branch there. Writes nothing."""
        self._leaf = self._require(entry_id)

    def reset_leaf(self) -> None:
        """Move the leaf before the first entry. Writes nothing."""
        self._leaf = NO_PARENT

    def branch_with_summary(
        self,
        entry_id: str | None,
        summary: str,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Usage | Mapping[str, Any] | None = None,
    ) -> str:
        """Move the leaf to an entry (None: before the first) and add a summary of the branch that was left there."""
        left = self._leaf
        fields = {
            "fromId": self.get_leaf_id() or "root",
            "summary": summary,
            **_present(details=details, usage=usage, fromHook=from_hook),
        }
        self._leaf = NO_PARENT if entry_id is None else self._require(entry_id)
        try:
            return self._append("branch_summary", fields).id
        except BaseException:
            self._leaf = left
            raise


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def _replacement(entry_kind: int, replacement: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if replacement is None:
        return None
    content = replacement.get("content")
    if not isinstance(content, str | list):
        raise SessionError("A context edit needs None or an object with 'content' (text or blocks).")
    if isinstance(content, str) and entry_kind in (kind.ASSISTANT, kind.TOOL_RESULT):
        content = [{"type": "text", "text": content}]
    return {"content": content}
