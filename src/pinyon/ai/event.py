"""Events of one streaming answer, a closed union.

Encoding an event gives its wire form. `partial` is the answer so far: the stream's own live message, brought up to date
when it is asked for, so that text is not joined again for every delta.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

from pinyon.ai.content import ToolCall
from pinyon.ai.message import AssistantMessage


class LiveMessage(Protocol):
    """An answer that grows; `message` brings it up to date and returns it, always the same object."""

    @property
    def message(self) -> AssistantMessage:
        """The live message."""
        ...


class StreamEvent(msgspec.Struct, tag_field="type", rename="camel", dict=True):
    """Base of the events that carry the answer so far."""

    @property
    def partial(self) -> AssistantMessage:
        """The answer so far, shared and live. Raises `AttributeError` on an event that no stream emitted."""
        live: LiveMessage | None = self.__dict__.get("_live")
        if live is None:
            raise AttributeError("this event does not belong to a stream")
        return live.message

    def bind(self, live: LiveMessage) -> None:
        """Attach the growing answer; done once by the stream that emits the event."""
        self.__dict__["_live"] = live


class Start(StreamEvent, tag="start"):
    """Response headers arrived."""


class TextStart(StreamEvent, tag="text_start"):
    """A text block begins, empty."""

    content_index: int


class TextDelta(StreamEvent, tag="text_delta"):
    """More text of a block."""

    content_index: int
    delta: str


class TextEnd(StreamEvent, tag="text_end"):
    """A text block is complete; `content` is authoritative."""

    content_index: int
    content: str


class ThinkingStart(StreamEvent, tag="thinking_start"):
    """A thinking block begins."""

    content_index: int


class ThinkingDelta(StreamEvent, tag="thinking_delta"):
    """More of a thinking block."""

    content_index: int
    delta: str


class ThinkingEnd(StreamEvent, tag="thinking_end"):
    """A thinking block is complete; `content` is authoritative."""

    content_index: int
    content: str


class ToolCallStart(StreamEvent, tag="toolcall_start"):
    """A tool call begins."""

    content_index: int
    id: str
    tool_name: str


class ToolCallDelta(StreamEvent, tag="toolcall_delta"):
    """A fragment of the JSON text of a call's arguments; may be empty."""

    content_index: int
    delta: str


class ToolCallEnd(StreamEvent, tag="toolcall_end"):
    """A tool call is complete."""

    content_index: int
    tool_call: ToolCall


class Done(msgspec.Struct, tag_field="type", tag="done"):
    """The answer is complete."""

    reason: Literal["stop", "length", "toolUse", "deferred"]
    message: AssistantMessage


class StreamError(msgspec.Struct, tag_field="type", tag="error"):
    """The request or the stream failed or was aborted; `error` holds what had arrived and the error text."""

    reason: Literal["error", "aborted"]
    error: AssistantMessage


UpdateEvent: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)

AssistantMessageEvent: TypeAlias = Start | UpdateEvent | Done | StreamError
