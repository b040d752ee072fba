"""A model, messages and a way to ask, for tests of the chat-completions API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinyon.ai.apis.openai_completions import API
from pinyon.ai.content import TextContent
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_openai import delta_chunk, sse_reply
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply
from pinyon.testing.stream import collect, final_message

KEY = "sk-secret-key-123"
USER = UserMessage(content="hello", timestamp=1)
LS = Tool("ls", "List a folder.", {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}})
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[LS])


def model(url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Model:
    """A reasoning model of a server that nobody knows."""
    defaults: dict[str, Any] = {"id": "fake-1", "name": "Fake", "api": "openai-completions", "provider": "fake"}
    return Model(**(defaults | {"base_url": url, "reasoning": True, "max_tokens": 8192} | fields))


class Asked:
    """What came of one request, and what the server saw."""

    def __init__(self, events: list[AssistantMessageEvent], requests: list[RecordedRequest]) -> None:
        self.events = events
        self.requests = requests

    @property
    def message(self) -> AssistantMessage:
        """The final message."""
        return final_message(self.events)

    @property
    def body(self) -> Any:
        """The first body."""
        return self.requests[0].json


def ask(
    *replies: ScriptedReply,
    messages: Sequence[Message] = (SYSTEM, USER),
    fields: dict[str, Any] | None = None,
    **options: Any,
) -> Asked:
    """Ask a server with this script once."""
    with FakeServer(replies) as server:
        target = model(f"{server.url}/v1", **(fields or {}))
        events = collect(API.stream(target, list(messages), StreamOptions(**({"api_key": KEY} | options))))
        return Asked(events, server.requests)


def call_reply(*pieces: dict[str, Any], reason: str | None = "tool_calls") -> Reply:
    """A stream whose chunks each hold one fragment of a tool call."""
    return sse_reply([*(delta_chunk({"tool_calls": [piece]}) for piece in pieces), delta_chunk({}, reason)])


def fragment(arguments: str | None = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    """One fragment of a function call."""
    function = {"name": name, "arguments": arguments}
    return fields | {"function": {key: value for key, value in function.items() if value is not None}}


def said(*content: Any, **fields: Any) -> AssistantMessage:
    """An answer in a history."""
    defaults: dict[str, Any] = {"api": "openai-completions", "provider": "fake", "model": "fake-1"}
    defaults |= {"usage": Usage(), "stop_reason": "stop", "timestamp": 2}
    return AssistantMessage(content=list(content), **(defaults | fields))


def result(call_id: str, *content: Any, **fields: Any) -> ToolResultMessage:
    """A tool result in a history."""
    defaults: dict[str, Any] = {"tool_name": "ls", "is_error": False, "timestamp": 3}
    blocks = list(content) or [TextContent("ok")]
    return ToolResultMessage(tool_call_id=call_id, content=blocks, **(defaults | fields))
