"""What every wire API must do when requests and answers go wrong, for those of Google and Mistral."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from tests.ai.apis.wires import KEY, MISTRAL, PNG, SYSTEM, USER, WIRES, Wire, result

from pinyon._util.abort import AbortController
from pinyon.ai.api import get_api
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent, TextDelta
from pinyon.ai.message import Message, UserMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.transform import NO_RESULT, TOOL_IMAGE_OMITTED, USER_IMAGE_OMITTED
from pinyon.errors import AuthError
from pinyon.testing.fake_google import thought_signature
from pinyon.testing.fake_mistral import SIGNATURE
from pinyon.testing.fake_server import Cut, FakeServer, Reply, Stall, Step, encode_sse
from pinyon.testing.stream import event_names, final_message

every_api = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.api)
RETRYING = [wire for wire in WIRES if wire is not MISTRAL]
retrying_api = pytest.mark.parametrize("wire", RETRYING, ids=lambda wire: wire.api)


@every_api
def test_a_missing_key_is_an_error_that_names_the_provider(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(AuthError, match=f"'{wire.provider}'"):
        get_api(wire.api).stream(wire.model(), [USER], StreamOptions())


@every_api
def test_a_key_in_a_header_of_the_model_is_enough(wire: Wire) -> None:
    asked = wire.ask(wire.answer("ok"), fields={"headers": {"Authorization": "Bearer t"}}, api_key=None)
    assert asked.message.stop_reason == "stop"
    assert asked.requests[0].headers["authorization"] == "Bearer t"


@retrying_api
def test_a_wait_above_the_cap_fails_at_once_and_names_both(wire: Wire) -> None:
    asked = wire.ask(wire.error(429, "slow down", retry_after="3600"), max_retries=3)
    assert len(asked.requests) == 1
    assert "retry delay of 3600 s, more than the limit of 60 s" in asked.error
    assert asked.error.startswith('{"error":{"code":429')


@retrying_api
def test_a_server_error_is_repeated_as_often_as_the_caller_wants(wire: Wire) -> None:
    refusal = wire.error(503, "overloaded", retry_after_ms="1")
    assert wire.ask(refusal, wire.answer("ok"), max_retries=1).message.text == "ok"
    asked = wire.ask(refusal, wire.answer("ok"))
    assert asked.message.stop_reason == "error"
    assert len(asked.requests) == 1


def test_mistral_repeats_no_request_itself() -> None:
    asked = MISTRAL.ask(MISTRAL.error(429, "slow down", retry_after="3600"), MISTRAL.answer("ok"), max_retries=3)
    assert len(asked.requests) == 1
    assert asked.error.startswith('Mistral API error (429): {"object": "error", "message": "slow down"')
    assert is_retryable_assistant_error(asked.message)


@every_api
@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_passing_failures_read_as_such_to_the_agent(wire: Wire, status: int) -> None:
    for refusal in (wire.error(status, "try later"), Reply.text("<html>try later</html>", status)):
        asked = wire.ask(refusal)
        assert is_retryable_assistant_error(asked.message), asked.error


@every_api
def test_a_refusal_is_told_in_the_words_of_the_api(wire: Wire) -> None:
    asked = wire.ask(wire.error(400, "no such tool"))
    assert asked.error.startswith(wire.error_begin)
    assert "no such tool" in asked.error
    assert not is_retryable_assistant_error(asked.message)
    assert event_names(asked.events) == ["error"]


@every_api
def test_a_refusal_without_a_body_names_the_status(wire: Wire) -> None:
    asked = wire.ask(Reply.text("", 502))
    assert "502" in asked.error
    assert "(no body)" in asked.error
    assert is_retryable_assistant_error(asked.message)


@every_api
def test_a_long_refusal_is_cut(wire: Wire) -> None:
    assert len(wire.ask(wire.error(400, "x" * 9000)).error) < 4200


@every_api
def test_an_error_in_the_stream_keeps_what_came_before(wire: Wire) -> None:
    asked = wire.ask(wire.stream_of([wire.chunk("Hel"), wire.mid_error]))
    assert event_names(asked.events) == ["start", "text_start#0", "text_delta#0", "error"]
    assert "The model is overloaded." in asked.error
    assert asked.message.text == "Hel"
    assert is_retryable_assistant_error(asked.message)


@every_api
def test_a_stream_that_ends_too_early_is_an_error(wire: Wire) -> None:
    asked = wire.ask(wire.stream_of([wire.chunk("Hel")]))
    assert "ended without" in asked.error
    assert is_retryable_assistant_error(asked.message)


@every_api
@pytest.mark.parametrize("politely", [True, False])
def test_a_connection_that_breaks_is_an_error_that_can_be_retried(wire: Wire, politely: bool) -> None:
    body: list[Step] = [encode_sse(None, wire.chunk("Hel")), Cut(politely=politely)]
    asked = wire.ask(Reply(headers={"content-type": "text/event-stream"}, body=body))
    assert asked.message.text == "Hel"
    assert is_retryable_assistant_error(asked.message), asked.error


@every_api
def test_an_event_that_is_not_json_is_an_error(wire: Wire) -> None:
    asked = wire.ask(Reply.sse([(None, wire.chunk("Hel")), (None, "{broken")]))
    assert "not JSON" in asked.error


@every_api
@pytest.mark.parametrize("reply", [Reply.sse([]), Reply.text("<html>welcome</html>")])
def test_a_response_without_an_answer_is_an_error(wire: Wire, reply: Reply) -> None:
    assert "without an answer" in wire.ask(reply).error


@every_api
def test_an_answer_without_content_is_a_failure(wire: Wire) -> None:
    assert "ended without text or a tool call" in wire.ask(wire.answer("")).error


@every_api
def test_abort_in_the_middle_of_a_stream_keeps_what_came_before(wire: Wire) -> None:
    async def scenario() -> list[AssistantMessageEvent]:
        controller = AbortController()
        body: list[Step] = [encode_sse(None, wire.chunk("Hel")), Stall()]
        async with FakeServer([Reply(headers={"content-type": "text/event-stream"}, body=body)]) as server:
            options = StreamOptions(api_key=KEY, signal=controller.signal)
            events: list[AssistantMessageEvent] = []
            async for event in get_api(wire.api).stream(wire.model(server.url), [USER], options):
                events.append(event)
                if isinstance(event, TextDelta):
                    controller.abort()
            await asyncio.to_thread(server.wait_until_idle)
        return events

    events = asyncio.run(scenario())
    assert event_names(events) == ["start", "text_start#0", "text_delta#0", "text_end#0", "error"]
    message = final_message(events)
    assert message.stop_reason == "aborted"
    assert message.text == "Hel"


@every_api
def test_abort_before_the_request_sends_nothing(wire: Wire) -> None:
    controller = AbortController()
    controller.abort()
    asked = wire.ask(wire.answer("ok"), signal=controller.signal)
    assert asked.requests == []
    assert asked.message.stop_reason == "aborted"


@every_api
def test_a_server_that_says_nothing_times_out(wire: Wire) -> None:
    asked = wire.ask(Reply.never(), timeout_ms=50)
    assert "timed out" in asked.error
    assert is_retryable_assistant_error(asked.message)


@every_api
def test_broken_arguments_are_shown_and_go_back_as_an_object(wire: Wire) -> None:
    first = wire.ask(wire.broken_call).message
    assert first.stop_reason == "toolUse"
    call = first.tool_calls[0]
    assert call.arguments == {}
    assert '{"path": "a",]' in str(call.arguments_error)
    history: list[Message] = [SYSTEM, USER, first, result(call.id, TextContent("bad arguments"), is_error=True)]
    assert wire.ask(wire.strict(wire.answer("ok")), messages=history).message.text == "ok"


@every_api
def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_is_left_out(wire: Wire) -> None:
    history: list[Message] = [USER, wire.said(ToolCall("abc000001", "ls", {})), USER, result("abc000009"), USER]
    asked = wire.ask(wire.strict(wire.answer("ok")), messages=history)
    assert asked.message.text == "ok"
    assert NO_RESULT in json.dumps(asked.body)


@every_api
def test_two_calls_with_one_id_stay_apart(wire: Wire) -> None:
    twice = wire.said(ToolCall("abc000001", "ls", {"path": "a"}), ToolCall("abc000001", "ls", {"path": "b"}))
    history: list[Message] = [
        USER,
        twice,
        result("abc000001", TextContent("one")),
        result("abc000001", TextContent("two")),
    ]
    asked = wire.ask(wire.strict(wire.answer("ok")), messages=history)
    assert asked.message.text == "ok"


@every_api
def test_images_for_a_model_that_reads_text_become_a_notice(wire: Wire) -> None:
    image = ImageContent(PNG, "image/png")
    history: list[Message] = [
        UserMessage(content=[TextContent("look"), image], timestamp=1),
        wire.said(ToolCall("abc000001", "ls", {})),
        result("abc000001", image),
    ]
    sent = json.dumps(wire.body(history, {"input": ["text"]}))
    assert PNG not in sent
    assert USER_IMAGE_OMITTED in sent
    assert TOOL_IMAGE_OMITTED in sent


@every_api
def test_a_refused_image_is_left_out_of_the_next_try(wire: Wire) -> None:
    history: list[Message] = [
        UserMessage(content=[TextContent("look"), ImageContent(PNG + wire.api, "image/png")], timestamp=1)
    ]
    asked = wire.ask(wire.error(400, "Unable to process input image."), wire.answer("ok"), messages=history)
    assert asked.message.text == "ok"
    assert wire.api in asked.requests[0].body.decode()
    assert PNG not in asked.requests[1].body.decode()


@every_api
def test_a_lone_surrogate_does_not_break_the_request(wire: Wire) -> None:
    asked = wire.ask(wire.answer("ok"), messages=[UserMessage(content="a\ud83dz", timestamp=1)])
    assert asked.message.text == "ok"
    assert "a\ufffdz" in asked.requests[0].body.decode()


def signature_of(wire: Wire) -> str:
    return SIGNATURE if wire is MISTRAL else thought_signature(wire.model_id)


@every_api
def test_the_same_model_gets_its_thinking_back(wire: Wire) -> None:
    signature = signature_of(wire)
    history: list[Message] = [USER, wire.said(ThinkingContent("deep thought", signature), TextContent("hi")), USER]
    asked = wire.ask(wire.strict(wire.answer("ok")), messages=history)
    assert asked.message.text == "ok"
    sent = json.dumps(asked.body)
    assert "deep thought" in sent
    assert signature in sent


@every_api
@pytest.mark.parametrize("other", [{"model": "gemini-3-pro"}, {"api": "anthropic-messages"}, {"provider": "other"}])
def test_another_model_gets_no_thinking_and_no_signature(wire: Wire, other: dict[str, Any]) -> None:
    call = ToolCall("call|with/odd:characters" + "x" * 80, "ls", {"path": "a"}, thought_signature="QUJD")
    said = wire.said(ThinkingContent("deep thought", "QUJD"), TextContent("hi", "QUJD"), call, **other)
    history: list[Message] = [USER, said, result(call.id), USER]
    asked = wire.ask(wire.strict(wire.answer("ok")), messages=history)
    assert asked.message.text == "ok"
    sent = json.dumps(asked.body)
    assert "deep thought" not in sent
    assert "QUJD" not in sent
    assert "odd:characters" not in sent


@every_api
def test_a_later_turn_begins_with_the_bytes_of_the_earlier_one(wire: Wire) -> None:
    """Providers cache by prefix: a message must be sent the same way for ever."""
    image = ImageContent(PNG, "image/png")
    history: list[Message] = [SYSTEM, USER]
    with FakeServer() as server:
        server.play(
            [
                wire.strict(wire.answer("Let me see.", "hm", [("ls", {"b": 1.0, "a": "é"}), ("ls", {"path": "b"})])),
                wire.strict(wire.answer("", "more", [("ls", {"path": "c"})])),
                wire.strict(wire.answer("Done.")),
                wire.strict(wire.answer("Bye.")),
            ]
        )
        for _ in range(4):
            message = final_message(wire.stream_events(server.url, history, {}, {"session_id": "s1"}))
            assert message.stop_reason in ("stop", "toolUse"), message.error_message
            history.append(message)
            history += [result(call.id, TextContent("x"), image) for call in message.tool_calls]
            if not message.tool_calls:
                history.append(UserMessage(content="and now?", timestamp=9))
        bodies = [request.body for request in server.requests]
        turns = [wire.messages_of(request.json) for request in server.requests]
    for earlier, later, old, new in zip(bodies, bodies[1:], turns, turns[1:], strict=False):
        assert new[: len(old)] == old
        whole = b",".join(map(compact, old))
        assert earlier.index(whole) == later.index(whole)


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@every_api
def test_the_key_never_shows_up_in_an_error(wire: Wire) -> None:
    echoes = [
        wire.error(401, f"bad key {KEY}"),
        Reply.text(f"no entry for {KEY}", 403),
        wire.stream_of([wire.chunk("Hel"), {"error": {"message": f"revoked {KEY}"}}]),
        Reply.text(f"<html>{KEY}</html>"),
    ]
    for echo in echoes:
        asked = wire.ask(echo)
        assert KEY not in asked.error
        assert KEY not in repr(asked.message)


@every_api
def test_hooks_see_and_change_the_request_and_see_every_event(wire: Wire) -> None:
    seen: list[Any] = []

    async def payload(body: dict[str, Any], _: Any) -> dict[str, Any]:
        return body | {"labels": {"by": "hook"}}

    asked = wire.ask(
        wire.answer("ok"), on_payload=payload, on_provider_stream_event=lambda event, _: seen.append(event)
    )
    assert asked.body["labels"] == {"by": "hook"}
    assert seen
    assert all(isinstance(event, dict) for event in seen)


@every_api
def test_headers_are_layered_and_can_be_removed(wire: Wire) -> None:
    headers = {"User-Agent": "mine", "accept": None}
    asked = wire.ask(wire.answer("ok"), fields={"headers": {"x-a": "1", "user-agent": "model"}}, headers=headers)
    sent = asked.requests[0].headers
    assert sent["user-agent"] == "mine"
    assert sent["x-a"] == "1"
    assert "accept" not in sent


@every_api
def test_loading_an_api_loads_no_other_and_no_library_that_it_may_not_need(wire: Wire) -> None:
    code = f"import sys; from pinyon.ai.api import get_api; get_api({wire.api!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    family = "mistral" if wire is MISTRAL else "google"
    apis = {name.rpartition(".")[2] for name in loaded if name.startswith("pinyon.ai.apis.")}
    assert apis
    assert all(name.startswith((family, "vertex")) for name in apis)
    assert not {"google.auth", "google.genai", "mistralai", "httpcore2", "PIL", "yaml", "rich"} & set(loaded)
