"""What the tests of the Responses APIs share: models, messages, and one request to a scripted server."""

from collections.abc import Sequence
from typing import Any

from pinyon.ai.api import get_api
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, ModelCost
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_server import FakeServer, RecordedRequest, ScriptedReply
from pinyon.testing.stream import collect, final_message

KEY = "sk-secret-key-123456"
USER = UserMessage(content="hello", timestamp=1)
LS = Tool(
    name="ls",
    description="List a folder.",
    parameters={"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
    constrained_sampling=JsonSchemaSampling("prefer"),
)
READ = Tool(name="read", description="Read.", parameters={"type": "object", "properties": {"p": {"type": "string"}}})
PATCH = Tool(
    name="patch",
    description="Patch files.",
    parameters={"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    constrained_sampling=GrammarSampling({"openai_lark": "start: /.+/"}),
)
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[LS])
REASONING = '{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"abc"}'


def model(url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Model:
    cost = ModelCost(input=3, output=15, cache_read=0.3, cache_write=3.75)
    defaults: dict[str, Any] = {"id": "fake-1", "name": "Fake", "api": "openai-responses", "provider": "openai"}
    defaults |= {"base_url": url, "reasoning": True, "max_tokens": 8192, "cost": cost, "input": ["text", "image"]}
    return Model(**(defaults | fields))


def exchange(
    *replies: ScriptedReply,
    messages: Sequence[Message] = (SYSTEM, USER),
    fields: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[list[AssistantMessageEvent], list[RecordedRequest]]:
    """Events of one answer, and the requests that the server received."""
    with FakeServer(replies) as server:
        target = model(f"{server.url}/v1", **(fields or {}))
        stream = get_api(target.api).stream(target, list(messages), StreamOptions(**{"api_key": KEY, **options}))
        return collect(stream), server.requests


def ask(*replies: ScriptedReply, **options: Any) -> AssistantMessage:
    """The final message of one answer."""
    return final_message(exchange(*replies, **options)[0])


def body_of(messages: Sequence[Message] = (SYSTEM, USER), **fields: Any) -> dict[str, Any]:
    """The body of a request, which is not sent."""
    sent: list[dict[str, Any]] = []
    options = {"api_key": KEY, **fields.pop("options", {})}

    def keep(body: dict[str, Any], _: Model) -> None:
        sent.append(body)
        raise ValueError("stop here")

    target = model(**fields)
    events = collect(get_api(target.api).stream(target, list(messages), StreamOptions(on_payload=keep, **options)))
    assert final_message(events).error_message == "ValueError: stop here"
    return sent[0]


def answer(*content: Any, stop: Any = "stop", **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {"api": "openai-responses", "provider": "openai", "model": "fake-1"}
    defaults |= {"usage": Usage(), "stop_reason": stop, "timestamp": 2}
    return AssistantMessage(content=list(content), **(defaults | fields))


def result(call_id: str, *content: Any, name: str = "ls") -> ToolResultMessage:
    blocks = list(content) or [TextContent("ok")]
    return ToolResultMessage(tool_call_id=call_id, tool_name=name, content=blocks, is_error=False, timestamp=3)


CONVERSATION: list[Message] = [
    SYSTEM,
    USER,
    answer(
        ThinkingContent("hm", REASONING),
        TextContent("I look.", '{"v":1,"id":"msg_1","phase":"commentary"}'),
        ToolCall("c1|fc_1", "ls", {"path": "."}),
        stop="toolUse",
    ),
    result("c1|fc_1", TextContent("a.txt"), ImageContent("AAAA", "image/png")),
    UserMessage(content=[TextContent("and"), ImageContent("AAAA", "image/png")], timestamp=4),
]
