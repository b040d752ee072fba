"""What a run gave, for programs that want the outcome instead of the events."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from pinyon.agent.event import MessageEnd
from pinyon.ai.content import ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage
from pinyon.ai.usage import Usage
from pinyon.coding.answer import last_assistant
from pinyon.coding.event import LimitName, SessionEvent
from pinyon.coding.event_hub import EventHub
from pinyon.coding.limit import LimitGuard, Totals
from pinyon.coding.usage import total_usage

Output = TypeVar("Output")

DEFAULT_REPAIRS = 2
"""How often an answer that does not fit is sent back."""


class RunResult(msgspec.Struct, kw_only=True):
    """Outcome of one session-level run, from the prompt until it settled.

    `messages` are all messages finished on the way, failed attempts included; `usage` sums over all answers. `text`,
    `stop_reason` and `error_message` are those of the last answer; `stop_reason` is empty when there was none.
    `totals` is what the run used, `limit` the limit that ended it before it was done.
    """

    text: str
    messages: list[AgentMessage]
    tool_calls: list[ToolCall]
    usage: Usage
    stop_reason: str
    error_message: str | None
    totals: Totals = msgspec.field(default_factory=Totals)
    limit: LimitName | None = None


class OutputResult(RunResult, Generic[Output], kw_only=True):
    """Outcome of a run that was asked for a typed answer; `output` is it, checked."""

    output: Output


def result_of(messages: list[AgentMessage], limits: LimitGuard | None = None) -> RunResult:
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
        totals=Totals() if limits is None else limits.totals,
        limit=None if limits is None else limits.stopped_by,
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
