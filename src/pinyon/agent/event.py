"""Events of an agent run, a closed union. Encoding an event gives its wire form."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.agent.tool import AgentToolResult
from pinyon.ai.event import UpdateEvent
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage
from pinyon.ai.usage import Usage


class AgentEventBase(msgspec.Struct, tag_field="type", rename="camel"):
    """Base of all agent events."""


class AgentStart(AgentEventBase, tag="agent_start"):
    """A run begins."""


class TurnStart(AgentEventBase, tag="turn_start"):
    """An assistant answer is about to be asked for; the first one precedes the prompt messages."""


class MessageStart(AgentEventBase, tag="message_start"):
    """A message begins; an assistant message is still partial."""

    message: AgentMessage


class MessageUpdate(AgentEventBase, tag="message_update"):
    """The assistant message grew. `message` is the live message so far; only usage and the delta are on the wire."""

    usage: Usage
    assistant_message_event: UpdateEvent

    @property
    def message(self) -> AssistantMessage:
        """The answer so far, shared and live."""
        return self.assistant_message_event.partial


class MessageEnd(AgentEventBase, tag="message_end"):
    """A message is complete; this object is the authoritative one that the transcript keeps."""

    message: AgentMessage


class ToolExecutionStart(AgentEventBase, tag="tool_execution_start"):
    """A tool call is taken up; `args` are the raw arguments as the model sent them."""

    tool_call_id: str
    tool_name: str
    args: object
    parent_tool_call_id: str | UnsetType = UNSET


class ToolExecutionUpdate(AgentEventBase, tag="tool_execution_update"):
    """A running tool reports progress."""

    tool_call_id: str
    tool_name: str
    args: object
    partial_result: AgentToolResult
    parent_tool_call_id: str | UnsetType = UNSET


class ToolExecutionEnd(AgentEventBase, tag="tool_execution_end"):
    """A tool call has its result; `duration_ms` is absent when the tool never ran."""

    tool_call_id: str
    tool_name: str
    result: AgentToolResult
    is_error: bool
    duration_ms: int | UnsetType = UNSET
    parent_tool_call_id: str | UnsetType = UNSET


class TurnEnd(AgentEventBase, tag="turn_end"):
    """An answer and its tool results are complete."""

    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class AgentEnd(AgentEventBase, tag="agent_end"):
    """The run is over; `messages` are those of this run. A session adds whether it will retry."""

    messages: list[AgentMessage]
    will_retry: bool | UnsetType = UNSET


AgentEvent: TypeAlias = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | AgentEnd
)
