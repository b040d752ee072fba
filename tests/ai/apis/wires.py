"""The APIs of Google and Mistral side by side: a model, scripted answers and refusals for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.api import get_api
from pinyon.ai.content import TextContent
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_google import (
    google_answer,
    google_call,
    google_chunk,
    google_error,
    google_stream,
    strict_google,
)
from pinyon.testing.fake_mistral import (
    mistral_answer,
    mistral_call,
    mistral_chunk,
    mistral_error,
    mistral_stream,
    strict_mistral,
)
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply
from pinyon.testing.stream import collect, final_message

KEY = "secret-key-0123456789"
PNG = "iVBORw0KGgoAAAANSUhEUg=="
USER = UserMessage(content="hello", timestamp=1)
LS = Tool(
    "ls",
    "List a folder.",
    {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
    JsonSchemaSampling("prefer"),
)
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[LS])


class Wire(msgspec.Struct, frozen=True):
    """One API: `messages_of` gives the conversation in a body, `chunk` one piece of text in a stream."""

    api: str
    provider: str
    model_id: str
    path: str
    answer: Callable[..., ScriptedReply]
    error: Callable[..., Reply]
    strict: Callable[[ScriptedReply], ScriptedReply]
    chunk: Callable[[str], dict[str, Any]]
    mid_error: dict[str, Any]
    broken_call: ScriptedReply
    stream_of: Callable[[Sequence[Any]], Reply]
    messages_of: Callable[[Mapping[str, Any]], list[Any]]
    error_begin: str

    def model(self, url: str = "http://127.0.0.1:9", **fields: Any) -> Model:
        """A model that reasons and sees."""
        cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
        defaults: dict[str, Any] = {"id": self.model_id, "name": "Fake", "api": self.api, "provider": self.provider}
        defaults |= {"base_url": url + self.path, "reasoning": True, "input": ["text", "image"]}
        return Model(**(defaults | {"max_tokens": 8192, "cost": cost} | fields))

    def stream_events(
        self, url: str, messages: Sequence[Message], fields: Mapping[str, Any], options: Mapping[str, Any]
    ) -> list[AssistantMessageEvent]:
        """The events of one answer."""
        target = self.model(url, **fields)
        return collect(
            get_api(self.api).stream(target, list(messages), StreamOptions(**({"api_key": KEY} | dict(options))))
        )

    def ask(
        self,
        *replies: ScriptedReply,
        messages: Sequence[Message] = (SYSTEM, USER),
        fields: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Asked:
        """Ask a server with this script once."""
        with FakeServer(replies) as server:
            events = self.stream_events(server.url, messages, fields or {}, options)
            return Asked(events, server.requests)

    def body(
        self, messages: Sequence[Message] = (SYSTEM, USER), fields: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """The body of a request for these messages."""
        return self.ask(self.answer("ok"), messages=messages, fields=fields, **options).body

    def said(self, *content: Any, **fields: Any) -> AssistantMessage:
        """An answer of this model in a history."""
        defaults: dict[str, Any] = {"api": self.api, "provider": self.provider, "model": self.model_id}
        defaults |= {"usage": Usage(), "stop_reason": "stop", "timestamp": 2}
        return AssistantMessage(content=list(content), **(defaults | fields))


class Asked(msgspec.Struct, frozen=True):
    """What came of one request, and what the server saw."""

    events: list[AssistantMessageEvent]
    requests: list[RecordedRequest]

    @property
    def message(self) -> AssistantMessage:
        """The final message."""
        return final_message(self.events)

    @property
    def error(self) -> str:
        """The error text of an answer that failed."""
        assert self.message.stop_reason in ("error", "aborted"), self.message
        return str(self.message.error_message)

    @property
    def body(self) -> Any:
        """The first body."""
        return self.requests[0].json


def result(call_id: str, *content: Any, **fields: Any) -> ToolResultMessage:
    """A tool result in a history."""
    defaults: dict[str, Any] = {"tool_name": "ls", "is_error": False, "timestamp": 3}
    blocks = list(content) or [TextContent("ok")]
    return ToolResultMessage(tool_call_id=call_id, content=blocks, **(defaults | fields))


def _google_answer(text: str = "", thinking: str = "", calls: Sequence[tuple[str, Any]] = ()) -> ScriptedReply:
    return google_answer(text, thoughts=thinking, calls=[google_call(name, args) for name, args in calls])


def _mistral_answer(text: str = "", thinking: str = "", calls: Sequence[tuple[str, Any]] = ()) -> ScriptedReply:
    return mistral_answer(text, thinking=thinking, calls=[mistral_call(name, args) for name, args in calls])


def _google(api: str, provider: str, path: str) -> Wire:
    return Wire(
        api=api,
        provider=provider,
        model_id="gemini-3-flash",
        path=path,
        answer=_google_answer,
        error=google_error,
        strict=strict_google,
        chunk=lambda text: google_chunk([{"text": text}]),
        mid_error={"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
        broken_call=google_answer(calls=[google_call("ls", '{"path": "a",]')]),
        stream_of=google_stream,
        messages_of=lambda body: list(body["contents"]),
        error_begin='{"error":{"code":',
    )


GOOGLE = _google("google-generative-ai", "google", "/v1beta")
VERTEX = _google("google-vertex", "google-vertex", "")
MISTRAL = Wire(
    api="mistral-conversations",
    provider="mistral",
    model_id="magistral",
    path="",
    answer=_mistral_answer,
    error=mistral_error,
    strict=strict_mistral,
    chunk=lambda text: mistral_chunk({"content": text}),
    mid_error={"object": "error", "message": "The model is overloaded.", "type": "unavailable", "code": 503},
    broken_call=mistral_answer(calls=[mistral_call("ls", raw='{"path": "a",]')]),
    stream_of=lambda chunks: mistral_stream(chunks, done=False),
    messages_of=lambda body: [message for message in body["messages"] if message["role"] != "system"],
    error_begin="Mistral API error (",
)
WIRES = (GOOGLE, VERTEX, MISTRAL)
