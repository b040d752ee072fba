"""Which files a stretch of conversation read and changed, so that a summary can name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage
from pinyon.session.entry import SessionEntry


class FileOps(msgspec.Struct):
    """Paths by what was done to them, in order of first use."""

    read: dict[str, None] = msgspec.field(default_factory=dict)
    written: dict[str, None] = msgspec.field(default_factory=dict)
    edited: dict[str, None] = msgspec.field(default_factory=dict)

    def add_messages(self, messages: Iterable[AgentMessage]) -> None:
        """Note the calls of `read`, `write` and `edit` in messages, nested ones too."""
        for message in messages:
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls:
                    self._add_call(call.name, call.arguments)
            elif isinstance(message, ToolResultMessage) and message.nested_calls:
                for nested in message.nested_calls.calls:
                    self._add_call(nested.name, nested.arguments or {})

    def add_summary(self, entry: SessionEntry) -> None:
        """Carry over the lists of an earlier summary, unless an extension wrote it."""
        details = entry.get("details")
        if entry.get("fromHook") or not isinstance(details, dict):
            return
        self.read.update(dict.fromkeys(_paths(details.get("readFiles"))))
        self.edited.update(dict.fromkeys(_paths(details.get("modifiedFiles"))))

    def _add_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        path = arguments.get("path")
        target = {"read": self.read, "write": self.written, "edit": self.edited}.get(name)
        if target is not None and isinstance(path, str):
            target[path] = None

    @property
    def modified_files(self) -> list[str]:
        """Files that were written or edited, sorted."""
        return sorted({*self.written, *self.edited})

    @property
    def read_files(self) -> list[str]:
        """Files that were only read, sorted."""
        return sorted(self.read.keys() - self.written.keys() - self.edited.keys())

    def details(self) -> dict[str, list[str]]:
        """The lists as a summary entry stores them."""
        return {"readFiles": self.read_files, "modifiedFiles": self.modified_files}

    def as_text(self) -> str:
        """The lists as they end a summary; empty without files."""
        parts = []
        if self.read_files:
            parts.append("\n\n<read-files>\n" + "\n".join(self.read_files) + "\n</read-files>")
        if self.modified_files:
            parts.append("\n\n<modified-files>\n" + "\n".join(self.modified_files) + "\n</modified-files>")
        return "".join(parts)


def _paths(value: object) -> list[str]:
    return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []
