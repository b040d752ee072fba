"""What a server puts into its events is read without trust: any value may stand in any place of any wire API."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import math
import re
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from pinyon._util import json as _json
from pinyon.ai.api import get_api
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.event import Done, StreamError
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.transport import FunctionTransport, MemoryResponse
from pinyon.testing import fake_anthropic, fake_bedrock, fake_openai, fake_pi_messages, fake_responses
from pinyon.testing.fake_bedrock import encode_frame
from pinyon.testing.fake_codex import account_token
from pinyon.testing.fake_google import google_answer, google_call
from pinyon.testing.fake_mistral import mistral_answer, mistral_call
from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply, encode_sse

ARGUMENTS = {"path": "src"}
TEXT = "h\u00efi"
REQUEST = RecordedRequest(
    "POST", "/v1beta/models/m:streamGenerateContent?alt=sse", {}, b'{"model":"m","stream":true}', 0
)
RESPONSES = fake_responses.responses_answer(
    fake_responses.reasoning("hm"), fake_responses.message(TEXT), fake_responses.function_call("ls", ARGUMENTS)
)
GOOGLE = google_answer(TEXT, thoughts="hm", calls=[google_call("ls", ARGUMENTS)])
ANSWERS: dict[str, ScriptedReply] = {
    "anthropic-messages": fake_anthropic.anthropic_answer(
        fake_anthropic.thinking("hm"), fake_anthropic.text(TEXT), fake_anthropic.tool_use("ls", ARGUMENTS)
    ),
    "openai-completions": fake_openai.openai_answer(TEXT, calls=[fake_openai.call("ls", ARGUMENTS)]),
    "openai-responses": RESPONSES,
    "azure-openai-responses": RESPONSES,
    "openai-codex-responses": RESPONSES,
    "google-generative-ai": GOOGLE,
    "google-vertex": GOOGLE,
    "bedrock-converse-stream": fake_bedrock.bedrock_answer(
        fake_bedrock.thinking("hm"), fake_bedrock.text(TEXT), fake_bedrock.tool_use("ls", ARGUMENTS)
    ),
    "mistral-conversations": mistral_answer(TEXT, thinking="hm", calls=[mistral_call("ls", ARGUMENTS)]),
    "pi-messages": fake_pi_messages.gateway_answer(
        fake_pi_messages.thinking("hm"), fake_pi_messages.text(TEXT), fake_pi_messages.tool_use("ls", ARGUMENTS)
    ),
}
INFINITE, HUGE = 1e999, 10**400
TEXTS, NUMBERS = ("", "x", "\ud83d", "\0"), (-1, 1.5, INFINITE, HUGE)
ODD: tuple[Any, ...] = (None, True, *NUMBERS, *TEXTS, [], {}, [None], {"type": "x"}, ["x"])
BUILT_IN_ERROR = re.compile(r"(?!Provider|Transport)[A-Z]\w*(Error|Exception)\b")

Event = tuple[str | None, Any]


def events_of(api: str) -> list[Event]:
    answer = ANSWERS[api]
    reply = answer if isinstance(answer, Reply) else answer(REQUEST)
    body = b"".join(step for step in reply.body if isinstance(step, bytes))
    return list(_frames(body)) if api == "bedrock-converse-stream" else list(_server_sent(body))


def _frames(body: bytes) -> Iterator[Event]:
    while body:
        total, headers = struct.unpack_from(">II", body)
        name = re.search(rb":event-type\x07..(\w+?)\r:", body[12 : 12 + headers])
        assert name is not None
        yield name[1].decode(), json.loads(body[12 + headers : total - 4])
        body = body[total:]


def _server_sent(body: bytes) -> Iterator[Event]:
    for block in body.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        yield fields.get("event"), "[DONE]" if fields["data"] == "[DONE]" else json.loads(fields["data"])


def encoded(api: str, events: list[Event]) -> list[bytes]:
    if api == "bedrock-converse-stream":
        kind = {":message-type": "event", ":content-type": "application/json"}
        return [encode_frame({":event-type": name, **kind}, _text_of(value).encode()) for name, value in events]
    return [encode_sse(name, value if isinstance(value, str) else _text_of(value)) for name, value in events]


def _text_of(value: Any) -> str:
    return json.dumps(value).replace("Infinity", "1e999")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside of a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def with_odd_values(events: list[Event]) -> Iterator[tuple[str, list[Event]]]:
    """The events with one value replaced, over and over: every place is met with some odd values in turn."""
    odd = itertools.cycle(ODD)
    for number, (_, value) in enumerate(events):
        for path in places(value) if not isinstance(value, str) else ():
            for replacement in itertools.islice(odd, 3):
                changed = copy.deepcopy(events)
                target: Any = changed[number][1]
                for key in path[:-1]:
                    target = target[key]
                if path:
                    target[path[-1]] = replacement
                else:
                    changed[number] = (changed[number][0], replacement)
                yield f"event {number} {path}: {replacement!r:.20}", changed


async def answer_to(api: str, chunks: list[bytes]) -> AssistantMessage:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    model = Model(id="m", name="m", api=api, provider="somebody", base_url="http://127.0.0.1:9", cost=cost)
    transport = FunctionTransport(lambda _: MemoryResponse(200, {}, chunks))
    options = StreamOptions(api_key=account_token("account-1"), http=transport, transport="sse", max_retries=0)
    stream = get_api(api).stream(model, [UserMessage(content="hello", timestamp=1)], options)
    events = [event async for event in stream]
    assert [event for event in events if isinstance(event, Done | StreamError)] == events[-1:]
    return await stream.result()


def check(message: AssistantMessage) -> None:
    """Whatever came: an error is told in our words, and the message can be stored, counted and continued."""
    assert not BUILT_IN_ERROR.match(str(message.error_message or "")), message.error_message
    for block in message.content:
        if isinstance(block, ToolCall):
            assert (type(block.id), type(block.name), type(block.arguments)) == (str, str, dict)
            assert block.id
    usage, cost = message.usage, message.usage.cost
    for count in (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens):
        assert isinstance(count, int)
        assert count >= 0
    for price in (cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total):
        assert math.isfinite(price)
        assert price >= 0
    assert _json.decode(_json.encode(message))["role"] == "assistant"


@pytest.mark.parametrize("api", list(ANSWERS))
def test_the_events_as_they_are_make_a_good_answer(api: str) -> None:
    message = asyncio.run(answer_to(api, encoded(api, events_of(api))))
    assert message.stop_reason == "toolUse", message.error_message
    assert [block.arguments for block in message.content if isinstance(block, ToolCall)] == [ARGUMENTS]


@pytest.mark.parametrize("api", list(ANSWERS))
def test_odd_values_never_break_out_of_an_answer(api: str) -> None:
    async def run() -> None:
        for where, events in with_odd_values(events_of(api)):
            message = await answer_to(api, encoded(api, events))
            try:
                check(message)
            except AssertionError as error:
                error.add_note(where)
                raise

    asyncio.run(run())


@pytest.mark.parametrize("api", [name for name in ANSWERS if name != "bedrock-converse-stream"])
@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"\0" * 100],
    ids=["open", "list", "object", "nul"],
)
def test_events_that_no_parser_takes_are_told_as_such(api: str, data: bytes) -> None:
    message = asyncio.run(answer_to(api, [b"data: " + data + b"\n\n"]))
    assert message.stop_reason == "error"
    check(message)
    assert len(str(message.error_message)) < 5000


@pytest.mark.parametrize("api", [name for name in ANSWERS if name != "bedrock-converse-stream"])
@pytest.mark.parametrize("field", [b"retry: " + b"9" * 5000, b"id: " + b"9" * 5000, b": " + b"9" * 5000, b"x" * 5000])
def test_fields_that_mean_nothing_are_passed_over(api: str, field: bytes) -> None:
    message = asyncio.run(answer_to(api, [field + b"\n\n", *encoded(api, events_of(api))]))
    assert message.stop_reason == "toolUse", message.error_message


@pytest.mark.parametrize("api", [name for name in ANSWERS if name != "bedrock-converse-stream"])
def test_bytes_that_are_no_utf_8_are_replaced_in_the_text(api: str) -> None:
    chunks = [chunk.replace(b"\\u00ef", b"\xff") for chunk in encoded(api, events_of(api))]
    message = asyncio.run(answer_to(api, chunks))
    assert message.stop_reason == "toolUse", message.error_message
    assert [block.text for block in message.content if isinstance(block, TextContent)] == ["h\ufffdi"]
