"""Answers of the Mistral API: events, odd tool calls, usage and ends of all kinds; the vendor's client."""

from __future__ import annotations

from typing import Any

import pytest
from mistralai.client import Mistral
from tests.ai.apis.wires import KEY, MISTRAL, USER

from pinyon.ai.api import get_api
from pinyon.ai.apis.mistral_conversations import MistralConversations
from pinyon.ai.apis.mistral_stream import read_usage
from pinyon.ai.content import TextContent, ThinkingContent
from pinyon.ai.option import StreamOptions
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.testing.fake_mistral import (
    mistral_answer,
    mistral_call,
    mistral_chunk,
    mistral_error,
    mistral_fault,
    mistral_stream,
    mistral_usage,
    strict_mistral,
    thinking_part,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, Stall, Step, encode_sse
from pinyon.testing.stream import collect, event_names, final_message


def ask_deltas(*deltas: dict[str, Any], finish: str | None = "stop") -> Any:
    return MISTRAL.ask(mistral_stream([*map(mistral_chunk, deltas), mistral_chunk({}, finish)]))


def fragment(arguments: Any = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [fields | {"function": function}]}


def test_the_events_of_thinking_text_and_a_call_which_ends_with_the_stream() -> None:
    asked = MISTRAL.ask(mistral_answer("Hi!", thinking="hm", calls=[mistral_call("ls", {"path": "."})]))
    assert event_names(asked.events) == [
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
        "toolcall_end#2",
        "done",
    ]
    assert (asked.message.stop_reason, asked.message.raw_stop_reason) == ("toolUse", "tool_calls")
    assert (asked.message.response_id, asked.message.response_model) == ("cmpl-0001", "fake")


def test_empty_deltas_do_not_part_thinking() -> None:
    message = ask_deltas(
        {"content": [thinking_part("a")]},
        {"content": ""},
        {"content": [{"type": "text", "text": ""}, thinking_part("")]},
        {"content": None},
        {"content": [thinking_part("b")]},
        {"content": "c"},
    ).message
    assert message.content == [ThinkingContent("ab"), TextContent("c")]


@pytest.mark.parametrize(
    "thinking",
    ["hm", ["hm"], [{"type": "text", "text": "hm"}], [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]],
)
def test_thinking_comes_as_text_or_as_parts(thinking: Any) -> None:
    message = ask_deltas({"content": [{"type": "thinking", "thinking": thinking}]}, {"content": "a"}).message
    assert message.content[0] == ThinkingContent("hm")


def test_a_signature_of_thinking_is_kept() -> None:
    message = ask_deltas({"content": [thinking_part("hm") | {"signature": "sig"}]}, {"content": "a"}).message
    assert message.content[0] == ThinkingContent("hm", "sig")


@pytest.mark.parametrize(
    "deltas",
    [
        [fragment('{"n":', "a", index=0, id="aaaaaaaa1"), fragment("1}", index=0),
         fragment('{"n":2}', "b", index=1, id="b")],
        [fragment('{"n":', "a", id="aaaaaaaa1"), fragment("1}"), fragment('{"n":2}', "b", id="b")],
        [fragment('{"n":1}', "a", index=0, id="aaaaaaaa1"), fragment('{"n":2}', "b", index=0, id="b")],
        [fragment('{"n":', "a", index=0, id="aaaaaaaa1"), fragment('{"n":', "b", index=1, id="b"),
         fragment("1}", index=0), fragment("2}", index=1)],
        [fragment({"n": 1}, "a", index=0, id="aaaaaaaa1"), fragment({"n": 2}, "b", index=1)],
        [fragment('{"n":1}', "a", index=0, id="null"), fragment('{"n":2}', "b", index=1, id="null")],
        [fragment('{"n":1}', "a", index=0, id="x"), fragment('{"n":', "b", index=1, id="x"), fragment("2}", index=1)],
        [fragment('{"n":1}', "a", index=0, id="x"), fragment('{"n":', "b", index=1, id="x"),
         fragment("2}", index=1, id="x")],
        [fragment('{"n":', "a", id="x"), fragment('{"n":2}', "b", id="y"), fragment("1}", id="x")],
        [fragment({}, "a", index=0, id="a"), fragment('{"n":1}', index=0, id="a"), fragment('{"n":2}', "b", index=1)],
    ],
)  # fmt: skip
def test_two_calls_stay_apart_however_their_fragments_are_marked(deltas: list[dict[str, Any]]) -> None:
    message = ask_deltas(*deltas, finish="tool_calls").message
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("a", {"n": 1}), ("b", {"n": 2})]
    assert len({call.id for call in message.tool_calls}) == 2


def test_a_missing_id_becomes_nine_characters_that_are_the_same_each_time() -> None:
    reply = mistral_answer(calls=[mistral_call("ls", call_id=None), mistral_call("ls", call_id=None)])
    first, second = (MISTRAL.ask(reply).message.tool_calls for _ in range(2))
    assert [call.id for call in first] == [call.id for call in second]
    assert all(len(call.id) == 9 and call.id.isalnum() for call in first)
    assert first[0].id != first[1].id


def test_a_call_with_a_plain_stop_is_a_call() -> None:
    assert (
        MISTRAL.ask(mistral_answer(calls=[mistral_call("ls")], finish_reason="stop")).message.stop_reason == "toolUse"
    )


@pytest.mark.parametrize("reason", ["length", "model_length"])
def test_a_cut_answer_stays_cut_even_with_a_call(reason: str) -> None:
    message = MISTRAL.ask(mistral_answer("Hi", calls=[mistral_call("ls")], finish_reason=reason)).message
    assert message.stop_reason == "length"


def test_a_stop_for_a_tool_without_a_call_is_a_failure() -> None:
    assert "without a tool call" in MISTRAL.ask(mistral_answer("Hi", finish_reason="tool_calls")).error


def test_an_error_as_the_end_can_be_retried() -> None:
    asked = MISTRAL.ask(mistral_answer("Hi", finish_reason="error"))
    assert "server error" in asked.error
    assert is_retryable_assistant_error(asked.message)


def test_an_unknown_end_is_an_error() -> None:
    assert "finish_reason 'brand_new'" in MISTRAL.ask(mistral_answer("Hi", finish_reason="brand_new")).error


@pytest.mark.parametrize(
    ("details", "cached", "reasoning"),
    [
        ({}, 0, 0),
        ({"num_cached_tokens": 80}, 80, 0),
        ({"cached_tokens": 80}, 80, 0),
        ({"prompt_tokens_details": {"cached_tokens": 80}}, 80, 0),
        ({"prompt_token_details": {"cached_tokens": 80}}, 80, 0),
        ({"prompt_tokens_details": None, "num_cached_tokens": None, "cached_tokens": 80}, 80, 0),
        ({"completion_tokens_details": {"reasoning_tokens": 5}}, 0, 5),
    ],
)
def test_usage_in_every_spelling(details: dict[str, Any], cached: int, reasoning: int) -> None:
    read = read_usage(mistral_usage(100, 20, **details))
    assert (read.input, read.cache_read, read.output, read.total_tokens) == (100 - cached, cached, 20, 120)
    assert (read.reasoning or 0) == reasoning


def test_usage_is_charged() -> None:
    usage = MISTRAL.ask(mistral_answer("Hi", usage=mistral_usage(1000, 100, num_cached_tokens=400))).message.usage
    assert usage.cost.total == pytest.approx((600 * 3 + 100 * 15 + 400 * 0.3) / 1e6)


def test_an_answer_without_usage_counts_nothing() -> None:
    assert MISTRAL.ask(mistral_answer("Hi", usage={})).message.usage.total_tokens == 0


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"error": "no luck"}, "no luck"),
        ({"error": {"message": "no luck", "type": "t", "code": 7}}, "no luck (t, 7)"),
        ({"object": "error", "message": "no luck"}, "no luck"),
        ({"error": {"detail": "no luck"}}, '{"detail":"no luck"}'),
        ([1], "no object"),
    ],
)
def test_an_error_in_the_stream_says_what_the_server_says(event: Any, text: str) -> None:
    assert text in MISTRAL.ask(mistral_stream([event])).error


def test_an_answer_is_complete_when_the_connection_breaks_after_its_end() -> None:
    body: list[Step] = [encode_sse(None, mistral_chunk({"content": "Hi"}, "stop")), Cut()]
    asked = MISTRAL.ask(Reply(headers={"content-type": "text/event-stream"}, body=body))
    assert (asked.message.stop_reason, asked.message.text) == ("stop", "Hi")


def test_nothing_is_awaited_after_the_closing_mark() -> None:
    body: list[Step] = [encode_sse(None, mistral_chunk({"content": "Hi"}, "stop")), encode_sse(None, "[DONE]"), Stall()]
    assert MISTRAL.ask(Reply(headers={"content-type": "text/event-stream"}, body=body)).message.text == "Hi"


@pytest.mark.parametrize("piece_bytes", [1, 7, 64])
def test_an_answer_may_arrive_in_any_pieces(piece_bytes: int) -> None:
    events = [(None, mistral_chunk({"content": "Hé 🙈"}, "stop")), (None, "[DONE]")]
    assert MISTRAL.ask(Reply.sse(events, piece_bytes=piece_bytes)).message.text == "Hé 🙈"


def test_a_server_that_does_not_stream_may_send_one_document() -> None:
    call = {"id": "abc000001", "function": {"name": "ls", "arguments": '{"path": "."}'}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    asked = MISTRAL.ask(Reply.json({"id": "x", "choices": [choice], "usage": mistral_usage()}))
    assert asked.message.text == "Hi"
    assert asked.message.tool_calls[0].arguments == {"path": "."}


def test_headers_that_do_not_come_within_the_limit_are_given_up() -> None:
    with FakeServer([Reply.never()]) as server:
        api = MistralConversations(header_timeout_s=0.05)
        events = collect(api.stream(MISTRAL.model(server.url), [USER], StreamOptions(api_key=KEY)))
    message = final_message(events)
    assert "timed out: no response headers within 0.05 s" in str(message.error_message)
    assert is_retryable_assistant_error(message)


def test_a_long_refusal_is_cut_and_a_full_context_recognised() -> None:
    asked = MISTRAL.ask(Reply.text("x" * 5000, 413))
    assert asked.error.startswith("Mistral API error (413): xxx")
    assert asked.error.endswith("[1000 more characters]")
    assert is_context_overflow(asked.message, 1000)
    text = "Prompt contains 9 tokens: too large for model with 8 maximum context length"
    assert is_context_overflow(MISTRAL.ask(mistral_error(400, text)).message, 1000)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_a_base_url_may_name_the_version(suffix: str) -> None:
    with FakeServer([mistral_answer("ok")]) as server:
        target = MISTRAL.model(server.url + suffix)
        final_message(collect(get_api(target.api).stream(target, [USER], StreamOptions(api_key=KEY))))
        assert server.requests[0].path == "/v1/chat/completions"


# The fake server


def test_the_vendors_client_streams_from_the_fake_server() -> None:
    script = mistral_answer("Hi!", thinking="hm", calls=[mistral_call("ls", {"path": "."})])
    with (
        FakeServer([strict_mistral(script)]) as server,
        Mistral(api_key=KEY, server_url=server.url) as client,
        client.chat.stream(model="fake", messages=[{"role": "user", "content": "hello"}]) as stream,
    ):
        chunks = [event.data for event in stream]
        assert server.requests[0].path.startswith("/v1/chat/completions")
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content for delta in deltas if isinstance(delta.content, str)) == "Hi!"
    calls = [call for delta in deltas for call in delta.tool_calls or []]
    assert [call.function.name for call in calls] == ["ls"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 100


def call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": {}} for call_id in ids]}


def tool(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "content": "ok", "tool_call_id": call_id}


ASKED = {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([ASKED], None),
        ([ASKED, call("abc000001"), tool("abc000001"), ASKED], None),
        ([ASKED, call("abc000001")], "without results"),
        ([ASKED, call("abc000001"), ASKED], "without results"),
        ([tool("abc000001")], "unknown call"),
        ([call("abc-00001"), tool("abc-00001")], "nine characters"),
        ([call("abc000001", "abc000001")], "repeated"),
        ([call("abc000001"), tool("abc000001"), call("abc000001")], "repeated"),
        ([{"role": "user", "content": " "}], "empty"),
        ([{"role": "assistant"}], "without content"),
        ([{"role": "user", "content": "a", "name": "x"}], "extra inputs"),
        ([{"role": "user", "content": [{"type": "thinking", "signature": "foreign"}]}], "signature"),
    ],
)
def test_the_strict_server_refuses_what_the_real_one_refuses(messages: list[Any], fault: str | None) -> None:
    found = mistral_fault(messages)
    assert (found is None) if fault is None else (fault in str(found))
