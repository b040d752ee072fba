"""Chat completions judged by recordings: request bodies for many flags and histories, and streams of many servers."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from pinyon._util import json as wire_json
from pinyon.ai.apis import openai_message
from pinyon.ai.apis.openai_compat import completions_compat
from pinyon.ai.apis.openai_completions import API
from pinyon.ai.apis.openai_payload import EncodingMemory, build_payload
from pinyon.ai.codec import message_from_wire, message_to_wire
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.request import Context, normalize_context
from pinyon.ai.tool import Tool
from pinyon.ai.transform import TOOL_IMAGE_OMITTED, USER_IMAGE_OMITTED
from pinyon.ai.transport import FunctionTransport, MemoryResponse

DATA = Path(__file__).parents[2] / "data"

DESCRIPTOR: dict[str, Any] = {
    "id": "m",
    "name": "m",
    "api": "openai-completions",
    "provider": "fake",
    "baseUrl": "http://127.0.0.1:9/v1",
    "reasoning": True,
    "input": ["text", "image"],
    "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
    "contextWindow": 200_000,
    "maxTokens": 8192,
}
# The recordings took these for granted with any server.
RECORDED_FLAGS: dict[str, Any] = {
    "supportsStore": True,
    "supportsReasoningEffort": True,
    "maxTokensField": "max_completion_tokens",
    "supportsLongCacheRetention": True,
}
RECORDED_FIELDS = {"stream": True, "stream_options": {"include_usage": True}, "store": False}
WORDING = {
    "<<IMAGE_ONLY>>": openai_message.IMAGE_ONLY,
    "<<NO_OUTPUT>>": openai_message.NO_OUTPUT,
    "<<IMAGES_CAPTION>>": openai_message.IMAGES_CAPTION,
    "<<RESULTS_SEEN>>": openai_message.RESULTS_SEEN,
    "<<USER_IMAGE_OMITTED>>": USER_IMAGE_OMITTED,
    "<<TOOL_IMAGE_OMITTED>>": TOOL_IMAGE_OMITTED,
}
OPTIONS = {
    "reasoning": "reasoning",
    "temperature": "temperature",
    "samplingParams": "sampling_params",
    "sessionId": "session_id",
    "cacheRetention": "cache_retention",
    "toolChoice": "tool_choice",
    "maxTokens": "max_tokens",
}
# Efforts in a server's own words, and a message that declares tools, are not in the vendor's types.
NOT_THE_VENDORS = ("mid-add-only",)


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "completions" / name).read_bytes().splitlines()]


BODIES, STREAMS = read_lines("bodies.jsonl"), read_lines("streams.jsonl")


def model_of(case: dict[str, Any]) -> Model:
    own = case.get("model", {})
    flags = {"supportsStore": True} if own.get("provider") == "openrouter" else RECORDED_FLAGS
    return msgspec.convert({**DESCRIPTOR, **own, "compat": {**flags, **own.get("compat", {})}}, Model)


def message_of(value: dict[str, Any]) -> Message:
    if value["role"] == "assistant":
        value = {"api": "openai-completions", "provider": "fake", "model": "m", "stopReason": "stop", **value}
    message = message_from_wire({"timestamp": 1, **value})
    assert isinstance(message, SystemMessage | UserMessage | AssistantMessage | ToolResultMessage)
    return message


def transcript_of(case: dict[str, Any]) -> list[Message]:
    tools = [msgspec.convert(tool, Tool) for tool in case.get("tools", ())]
    messages = [message_of(message) for message in case["messages"]]
    return normalize_context(Context(messages=messages, system_prompt=case.get("prompt"), tools=tools))


def body_of(case: dict[str, Any]) -> dict[str, Any]:
    model = model_of(case)
    options = {OPTIONS[name]: value for name, value in case.get("options", {}).items()}
    payload = build_payload(
        model, completions_compat(model), transcript_of(case), StreamOptions(**options), EncodingMemory()
    )
    return dict(wire_json.decode(wire_json.encode_clean(payload.body)))


@lru_cache(maxsize=1)
def published_types() -> TypeAdapter[Any]:
    return TypeAdapter(CompletionCreateParamsStreaming)


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case["name"])
def test_a_body_is_as_recorded(case: dict[str, Any]) -> None:
    expected = json.dumps(case["body"])
    for mark, wording in WORDING.items():
        expected = expected.replace(mark, wording)
    body = body_of(case)
    assert {name: body.pop(name) for name in RECORDED_FIELDS} == RECORDED_FIELDS
    assert body == json.loads(expected)
    assert list(body) == list(case["body"])


VENDORS = [case for case in BODIES if case["name"] not in NOT_THE_VENDORS and "LOW" not in json.dumps(case["body"])]


@pytest.mark.parametrize("case", VENDORS, ids=lambda case: case["name"])
def test_a_body_is_one_of_the_vendors_published_types(case: dict[str, Any]) -> None:
    judged = exhausted(published_types().validate_python(body_of(case)))
    assert len(judged["messages"]) == len(case["body"]["messages"])


def exhausted(value: Any) -> Any:
    """The value with all that the checker looks at only when it is read."""
    if isinstance(value, dict):
        return {name: exhausted(item) for name, item in value.items()}
    return value if value is None or isinstance(value, str | int | float) else [exhausted(item) for item in value]


def recorded_name(event: dict[str, Any]) -> str:
    place = f"#{event['contentIndex']}" if "contentIndex" in event else ""
    delta = f"({json.dumps(event['delta'])})" if "delta" in event else ""
    return f"{event['type']}{place}{delta}"


def transport_of(case: dict[str, Any]) -> FunctionTransport:
    if "status" in case:
        return FunctionTransport(
            lambda _: MemoryResponse(case["status"], {"content-type": "application/json"}, [case["text"].encode()])
        )
    data = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in case["chunks"]]
    lines = [f"data: {item}\n\n".encode() for item in (*data, "[DONE]")]
    return FunctionTransport(lambda _: MemoryResponse(200, {"content-type": "text/event-stream"}, lines))


GRAMMAR_TOOL = {
    "name": "gr",
    "description": "d",
    "parameters": {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]},
    "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: X"}},
}


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_a_stream_is_read_as_recorded(case: dict[str, Any]) -> None:
    async def read() -> tuple[list[str], dict[str, Any]]:
        messages = transcript_of(
            {"prompt": "S", "messages": [{"role": "user", "content": "hi"}], "tools": [GRAMMAR_TOOL]}
        )
        stream = API.stream(model_of(case), messages, StreamOptions(api_key="k", http=transport_of(case)))
        names = [recorded_name(msgspec.to_builtins(event)) async for event in stream]
        return names, message_to_wire(await stream.result())

    names, message = asyncio.run(read())
    assert names == case["events"]
    assert {name: message[name] for name in case["result"]} == case["result"]
