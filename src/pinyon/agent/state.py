"""What an agent is at any moment: its model, tools and transcript, and how far a run has come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from msgspec import UNSET

from pinyon.agent.event import (
    AgentEnd,
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
)
from pinyon.agent.tool import AgentTool, ToolDefinition
from pinyon.ai.message import AgentMessage, AssistantMessage, SystemMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.transcript import current_prompt, current_system_message

UNKNOWN_MODEL = Model(id="unknown", name="unknown", api="unknown", provider="unknown", base_url="")
"""Stands in the state of an agent that has no model yet; requests to it fail."""


class InitialState(TypedDict, total=False):
    """What an agent starts with."""

    system_prompt: str
    model: Model | None
    thinking_level: ThinkingLevel
    tools: Sequence[AgentTool | ToolDefinition]
    messages: Sequence[AgentMessage]


class AgentState:
    """State of an agent. Assign `model`, `thinking_level`, `tools` and `messages`; a run reads them when it starts.

    Prompt and declared tools are part of the transcript: a leading system message is made where the given messages do
    not begin with one.
    """

    def __init__(self, initial: InitialState) -> None:
        self.model: Model = initial.get("model") or UNKNOWN_MODEL
        self.thinking_level: ThinkingLevel = initial.get("thinking_level", "off")
        self._tools = _bound(initial.get("tools", ()))
        self._messages = list(initial.get("messages", ()))
        self._is_streaming = False
        self._streaming: MessageUpdate | MessageStart | None = None
        self._pending_tool_calls: frozenset[str] = frozenset()
        self._error_message: str | None = None
        self._add_leading_message(initial.get("system_prompt", ""))

    def _add_leading_message(self, prompt: str) -> None:
        if self._messages and isinstance(self._messages[0], SystemMessage):
            return
        if prompt or self._tools:
            declared = [tool.declaration() for tool in self._tools]
            self._messages.insert(0, SystemMessage(content=prompt, tools_added=declared or UNSET, timestamp=0))

    @property
    def system_prompt(self) -> str:
        """The prompt that the transcript's system messages add up to."""
        return current_prompt(self._messages)

    @property
    def tools(self) -> list[AgentTool]:
        """The tools that can run; assigning copies the sequence and binds definitions that have no context yet."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[AgentTool | ToolDefinition]) -> None:
        self._tools = _bound(tools)

    @property
    def messages(self) -> list[AgentMessage]:
        """The transcript; assigning copies the list."""
        return self._messages

    @messages.setter
    def messages(self, messages: Iterable[AgentMessage]) -> None:
        self._messages = list(messages)

    @property
    def is_streaming(self) -> bool:
        """Whether a run is in progress, its last listeners included."""
        return self._is_streaming

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The answer that is arriving, up to date; None between answers."""
        if self._streaming is None:
            return None
        message = self._streaming.message
        return message if isinstance(message, AssistantMessage) else None

    @property
    def pending_tool_calls(self) -> frozenset[str]:
        """Ids of the calls that have started and not ended; each change makes a new set."""
        return self._pending_tool_calls

    @property
    def error_message(self) -> str | None:
        """Error text of the last answer, if it had one; cleared when a run starts."""
        return self._error_message

    def begin_run(self) -> None:
        """A run starts."""
        self._is_streaming = True
        self._streaming = None
        self._error_message = None

    def end_run(self) -> None:
        """A run is over and its listeners are done."""
        self._is_streaming = False
        self._streaming = None
        self._pending_tool_calls = frozenset()

    def reduce(self, event: AgentEvent) -> None:
        """Take over what an event says."""
        if type(event) is MessageUpdate:  # by far the most frequent
            self._streaming = event
            return
        match event:
            case MessageStart():
                self._streaming = event if isinstance(event.message, AssistantMessage) else None
            case MessageEnd():
                self._streaming = None
                self._messages.append(event.message)
            case ToolExecutionStart():
                self._pending_tool_calls |= {event.tool_call_id}
            case ToolExecutionEnd():
                self._pending_tool_calls -= {event.tool_call_id}
            case TurnEnd():
                self._error_message = event.message.error_message or self._error_message
            case AgentEnd():
                self._streaming = None
            case _:
                pass

    def reset(self) -> None:
        """Forget the conversation except for the prompt and tools that hold at its end."""
        baseline = current_system_message(self._messages)
        self._messages = [] if baseline is None else [baseline]
        self._streaming = None
        self._error_message = None
        self._pending_tool_calls = frozenset()


def _bound(tools: Iterable[AgentTool | ToolDefinition]) -> list[AgentTool]:
    return [tool.bind() if isinstance(tool, ToolDefinition) else tool for tool in tools]
