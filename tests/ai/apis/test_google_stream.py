"""Answers of Google's APIs: events, signatures, usage and ends of all kinds; the vendor's client on our fake server."""

from __future__ import annotations

from typing import Any

import pytest
from google import genai
from google.genai import types
from tests.ai.apis.wires import GOOGLE, KEY, SYSTEM, USER, result

from pinyon.ai.apis.google_message import STAND_IN_SIGNATURE
from pinyon.ai.apis.google_stream import AnswerReader, read_usage
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.testing.fake_google import (
    google_answer,
    google_call,
    google_chunk,
    google_error,
    google_fault,
    google_stream,
    google_usage,
    strict_google,
    thought_signature,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, Step, encode_sse
from pinyon.testing.stream import event_names, final_message

FLASH = "gemini-3-flash"


def ask_parts(*chunks: list[dict[str, Any]], finish: str | None = "STOP") -> Any:
    wire = [google_chunk(parts) for parts in chunks]
    return GOOGLE.ask(google_stream([*wire, google_chunk([], finish)]))


def test_the_events_of_thoughts_text_and_a_call() -> None:
    asked = GOOGLE.ask(google_answer("Hi!", thoughts="hm", calls=[google_call("ls", {"path": "."})]))
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
    message = asked.message
    assert (message.stop_reason, message.raw_stop_reason) == ("toolUse", "STOP")
    assert (message.response_id, message.response_model) == ("response-0001", "fake-version")


def test_two_calls_follow_each_other_with_ids_of_our_own() -> None:
    calls = [google_call("ls", {"a": 1.0}), google_call("ls", {"a": 2})]
    message = GOOGLE.ask(google_answer(calls=calls)).message
    first, second = message.tool_calls
    assert (first.arguments, second.arguments) == ({"a": 1}, {"a": 2})
    assert first.id.startswith("ls_")
    assert first.id.endswith("_1")
    assert second.id.endswith("_2")


def test_ids_of_the_server_are_kept_unless_they_come_twice() -> None:
    calls = [google_call("ls", call_id="x"), google_call("ls", call_id="x"), google_call("ls", call_id="")]
    ids = [call.id for call in GOOGLE.ask(google_answer(calls=calls)).message.tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert all(ids)


def test_the_last_signature_of_a_block_counts_and_empty_ones_do_not() -> None:
    message = ask_parts(
        [{"text": "a", "thought": True, "thoughtSignature": "QUJD"}],
        [{"text": "b", "thought": True, "thoughtSignature": ""}],
        [{"text": "c"}],
        [{"text": "", "thoughtSignature": "QUJE"}, {"text": "d", "thoughtSignature": "QUJF"}],
    ).message
    assert message.content == [ThinkingContent("ab", "QUJD"), TextContent("cd", "QUJF")]


def test_a_signature_without_text_gets_a_block_where_its_kind_has_none() -> None:
    message = ask_parts(
        [{"text": "a", "thought": True}],
        [{"text": "", "thoughtSignature": "QUJD"}],
        [{"functionCall": {"name": "ls"}, "thoughtSignature": "QUJE"}],
    ).message
    thought, text, call = message.content
    assert (thought, text) == (ThinkingContent("a"), TextContent("", "QUJD"))
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.thought_signature) == ({}, "QUJE")


def test_empty_parts_and_parts_of_other_kinds_open_no_block() -> None:
    asked = ask_parts(
        [{"text": "a"}, {"text": ""}, {"text": "", "thought": True}, {"executableCode": {"code": "1"}}],
        [{"inlineData": {"mimeType": "image/png", "data": "AA"}}, {}, {"text": "b"}],
    )
    assert asked.message.content == [TextContent("ab")]


def test_a_block_that_comes_back_is_a_new_one() -> None:
    thinking = {"text": "hm", "thought": True}
    asked = ask_parts([thinking], [{"text": "a"}], [thinking], [{"text": "b"}])
    assert [type(block) for block in asked.message.content] == [ThinkingContent, TextContent] * 2


@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": "ls", "args": "not json"}},
        {"functionCall": {"name": "ls", "args": [1]}},
        {"functionCall": {"name": "ls", "args": 3}},
    ],
)
def test_arguments_that_are_no_object_are_an_error_of_the_call(part: dict[str, Any]) -> None:
    message = ask_parts([part]).message
    assert message.stop_reason == "toolUse"
    assert message.tool_calls[0].arguments == {}
    assert message.tool_calls[0].arguments_error


def test_a_call_without_a_name_can_go_back() -> None:
    first = ask_parts([{"functionCall": {"args": None}}]).message
    history: list[Message] = [SYSTEM, USER, first, result(first.tool_calls[0].id, is_error=True)]
    assert GOOGLE.ask(strict_google(google_answer("ok")), messages=history).message.text == "ok"


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 20,
             "thoughtsTokenCount": 30, "totalTokenCount": 150},
            (20, 50, 80, 30, 150),
        ),
        (
            {"prompt_token_count": 100, "cached_content_token_count": 80, "candidates_token_count": 20},
            (20, 20, 80, 0, 120),
        ),
        ({"promptTokenCount": 10, "toolUsePromptTokenCount": 5, "responseTokenCount": 2}, (15, 2, 0, 0, 17)),
        ({"promptTokenCount": 10, "cachedContentTokenCount": 80}, (0, 0, 80, 0, 80)),
        ({"promptTokenCount": None, "candidatesTokenCount": "7", "thoughtsTokenCount": -1}, (0, 0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_usage_in_every_spelling(usage: dict[str, Any], counts: tuple[int, ...]) -> None:
    read = read_usage(usage)
    assert (read.input, read.output, read.cache_read, read.reasoning, read.total_tokens) == counts


def test_the_last_usage_is_charged() -> None:
    usage = google_usage(1000, 100, cachedContentTokenCount=400, thoughtsTokenCount=50)
    early = google_chunk([{"text": "a"}]) | {"usageMetadata": google_usage(1000, 1)}
    asked = GOOGLE.ask(google_stream([early, google_chunk([], "STOP") | {"usageMetadata": usage}]))
    read = asked.message.usage
    assert (read.input, read.output, read.cache_read, read.total_tokens) == (600, 150, 400, 1150)
    assert read.cost.total == pytest.approx((600 * 3 + 150 * 15 + 400 * 0.3) / 1e6)


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "CONTINUATION"])
def test_a_cut_answer_stays_cut_even_with_a_call(reason: str) -> None:
    message = GOOGLE.ask(google_answer("Hi", calls=[google_call("ls")], finish_reason=reason)).message
    assert (message.stop_reason, message.raw_stop_reason) == ("length", reason)


@pytest.mark.parametrize("reason", [reason.value for reason in types.FinishReason])
def test_every_other_end_is_an_error_that_names_it(reason: str) -> None:
    if reason in ("STOP", "MAX_TOKENS", "CONTINUATION"):
        return
    asked = GOOGLE.ask(google_answer("Hi", finish_reason=reason, finish_message="because"))
    assert asked.error == f"the model ended its answer with finishReason '{reason}': because"
    assert asked.message.text == "Hi"


def test_an_unknown_end_is_an_error() -> None:
    assert "'BRAND_NEW'" in GOOGLE.ask(google_answer("Hi", finish_reason="BRAND_NEW")).error


def test_a_blocked_prompt_is_an_error_that_says_why() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}}
    assert "blocked the prompt with blockReason 'SAFETY': no" in GOOGLE.ask(google_stream([blocked])).error


def test_an_answer_is_complete_when_the_connection_breaks_after_its_end() -> None:
    body: list[Step] = [encode_sse(None, google_chunk([{"text": "Hi"}], "STOP")), Cut()]
    asked = GOOGLE.ask(Reply(headers={"content-type": "text/event-stream"}, body=body))
    assert (asked.message.stop_reason, asked.message.text) == ("stop", "Hi")


@pytest.mark.parametrize("piece_bytes", [1, 7, 64])
def test_an_answer_may_arrive_in_any_pieces(piece_bytes: int) -> None:
    events = [(None, google_chunk([{"text": "Hé 🙈"}])), (None, google_chunk([], "STOP"))]
    assert GOOGLE.ask(Reply.sse(events, piece_bytes=piece_bytes)).message.text == "Hé 🙈"


def test_a_server_that_does_not_stream_may_send_a_list_or_one_object() -> None:
    chunks = [google_chunk([{"text": "a"}]), google_chunk([{"text": "b"}], "STOP")]
    assert GOOGLE.ask(Reply.json(chunks)).message.text == "ab"
    assert GOOGLE.ask(Reply.json(chunks[1])).message.text == "b"


def test_chunks_without_candidates_are_passed_over() -> None:
    candidates: list[Any] = [None, [], [{}], [{"content": {}}], [{"content": {"parts": None}}], [None]]
    odd: list[Any] = [{}, *({"candidates": value} for value in candidates), [], '"text"', None]
    asked = GOOGLE.ask(google_stream([*odd, google_chunk([{"text": "a"}], "STOP")]))
    assert asked.message.text == "a"


def test_a_conversation_that_is_too_long_is_recognised() -> None:
    text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    asked = GOOGLE.ask(google_error(400, text))
    assert is_context_overflow(asked.message, 1_048_576)
    assert not is_retryable_assistant_error(asked.message)


def test_a_refusal_is_compact_json() -> None:
    body = b'{\n  "error": {\n    "code": 400,\n    "message": "bad"\n  }\n}'
    asked = GOOGLE.ask(Reply(status=400, body=[body], framing="length"))
    assert asked.error == '{"error":{"code":400,"message":"bad"}}'


def test_generated_ids_hold_the_time() -> None:
    model = GOOGLE.model()
    answer = LiveAnswer(model)
    reader = AnswerReader(answer, model, clock_ms=lambda: 1234)
    reader.take(google_chunk([{"functionCall": {"name": "ls"}}]))
    assert answer.target.tool_calls[0].id == "ls_1234_1"


def test_calls_of_another_model_in_the_same_turn_get_a_stand_in_when_the_server_wants_one() -> None:
    calls = [ToolCall("c1", "ls", {}), ToolCall("c2", "ls", {})]
    foreign = GOOGLE.said(*calls, model="other-model", provider="other")
    history: list[Message] = [SYSTEM, USER, foreign, result("c1"), result("c2")]
    with FakeServer() as server:
        server.play([strict_google(google_answer("ok"))])
        for _ in range(2):
            message = final_message(GOOGLE.stream_events(server.url, history, {}, {}))
            assert message.text == "ok", message.error_message
        sent = [request.json["contents"][1]["parts"] for request in server.requests]
    assert [[part.get("thoughtSignature") for part in parts] for parts in sent] == [
        [None, None],
        [STAND_IN_SIGNATURE, None],
        [STAND_IN_SIGNATURE, None],
    ]


def test_a_refusal_that_a_stand_in_does_not_mend_is_told() -> None:
    asked = GOOGLE.ask(google_error(400, "Function call is missing a thought_signature in functionCall parts."))
    assert "missing a thought_signature" in asked.error
    assert len(asked.requests) == 2


# The fake server


def test_the_vendors_client_streams_from_the_fake_server() -> None:
    script = [google_answer("Hi!", thoughts="hm", calls=[google_call("ls", {"path": "."})], usage=google_usage(9, 8))]

    def read(url: str) -> list[types.GenerateContentResponse]:
        client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url, api_version="v1beta"))
        try:
            return list(client.models.generate_content_stream(model=FLASH, contents="hello"))
        finally:
            client.close()

    with FakeServer([strict_google(script[0])]) as server:
        chunks = read(server.url)
        assert server.requests[0].path == f"/v1beta/models/{FLASH}:streamGenerateContent?alt=sse"
    parts = [part for chunk in chunks for part in (chunk.candidates or [])[0].content.parts or []]  # type: ignore[union-attr]
    assert "".join(part.text or "" for part in parts if not part.thought) == "Hi!"
    assert [part.function_call.name for part in parts if part.function_call] == ["ls"]
    assert all(part.thought_signature for part in parts if part.function_call)
    counts = chunks[-1].usage_metadata
    assert counts is not None
    assert (counts.prompt_token_count, counts.candidates_token_count) == (9, 8)


OWN = thought_signature(FLASH)
UNSIGNED = {"functionCall": {"name": "ls", "args": {}, "id": "1"}}
CALL = UNSIGNED | {"thoughtSignature": OWN}
RESPONSE = {"functionResponse": {"name": "ls", "response": {}, "id": "1"}}


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        ([("user", [{"text": "a"}])], None),
        ([("user", [{"text": "a"}]), ("model", [CALL]), ("user", [RESPONSE])], None),
        ([("user", [{"text": "a"}]), ("model", [{"text": "", "thoughtSignature": OWN}])], None),
        ([("user", [{"text": "a"}]), ("model", [UNSIGNED]), ("user", [RESPONSE]), ("user", [{"text": "a"}])], None),
        ([("user", [{"text": "a"}]), ("model", [UNSIGNED]), ("user", [RESPONSE])], "missing a thought_signature"),
        ([], "must begin"),
        ([("model", [{"text": "a"}])], "must begin"),
        ([("user", [])], "without parts"),
        ([("user", [{"text": " "}])], "empty"),
        ([("user", [{"text": "a", "inlineData": {}}])], "exactly one"),
        ([("user", [{"text": "a", "thoughtSignature": thought_signature("gemini-3-pro")}])], "not valid"),
        ([("user", [{"text": "a", "thoughtSignature": "ab"}])], "not valid"),
        ([("user", [RESPONSE])], "without a function call"),
        ([("user", [CALL])], "outside a model turn"),
        ([("user", [{"text": "a"}]), ("model", [CALL])], "without responses"),
        ([("user", [{"text": "a"}]), ("model", [CALL, CALL])], "repeated"),
        ([("user", [{"text": "a"}]), ("model", [CALL]), ("user", [RESPONSE, RESPONSE])], "number"),
        ([("user", [{"text": "a"}]), ("model", [CALL]), ("user", [{"text": "b"}])], "number"),
        (
            [("user", [{"text": "a"}]), ("model", [CALL]), ("user", [{"functionResponse": {"name": "x"}}])],
            "do not match",
        ),
    ],
)
def test_the_strict_server_refuses_what_the_real_one_refuses(turns: Any, fault: str | None) -> None:
    found = google_fault([{"role": role, "parts": parts} for role, parts in turns], FLASH)
    assert (found is None) if fault is None else (fault in str(found))
