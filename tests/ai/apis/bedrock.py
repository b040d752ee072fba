"""What tests of the Bedrock API share: models, requests over loopback, and a surrounding without AWS variables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pinyon.ai.apis.bedrock_converse_stream import API
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.testing.fake_bedrock import bedrock_answer, strict_bedrock, text
from pinyon.testing.fake_server import FakeServer, RecordedRequest, ScriptedReply
from pinyon.testing.stream import collect, final_message

USER = UserMessage(content="hello", timestamp=1)
TOKEN = "bedrock-api-key-SECRET-1234567890"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def model(url: str = "http://127.0.0.1:1", **fields: Any) -> Model:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    defaults: dict[str, Any] = {"id": CLAUDE, "name": "Fake", "api": "bedrock-converse-stream"}
    defaults |= {"provider": "amazon-bedrock", "base_url": url, "reasoning": True, "max_tokens": 8192, "cost": cost}
    return Model(**(defaults | {"input": ["text", "image"]} | fields))


def stream(
    server: FakeServer, messages: Sequence[Any] = (USER,), fields: dict[str, Any] | None = None, **options: Any
) -> AssistantMessageEventStream:
    return API.stream(model(server.url, **(fields or {})), messages, StreamOptions(**{"api_key": TOKEN, **options}))


def ask(*replies: ScriptedReply, fields: dict[str, Any] | None = None, **options: Any) -> list[AssistantMessageEvent]:
    with FakeServer(replies) as server:
        return collect(stream(server, fields=fields, **options))


def failed(*replies: ScriptedReply, **options: Any) -> AssistantMessage:
    message = final_message(ask(*replies, **options))
    assert message.stop_reason == "error"
    return message


def sent(messages: Sequence[Any] = (USER,), fields: dict[str, Any] | None = None, **options: Any) -> RecordedRequest:
    """The request that goes out; the fake service must take it."""
    with FakeServer([strict_bedrock(bedrock_answer(text("ok")))]) as server:
        message = final_message(collect(stream(server, messages, fields, **options)))
        assert message.stop_reason == "stop", message.error_message
        (request,) = server.requests
    return request


def body(messages: Sequence[Any] = (USER,), fields: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    plain: dict[str, Any] = sent(messages, fields, **options).json
    return plain


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's own AWS set-up counts."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
