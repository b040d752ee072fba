"""One answer of the model inside a run: the request made from the context, the stream turned into events."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.agent.event import MessageStart, MessageUpdate
from pinyon.agent.grace import AbortGrace
from pinyon.agent.hook import AgentContext, Emit, LoopConfig, settled
from pinyon.agent.run_tool import ABORTED_TEXT
from pinyon.ai.event import AssistantMessageEvent, Done, Start, StreamError
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    Message,
    StopReason,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.stream import AssistantMessageEventStream, StreamFn
from pinyon.ai.usage import Usage

NO_CALL_TEXT = "the answer stopped for a tool and ended without a tool call"
"""Error text of an answer whose stop reason promises a call that is not there; worth another try."""

_MODEL_ROLES = (SystemMessage, UserMessage, AssistantMessage, ToolResultMessage)


def llm_messages(messages: Iterable[AgentMessage]) -> list[Message]:
    """The messages that models know; those that hosts added are left out."""
    return [message for message in messages if isinstance(message, _MODEL_ROLES)]


def empty_answer(model: Model, stop_reason: StopReason, error_message: str, timestamp: int) -> AssistantMessage:
    """An answer that never came, with the reason."""
    return AssistantMessage(
        content=[],
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=Usage(),
        stop_reason=stop_reason,
        error_message=error_message,
        timestamp=timestamp,
    )


class AnswerRequest(msgspec.Struct):
    """Everything that one request needs."""

    context: AgentContext
    model: Model
    thinking_level: ThinkingLevel
    config: LoopConfig
    signal: AbortSignal
    stream_fn: StreamFn

    async def messages(self) -> list[Message]:
        """The transcript as this request sends it."""
        messages = self.context.messages
        if self.config.transform_context is not None:
            messages = await settled(self.config.transform_context(list(messages), self.signal))
        if self.config.convert_to_llm is not None:
            return await settled(self.config.convert_to_llm(messages))
        return llm_messages(messages)

    async def open(self) -> AssistantMessageEventStream:
        """Ask the hooks, then start the request."""
        messages = await self.messages()
        options = self.config.options
        api_key = options.api_key
        if self.config.get_api_key is not None:
            api_key = await settled(self.config.get_api_key(self.model.provider)) or api_key
        level = None if self.thinking_level == "off" else self.thinking_level
        options = msgspec.structs.replace(options, signal=self.signal, api_key=api_key, reasoning=level)
        stream = self.stream_fn(self.model, messages, options)
        return await stream if inspect.isawaitable(stream) else stream


class AnswerStream:
    """Streams one answer into events; `complete` gives the finished message, which has had no `message_end` yet."""

    def __init__(self, request: AnswerRequest, emit: Emit) -> None:
        self._request = request
        self._emit = emit
        self._partial: AssistantMessage | None = None
        self._last: AssistantMessageEvent | None = None

    async def complete(self) -> AssistantMessage:
        """Run the request. A stream that does not end soon after an abort is left behind with what had arrived."""
        message: AssistantMessage | None = None
        async with AbortGrace(self._request.signal, self._request.config.abort_grace_s) as grace:
            message = await self._read(await self._request.open(), grace)
        if message is None:
            message = self._abandoned()
        message.thinking_level = self._request.thinking_level
        _check_stop_reason(message)
        if self._partial is None:
            delivery = self._emit(MessageStart(message=message))
            if delivery is not None:
                await delivery
        return message

    async def _read(self, stream: AssistantMessageEventStream, grace: AbortGrace) -> AssistantMessage:
        try:
            async for event in stream:
                if isinstance(event, Done):
                    return event.message
                if isinstance(event, StreamError):
                    return event.error
                delivery = self._take(event)
                if delivery is not None:
                    await grace.outside(delivery)
            return await stream.result()
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _take(self, event: Any) -> Any:
        """Emit what an event before the last means; what is to be awaited, if anything."""
        self._last = event
        if self._partial is not None:
            return self._emit(MessageUpdate(usage=self._partial.usage, assistant_message_event=event))
        if type(event) is Start:
            self._partial = event.partial
            return self._emit(MessageStart(message=self._partial))
        return None

    def _abandoned(self) -> AssistantMessage:
        if self._partial is None or isinstance(self._last, Done | StreamError | None):
            now = self._request.config.clock.now_ms()
            return empty_answer(self._request.model, "aborted", ABORTED_TEXT, now)
        return msgspec.structs.replace(self._last.partial, stop_reason="aborted", error_message=ABORTED_TEXT)


def _check_stop_reason(message: AssistantMessage) -> None:
    """A promised call that is missing is a failed answer, so that it is retried or shown instead of looking done."""
    if message.stop_reason == "toolUse" and not message.tool_calls:
        message.stop_reason = "error"
        message.error_message = NO_CALL_TEXT
