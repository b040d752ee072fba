"""Recorded requests and the vendor's own client, as two outside judges of what goes over the wire."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic import APIStatusError as VendorStatusError

from pinyon.ai.apis.anthropic_messages import API
from pinyon.ai.codec import message_from_wire
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.option import StreamOptions
from pinyon.ai.transport import FunctionTransport, MemoryResponse
from pinyon.testing.fake_anthropic import (
    anthropic_answer,
    error_reply,
    redacted_thinking,
    text,
    thinking,
    tool_use,
    usage,
)
from pinyon.testing.fake_server import FakeServer

DATA = Path(__file__).parents[2] / "data"


def recorded_messages(scenario: str) -> list[Message]:
    lines = (DATA / "recorded_sessions" / f"{scenario}-session-1.jsonl").read_bytes().splitlines()
    entries = [json.loads(line) for line in lines]
    messages = [message_from_wire(entry["message"]) for entry in entries if entry["type"] == "message"]
    kinds = (SystemMessage, UserMessage, AssistantMessage, ToolResultMessage)
    return [message for message in messages if isinstance(message, kinds)]


def sent_body(model_id: str, messages: list[Message], level: ThinkingLevel | None) -> bytes:
    model = Model(
        id=model_id,
        name="Fake",
        api="anthropic-messages",
        provider="fake",
        base_url="http://127.0.0.1:9",
        reasoning=True,
        context_window=200_000,
        max_tokens=8192,
        compat={"supportsEagerToolInputStreaming": True},
    )
    transport = FunctionTransport(lambda _: MemoryResponse(500))
    options = StreamOptions(api_key="k", reasoning=level, http=transport)
    asyncio.run(API.stream(model, messages, options).result())
    return transport.requests[0].body


@pytest.mark.parametrize("scenario", ["03", "05", "16", "17", "22"])
def test_recorded_sessions_give_the_recorded_requests_byte_for_byte(scenario: str) -> None:
    messages = recorded_messages(scenario)
    answers = [(index, message) for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    recorded = (DATA / "recorded_requests" / f"{scenario}-anthropic.jsonl").read_bytes().splitlines()
    assert len(recorded) == len(answers)
    for body, (index, message) in zip(recorded, answers, strict=True):
        level: Any = message.thinking_level or None
        assert sent_body(message.model, messages[:index], level) == body


CONTENTS = (
    thinking("let me see", "c2ln"),
    redacted_thinking("b3BhcXVl"),
    text("I look. ü🙈"),
    tool_use("ls", {"path": "ü", "deep": {"n": 1}}, call_id="toolu_1"),
)
EXPECTED = [
    ("thinking", "let me see"),
    ("redacted_thinking", "b3BhcXVl"),
    ("text", "I look. ü🙈"),
    ("tool_use", {"path": "ü", "deep": {"n": 1}}),
]


def contents_of(message: Any) -> list[tuple[str, Any]]:
    fields = {"thinking": "thinking", "redacted_thinking": "data", "text": "text", "tool_use": "input"}
    return [(block.type, getattr(block, fields[block.type])) for block in message.content]


REQUEST: Any = {"model": "fake-1", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}


def test_the_vendors_client_reads_the_fake_servers_stream() -> None:
    async def scenario() -> Any:
        async with (
            AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as client,
            client.messages.stream(**REQUEST) as stream,
        ):
            texts = [piece async for piece in stream.text_stream]
            return "".join(texts), await stream.get_final_message()

    with FakeServer([anthropic_answer(*CONTENTS, counts=usage(7, 9, 3, 2))]) as server:
        streamed, message = asyncio.run(scenario())
    assert streamed == "I look. ü🙈"
    assert contents_of(message) == EXPECTED
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 9)


def test_the_vendors_client_reads_the_fake_servers_document_and_errors() -> None:
    with (
        FakeServer([anthropic_answer(*CONTENTS), error_reply(529, "overloaded_error", "Overloaded")]) as server,
        Anthropic(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        assert contents_of(client.messages.create(**REQUEST)) == EXPECTED
        with pytest.raises(VendorStatusError, match="Overloaded") as caught:
            client.messages.create(**REQUEST)
        assert caught.value.status_code == 529
    assert server.requests[0].headers["user-agent"].startswith("Anthropic/")


def test_the_vendors_client_and_ours_read_the_same_answer() -> None:
    with (
        FakeServer([anthropic_answer(*CONTENTS)]) as server,
        Anthropic(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        theirs = contents_of(client.messages.create(**REQUEST))
        model = Model(id="fake-1", name="F", api="anthropic-messages", provider="fake", base_url=server.url)
        question = UserMessage(content="hello", timestamp=1)
        ours = asyncio.run(API.stream(model, [question], StreamOptions(api_key="k")).result())
    assert ours.text == theirs[2][1]
    assert ours.tool_calls[0].arguments == theirs[3][1]
