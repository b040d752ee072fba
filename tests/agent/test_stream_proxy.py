"""Answers through a relay: what is sent, how the message is rebuilt, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from tests.agent.scripted import MODEL, user

from pinyon._util.abort import AbortController
from pinyon.agent import Agent, stream_proxy
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, Message
from pinyon.ai.option import StreamOptions
from pinyon.ai.transport import FunctionTransport, MemoryResponse
from pinyon.testing.fake_server import FakeServer, Reply

USAGE = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": {"total": 0.5}}
ANSWER: list[dict[str, Any]] = [
    {"type": "start"},
    {"type": "thinking_start", "contentIndex": 0},
    {"type": "thinking_delta", "contentIndex": 0, "delta": "hm"},
    {"type": "thinking_end", "contentIndex": 0, "contentSignature": "sig"},
    {"type": "text_start", "contentIndex": 1},
    {"type": "text_delta", "contentIndex": 1, "delta": "he"},
    {"type": "text_delta", "contentIndex": 1, "delta": "llo é"},
    {"type": "text_end", "contentIndex": 1, "contentSignature": "t"},
    {"type": "toolcall_start", "contentIndex": 2, "id": "c1", "toolName": "ls"},
    {"type": "toolcall_delta", "contentIndex": 2, "delta": '{"path":'},
    {"type": "something_new", "contentIndex": 2},
    {"type": "toolcall_delta", "contentIndex": 2, "delta": '"."}'},
    {"type": "toolcall_end", "contentIndex": 2},
    {"type": "done", "reason": "toolUse", "usage": USAGE, "providerThinkingLevel": "high"},
]


def lines(events: list[dict[str, Any]], *, last_newline: bool = True) -> bytes:
    body = ": comment\n\n" + "\n".join("data: " + json.dumps(event, ensure_ascii=False) for event in events)
    return (body + "\n" * last_newline).encode()


def relay(body: bytes, *, piece_bytes: int = 10_000, status: int = 200) -> Reply:
    pieces = [body[start : start + piece_bytes] for start in range(0, len(body), piece_bytes)]
    return Reply(status=status, body=pieces)


async def asked(server: FakeServer, options: StreamOptions | None = None) -> list[AssistantMessageEvent]:
    messages: list[Message] = [user("q")]
    stream = stream_proxy(
        MODEL, messages, options or StreamOptions(), proxy_url=server.url + "/", auth_token="token-123"
    )
    return [event async for event in stream]


def ask(reply: Reply, options: StreamOptions | None = None) -> tuple[list[AssistantMessageEvent], FakeServer]:
    with FakeServer([reply]) as server:
        return asyncio.run(asked(server, options)), server


def failure(reply: Reply) -> str:
    events, _ = ask(reply)
    assert type(events[-1]).__name__ == "StreamError"
    message = events[-1].error  # type: ignore[union-attr]
    assert message.stop_reason == "error"
    assert "token-123" not in str(message.error_message)
    return str(message.error_message)


@pytest.mark.parametrize("piece_bytes", [1, 7, 10_000])
@pytest.mark.parametrize("last_newline", [True, False])
def test_the_message_is_rebuilt_from_its_events(piece_bytes: int, last_newline: bool) -> None:
    events, _ = ask(relay(lines(ANSWER, last_newline=last_newline), piece_bytes=piece_bytes))
    types = [str(type(event).__struct_config__.tag) for event in events]
    assert types == [event["type"] for event in ANSWER if event["type"] != "something_new"]
    message = events[-1].message  # type: ignore[union-attr]
    assert message.content == [
        ThinkingContent(thinking="hm", thinking_signature="sig"),
        TextContent(text="hello é", text_signature="t"),
        ToolCall(id="c1", name="ls", arguments={"path": "."}),
    ]
    assert (message.stop_reason, message.provider_thinking_level) == ("toolUse", "high")
    assert (message.usage.input, message.usage.cost.total) == (1, 0.5)
    assert (message.provider, message.model) == ("fake", "m")


def test_the_request_holds_model_context_and_the_options_meant_for_the_relay() -> None:
    options = StreamOptions(
        api_key="secret", temperature=0.5, max_tokens=9, reasoning="low", headers={"x": "y"}, session_id="s",
        thinking_budgets={"low": 1}, transport="sse", metadata={"a": 1}, cache_retention="long", env={},
    )  # fmt: skip
    _, server = ask(relay(lines(ANSWER)), options)
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/api/stream")
    assert request.headers["authorization"] == "Bearer token-123"
    assert set(request.json) == {"model", "context", "options"}
    assert (request.json["model"]["id"], request.json["model"]["contextWindow"]) == ("m", 1000)
    assert request.json["context"] == {"messages": [{"role": "user", "content": "q", "timestamp": 1}]}
    assert request.json["options"] == {
        "temperature": 0.5, "maxTokens": 9, "reasoning": "low", "headers": {"x": "y"}, "sessionId": "s",
        "thinkingBudgets": {"low": 1}, "transport": "sse", "metadata": {"a": 1}, "cacheRetention": "long",
        "maxRetryDelayMs": 60_000,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply.json({"error": "no such model"}, status=404), "no such model"),
        (Reply.json({"error": "token-123 is not known"}, status=401), "401 from the relay: *** is not known"),
        (Reply.text("oops", status=502), "502"),
        (relay(lines(ANSWER[:6])), "without a final event"),
        (relay(lines([*ANSWER[:6], {"type": "text_delta", "contentIndex": 0, "delta": "x"}])), "another kind"),
        (relay(lines([*ANSWER[:6], {"type": "text_delta", "contentIndex": 9, "delta": "x"}])), "never began"),
        (relay(lines([*ANSWER[:6], {"type": "text_delta", "contentIndex": 1}])), "cannot be read"),
        (relay(lines([*ANSWER[:6], {"type": "text_delta", "contentIndex": 1, "delta": 5}])), "'delta' is no text"),
        (relay(b"data: nonsense\n"), "not JSON"),
        (relay(b"data: [1]\n"), "cannot be read"),
        (relay(lines([{"type": "error", "reason": "error", "errorMessage": "429 later"}])), "429 later"),
        (relay(lines([{"type": "error", "reason": "error", "errorMessage": "bad token-123"}])), "bad ***"),
        (relay(lines([{"type": "text_start", "contentIndex": 3}])), "where block 0 was due"),
        (Reply.drop(), "onnection"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_the_last_event(reply: Reply, told: str) -> None:
    assert told in failure(reply)


def test_what_had_arrived_is_kept_when_the_stream_breaks_off() -> None:
    events, _ = ask(relay(lines(ANSWER[:6])))
    message = events[-1].error  # type: ignore[union-attr]
    assert [type(block).__name__ for block in message.content] == ["ThinkingContent", "TextContent"]
    assert message.content[1].text == "he"  # type: ignore[union-attr]


@pytest.mark.parametrize(("status", "pieces_read"), [(200, 1), (500, 64)])
def test_a_relay_that_never_ends_is_read_only_so_far_and_closed(status: int, pieces_read: int) -> None:
    read: list[int] = []

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(1000):
            read.append(number)
            yield lines(ANSWER).ljust(1024)

    response = MemoryResponse(status, chunks=pieces())
    transport = FunctionTransport(lambda request: response)

    async def go() -> list[AssistantMessageEvent]:
        stream = stream_proxy(
            MODEL, [user("q")], StreamOptions(), proxy_url="http://relay", auth_token="t", transport=transport
        )
        return [event async for event in stream]

    events = asyncio.run(go())
    assert type(events[-1]).__name__ == ("Done" if status == 200 else "StreamError")
    assert response.is_closed
    assert len(read) == pieces_read


def test_an_abort_ends_the_stream_as_aborted() -> None:
    controller = AbortController()

    async def go(server: FakeServer) -> list[AssistantMessageEvent]:
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        return await asked(server, StreamOptions(signal=controller.signal))

    with FakeServer([Reply.never()]) as server:
        events = asyncio.run(go(server))
    assert events[-1].reason == "aborted"  # type: ignore[union-attr]


def test_an_agent_runs_on_a_relay() -> None:
    with FakeServer([relay(lines([*ANSWER[:1], {"type": "text_start", "contentIndex": 0},
                                  {"type": "text_delta", "contentIndex": 0, "delta": "hi"},
                                  {"type": "done", "reason": "stop", "usage": USAGE}]))]) as server:  # fmt: skip
        agent = Agent(
            stream_fn=partial(stream_proxy, proxy_url=server.url, auth_token="t"), initial_state={"model": MODEL}
        )
        asyncio.run(agent.prompt("q"))
    last = agent.state.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.text, last.stop_reason) == ("hi", "stop")
