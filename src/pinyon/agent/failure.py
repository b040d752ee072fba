"""The end of a run that broke off: events that leave the transcript complete and say what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pinyon.agent.answer import empty_answer
from pinyon.agent.event import AgentEnd, AgentEvent, MessageEnd, MessageStart, TurnEnd
from pinyon.agent.run_tool import ABORTED_TEXT, failed_call
from pinyon.agent.tool_batch import result_message
from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage
from pinyon.ai.model import Model


def failure_events(
    messages: Sequence[AgentMessage], model: Model, reason: Literal["error", "aborted"], text: str, timestamp: int
) -> list[AgentEvent]:
    """Results for the calls that have none, an answer with the error text, then the ends of turn and run."""
    answer = empty_answer(model, reason, text, timestamp)
    answer.content = [TextContent(text="")]
    results = _missing_results(messages, timestamp)
    events: list[AgentEvent] = []
    closing: list[AgentMessage] = [*results, answer]
    for message in closing:
        events += [MessageStart(message=message), MessageEnd(message=message)]
    return [*events, TurnEnd(message=answer, tool_results=results), AgentEnd(messages=closing)]


def _missing_results(messages: Sequence[AgentMessage], timestamp: int) -> list[ToolResultMessage]:
    """Results for the calls of the last answer that have none, so that every call has exactly one."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolResultMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            if message.stop_reason in ("error", "aborted"):
                return []
            open_calls = [call for call in message.tool_calls if call.id not in answered]
            return [result_message(failed_call(call, ABORTED_TEXT), timestamp) for call in open_calls]
    return []
