"""What a run gave, for programs that want the outcome instead of the events."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.agent.event import MessageEnd
from pinyon.ai.content import ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage
from pinyon.ai.usage import Usage
from pinyon.coding.answer import last_assistant
from pinyon.coding.event import SessionEvent
from pinyon.coding.event_hub import EventHub


class RunResult(msgspec.Struct, kw_only=True):
    """Outcome of one session-level run, from the prompt until it settled.

    `messages` are all messages finished on the way, failed attempts included; `usage` sums over all answers. `text`,
    `stop_reason` and `error_message` are those of the last answer; `stop_reason` is empty when there was none.
    """

    text: str
    messages: list[AgentMessage]
    tool_calls: list[ToolCall]
    usage: Usage
    stop_reason: str
    error_message: str | None


def result_of(messages: list[AgentMessage]) -> RunResult:
    """Sum up the finished messages of a run."""
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    last = last_assistant(messages)
    return RunResult(
        text=last.text if last else "",
        messages=messages,
        tool_calls=[call for answer in answers for call in answer.tool_calls],
        usage=total_usage(answer.usage for answer in answers),
        stop_reason=last.stop_reason if last else "",
        error_message=(last.error_message or None) if last else None,
    )


class FinishedMessages:
    """Collects the messages that finish while it is entered."""

    def __init__(self, events: EventHub) -> None:
        self._events = events
        self.messages: list[AgentMessage] = []

    def __enter__(self) -> FinishedMessages:
        self._unsubscribe = self._events.subscribe(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        self._unsubscribe()

    def _note(self, event: SessionEvent) -> None:
        if type(event) is MessageEnd:
            self.messages.append(event.message)


def total_usage(usages: Iterable[Usage]) -> Usage:
    """The sum of usages; optional parts are kept if any of them has it, provider totals only if all have."""
    total = Usage()
    from_provider: list[bool | UnsetType] = []
    for usage in usages:
        total.input += usage.input
        total.output += usage.output
        total.cache_read += usage.cache_read
        total.cache_write += usage.cache_write
        total.total_tokens += usage.total_tokens
        if usage.reasoning is not UNSET:
            total.reasoning = (total.reasoning or 0) + usage.reasoning
        if usage.cache_write_1h is not UNSET:
            total.cache_write_1h = (total.cache_write_1h or 0) + usage.cache_write_1h
        total.cost.input += usage.cost.input
        total.cost.output += usage.cost.output
        total.cost.cache_read += usage.cost.cache_read
        total.cost.cache_write += usage.cost.cache_write
        total.cost.total += usage.cost.total
        from_provider.append(usage.cost.total_from_provider)
    if from_provider and UNSET not in from_provider:
        total.cost.total_from_provider = all(from_provider)
    return total
