"""The `pi-messages` API over loopback: what is sent, how the answer is rebuilt, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.api import get_api
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, TextDelta
from pinyon.ai.message import AssistantMessage, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.tool import Tool
from pinyon.ai.usage import Usage
from pinyon.errors import AuthError
from pinyon.testing.fake_pi_messages import (
    answer_events,
    error_reply,
    gateway_answer,
    stream_reply,
    strict_gateway,
    text,
    thinking,
    tool_use,
    usage,
)
from pinyon.testing.fake_server import Cut, FakeServer, Reply, ScriptedReply, Stall
from pinyon.testing.stream import collect, event_names, final_message

USER = UserMessage(content="hello", timestamp=1)
TOKEN = "gateway-token-SECRET-123456"
API = get_api("pi-messages")
WHOLE = (thinking("hm well"), text("Hello.", "t1"), tool_use("ls", {"path": "."}, call_id="c1"))


def model(url: str, **fields: Any) -> Model:
    defaults: dict[str, Any] = {"id": "balanced", "name": "B", "api": "pi-messages", "provider": "radius"}
    cost = ModelCost(input=3, output=15)
    return Model(**(defaults | {"base_url": url, "reasoning": True, "cost": cost, "input": ["text", "image"]} | fields))


def stream(
    server: FakeServer, messages: Sequence[Any] = (USER,), fields: dict[str, Any] | None = None, **options: Any
) -> AssistantMessageEventStream:
    return API.stream(model(server.url, **(fields or {})), messages, StreamOptions(**{"api_key": TOKEN, **options}))


def ask(*replies: ScriptedReply, **options: Any) -> list[AssistantMessageEvent]:
    with FakeServer(replies) as server:
        return collect(stream(server, **options))


def failed(*replies: ScriptedReply) -> AssistantMessage:
    message = final_message(ask(*replies))
    assert message.stop_reason == "error"
    return message


def sent(messages: Sequence[Any] = (USER,), fields: dict[str, Any] | None = None, **options: Any) -> Any:
    with FakeServer([strict_gateway(gateway_answer(text("ok")), token=TOKEN)]) as server:
        message = final_message(collect(stream(server, messages, fields, **options)))
        assert message.stop_reason == "stop", message.error_message
        return server.requests[0]


def answer(*content: Any, stop_reason: Any = "toolUse", **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {"api": "pi-messages", "provider": "radius", "model": "balanced", "usage": Usage()}
    return AssistantMessage(content=[*content], stop_reason=stop_reason, timestamp=2, **(defaults | fields))


def result(call_id: str, *content: Any, **fields: Any) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="ls", content=[*content], is_error=False, timestamp=3, **fields
    )


def test_without_a_key_the_request_raises_at_once_and_names_the_provider() -> None:
    with pytest.raises(AuthError, match="radius"):
        API.stream(model("http://127.0.0.1:1"), [USER], StreamOptions())


def test_a_header_may_take_the_place_of_the_key() -> None:
    headers = {"authorization": "Bearer other"}
    with FakeServer([strict_gateway(gateway_answer(text("ok")), token="other")]) as server:
        assert final_message(collect(stream(server, api_key=None, headers=headers))).stop_reason == "stop"


def test_the_request_holds_model_transcript_and_what_was_asked_for() -> None:
    tool = Tool(name="ls", description="d", parameters={"type": "object"})
    talk = [SystemMessage(content="be brief", timestamp=0, tools_added=[tool]), USER]
    request = sent(talk, reasoning="high", max_tokens=9, session_id="s", tool_choice="auto", temperature=0.5)
    assert (request.method, request.path) == ("POST", "/messages")
    assert request.headers["accept"] == "text/event-stream"
    assert request.json == {
        "model": "balanced",
        "context": {
            "messages": [
                {
                    "role": "system",
                    "content": "be brief",
                    "timestamp": 0,
                    "toolsAdded": [{"name": "ls", "description": "d", "parameters": {"type": "object"}}],
                },
                {"role": "user", "content": "hello", "timestamp": 1},
            ]
        },
        "options": {"temperature": 0.5, "maxTokens": 9, "reasoning": "high", "sessionId": "s", "toolChoice": "auto"},
    }


def test_nothing_is_sent_that_nobody_asked_for() -> None:
    assert sent().json["options"] == {}
    assert sent(reasoning="off").json["options"] == {}
    assert sent(extra={"debug": True}).path == "/messages?debug=1"


@pytest.mark.parametrize("piece_bytes", [1, 7, None])
def test_the_message_is_rebuilt_from_its_events(piece_bytes: int | None) -> None:
    final: dict[str, Any] = {"responseId": "r1", "responseModel": "m9", "providerThinkingLevel": "high"}
    events = ask(gateway_answer(*WHOLE, piece_bytes=piece_bytes, **final))
    assert event_names(events) == [
        *("start", "thinking_start#0", "thinking_delta#0", "thinking_delta#0", "thinking_end#0"),
        *("text_start#1", "text_delta#1", "text_delta#1", "text_end#1"),
        *("toolcall_start#2", "toolcall_delta#2", "toolcall_delta#2", "toolcall_end#2", "done"),
    ]
    message = final_message(events)
    assert message.content == [
        ThinkingContent("hm well", "c2lnbmF0dXJl"),
        TextContent("Hello.", "t1"),
        ToolCall(id="c1", name="ls", arguments={"path": "."}),
    ]
    assert (message.response_id, message.response_model, message.provider_thinking_level) == ("r1", "m9", "high")
    assert (message.usage.cost.total, message.usage.cost.total_from_provider) == (0.5, True)


def test_without_a_reported_cost_the_models_rates_count() -> None:
    message = final_message(ask(gateway_answer(text("x"), usage=usage(100, 20, None))))
    assert message.usage.cost.total == pytest.approx((300 + 300) / 1e6)


def test_encrypted_thinking_keeps_its_payload() -> None:
    block = final_message(ask(gateway_answer(thinking("[hidden]", "QUJD", redacted=True), text("x")))).content[0]
    assert block == ThinkingContent("[hidden]", "QUJD", True)


def test_a_rewrite_is_noted_beside_the_answer() -> None:
    message = final_message(ask(gateway_answer(text("x"), rewrite={"kind": "trimmed"})))
    assert [(d.type, d.details) for d in message.diagnostics or ()] == [("pi_messages_rewrite", {"kind": "trimmed"})]


@pytest.mark.parametrize(
    ("reply", "words", "retried"),
    [
        (error_reply(402, "out of credit", "no_credit"), "402 Payment Required: out of credit (no_credit)", False),
        (error_reply(429, "slow down"), "429 Too Many Requests: slow down", True),
        (Reply.text("", 503), "503 status code (no body)", True),
        (Reply.text("<html>", 502), "502 <html>", True),
    ],
)
def test_refusals_are_told_and_noted_and_not_repeated(reply: Reply, words: str, retried: bool) -> None:
    with FakeServer([reply]) as server:
        message = final_message(collect(stream(server, max_retries=5)))
        assert len(server.requests) == 1
    assert message.error_message == words
    assert is_retryable_assistant_error(message) is retried
    (note,) = message.diagnostics or []
    assert note.type == "pi_messages_response_failure"
    assert (note.details or {})["status"] == reply.status


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"type": "text_delta", "contentIndex": 5, "delta": "x"}, "never began"),
        ({"type": "text_delta", "contentIndex": -1, "delta": "x"}, "never began"),
        ({"type": "text_start", "contentIndex": 7}, "block 7 where block 1 was due"),
        ({"type": "thinking_delta", "contentIndex": 0, "delta": "x"}, "another kind"),
        ({"type": "text_delta", "contentIndex": 0}, "cannot be read"),
        ({"type": "done", "reason": "tired", "usage": {}}, "'tired'"),
        ({"type": "error", "reason": "error", "errorMessage": "upstream 503", "usage": {}}, "upstream 503"),
    ],
)
def test_what_goes_wrong_in_the_middle_is_the_last_event(event: dict[str, Any], words: str) -> None:
    message = failed(stream_reply([*answer_events(text("half"))[:3], event]))
    assert words in str(message.error_message)
    assert message.text == "ha"


def test_an_abort_that_the_gateway_reports_is_one() -> None:
    event = {"type": "error", "reason": "aborted", "usage": {}}
    assert final_message(ask(stream_reply([{"type": "start"}, event]))).stop_reason == "aborted"


@pytest.mark.parametrize("then", [[], [Cut()], [Cut(politely=True)]])
def test_a_stream_that_ends_early_is_a_failure_worth_repeating(then: list[Any]) -> None:
    message = failed(stream_reply([*answer_events(text("half"))[:4], *then]))
    assert is_retryable_assistant_error(message), message.error_message


def test_a_page_instead_of_a_stream_is_shown_as_what_it_is() -> None:
    assert "<html>" in str(failed(Reply.text("<html>hi</html>")).error_message)


@pytest.mark.parametrize("raw", ['{"a":', "[1]", '"x"'])
def test_malformed_arguments_are_an_empty_object_with_an_error(raw: str) -> None:
    (call,) = final_message(ask(gateway_answer(tool_use("ls", None, raw=raw)))).tool_calls
    assert call.arguments == {}
    assert raw in str(call.arguments_error)


@pytest.mark.parametrize("when", ["before", "headers", "mid-body"])
def test_an_abort_ends_the_answer_at_any_point(when: str) -> None:
    replies: dict[str, Any] = {
        "before": gateway_answer(text("x")),
        "headers": Reply.never(),
        "mid-body": stream_reply([*answer_events(text("half"))[:4], Stall()]),
    }
    controller = AbortController()

    async def run(server: FakeServer) -> list[AssistantMessageEvent]:
        if when == "before":
            controller.abort()
        events = []
        async for event in stream(server, signal=controller.signal):
            events.append(event)
            if isinstance(event, TextDelta):
                controller.abort()
        return events

    def abort_when_asked(server: FakeServer) -> None:
        server.wait_for_requests(1)
        controller.abort()

    with FakeServer([replies[when]]) as server:
        if when == "headers":
            threading.Thread(target=abort_when_asked, args=[server]).start()
        message = final_message(asyncio.run(run(server)))
    assert message.stop_reason == "aborted"
    assert not message.diagnostics


def test_no_credential_shows_whatever_the_gateway_echoes() -> None:
    for reply in (
        error_reply(401, f"the key {TOKEN} is bad"),
        Reply.text(TOKEN, 401),
        stream_reply([{"type": "error", "reason": "error", "errorMessage": f"Bearer {TOKEN}", "usage": {}}]),
    ):
        message = failed(reply)
        assert TOKEN not in json.dumps([message.error_message, str(message.diagnostics)])


def test_what_is_meant_for_screens_and_programs_stays_here() -> None:
    noted = answer(ToolCall(id="c", name="ls", arguments={}))
    talk = [USER, noted, result("c", TextContent("r"), details={"secret": 1})]
    wire = sent(talk).json["context"]["messages"]
    assert "details" not in wire[2]


@pytest.mark.parametrize(
    ("foreign", "kept"),
    [({}, True), ({"model": "other"}, False), ({"api": "anthropic-messages"}, False), ({"provider": "x"}, False)],
)
def test_thinking_goes_back_to_the_model_that_made_it_only(foreign: dict[str, Any], kept: bool) -> None:
    talk = [USER, answer(ThinkingContent("hm", "c2ln"), TextContent("a"), stop_reason="stop", **foreign), USER]
    assert (b"c2ln" in sent(talk).body) is kept


def test_orphans_are_repaired_and_failed_answers_left_out() -> None:
    calls = [ToolCall(id="a", name="ls", arguments={}), ToolCall(id="a", name="ls", arguments={})]
    talk = [USER, answer(*calls), result("zz"), USER, answer(TextContent("half"), stop_reason="error"), USER]
    roles = [message["role"] for message in sent(talk).json["context"]["messages"]]
    assert roles == ["user", "assistant", "toolResult", "toolResult", "user", "user"]


def test_a_model_without_image_input_gets_a_note_and_surrogates_are_cleaned() -> None:
    talk = [UserMessage(content=[TextContent("a\ud800b"), ImageContent("AAAA", "image/png")], timestamp=1)]
    content = sent(talk, {"input": ["text"]}).json["context"]["messages"][0]["content"]
    assert content[0]["text"] == "a�b"
    assert "reads text only" in content[1]["text"]


def test_a_growing_conversation_keeps_its_beginning_byte_for_byte() -> None:
    talk = [
        SystemMessage(content="s", timestamp=0),
        USER,
        answer(ThinkingContent("hm", "c2ln"), ToolCall(id="c", name="ls", arguments={"z": 1, "a": 2.5})),
        result("c", TextContent("r")),
        answer(TextContent("done"), stop_reason="stop"),
        UserMessage(content="more", timestamp=9),
    ]
    before = b""
    for length in (2, 4, 6):
        body = sent(talk[:length]).body
        assert body.startswith(before)
        before = body[: body.index(b']},"options"')]


def test_events_that_were_not_told_have_no_ids() -> None:
    message = final_message(ask(gateway_answer(text("x"))))
    assert (message.response_id, message.response_model) == (UNSET, UNSET)
