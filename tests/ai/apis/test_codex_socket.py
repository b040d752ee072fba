"""WebSockets to the ChatGPT service: kept, continued, replaced by HTTP, aborted, and without the optional package."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.ai.apis.responses import SYSTEM, USER, model, result

from pinyon._util.abort import AbortController
from pinyon.ai.apis import codex_socket
from pinyon.ai.apis.openai_codex_responses import API
from pinyon.ai.event import StreamError, TextDelta
from pinyon.ai.message import AssistantMessage, Message, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.session_resource import cleanup_session_resources
from pinyon.ai.transport import FunctionTransport, MemoryResponse
from pinyon.testing.fake_codex import FakeSocketServer, SocketReply, account_token
from pinyon.testing.fake_responses import answer, function_call, message, reasoning, responses_answer
from pinyon.testing.fake_server import Cut, FakeServer, Reply, Stall

TOKEN = account_token("acc-1", mark="canary-credential-77")
CODEX = {"api": "openai-codex-responses", "provider": "openai-codex"}
ERROR = {"type": "error", "error": {"code": "server_error", "message": "boom"}}


def options(**fields: Any) -> StreamOptions:
    return StreamOptions(**{"api_key": TOKEN, "session_id": "sid", "transport": "auto", "reasoning": "low", **fields})


async def say(target: Model, turns: Sequence[Message], **fields: Any) -> AssistantMessage:
    return await API.stream(target, turns, options(**fields)).result()


def talk(server: FakeSocketServer, count: int, **fields: Any) -> list[AssistantMessage]:
    """Several turns of one session in one event loop; each answer, and what follows it, goes into the next turn."""

    async def run() -> list[AssistantMessage]:
        turns: list[Message] = [SYSTEM, USER]
        said: list[AssistantMessage] = []
        for number in range(count):
            said.append(await say(model(server.url, **CODEX), turns, **fields))
            turns.append(said[-1])
            turns += [result(call.id) for call in said[-1].tool_calls]
            turns += [] if said[-1].tool_calls else [UserMessage(f"more {number}", 5 + number)]
        return said

    cleanup_session_resources()
    return asyncio.run(run())


def talked(
    replies: Sequence[SocketReply], count: int = 1, **fields: Any
) -> tuple[list[AssistantMessage], FakeSocketServer]:
    with FakeSocketServer(replies) as server:
        return talk(server, count, **fields), server


CHAT = [
    answer(
        reasoning("hm"), message("one", phase="commentary"), function_call("ls", {"path": "."}), response_id="resp_1"
    ),
    answer(message("two"), response_id="resp_2"),
    answer(message("three"), response_id="resp_3"),
]


def test_an_answer_comes_over_a_socket() -> None:
    (said,), server = talked(CHAT[1:])
    assert (said.text, said.stop_reason, said.response_id) == ("two", "stop", "resp_2")
    assert not said.diagnostics
    frame = server.frames[0].body
    assert frame["type"] == "response.create"
    assert frame["store"] is False
    headers = server.handshakes[0]
    assert headers["openai-beta"] == "responses_websockets=2026-02-06"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["originator"] == "pinyon"
    assert headers["user-agent"].startswith("pinyon/")
    assert headers["session-id"] == headers["x-client-request-id"] == "sid"


def test_a_request_without_session_names_itself() -> None:
    _, server = talked(CHAT[1:], session_id=None)
    assert len(server.handshakes[0]["session-id"]) == 36


def test_a_socket_serves_the_next_turn_with_only_what_is_new() -> None:
    said, server = talked(CHAT, 3)
    assert [message.text for message in said] == ["one", "two", "three"]
    assert [frame.connection for frame in server.frames] == [0, 0, 0]
    first, second, third = (frame.body for frame in server.frames)
    assert "previous_response_id" not in first
    assert (second["previous_response_id"], third["previous_response_id"]) == ("resp_1", "resp_2")
    assert [item["type"] for item in second["input"]] == ["function_call_output"]
    assert [item["role"] for item in third["input"]] == ["user"]
    assert {**second, "input": 0, "previous_response_id": 0} == {**first, "input": 0, "previous_response_id": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"transport": "websocket"},
        {"transport": None},
        {"disable_continuation": True},
        {"on_payload": lambda body, _: {**body, "extra": 1}},
    ],
)
def test_the_whole_conversation_is_sent_where_continuing_is_not_wanted(fields: dict[str, Any]) -> None:
    _, server = talked(CHAT, 2, **fields)
    assert [frame.connection for frame in server.frames] == [0, 0]
    assert "previous_response_id" not in server.frames[1].body
    assert len(server.frames[1].body["input"]) == 6


def test_another_setting_begins_anew() -> None:
    async def run(url: str) -> None:
        target = model(url, **CODEX)
        said = await say(target, [SYSTEM, USER])
        await say(target, [SYSTEM, USER, said, UserMessage("more", 5)], reasoning="high")

    with FakeSocketServer(CHAT[1:]) as server:
        asyncio.run(run(server.url))
    assert "previous_response_id" not in server.frames[1].body


@pytest.mark.parametrize("code", ["previous_response_not_found", "websocket_connection_limit_reached"])
def test_a_forgotten_conversation_is_sent_whole_on_a_new_socket(code: str) -> None:
    news = {"type": "codex.rate_limits", "plan_type": "plus"}
    refusal: SocketReply = [news, {"type": "error", "status": 400, "error": {"code": code, "message": "no"}}]
    said, server = talked([CHAT[0], refusal, CHAT[1]], 2)
    assert said[1].text == "two"
    assert [frame.connection for frame in server.frames] == [0, 0, 1]
    assert "previous_response_id" in server.frames[1].body
    assert "previous_response_id" not in server.frames[2].body


def test_a_refusal_that_repeats_is_an_error() -> None:
    refusal: SocketReply = [{"type": "error", "error": {"code": "previous_response_not_found", "message": "no"}}]
    (said,), server = talked([refusal], 1)
    assert (said.stop_reason, len(server.frames)) == ("error", 2)
    assert "previous_response_not_found" in str(said.error_message)


def test_a_second_request_of_a_session_gets_a_socket_of_its_own() -> None:
    async def run(url: str) -> None:
        target = model(url, **CODEX)
        stream = API.stream(target, [SYSTEM, USER], options())
        await anext(stream)
        await say(target, [SYSTEM, USER])
        await stream.result()
        await say(target, [SYSTEM, USER])

    with FakeSocketServer([answer(message("x"))]) as server:
        asyncio.run(run(server.url))
    assert [frame.connection for frame in server.frames] == [0, 1, 0]


def test_sockets_end_with_their_session_and_their_loop() -> None:
    async def run(url: str, server: FakeSocketServer) -> None:
        target = model(url, **CODEX)
        await say(target, [SYSTEM, USER], session_id="a")
        await say(target, [SYSTEM, USER], session_id="b")
        cleanup_session_resources("a")
        await say(target, [SYSTEM, USER], session_id="a")
        await say(target, [SYSTEM, USER], session_id="b")

    with FakeSocketServer([answer(message("x"))]) as server:
        asyncio.run(run(server.url, server))
        assert [frame.connection for frame in server.frames] == [0, 1, 2, 1]
        deadline = time.monotonic() + 10
        while server.open_count and time.monotonic() < deadline:
            time.sleep(0.005)
        assert server.open_count == 0


def test_an_old_socket_is_replaced() -> None:
    async def run(url: str) -> None:
        target = model(url, **CODEX)
        await say(target, [SYSTEM, USER])
        for socket in codex_socket.POOLS.get().sockets:
            socket.opened_s -= codex_socket.MAX_AGE_S
        await say(target, [SYSTEM, USER])

    with FakeSocketServer([answer(message("x"))]) as server:
        asyncio.run(run(server.url))
    assert [frame.connection for frame in server.frames] == [0, 1]


def test_http_takes_over_where_there_is_no_socket_and_stays() -> None:
    async def run(url: str) -> list[AssistantMessage]:
        target = model(url, **CODEX)
        return [await say(target, [SYSTEM, USER], session_id="fallback") for _ in range(2)]

    cleanup_session_resources()
    with FakeServer([Reply.text("no", 426), responses_answer(message("fine"))]) as server:
        said = asyncio.run(run(server.url))
        methods = [request.method for request in server.requests]
    assert methods == ["GET", "POST", "POST"]
    assert [message.text for message in said] == ["fine", "fine"]
    assert not said[1].diagnostics
    assert said[0].diagnostics
    diagnostic = said[0].diagnostics[0]
    assert diagnostic.type == "provider_transport_failure"
    assert diagnostic.details
    assert "WebSocket error" in str(diagnostic.details["error"])
    assert "canary-credential" not in msgspec.json.encode(said[0]).decode()


@pytest.mark.parametrize("transport", ["auto", "websocket", "websocket-cached", None])
def test_a_socket_that_is_lost_before_the_first_event_leaves_the_request_to_http(transport: Any) -> None:
    (said,), server = talked([[Cut()]], transport=transport)
    assert server.frames
    assert said.stop_reason == "error"  # the fake speaks no HTTP
    assert [diagnostic.type for diagnostic in said.diagnostics or ()] == ["provider_transport_failure"]


@pytest.mark.parametrize(
    ("cut", "expected"), [(Cut(), "WebSocket closed 1006"), (Cut(politely=True), "WebSocket closed 1011: cut")]
)
def test_a_socket_that_is_lost_later_ends_the_answer(cut: Cut, expected: str) -> None:
    events: list[Any] = [event for _, event in answer(message("half an answer")).events("m")][:5]
    (said,), server = talked([[*events, cut]])
    assert (said.stop_reason, said.text, len(server.frames)) == ("error", "half an", 1)
    assert str(said.error_message).startswith(expected)
    assert is_retryable_assistant_error(said)
    assert not said.diagnostics


def test_errors_in_the_stream_are_told() -> None:
    events: list[Any] = [event for _, event in answer(message("half")).events("m")][:3]
    (said,), _ = talked([[*events, ERROR]])
    assert said.error_message == "server_error: boom"
    limit = {
        "type": "error",
        "status": 429,
        "error": {"type": "usage_limit_reached", "message": "x", "plan_type": "plus"},
    }
    (said,), server = talked([[limit]])
    assert "(plus plan)" in str(said.error_message)
    assert len(server.frames) == 1


def test_a_silent_socket_times_out() -> None:
    events: list[Any] = [event for _, event in answer(message("half")).events("m")][:3]
    (said,), _ = talked([[*events, Stall()]], timeout_ms=100)
    assert "timed out" in str(said.error_message)


def test_an_abort_ends_the_stream_and_the_socket() -> None:
    controller = AbortController()

    async def run(url: str) -> tuple[Any, AssistantMessage]:
        target = model(url, **CODEX)
        last: Any = None
        async for event in API.stream(target, [SYSTEM, USER], options(signal=controller.signal)):
            last = event
            if isinstance(event, TextDelta):
                asyncio.get_running_loop().call_soon(controller.abort)
        return last, await say(target, [SYSTEM, USER])

    events: list[Any] = [event for _, event in answer(message("half an answer")).events("m")][:5]
    with FakeSocketServer([[*events, Stall()], CHAT[1]]) as server:
        last, later = asyncio.run(run(server.url))
    assert isinstance(last, StreamError)
    assert last.reason == "aborted"
    assert last.error.text == "half an"
    assert (later.text, [frame.connection for frame in server.frames]) == ("two", [0, 1])


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_a_proxy_that_does_not_work_leaves_the_request_to_http(proxy: str) -> None:
    (said,), server = talked(CHAT, env={"HTTP_PROXY": proxy, "NO_PROXY": ""}, timeout_ms=5000)
    assert server.frames == []
    assert said.stop_reason == "error"
    assert [diagnostic.type for diagnostic in said.diagnostics or ()] == ["provider_transport_failure"]


def test_an_abort_while_connecting_is_an_abort() -> None:
    controller = AbortController()

    async def run(url: str, server: FakeServer) -> AssistantMessage:
        task = asyncio.create_task(say(model(url, **CODEX), [SYSTEM, USER], signal=controller.signal))
        await asyncio.to_thread(server.wait_for_requests, 1)
        controller.abort()
        return await task

    with FakeServer([Reply.never()]) as server:
        said = asyncio.run(run(server.url, server))
    assert said.stop_reason == "aborted"


def test_a_transport_of_the_callers_own_is_not_passed_by() -> None:
    document = json.dumps(answer(message("fine")).document("m")).encode()
    http = FunctionTransport(lambda _: MemoryResponse(200, {}, [document]))

    async def run() -> AssistantMessage:
        return await say(model("https://chatgpt.example", **CODEX), [SYSTEM, USER], http=http, transport="websocket")

    assert asyncio.run(run()).text == "fine"
    assert http.requests[0].url == "https://chatgpt.example/codex/responses"


def test_the_caller_is_told_of_each_answer() -> None:
    told: list[tuple[int, str]] = []
    talked(CHAT, 2, on_response=lambda info, _: told.append((info.status, info.headers["upgrade"])))
    assert told == [(101, "websocket")] * 2


def test_the_callers_hook_sees_what_comes_over_a_socket() -> None:
    seen: list[str] = []
    talked(CHAT[1:], on_provider_stream_event=lambda event, _: seen.append(event["type"]))
    assert (seen[0], seen[-1]) == ("response.created", "response.completed")
