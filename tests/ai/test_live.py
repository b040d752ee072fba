"""The growing answer behind every stream."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util import json as _json
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import TextDelta
from pinyon.ai.live import EmptyAnswerError, LiveAnswer
from pinyon.ai.model import Model


class SteppedClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.wall_ms = 1_000
        self.ticks_ms = 50.0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_ms(self) -> float:
        return self.ticks_ms

    async def sleep(self, delay_s: float) -> None:
        self.ticks_ms += delay_s * 1000


def model() -> Model:
    return Model(id="m", name="M", api="a", provider="p", base_url="http://127.0.0.1")


def answer() -> LiveAnswer:
    return LiveAnswer(model(), SteppedClock())


def test_a_new_answer_is_pending_and_has_zero_usage() -> None:
    message = answer().message
    assert (message.stop_reason, message.timestamp, message.content) == ("pending", 1000, [])
    assert _json.decode(_json.encode(message.usage)) == {
        "input": 0,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }


def test_partial_is_the_shared_live_message_brought_up_to_date() -> None:
    live = answer()
    start = live.start()
    live.text_start()
    first = live.text_delta(0, "Hel")
    assert start.partial.text == "Hel"
    live.text_delta(0, "lo")
    assert first.partial is start.partial
    assert first.partial.text == "Hello"


def test_arguments_show_what_has_arrived_while_they_stream() -> None:
    live = answer()
    live.toolcall_start("c1", "read")
    delta = live.toolcall_delta(0, '{"path":"a.t')
    assert delta.partial.tool_calls[0].arguments == {"path": "a.t"}
    live.toolcall_delta(0, 'xt"}')
    ended = live.toolcall_end(0)
    assert ended.tool_call.arguments == {"path": "a.txt"}
    assert not ended.tool_call.arguments_error


def test_arguments_that_are_no_object_become_an_empty_object_with_an_error() -> None:
    live = answer()
    live.toolcall_start("c1", "write")
    live.toolcall_delta(0, '{"path":"q.txt","content":"hi",]')
    call = live.toolcall_end(0).tool_call
    assert call.arguments == {}
    assert '"content":"hi",]' in str(call.arguments_error)


def test_an_end_event_may_replace_what_was_streamed() -> None:
    live = answer()
    live.text_start()
    live.text_delta(0, "draft")
    live.thinking_start()
    live.thinking_delta(1, "hm")
    assert live.text_end(0, "final").content == "final"
    assert live.thinking_end(1, signature="sig").content == "hm"
    assert live.message.content == [TextContent("final"), ThinkingContent("hm", "sig")]


def test_blocks_may_interleave_and_are_closed_in_content_order() -> None:
    live = answer()
    live.thinking_start()
    live.text_start()
    live.toolcall_start("c", "ls")
    live.text_delta(1, "t")
    live.thinking_delta(0, "h")
    assert [type(event).__name__ for event in live.end_open_blocks()] == ["ThinkingEnd", "TextEnd", "ToolCallEnd"]
    assert not live.is_open


def test_done_carries_the_message_with_its_duration() -> None:
    clock = SteppedClock()
    live = LiveAnswer(model(), clock)
    live.text_start()
    live.text_delta(0, "x")
    clock.ticks_ms += 12.6
    done = live.done("stop")
    assert done.message is live.target
    assert (done.message.stop_reason, done.message.duration_ms, done.message.text) == ("stop", 13, "x")


@pytest.mark.parametrize("aborted", [False, True])
def test_a_failed_answer_keeps_what_had_arrived(aborted: bool) -> None:
    live = answer()
    live.text_start()
    live.text_delta(0, "half")
    live.toolcall_start("c", "ls")
    live.toolcall_delta(1, '{"path":"/t')
    event = live.fail("connection lost", aborted=aborted)
    assert event.reason == event.error.stop_reason == ("aborted" if aborted else "error")
    assert event.error.content == [TextContent("half"), ToolCall(id="c", name="ls", arguments={"path": "/t"})]
    assert event.error.error_message == "connection lost"


def test_a_stop_without_text_or_call_is_a_failure() -> None:
    with pytest.raises(EmptyAnswerError, match="ended without"):
        answer().done("stop")


def test_a_stop_with_blank_text_or_thinking_only_is_a_failure() -> None:
    live = answer()
    live.thinking_start()
    live.thinking_delta(0, "hm")
    live.text_start()
    live.text_delta(1, " \n")
    with pytest.raises(EmptyAnswerError):
        live.done("stop")


def test_a_tool_stop_without_a_call_is_a_failure_even_with_text() -> None:
    live = answer()
    live.text_start()
    live.text_delta(0, "I will look")
    with pytest.raises(EmptyAnswerError, match="ended without a tool call"):
        live.done("toolUse")


def test_an_empty_answer_that_hit_the_output_limit_is_not_called_empty() -> None:
    assert answer().done("length").message.content == []


@given(text=st.text(), cuts=st.lists(st.integers(0, 60), max_size=6))
def test_surrogate_pairs_split_over_deltas_are_joined(text: str, cuts: list[int]) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    bounds = [0, *sorted(2 * cut for cut in cuts if 2 * cut <= len(units)), len(units)]
    live = answer()
    live.text_start()
    deltas: list[TextDelta] = [
        live.text_delta(0, units[a:b].decode("utf-16-le", "surrogatepass")) for a, b in itertools.pairwise(bounds)
    ]
    content = live.text_end(0).content
    assert content == text
    assert "".join(event.delta for event in deltas) == text
    content.encode()


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    live = answer()
    live.text_start()
    assert live.text_delta(0, "a\ude48b\ud83d").delta == "a\ufffdb"
    assert live.text_delta(0, "c").delta == "\ufffdc"
    live.text_delta(0, "\ud83d")
    assert live.text_end(0).content == "a\ufffdb\ufffdc\ufffd"
