"""The events that close a run which broke off."""

from __future__ import annotations

from typing import Any

import pytest
from tests.agent.scripted import MODEL, answer, user

from pinyon.agent.event import AgentEnd, MessageEnd, TurnEnd
from pinyon.agent.failure import failure_events
from pinyon.agent.run_tool import ABORTED_TEXT
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage

CALLS: list[Any] = [ToolCall(id=call_id, name="t", arguments={}) for call_id in ("1", "2", "3")]
RESULT = ToolResultMessage(tool_call_id="2", tool_name="t", content=[], is_error=False, timestamp=1)


def closing(messages: list[AgentMessage]) -> list[AgentMessage]:
    """The messages that are added, which turn and run end with too."""
    events = failure_events(messages, MODEL, "error", "broken", 7)
    *told, turn, run = events
    assert isinstance(turn, TurnEnd)
    assert isinstance(run, AgentEnd)
    added = [event.message for event in told if isinstance(event, MessageEnd)]
    assert added == run.messages == [*turn.tool_results, turn.message]
    return added


def test_every_call_without_a_result_gets_one_and_the_reason_comes_last() -> None:
    *results, last = closing([user("q"), answer(CALLS, "toolUse"), RESULT])
    assert [
        (message.tool_call_id, message.is_error, message.content)
        for message in results
        if isinstance(message, ToolResultMessage)
    ] == [(call_id, True, [TextContent(text=ABORTED_TEXT)]) for call_id in ("1", "3")]
    assert isinstance(last, AssistantMessage)
    assert (last.stop_reason, last.error_message, last.content) == ("error", "broken", [TextContent(text="")])


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_calls_of_a_failed_answer_never_get_results(stop: Any) -> None:
    assert len(closing([user("q"), answer(CALLS, stop)])) == 1


def test_without_calls_only_the_reason_is_added() -> None:
    assert len(closing([user("q")])) == len(closing([])) == len(closing([answer([])])) == 1
