"""Asking a model for summaries: one request each, without tools, checked before anything is kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal, OperationAbortedError, until_aborted
from pinyon._util.clock import now_ms
from pinyon._util.ids import uuid7
from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, Message, SystemMessage, UserMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import RetryCallbacks, RetryPolicy, retry_assistant_call
from pinyon.ai.stream import StreamFn
from pinyon.ai.usage import Usage
from pinyon.coding.compaction.cut import CompactionPreparation
from pinyon.coding.compaction.instruction import (
    NO_EARLIER_HISTORY,
    SPLIT_TURN_HEADING,
    SYSTEM_PROMPT,
    history_request,
    prefix_request,
)
from pinyon.coding.compaction.serialize import serialize_conversation
from pinyon.coding.usage import total_usage
from pinyon.errors import PinyonError
from pinyon.session.llm_message import convert_to_llm


class SummaryError(PinyonError):
    """Raised when no usable summary came back; nothing was stored."""


class Summary(msgspec.Struct):
    """Text of a summary and what its requests cost."""

    text: str
    usage: Usage | UnsetType = UNSET


class SummaryWriter(msgspec.Struct, kw_only=True):
    """Who summarises: the model, how it is reached, and how failed requests are repeated.

    `session_id` routes all requests to one place; without it each request has an id of its own.
    """

    stream_fn: StreamFn
    model: Model
    thinking_level: ThinkingLevel
    policy: RetryPolicy
    signal: AbortSignal
    callbacks: RetryCallbacks
    session_id: str | None = None

    async def compact(self, preparation: CompactionPreparation, custom: str | None = None) -> Summary:
        """Summarise what a compaction cuts off. Raises `SummaryError`, or `OperationAbortedError` after an abort."""
        history, parts = preparation.messages_to_summarize, []
        if history:
            text = history_request(conversation_text(history), preparation.previous_summary, custom)
            parts.append(await self.ask(text))
            summary = parts[0].text
        else:
            summary = preparation.previous_summary or NO_EARLIER_HISTORY
        if preparation.is_split_turn:
            parts.append(await self.ask(prefix_request(conversation_text(preparation.turn_prefix_messages), custom)))
            summary += f"\n\n---\n\n{SPLIT_TURN_HEADING}\n\n{parts[-1].text}"
        usage = total_usage(part.usage for part in parts if part.usage)
        return Summary(text=summary + preparation.file_ops.as_text(), usage=usage)

    async def ask(self, text: str) -> Summary:
        """Send one request and return its checked answer."""
        answer = await retry_assistant_call(
            lambda: until_aborted(self._request(text), self.signal), self.policy, self.signal, self.callbacks
        )
        if answer.stop_reason == "aborted" or self.signal.aborted:
            raise OperationAbortedError
        if answer.stop_reason == "error":
            raise SummaryError(f"the summary request failed: {answer.error_message or 'no reason given'}")
        if answer.stop_reason == "length":
            raise SummaryError("the summary was cut at the output limit of the model and is not used")
        if answer.tool_calls:
            raise SummaryError("the model called a tool instead of writing a summary")
        summary = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
        if not summary.strip():
            raise SummaryError("the model returned an empty summary")
        return Summary(text=summary, usage=answer.usage)

    async def _request(self, text: str) -> AssistantMessage:
        messages: list[Message] = [
            SystemMessage(content=SYSTEM_PROMPT, timestamp=0),
            UserMessage(content=[TextContent(text=text)], timestamp=now_ms()),
        ]
        reasons = self.model.reasoning and self.thinking_level != "off"
        options = StreamOptions(
            signal=self.signal,
            session_id=self.session_id or uuid7(),
            cache_retention="none",
            reasoning=self.thinking_level if reasons else None,
        )
        stream = self.stream_fn(self.model, messages, options)
        return await (await stream if inspect.isawaitable(stream) else stream).result()


WriterSource = Callable[[AbortSignal, RetryCallbacks], SummaryWriter]
"""Makes the writer for one summary, with the model and settings in force."""


def conversation_text(messages: list[AgentMessage]) -> str:
    """Messages as the text that a summary request carries."""
    return serialize_conversation(convert_to_llm(message for message in messages if not _has_failed(message)))


def _has_failed(message: AgentMessage) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason == "error"
