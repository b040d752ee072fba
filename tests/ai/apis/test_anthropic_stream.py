"""Answers of the Anthropic Messages API, event by event, over loopback HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.apis.anthropic_messages import API
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, TextDelta, ToolCallDelta
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.testing.fake_anthropic import (
    answer,
    anthropic_answer,
    anthropic_reply,
    broken_reply,
    error_event,
    error_reply,
    redacted_thinking,
    text,
    thinking,
    tool_use,
    usage,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, ScriptedReply, Stall, Step
from pinyon.testing.stream import collect, event_names, final_message

USER = UserMessage(content="hello", timestamp=1)
KEY = "sk-secret-key-123"


def model(url: str, **fields: Any) -> Model:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    defaults: dict[str, Any] = {"id": "fake-1", "name": "Fake", "api": "anthropic-messages", "provider": "fake"}
    defaults |= {"base_url": url, "reasoning": True, "max_tokens": 8192, "cost": cost}
    return Model(**(defaults | fields))


def stream(server: FakeServer, fields: dict[str, Any] | None = None, **options: Any) -> AssistantMessageEventStream:
    return API.stream(model(server.url, **(fields or {})), [USER], StreamOptions(**{"api_key": KEY, **options}))


def ask(*replies: ScriptedReply, fields: dict[str, Any] | None = None, **options: Any) -> list[AssistantMessageEvent]:
    with FakeServer(replies) as server:
        return collect(stream(server, fields, **options))


def sse(*events: tuple[str | None, Any] | Step, **fields: Any) -> Reply:
    return Reply.sse(events, **fields)


def raw_answer(*blocks: dict[str, Any] | Sequence[dict[str, Any]], stop_reason: str | None = "end_turn") -> Reply:
    """A stream made of given block events, with head and end around them."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake-1", "content": [], "usage": usage()}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": head}]
    for block in blocks:
        events += [block] if isinstance(block, dict) else block
    events.append({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return Reply.sse([(event["type"], event) for event in events])


def started(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def ended(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


TEXT_BLOCK = (started(0, type="text", text=""), grown(0, type="text_delta", text="hi"), ended(0))


def test_events_come_in_the_order_of_the_blocks() -> None:
    events = ask(anthropic_answer(thinking("hm", pieces=1), tool_use("read", {"path": "a.txt"})))
    assert event_names(events) == [
        "start",
        "thinking_start#0",
        "thinking_delta#0",
        "thinking_end#0",
        "toolcall_start#1",
        *["toolcall_delta#1"] * 3,
        "toolcall_end#1",
        "done",
    ]


def test_the_message_holds_everything_that_was_streamed() -> None:
    events = ask(
        anthropic_answer(
            thinking("let me look", "c2ln"),
            redacted_thinking("b3BhcXVl"),
            text("I look. ü🙈"),
            tool_use("read", {"path": "ü", "n": 1.0}, call_id="toolu_1"),
            message_id="msg_9",
            counts=usage(100, 20, 10, 5),
        )
    )
    message = final_message(events)
    assert message.content == [
        ThinkingContent("let me look", "c2ln"),
        ThinkingContent("", "b3BhcXVl", True),
        TextContent("I look. ü🙈"),
        ToolCall(id="toolu_1", name="read", arguments={"path": "ü", "n": 1}),
    ]
    assert (message.stop_reason, message.raw_stop_reason, message.response_id) == ("toolUse", "tool_use", "msg_9")
    assert message.response_model is UNSET
    assert (message.usage.input, message.usage.output) == (100, 20)
    assert (message.usage.cache_read, message.usage.cache_write, message.usage.total_tokens) == (10, 5, 135)
    assert message.usage.cost.total == pytest.approx((300 + 300 + 3 + 18.75) / 1e6)
    assert message.usage.cost.total_from_provider is False
    assert isinstance(message.duration_ms, int)


@pytest.mark.parametrize("piece_bytes", [1, 3, 64, 10_000])
@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_any_cut_of_the_bytes_gives_the_same_answer(piece_bytes: int, framing: Any) -> None:
    scripted = answer(thinking("hm"), text("grüße 🙈 " * 20), tool_use("ls", {"p": "ä"}, call_id="c"))
    message = final_message(ask(anthropic_reply(scripted, piece_bytes=piece_bytes, framing=framing)))
    assert [block for block in message.content if isinstance(block, TextContent)] == [TextContent("grüße 🙈 " * 20)]
    assert message.tool_calls[0].arguments == {"p": "ä"}


def test_deltas_that_are_read_late_are_all_there() -> None:
    scripted = anthropic_answer(text("x" * 20_000, pieces=20_000))
    events = ask(scripted)
    assert sum(isinstance(event, TextDelta) for event in events) == 20_000
    assert final_message(events).text == "x" * 20_000


@pytest.mark.parametrize(
    ("stop_reason", "expected"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("pause_turn", "stop"), ("max_tokens", "length")],
)
def test_stop_reasons(stop_reason: str, expected: str) -> None:
    message = final_message(ask(anthropic_answer(text("x"), stop_reason=stop_reason)))
    assert (message.stop_reason, message.raw_stop_reason) == (expected, stop_reason)


@pytest.mark.parametrize(
    ("stop_reason", "details", "words"),
    [
        ("refusal", {"type": "refusal", "explanation": "it is dangerous"}, "it is dangerous"),
        ("refusal", None, "refused"),
        ("sensitive", None, "sensitive"),
        ("model_context_window_exceeded", None, "model_context_window_exceeded"),
        ("brand_new", None, "'brand_new'"),
    ],
)
def test_stops_that_are_failures_keep_the_content(stop_reason: str, details: Any, words: str) -> None:
    message = final_message(ask(anthropic_answer(text("x"), stop_reason=stop_reason, stop_details=details)))
    assert message.stop_reason == "error"
    assert words in str(message.error_message)
    assert message.text == "x"
    assert not is_retryable_assistant_error(message)


def test_calls_with_a_plain_stop_are_tool_use_and_calls_cut_at_the_limit_are_not() -> None:
    call = tool_use("ls", {"p": 1})
    assert final_message(ask(anthropic_answer(call, stop_reason="end_turn"))).stop_reason == "toolUse"
    cut = final_message(ask(anthropic_answer(tool_use("ls", {}, raw='{"p": "half'), stop_reason="max_tokens")))
    assert cut.stop_reason == "length"
    assert cut.tool_calls[0].arguments == {}
    assert '{"p": "half' in str(cut.tool_calls[0].arguments_error)


def test_malformed_arguments_are_an_empty_object_with_an_error() -> None:
    call = final_message(
        ask(anthropic_answer(tool_use("write", {}, raw='{"path":"q.txt","content":"hi",]')))
    ).tool_calls[0]
    assert call.arguments == {}
    assert '"content":"hi",]' in str(call.arguments_error)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (anthropic_answer(), "ended without"),
        (anthropic_answer(stop_reason="tool_use"), "without a tool call"),
        (anthropic_answer(text("I call"), stop_reason="tool_use"), "without a tool call"),
        (anthropic_answer(thinking("hm")), "ended without"),
        (anthropic_answer(text(" \n")), "ended without"),
    ],
)
def test_an_answer_that_says_nothing_is_a_failure_worth_repeating(reply: ScriptedReply, words: str) -> None:
    message = final_message(ask(reply))
    assert message.stop_reason == "error"
    assert words in str(message.error_message)
    assert is_retryable_assistant_error(message)


def test_calls_without_an_id_or_with_the_same_id_get_ids_of_their_own() -> None:
    calls = [tool_use("ls", {"n": n}, call_id=call_id) for n, call_id in enumerate(["x", "x", "", ""])]
    message = final_message(ask(anthropic_answer(*calls)))
    ids = [call.id for call in message.tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 4
    assert all(ids)
    assert [call.arguments for call in message.tool_calls] == [{"n": n} for n in range(4)]


def test_arguments_that_come_whole_with_the_start_are_taken() -> None:
    whole = (started(0, type="tool_use", id="c", name="ls", input={"p": "a"}), ended(0))
    events = ask(raw_answer(whole, stop_reason="tool_use"))
    assert final_message(events).tool_calls[0].arguments == {"p": "a"}
    assert [event.delta for event in events if isinstance(event, ToolCallDelta)] == ['{"p":"a"}']
    both = (
        started(0, type="tool_use", id="c", name="ls", input={"p": "a"}),
        grown(0, type="input_json_delta", partial_json='{"q":1}'),
        ended(0),
    )
    assert final_message(ask(raw_answer(both, stop_reason="tool_use"))).tool_calls[0].arguments == {"q": 1}


def test_text_that_comes_with_the_start_is_not_lost() -> None:
    block = (started(0, type="text", text="He"), grown(0, type="text_delta", text="llo"), ended(0))
    assert final_message(ask(raw_answer(block))).text == "Hello"


def test_blocks_of_other_kinds_are_passed_over() -> None:
    other = (
        started(0, type="server_tool_use", id="s", name="web_search", input={}),
        grown(0, type="input_json_delta", partial_json="{}"),
        ended(0),
    )
    later = (
        started(1, type="text", text=""),
        grown(1, type="citations_delta", citation={}),
        grown(1, type="text_delta", text="hi"),
        ended(1),
    )
    events = ask(raw_answer(other, later))
    assert final_message(events).content == [TextContent("hi")]
    assert event_names(events)[1] == "text_start#0"


def test_blocks_that_interleave_and_never_end_are_closed() -> None:
    blocks = [
        started(0, type="text", text=""),
        started(1, type="tool_use", id="c", name="ls", input={}),
        grown(0, type="text_delta", text="a"),
        grown(1, type="input_json_delta", partial_json='{"p":1}'),
        grown(0, type="text_delta", text="b"),
    ]
    events = ask(raw_answer(blocks))
    assert event_names(events)[-3:] == ["text_end#0", "toolcall_end#1", "done"]
    assert final_message(events).content == [TextContent("ab"), ToolCall(id="c", name="ls", arguments={"p": 1})]


def test_events_without_names_are_told_by_their_type() -> None:
    named = anthropic_answer(text("hi"))
    with FakeServer([named]) as server:
        collect(stream(server))
    scripted = answer(text("hi")).events("fake-1")
    message = final_message(ask(sse(*((None, data) for _, data in scripted), (None, "[DONE]"))))
    assert message.text == "hi"


def test_null_fields_count_as_absent_and_broken_escapes_are_repaired() -> None:
    head, tail = answer(text("")).events("fake-1")[:2], answer(text("")).events("fake-1")[-3:]
    odd: list[tuple[str, Any]] = [
        ("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}'),
        (
            "content_block_delta",
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\qb"}}',
        ),
        ("content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\tb"}}'),
    ]
    assert final_message(ask(sse(*head, *odd, *tail))).text == "a\\qba\tb"


def test_surrogates_that_arrive_as_escapes_in_two_deltas_are_joined() -> None:
    head, tail = answer(text("")).events("fake-1")[:2], answer(text("")).events("fake-1")[-3:]
    halves: list[tuple[str, Any]] = [
        (
            "content_block_delta",
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}',
        ),
        (
            "content_block_delta",
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude48\\ud83d"}}',
        ),
    ]
    events = ask(sse(*head, *halves, *tail))
    assert final_message(events).text == "🙈\ufffd"
    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["", "🙈"]


# Usage


def test_later_counts_override_only_what_they_name() -> None:
    scripted = answer(text("x"), counts=usage(100, 20, 10, 8, cache_creation={"ephemeral_1h_input_tokens": 3})).events(
        "m"
    )
    counts = {"output_tokens": 30, "input_tokens": None, "output_tokens_details": {"thinking_tokens": 12}}
    scripted[-2][1]["usage"] = counts
    message = final_message(ask(sse(*scripted)))
    assert (message.usage.input, message.usage.output, message.usage.reasoning) == (100, 30, 12)
    assert (message.usage.cache_write, message.usage.cache_write_1h, message.usage.total_tokens) == (8, 3, 148)
    assert message.usage.cost.cache_write == pytest.approx((3.75 * 5 + 2 * 3 * 3) / 1e6)


def test_missing_usage_is_zero() -> None:
    scripted = answer(text("x")).events("fake-1")
    del scripted[0][1]["message"]["usage"], scripted[-2][1]["usage"]
    assert final_message(ask(sse(*scripted))).usage.total_tokens == 0


def test_another_model_that_answered_is_named_and_priced() -> None:
    fallback = {"provider": "fake", "model": "other", "cost": {"input": 100, "output": 100}}
    fields = {"compat": {"allowedFallbackModels": [fallback]}}
    message = final_message(ask(anthropic_answer(text("x"), model="other"), fields=fields))
    assert message.response_model == "other"
    assert message.model == "fake-1"
    assert message.usage.cost.input == pytest.approx(100 * 100 / 1e6)
    unknown = final_message(ask(anthropic_answer(text("x"), model="dated"), fields=fields))
    assert unknown.response_model == "dated"
    assert unknown.usage.cost.input == pytest.approx(300 / 1e6)


def test_openrouter_reports_what_it_charged() -> None:
    scripted = anthropic_answer(text("x"), counts=usage(100, 20, cost=0.5, is_byok=False))
    message = final_message(ask(scripted, fields={"provider": "openrouter"}))
    assert (message.usage.cost.total, message.usage.cost.total_from_provider) == (0.5, True)


def test_a_takeover_in_the_middle_of_the_answer_is_a_failure_and_at_its_start_is_not() -> None:
    takeover = (started(9, type="fallback"), ended(9))
    late = final_message(ask(raw_answer(TEXT_BLOCK, takeover)))
    assert late.stop_reason == "error"
    assert is_retryable_assistant_error(late)
    assert final_message(ask(raw_answer(takeover, TEXT_BLOCK))).stop_reason == "stop"


def test_changes_that_the_server_made_to_the_input_are_noted() -> None:
    scripted = answer(text("x")).events("fake-1")
    scripted[0][1]["message"]["input_transformations"] = [{"type": "thinking_dropped", "message_index": 1}]
    scripted[-2][1]["input_transformations"] = []
    (diagnostic,) = final_message(ask(sse(*scripted))).diagnostics or []
    assert diagnostic.type == "anthropic_input_transformations"
    assert diagnostic.details == {"transformations": [{"type": "thinking_dropped", "message_index": 1}]}


# Hooks


def test_hooks_see_the_response_before_the_first_event_and_every_server_event() -> None:
    seen: list[Any] = []

    async def on_response(info: ResponseInfo, use: Model) -> None:
        seen.append((info.status, "request-id" in info.headers))

    async def on_event(event: Any, use: Model) -> None:
        seen.append(event["type"])

    scripted = answer(text("x", pieces=1))
    ask(anthropic_reply(scripted), on_response=on_response, on_provider_stream_event=on_event)
    assert seen == [(200, True), *(name for name, _ in scripted.events("m"))]


@pytest.mark.parametrize("hook", ["on_response", "on_provider_stream_event"])
def test_a_hook_that_raises_fails_the_answer(hook: str) -> None:
    def refuse(*_: Any) -> None:
        raise LookupError("hook bug")

    with FakeServer([anthropic_answer(text("x"))]) as server:
        use = StreamOptions(**{"api_key": KEY, hook: refuse})  # type: ignore[arg-type]
        message = final_message(collect(API.stream(model(server.url), [USER], use)))
    assert message.error_message == "LookupError: hook bug"


# Failures of the server


def test_an_error_body_is_told_whole_with_its_status() -> None:
    message = final_message(ask(error_reply(529, "overloaded_error", "Overloaded")))
    assert message.error_message == ('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    assert (message.stop_reason, message.content) == ("error", [])
    assert is_retryable_assistant_error(message)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply.text("", status=413), "413 status code (no body)"),
        (Reply.text("<html>bad gateway</html>", status=502), "502 <html>bad gateway</html>"),
        (Reply.json({"detail": "x"}, status=400), '400 {"detail":"x"}'),
    ],
)
def test_other_bodies_are_told_as_they_are(reply: Reply, expected: str) -> None:
    events = ask(reply)
    assert event_names(events) == ["error"]
    assert final_message(events).error_message == expected


def test_a_failing_server_is_asked_again_before_an_answer_started() -> None:
    with FakeServer(
        [
            error_reply(500, "api_error", "x"),
            error_reply(503, "api_error", "x", headers={"retry-after": "0"}),
            anthropic_answer(text("ok")),
        ]
    ) as server:
        message = final_message(collect(stream(server, max_retries=2)))
        assert len(server.requests) == 3
    assert message.text == "ok"


def test_a_wait_beyond_the_limit_fails_at_once() -> None:
    reply = error_reply(429, "rate_limit_error", "slow", headers={"retry-after": "9999"})
    message = final_message(ask(reply, max_retries=2, max_retry_delay_ms=1000))
    assert "retry delay of 9999 s" in str(message.error_message)
    assert "1 s" in str(message.error_message)


def test_an_error_in_the_middle_keeps_the_content_and_tells_the_raw_error() -> None:
    events = ask(broken_reply(answer(text("half of it")), 4, [error_event()]))
    message = final_message(events)
    assert event_names(events)[0] == "start"
    assert json.loads(str(message.error_message))["error"]["type"] == "overloaded_error"
    assert message.text == "half "
    assert message.usage.input == 100
    assert is_retryable_assistant_error(message)


def test_a_refusal_in_the_middle_is_not_worth_repeating() -> None:
    message = final_message(ask(broken_reply(answer(text("x")), 3, [error_event("invalid_request_error", "timeout")])))
    assert not is_retryable_assistant_error(message)


@pytest.mark.parametrize("keep_events", [1, 4, 6])
@pytest.mark.parametrize("then", [[], [Cut(politely=True)], [Cut()]])
def test_a_stream_that_breaks_off_is_worth_repeating(keep_events: int, then: list[Step]) -> None:
    message = final_message(ask(broken_reply(answer(text("half of it")), keep_events, then)))
    assert message.stop_reason == "error"
    assert is_retryable_assistant_error(message), message.error_message
    if not then:
        assert "stream ended before message_stop" in str(message.error_message)


def test_a_connection_that_drops_after_the_end_of_the_answer_does_no_harm() -> None:
    scripted = answer(text("all")).events("fake-1")
    assert final_message(ask(sse(*scripted, Cut()))).text == "all"
    assert final_message(ask(sse(*scripted, Stall()), timeout_ms=20_000)).text == "all"


def test_a_last_event_without_its_blank_line_counts() -> None:
    scripted = answer(text("all")).events("fake-1")
    body = b"".join(Reply.sse(scripted).body)[:-2]  # type: ignore[arg-type]
    reply = Reply(headers={"content-type": "text/event-stream"}, body=[body])
    assert final_message(ask(reply)).text == "all"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply.text(""), "ended without an answer"),
        (sse(("ping", {"type": "ping"})), "ended without an answer"),
        (Reply.json({"hello": "I am no model server"}), "I am no model server"),
        (Reply.text("<html>login</html>", headers={"content-type": "text/html"}), "text/html"),
        (sse(("message_start", "not json at all {")), "message_start"),
        (sse(("message_start", {"type": "message_start"})), "message_start"),
        (raw_answer(grown(3, type="text_delta", text="x")), "never began"),
        (raw_answer(TEXT_BLOCK, stop_reason=None), "without a stop reason"),
    ],
)
def test_nonsense_from_the_server_is_an_error_that_says_what_it_was(reply: Reply, words: str) -> None:
    message = final_message(ask(reply))
    assert message.stop_reason == "error"
    assert words in str(message.error_message)


@pytest.mark.parametrize(
    "reply",
    [
        Reply.text(f"bad key {KEY}", status=401),
        Reply.json({"error": {"message": f"Bearer {KEY} and x-api-key: {KEY}"}}, status=403),
        sse(("error", {"error": {"message": f"echo {KEY}"}})),
        Reply.text(f"you are {KEY}"),
    ],
)
def test_no_error_text_repeats_the_key(reply: Reply) -> None:
    message = final_message(ask(reply))
    assert message.stop_reason == "error"
    assert KEY not in str(message.error_message)


def test_silence_is_a_timeout_that_is_worth_repeating() -> None:
    for reply in (Reply.never(), broken_reply(answer(text("half")), 3, [Stall()])):
        message = final_message(ask(reply, timeout_ms=80))
        assert "timed out" in str(message.error_message)
        assert is_retryable_assistant_error(message)


def test_a_refused_connection_is_worth_repeating() -> None:
    with FakeServer() as server:
        pass
    message = final_message(collect(stream(server)))
    assert "ECONNREFUSED" in str(message.error_message)
    assert is_retryable_assistant_error(message)


def test_an_unusable_base_url_is_an_error_event() -> None:
    use = model("localhost:80")
    message = final_message(collect(API.stream(use, [USER], StreamOptions(api_key="k"))))
    assert "http://" in str(message.error_message)


# Abort


def test_an_abort_before_the_request_sends_nothing() -> None:
    controller = AbortController()
    controller.abort()
    with FakeServer([anthropic_answer(text("x"))]) as server:
        events = collect(stream(server, signal=controller.signal))
        assert server.requests == []
    assert event_names(events) == ["error"]
    assert final_message(events).stop_reason == "aborted"


@pytest.mark.parametrize("reply", [Reply.never(), broken_reply(answer(text("half of it")), 4, [Stall()])])
def test_an_abort_ends_the_stream_and_keeps_what_had_arrived(reply: Reply) -> None:
    controller = AbortController()

    async def scenario() -> AssistantMessage:
        answering = stream(server, signal=controller.signal)
        threading.Timer(0.1, controller.abort).start()
        message = await answering.result()
        await asyncio.to_thread(server.wait_until_idle)
        return message

    with FakeServer([reply]) as server:
        message = asyncio.run(scenario())
    assert message.stop_reason == "aborted"
    assert message.text == ("half " if reply.body else "")


def test_an_abort_between_two_events_of_one_packet_is_an_abort() -> None:
    controller = AbortController()

    async def scenario() -> AssistantMessage:
        answering = stream(server, signal=controller.signal)
        async for event in answering:
            if isinstance(event, TextDelta):
                controller.abort()
        return await answering.result()

    with FakeServer([anthropic_answer(text("half of it"))]) as server:
        assert asyncio.run(scenario()).stop_reason == "aborted"


def test_a_cancelled_reader_closes_the_connection() -> None:
    async def scenario() -> None:
        task = asyncio.create_task(stream(server).result())
        await asyncio.to_thread(server.wait_for_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.wait_until_idle)

    with FakeServer([broken_reply(answer(text("x")), 3, [Stall()])]) as server:
        asyncio.run(scenario())


def test_a_reader_that_leaves_early_closes_the_connection() -> None:
    async def scenario() -> None:
        answering = stream(server)
        async for _ in answering:
            break
        await answering.aclose()
        await asyncio.to_thread(server.wait_until_idle)

    with FakeServer([broken_reply(answer(text("x")), 3, [Stall()])]) as server:
        asyncio.run(scenario())


def test_turns_of_one_loop_share_a_connection() -> None:
    async def scenario() -> None:
        for _ in range(3):
            assert (await stream(server).result()).text == "hi"
            await asyncio.sleep(0.02)

    with FakeServer([anthropic_answer(text("hi"))]) as server:
        asyncio.run(scenario())
        assert server.connection_count == 1
