"""One entry of a session: the raw line is the truth, everything else is a view that is decoded when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pinyon._util.clock import ms_from_iso
from pinyon.ai.codec import message_from_wire
from pinyon.ai.message import AgentMessage, MessageBase, SystemMessage
from pinyon.session.kind import entry_kind, is_message
from pinyon.session.line import LineHead, decode_object, encode_line, head_of, read_head


class _MessageLine(msgspec.Struct):
    message: AgentMessage


_decode_message_line = msgspec.json.Decoder(_MessageLine).decode


def decode_message(line: bytes) -> AgentMessage:
    """The message in the line of a `message` entry. Broken or missing ones read as messages of an unknown role."""
    try:
        return _decode_message_line(line).message
    except (msgspec.DecodeError, RecursionError):
        value = (decode_object(line) or {}).get("message")
        return message_from_wire(value if isinstance(value, dict) else {})


class SessionEntry:
    """One node of a session tree.

    Fields of the format have snake_case properties; those that the entry lacks, or holds in another type, read as None
    or empty. `object` gives the decoded entry with every key that stands in the file, to be read only.
    """

    __slots__ = ("__weakref__", "_message", "_object", "id", "kind", "line", "parent_id", "type")

    def __init__(self, line: bytes, head: LineHead, message: AgentMessage | None = None) -> None:
        self.line = line
        """The raw line without its newline."""
        self.type = head.type
        """`message`, `compaction`, `label` … or a type that a later version made."""
        self.id = head.id or ""
        self.parent_id = head.parent_id
        """The parent as it stands in the file, None for a root."""
        self.kind = head.kind
        """Type and role as one of the numbers of `session.kind`."""
        self._message = message
        self._object: dict[str, Any] | None = None

    @classmethod
    def from_line(cls, line: bytes) -> SessionEntry | None:
        """The entry in a line, None where the line is no JSON object."""
        head = read_head(line)
        return None if head is None else cls(line, head)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> SessionEntry:
        """An entry from its camelCase object; structs inside it are encoded."""
        line = encode_line(value)
        return cls(line, read_head(line) or head_of(value))

    @property
    def object(self) -> dict[str, Any]:
        """The decoded entry with all keys of the file; read only."""
        if self._object is None:
            self._object = decode_object(self.line) or {}
        return self._object

    def to_wire(self) -> dict[str, Any]:
        """A fresh copy of the entry's object that the caller may change."""
        return decode_object(self.line) or {}

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key of the file format."""
        return self.object.get(key, default)

    def _text(self, key: str) -> str:
        value = self.object.get(key)
        return value if isinstance(value, str) else ""

    @property
    def timestamp(self) -> str:
        """When the entry was made, ISO 8601; empty where unknown."""
        return self._text("timestamp")

    @property
    def timestamp_ms(self) -> int:
        """When the entry was made, Unix milliseconds; 0 where unknown."""
        return ms_from_iso(self.timestamp) or 0

    @property
    def is_message(self) -> bool:
        """Whether the entry is of type `message`."""
        return is_message(self.kind)

    @property
    def message(self) -> AgentMessage | None:
        """The message of a `message` entry, None for other entries. The same object each time."""
        if self._message is None and is_message(self.kind):
            self._message = decode_message(self.line)
        return self._message

    @property
    def role(self) -> str:
        """The role of the message as it stands in the file; empty for other entries."""
        message = self.object.get("message") if is_message(self.kind) else None
        role = message.get("role") if isinstance(message, dict) else None
        return role if isinstance(role, str) else ""

    @property
    def provider(self) -> str:
        """Provider of a `model_change` or `usage` entry."""
        return self._text("provider")

    @property
    def model_id(self) -> str:
        """Model of a `model_change` entry."""
        return self._text("modelId")

    @property
    def thinking_level(self) -> str:
        """Level of a `thinking_level_change` entry."""
        return self._text("thinkingLevel")

    @property
    def summary(self) -> str:
        """Text of a `compaction` or `branch_summary` entry."""
        return self._text("summary")

    @property
    def first_kept_entry_id(self) -> str | None:
        """First entry before a compaction that stays in the context."""
        return self._text("firstKeptEntryId") or None

    @property
    def tokens_before(self) -> int | float:
        """Estimated tokens of the context before a compaction."""
        value = self.object.get("tokensBefore")
        return value if isinstance(value, int | float) and not isinstance(value, bool) else 0

    @property
    def system_message(self) -> SystemMessage | None:
        """The system message that held at a compaction."""
        message = _message_or_none(self.object.get("systemMessage"))
        return message if isinstance(message, SystemMessage) else None

    @property
    def retained_tail(self) -> list[AgentMessage] | None:
        """Messages that a compaction keeps inside itself; None where it keeps entries by id."""
        tail = self.object.get("retainedTail")
        if not isinstance(tail, list):
            return None
        return [message_from_wire(item) for item in tail if isinstance(item, dict)]

    @property
    def from_id(self) -> str:
        """The leaf that a `branch_summary` entry summarises from, or `root`."""
        return self._text("fromId")

    @property
    def from_hook(self) -> bool:
        """Whether an extension made the summary."""
        return self.object.get("fromHook") is True

    @property
    def details(self) -> Any:
        """What the maker of a summary or custom message attached; None where absent."""
        return self.object.get("details")

    @property
    def custom_type(self) -> str:
        """Whose entry a `custom` or `custom_message` entry is."""
        return self._text("customType")

    @property
    def data(self) -> Any:
        """Payload of a `custom` entry; None where absent."""
        return self.object.get("data")

    @property
    def content(self) -> Any:
        """Content of a `custom_message` entry: text or camelCase blocks."""
        return self.object.get("content")

    @property
    def display(self) -> bool:
        """Whether a `custom_message` entry is shown."""
        return self.object.get("display") is True

    @property
    def target_id(self) -> str:
        """The entry that a `label` or `context_edit` entry is about."""
        return self._text("targetId")

    @property
    def label(self) -> str | None:
        """Text of a `label` entry; None clears the label."""
        return self._text("label") or None

    @property
    def name(self) -> str | None:
        """Session name of a `session_info` entry; None clears the name."""
        return self._text("name").strip() or None

    @property
    def replacement(self) -> Any:
        """What a `context_edit` entry puts in place of its target: None removes, else an object with `content`."""
        return self.object.get("replacement")

    @property
    def usage(self) -> Any:
        """Token usage object of the model calls behind the entry; None where absent."""
        return self.object.get("usage")

    @property
    def usage_kind(self) -> str:
        """What the tokens of a `usage` entry were spent on."""
        return self._text("kind")

    @property
    def model(self) -> str:
        """Model of a `usage` entry."""
        return self._text("model")

    @property
    def note(self) -> str | None:
        """Remark of a `usage` entry."""
        return self._text("note") or None

    def __repr__(self) -> str:
        return f"SessionEntry(type={self.type!r}, id={self.id!r}, parent_id={self.parent_id!r})"


def _message_or_none(value: Any) -> AgentMessage | None:
    return message_from_wire(value) if isinstance(value, dict) else None


def virtual_message_entry(entry_id: str, parent_id: str, timestamp: str, message: AgentMessage) -> SessionEntry:
    """A `message` entry that stands in no file."""
    role = type(message).__struct_config__.tag if isinstance(message, MessageBase) else ""
    value = {"type": "message", "id": entry_id, "parentId": parent_id, "timestamp": timestamp, "message": message}
    head = LineHead("message", entry_id, parent_id, entry_kind("message", str(role)))
    return SessionEntry(encode_line(value), head, message)
