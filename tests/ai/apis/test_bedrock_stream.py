"""Answers of the Bedrock Converse API, event by event, over loopback HTTP."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import threading
from typing import Any

import pytest
from botocore.eventstream import EventStream
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import EventStreamJSONParser
from tests.ai.apis.bedrock import TOKEN, USER, ask, failed, model, no_aws, stream

from pinyon._util.abort import AbortController
from pinyon.ai.apis.bedrock_converse_stream import API
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import TextDelta
from pinyon.ai.option import ResponseInfo, StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.testing.fake_bedrock import (
    answer_events,
    bedrock_answer,
    error_reply,
    event_frame,
    exception_frame,
    redacted_thinking,
    stream_reply,
    text,
    thinking,
    tool_use,
    usage,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, ScriptedReply, Stall
from pinyon.testing.stream import collect, event_names, final_message

__all__ = ["no_aws"]

WHOLE = (thinking("hm well"), text("Hello."), tool_use("ls", {"path": "."}, call_id="c1"))


def test_events_come_in_the_order_of_the_blocks() -> None:
    assert event_names(ask(bedrock_answer(*WHOLE))) == [
        "start",
        "thinking_start#0",
        "thinking_delta#0",
        "thinking_delta#0",
        "thinking_end#0",
        "text_start#1",
        "text_delta#1",
        "text_delta#1",
        "text_end#1",
        "toolcall_start#2",
        "toolcall_delta#2",
        "toolcall_delta#2",
        "toolcall_end#2",
        "done",
    ]


@pytest.mark.parametrize("piece_bytes", [1, 5, 97, None])
def test_any_cut_of_the_bytes_gives_the_same_answer(piece_bytes: int | None) -> None:
    message = final_message(ask(bedrock_answer(*WHOLE, piece_bytes=piece_bytes)))
    assert message.content == [
        ThinkingContent("hm well", "c2lnbmF0dXJl"),
        TextContent("Hello."),
        ToolCall(id="c1", name="ls", arguments={"path": "."}),
    ]
    assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "tool_use")


def test_usage_counts_caches_of_both_lifetimes_and_costs() -> None:
    counts = usage(10, 20, 30, 40, cacheDetails=[{"ttl": "1h", "inputTokens": 15}, {"ttl": "5m", "inputTokens": 25}])
    got = final_message(ask(bedrock_answer(text("x"), counts=counts))).usage
    assert (got.input, got.output, got.cache_read, got.cache_write, got.cache_write_1h) == (10, 20, 30, 40, 15)
    assert got.total_tokens == 100
    assert got.cost.cache_write == pytest.approx((3.75 * 25 + 2 * 3 * 15) / 1e6)
    assert got.cost.total == pytest.approx((3 * 10 + 15 * 20 + 0.3 * 30) / 1e6 + got.cost.cache_write)
    assert got.cost.total_from_provider is False


def test_without_metadata_usage_is_zero() -> None:
    message = final_message(ask(stream_reply(answer_events(text("x"))[:-1])))
    assert (message.stop_reason, message.usage.total_tokens) == ("stop", 0)


def test_encrypted_thinking_is_kept_whole_and_shown_as_a_note() -> None:
    payload = bytes(range(50))
    message = final_message(ask(bedrock_answer(redacted_thinking(payload, pieces=3), text("x"))))
    block = message.content[0]
    assert isinstance(block, ThinkingContent)
    assert block.redacted is True
    assert block.thinking.startswith("[")
    assert base64.b64decode(block.thinking_signature or "") == payload


@pytest.mark.parametrize(
    ("stop_reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_stop_reasons(stop_reason: str, expected: str) -> None:
    assert final_message(ask(bedrock_answer(text("x"), stop_reason=stop_reason))).stop_reason == expected


@pytest.mark.parametrize("stop_reason", ["guardrail_intervened", "content_filtered", "malformed_tool_use", "new"])
def test_stops_that_are_failures_name_the_reason_and_keep_the_content(stop_reason: str) -> None:
    message = failed(bedrock_answer(text("half"), stop_reason=stop_reason))
    assert stop_reason in str(message.error_message)
    assert message.text == "half"


def test_calls_with_a_plain_stop_are_tool_use_and_calls_cut_at_the_limit_are_not() -> None:
    call = tool_use("ls", {})
    assert final_message(ask(bedrock_answer(call, stop_reason="end_turn"))).stop_reason == "toolUse"
    assert final_message(ask(bedrock_answer(call, stop_reason="max_tokens"))).stop_reason == "length"


@pytest.mark.parametrize("raw", ['{"path":"q.txt","content":"hi",]', '"x"', "[1]", "null"])
def test_malformed_arguments_are_an_empty_object_with_an_error(raw: str) -> None:
    message = final_message(ask(bedrock_answer(tool_use("write", None, raw=raw))))
    (call,) = message.tool_calls
    assert message.stop_reason == "toolUse"
    assert call.arguments == {}
    assert raw in str(call.arguments_error)


def test_repeated_call_ids_get_ids_of_their_own() -> None:
    message = final_message(
        ask(
            bedrock_answer(
                tool_use("a", {}, call_id="x"), tool_use("b", {}, call_id="x"), tool_use("c", {}, call_id="")
            )
        )
    )
    ids = [call.id for call in message.tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert all(ids)


@pytest.mark.parametrize("parts", [(), (thinking("hm"),)])
def test_an_answer_that_says_nothing_is_a_failure_worth_repeating(parts: Any) -> None:
    assert is_retryable_assistant_error(failed(bedrock_answer(*parts)))


def test_blocks_that_never_end_are_closed() -> None:
    events = [event for event in answer_events(*WHOLE) if event[0] != "contentBlockStop"]
    names = event_names(ask(stream_reply(events)))
    assert [name for name in names if "_end" in name] == ["thinking_end#0", "text_end#1", "toolcall_end#2"]


def test_events_and_blocks_of_other_kinds_are_passed_over() -> None:
    events: list[Any] = answer_events(text("x"))
    image = {"start": {"image": {"format": "png"}}, "contentBlockIndex": 5}
    events[1:1] = [
        ("somethingNew", {"a": 1}),
        ("contentBlockStart", image),
        ("contentBlockStop", {"contentBlockIndex": 5}),
    ]
    assert final_message(ask(stream_reply(events))).text == "x"


def test_surrogates_that_arrive_in_two_deltas_are_joined() -> None:
    delta = [
        event_frame("contentBlockDelta", {"delta": {"text": half}, "contentBlockIndex": 0}) for half in "\ud83d\ude48"
    ]
    events: list[Any] = [("messageStart", {"role": "assistant"}), *delta, ("messageStop", {"stopReason": "end_turn"})]
    assert final_message(ask(stream_reply(events))).text == "🙈"


@pytest.mark.parametrize(
    ("kind", "prefix", "retried"),
    [
        ("internalServerException", "Internal server error", True),
        ("modelStreamErrorException", "Model stream error", True),
        ("validationException", "Validation error", False),
        ("throttlingException", "Throttling error", True),
        ("serviceUnavailableException", "Service unavailable", True),
        ("accessDeniedException", "accessDeniedException", False),
    ],
)
def test_a_failure_in_the_middle_keeps_what_came_before(kind: str, prefix: str, retried: bool) -> None:
    events: list[Any] = [*answer_events(text("half"))[:3], exception_frame(kind, "it broke")]
    message = failed(stream_reply(events))
    assert message.error_message == f"{prefix}: it broke"
    assert message.text == "half"
    assert is_retryable_assistant_error(message) is retried
    (diagnostic,) = message.diagnostics or []
    assert diagnostic.type == "bedrock_response_failure"
    assert (diagnostic.details or {})["errorCode"] == kind
    assert (diagnostic.details or {})["requestId"].startswith("req-")


def test_a_failure_tells_what_the_model_itself_said() -> None:
    frame = exception_frame("modelStreamErrorException", "it broke", originalStatusCode=424, originalMessage="gpu lost")
    message = failed(stream_reply([("messageStart", {"role": "assistant"}), frame]))
    assert "it broke (gpu lost)" in str(message.error_message)
    assert ((message.diagnostics or [])[0].details or {})["status"] == 424


def test_an_error_frame_is_a_failure() -> None:
    from pinyon.testing.fake_bedrock import encode_frame

    headers = {":message-type": "error", ":error-code": "InternalFailure", ":error-message": "boom"}
    assert failed(stream_reply([encode_frame(headers, b"")])).error_message == "InternalFailure: boom"


@pytest.mark.parametrize("keep", [0, 1, 3, 4])
def test_a_stream_that_ends_early_is_a_failure_worth_repeating(keep: int) -> None:
    message = failed(stream_reply([*answer_events(text("half"))[:keep]]))
    assert is_retryable_assistant_error(message), message.error_message


@pytest.mark.parametrize("then", [Cut(), Cut(politely=True)])
def test_a_connection_that_breaks_is_a_failure_worth_repeating(then: Cut) -> None:
    message = failed(stream_reply([*answer_events(text("half"))[:3], then]))
    assert is_retryable_assistant_error(message), message.error_message
    assert message.text == "half"


def test_a_frame_that_is_cut_off_is_a_failure_worth_repeating() -> None:
    frames = b"".join(event_frame(*event) for event in answer_events(text("half")))
    message = failed(Reply(headers={"content-type": "application/vnd.amazon.eventstream"}, body=[frames[:-20]]))
    assert is_retryable_assistant_error(message), message.error_message


def test_a_damaged_frame_is_a_failure_worth_repeating() -> None:
    frames = [event_frame(*event) for event in answer_events(text("half"))]
    damaged = frames[4][:-5] + bytes([frames[4][-5] ^ 1]) + frames[4][-4:]
    message = failed(stream_reply([*frames[:4], damaged]))
    assert "checksum" in str(message.error_message)
    assert is_retryable_assistant_error(message)


@pytest.mark.parametrize(
    "events",
    [
        [("messageStart", {})],
        [("messageStart", {"role": "user"})],
        [("contentBlockDelta", {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 0})],
        [("contentBlockDelta", {"contentBlockIndex": 0})],
        [event_frame("messageStart", [1])],
    ],
)
def test_events_out_of_place_are_errors_and_never_exceptions(events: list[Any]) -> None:
    assert failed(stream_reply(events)).error_message


def test_a_page_instead_of_a_stream_is_shown_as_what_it_is() -> None:
    reply = Reply(headers={"content-type": "text/html"}, body=[b"<html>sign in</html>"], framing="length")
    assert "<html>sign in" in str(failed(reply).error_message)


@pytest.mark.parametrize(
    ("reply", "text_of_error", "attempts"),
    [
        (error_reply(400, "ValidationException", "bad"), "Validation error: bad", 1),
        (error_reply(403, "AccessDeniedException", "no"), "AccessDeniedException: no", 1),
        (error_reply(429, "ThrottlingException", "slow", {"retry-after-ms": "1"}), "Throttling error: slow", 3),
        (error_reply(503, "ServiceUnavailableException", "x", {"retry-after-ms": "1"}), "Service unavailable: x", 3),
        (Reply.text("", 500, {"retry-after-ms": "1"}), "500 status code (no body)", 3),
        (Reply.text("<html>", 403), "403 <html>", 1),
    ],
)
def test_refusals_are_told_by_name_and_passing_ones_tried_three_times(
    reply: ScriptedReply, text_of_error: str, attempts: int
) -> None:
    with FakeServer([reply]) as server:
        message = final_message(collect(stream(server, max_retries=9)))
        assert message.error_message == text_of_error
        assert len(server.requests) == attempts


def test_a_passing_failure_is_repeated_and_the_answer_arrives() -> None:
    passing = error_reply(500, "InternalServerException", "x", {"retry-after-ms": "1"})
    assert event_names(ask(passing, passing, bedrock_answer(text("x"))))[-1] == "done"


def test_a_wait_beyond_the_limit_fails_at_once() -> None:
    reply = error_reply(429, "ThrottlingException", "slow", {"retry-after": "9999"})
    with FakeServer([reply]) as server:
        message = final_message(collect(stream(server)))
    assert str(message.error_message).startswith("Throttling error: slow; the server asked for a retry delay of 9999 s")
    assert is_retryable_assistant_error(message)
    assert len(server.requests) == 1


def test_a_retention_refusal_says_where_to_read_on() -> None:
    message = failed(error_reply(400, "ValidationException", "The data retention mode does not allow this model"))
    assert "https://docs.aws.amazon.com/" in str(message.error_message)


def test_hooks_see_the_response_and_each_event() -> None:
    seen: list[Any] = []
    ask(
        bedrock_answer(text("x", pieces=1)),
        on_response=lambda info, _: seen.append(info),
        on_provider_stream_event=lambda event, _: seen.append(event),
    )
    assert isinstance(seen[0], ResponseInfo)
    assert seen[1] == {"messageStart": {"role": "assistant"}}
    assert [next(iter(event)) for event in seen[2:]] == [
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


@pytest.mark.parametrize("when", ["before", "headers", "mid-body", "retry-delay"])
def test_an_abort_ends_the_answer_at_any_point(when: str) -> None:
    replies: dict[str, Any] = {
        "before": bedrock_answer(text("x")),
        "headers": Reply.never(),
        "mid-body": stream_reply([*answer_events(text("half"))[:3], Stall()]),
        "retry-delay": error_reply(503, "ServiceUnavailableException", "x", {"retry-after": "50"}),
    }
    controller = AbortController()

    async def run(server: FakeServer) -> Any:
        if when == "before":
            controller.abort()
        events = []
        async for event in stream(server, signal=controller.signal):
            events.append(event)
            if when == "mid-body" and isinstance(event, TextDelta) and event.partial.text == "half":
                controller.abort()
        return events

    def abort_when_asked(server: FakeServer) -> None:
        server.wait_for_requests(1)
        controller.abort()

    with FakeServer([replies[when]]) as server:
        if when in ("headers", "retry-delay"):
            threading.Thread(target=abort_when_asked, args=[server]).start()
        message = final_message(asyncio.run(run(server)))
    assert message.stop_reason == "aborted"
    assert message.text == ("half" if when == "mid-body" else "")
    assert not message.diagnostics


def test_no_credential_shows_whatever_the_server_echoes() -> None:
    echo = f"your key {TOKEN} is bad, Authorization: Bearer {TOKEN}"
    for reply in (
        error_reply(403, "AccessDeniedException", echo),
        Reply.text(echo, 403),
        stream_reply([("messageStart", {"role": "assistant"}), exception_frame("validationException", echo)]),
        Reply.text(echo),
    ):
        message = failed(reply)
        assert TOKEN not in json.dumps([message.error_message, str(message.diagnostics)])


def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    message = final_message(collect(API.stream(model(), [USER], StreamOptions(api_key="k", connect_timeout_ms=500))))
    assert is_retryable_assistant_error(message)


def test_the_vendors_parser_reads_the_fake_servers_stream() -> None:
    service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")
    shape = service.operation_model("ConverseStream").output_shape.members["stream"]
    parts = [*WHOLE, redacted_thinking(b"secret")]
    frames = [event_frame(*event) for event in answer_events(*parts)]

    class Raw:
        def stream(self) -> Any:
            return iter(frames)

    stream_of_theirs = EventStream(Raw(), shape, EventStreamJSONParser(), "ConverseStream")
    theirs = list(stream_of_theirs)
    kinds = [kind for kind, _ in itertools.groupby(next(iter(event)) for event in theirs)]
    assert kinds[0] == "messageStart"
    assert kinds[-2:] == ["messageStop", "metadata"]
    assert len(theirs) == len(frames)
    deltas = [event["contentBlockDelta"]["delta"] for event in theirs if "contentBlockDelta" in event]
    assert deltas[-1] == {"reasoningContent": {"redactedContent": b"secret"}}
