"""Messages of a conversation: the four roles that models know and the four that hosts add.

Each message is a struct whose fields are those of the session format in snake_case; `ai.codec` converts to and from the
camelCase objects. Times are integer Unix milliseconds. Optional fields that are absent are `UNSET`, which is falsy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.ai.content import AssistantBlock, TextContent, ToolCall, UserBlock
from pinyon.ai.tool import Tool, ToolReference
from pinyon.ai.usage import Usage

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]
"""Why an answer ended; `pending` only while it streams."""


class MessageBase(msgspec.Struct, tag_field="role", rename="camel", weakref=True):
    """Base of all messages; `role` is the tag."""


class SystemMessage(MessageBase, tag="system"):
    """Instructions and tool declarations from this point of the conversation on.

    `sections` patches named parts of the prompt in order; a None value removes a part.
    """

    content: str | list[TextContent]
    timestamp: int | float
    sections: dict[str, str | None] | UnsetType = UNSET
    tools_added: list[Tool] | UnsetType = UNSET
    tools_removed: list[ToolReference] | UnsetType = UNSET


class UserMessage(MessageBase, tag="user"):
    """What the user said."""

    content: str | list[UserBlock]
    timestamp: int | float

    @property
    def text(self) -> str:
        """The text, or all text blocks joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(block.text for block in self.content if isinstance(block, TextContent))


class DiagnosticError(msgspec.Struct, omit_defaults=True):
    """The error of a diagnostic."""

    name: str | None = None
    message: str = ""
    stack: str | None = None
    code: str | int | None = None


class MessageDiagnostic(msgspec.Struct):
    """Something that happened on the way to an answer and did not stop it, such as a transport fallback."""

    type: str
    timestamp: int | float
    error: DiagnosticError | UnsetType = UNSET
    details: dict[str, Any] | UnsetType = UNSET


class DeferredHandle(msgspec.Struct, rename="camel"):
    """Where an answer can be fetched that the provider delivers later."""

    provider: str
    model_id: str
    api: str
    id: str
    expires_at: int | float | UnsetType = UNSET
    poll_after_ms: int | float | UnsetType = UNSET
    data: Any = UNSET


class AssistantMessage(MessageBase, tag="assistant"):
    """One answer of a model. While it streams, the stream owns it and grows it in place."""

    content: list[AssistantBlock]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int | float
    response_model: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    provider_thinking_level: str | UnsetType = UNSET
    diagnostics: list[MessageDiagnostic] | UnsetType = UNSET
    deferred: DeferredHandle | UnsetType = UNSET
    error_message: str | UnsetType = UNSET
    raw_stop_reason: str | UnsetType = UNSET
    end_turn: bool | UnsetType = UNSET
    duration_ms: int | float | UnsetType = UNSET
    thinking_level: str | UnsetType = UNSET

    @property
    def text(self) -> str:
        """All text blocks joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls in the order the model made them."""
        return [block for block in self.content if isinstance(block, ToolCall)]


class NestedCall(msgspec.Struct, rename="camel"):
    """A tool call that another tool made."""

    id: str
    name: str
    status: Literal["ok", "error", "unfinished"]
    arguments: dict[str, Any] | UnsetType = UNSET
    arguments_bytes: int | UnsetType = UNSET
    duration_ms: int | float | UnsetType = UNSET
    error: str | UnsetType = UNSET


class NestedCalls(msgspec.Struct):
    """Record of the calls that a tool made; `complete` is false where calls were left out."""

    calls: list[NestedCall]
    complete: bool


class ToolResultMessage(MessageBase, tag="toolResult"):
    """The outcome of one tool call. `details` is for programs and screens; the model sees only `content`."""

    tool_call_id: str
    tool_name: str
    content: list[UserBlock]
    is_error: bool
    timestamp: int | float
    details: Any = UNSET
    usage: Usage | UnsetType = UNSET
    nested_calls: NestedCalls | UnsetType = UNSET
    duration_ms: int | float | UnsetType = UNSET


class BashExecutionMessage(MessageBase, tag="bashExecution"):
    """A shell command that the user ran beside the model (`!command`)."""

    command: str
    output: str
    cancelled: bool
    truncated: bool
    timestamp: int | float
    exit_code: int | float | UnsetType | None = UNSET
    full_output_path: str | UnsetType = UNSET
    exclude_from_context: bool | UnsetType = UNSET


class CustomMessage(MessageBase, tag="custom"):
    """A message that an extension or a program put into the conversation."""

    custom_type: str
    content: str | list[UserBlock]
    display: bool
    timestamp: int | float
    details: Any = UNSET


class BranchSummaryMessage(MessageBase, tag="branchSummary"):
    """Stands for a branch that the conversation left; exists in memory only."""

    summary: str
    from_id: str
    timestamp: int | float


class CompactionSummaryMessage(MessageBase, tag="compactionSummary"):
    """Stands for earlier history that was compacted; exists in memory only."""

    summary: str
    tokens_before: int | float
    timestamp: int | float


class UnknownMessage(dict[str, Any]):
    """A message of a role that this version does not know, kept as the object it was read from."""

    @property
    def role(self) -> str:
        """The message's own role; empty where it has none."""
        value = self.get("role")
        return value if isinstance(value, str) else ""


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage
"""What a model is sent and answers."""

HostMessage: TypeAlias = BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage
"""What a host keeps in a conversation; models see it only as user messages."""

if TYPE_CHECKING:
    AgentMessage: TypeAlias = Message | HostMessage | UnknownMessage
else:
    # see `ai.content`: the lenient path of `ai.codec` adds unknown roles
    AgentMessage = Message | HostMessage


def message_role(message: AgentMessage) -> str:
    """The role of any message."""
    if isinstance(message, UnknownMessage):
        return message.role
    role = type(message).__struct_config__.tag
    return role if isinstance(role, str) else ""
