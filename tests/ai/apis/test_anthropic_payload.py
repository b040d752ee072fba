"""Request bodies and headers of the Anthropic Messages API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pinyon.ai.apis.anthropic_messages import API, messages_url
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import Attribution, Identity, StreamOptions
from pinyon.ai.tool import JsonSchemaSampling, Tool, ToolReference
from pinyon.ai.transport import FunctionTransport, HttpRequest, HttpResponse, MemoryResponse
from pinyon.ai.usage import Usage
from pinyon.errors import AuthError
from pinyon.testing.fake_anthropic import answer, text
from pinyon.testing.fake_server import encode_sse

SYSTEM = SystemMessage(content="be brief", timestamp=0)
USER = UserMessage(content=[TextContent("hello")], timestamp=1)
PNG = ImageContent(data="iVBORw0KGgo=", mime_type="image/png")


def model(**fields: Any) -> Model:
    defaults: dict[str, Any] = {
        "id": "fake-1",
        "name": "Fake",
        "api": "anthropic-messages",
        "provider": "fake",
        "base_url": "http://127.0.0.1:9",
        "reasoning": True,
        "input": ["text", "image"],
        "context_window": 200_000,
        "max_tokens": 8192,
    }
    return Model(**(defaults | fields))


def tool(name: str = "read", **fields: Any) -> Tool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return Tool(**({"name": name, "description": f"{name} it", "parameters": schema} | fields))


def system(*tools: Tool, content: str = "be brief") -> SystemMessage:
    return SystemMessage(content=content, timestamp=0, tools_added=list(tools) or UNSET)


def assistant(*blocks: AssistantBlock, **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {
        "api": "anthropic-messages",
        "provider": "fake",
        "model": "fake-1",
        "usage": Usage(),
        "stop_reason": "stop",
        "timestamp": 2,
    }
    return AssistantMessage(content=list(blocks), **(defaults | fields))


def result(call_id: str, *blocks: TextContent | ImageContent, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="read", content=list(blocks), is_error=is_error, timestamp=3
    )


class Sent:
    """One request as it went out."""

    def __init__(self, request: HttpRequest) -> None:
        self.url = request.url
        self.raw = request.body
        self.body: dict[str, Any] = json.loads(request.body)
        self.headers = {name.lower(): value for name, value in request.headers.items()}
        self.betas = self.headers.get("anthropic-beta", "").split(",")

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


def reply(_: HttpRequest) -> HttpResponse:
    events = [encode_sse(*event) for event in answer(text("ok"), message_id="msg_1").events("fake-1")]
    return MemoryResponse(200, {"content-type": "text/event-stream"}, events)


def send(messages: Sequence[Message], use: Model | None = None, **options: Any) -> Sent:
    transport = FunctionTransport(reply)
    given = StreamOptions(**{"api_key": "key", "http": transport, **options})
    message = asyncio.run(API.stream(use or model(), messages, given).result())
    assert message.stop_reason == "stop", message.error_message
    validate(Sent(transport.requests[0]).body)
    return Sent(transport.requests[0])


def failure(messages: Sequence[Message], use: Model | None = None, **options: Any) -> str:
    given = StreamOptions(**{"api_key": "key", "http": FunctionTransport(reply), **options})
    message = asyncio.run(API.stream(use or model(), messages, given).result())
    assert message.stop_reason == "error"
    return str(message.error_message)


@lru_cache(maxsize=1)
def published_types() -> Any:
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    # Recent models take no temperature, so the types do not list it any more; older ones and other servers do.
    return TypeAdapter(MessageCreateParamsStreaming), {*MessageCreateParamsStreaming.__annotations__, "temperature"}


def validate(body: dict[str, Any]) -> None:
    """Check a body against the parameter types that the vendor publishes."""
    adapter, names = published_types()
    adapter.validate_python(body)
    assert set(body) <= names


def test_a_plain_request_has_the_fields_in_their_recorded_order() -> None:
    sent = send([system(tool(), tool("bash")), USER], reasoning="medium")
    assert sent.url == "http://127.0.0.1:9/v1/messages?beta=true"
    assert list(sent.body) == ["model", "messages", "max_tokens", "stream", "system", "tools", "thinking"]
    mark = {"type": "ephemeral"}
    assert sent.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": mark}]}
    ]
    assert sent.body["system"] == [{"type": "text", "text": "be brief", "cache_control": mark}]
    assert [list(declared) for declared in sent.body["tools"]] == [
        ["name", "description", "input_schema"],
        ["name", "description", "input_schema", "cache_control"],
    ]
    assert sent.body["thinking"] == {"type": "enabled", "budget_tokens": 7168, "display": "summarized"}
    assert (sent.body["max_tokens"], sent.body["stream"]) == (8192, True)


def test_headers_of_a_plain_request() -> None:
    sent = send([USER], reasoning="medium")
    assert sent.headers["x-api-key"] == "key"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["accept"] == sent.headers["content-type"] == "application/json"
    assert sent.headers["user-agent"].startswith("pinyon/")
    assert sent.betas == ["interleaved-thinking-2025-05-14"]


@pytest.mark.parametrize("base_url", ["http://h", "http://h/", "http://h/v1", "http://h/v1/"])
def test_a_base_url_may_already_name_the_version(base_url: str) -> None:
    assert messages_url(base_url) == "http://h/v1/messages?beta=true"


# Credentials and headers


def test_without_a_key_the_request_raises_at_once_and_names_the_provider() -> None:
    with pytest.raises(AuthError, match="'fake'"):
        API.stream(model(), [USER], StreamOptions())


@pytest.mark.parametrize("name", ["authorization", "X-Api-Key", "cf-aig-authorization"])
def test_a_header_may_take_the_place_of_the_key(name: str) -> None:
    sent = send([USER], api_key=None, headers={name: "Bearer t"})
    assert sent.headers[name.lower()] == "Bearer t"
    assert send([USER], model(headers={name: "Bearer m"}), api_key=None).headers[name.lower()] == "Bearer m"


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_header_does_not(value: str | None) -> None:
    with pytest.raises(AuthError):
        API.stream(model(), [USER], StreamOptions(headers={"authorization": value}))


def test_a_subscription_token_is_refused() -> None:
    with pytest.raises(AuthError, match="subscription") as caught:
        API.stream(model(provider="anthropic"), [USER], StreamOptions(api_key="sk-ant-oat01-secret"))
    assert "secret" not in str(caught.value)


def test_federation_is_refused_by_the_names_of_its_variables() -> None:
    env = {
        "ANTHROPIC_FEDERATION_RULE_ID": "r",
        "ANTHROPIC_ORGANIZATION_ID": "o",
        "ANTHROPIC_IDENTITY_TOKEN_FILE": "/f",
    }
    with pytest.raises(AuthError, match="ANTHROPIC_FEDERATION_RULE_ID"):
        API.stream(model(provider="anthropic"), [USER], StreamOptions(env=env))


def test_header_layers_win_in_order_and_null_removes() -> None:
    use = model(headers={"User-Agent": "model", "X-Model": "1", "accept": "text/plain"})
    sent = send([USER], use, headers={"x-model": "2", "Accept": None})
    assert (sent.headers["user-agent"], sent.headers["x-model"]) == ("model", "2")
    assert "accept" not in sent.headers


def test_identity_and_attribution() -> None:
    identity = Identity(user_agent="short", attribution=Attribution(name="app", url="https://a.b"))
    sent = send([USER], model(provider="openrouter"), identity=identity)
    assert (sent.headers["user-agent"], sent.headers["http-referer"]) == ("pinyon", "https://a.b")


def test_copilot_is_signed_by_bearer_and_told_about_the_conversation() -> None:
    use = model(provider="github-copilot")
    sent = send([UserMessage(content=[PNG], timestamp=1)], use)
    assert sent.headers["authorization"] == "Bearer key"
    assert "x-api-key" not in sent.headers
    assert (sent.headers["x-initiator"], sent.headers["copilot-vision-request"]) == ("user", "true")
    call = ToolCall(id="c", name="read", arguments={})
    later = send([USER, assistant(call, provider="github-copilot"), result("c", TextContent("x"))], use)
    assert later.headers["x-initiator"] == "agent"


@pytest.mark.parametrize(
    ("fields", "options", "header"),
    [
        ({"compat": {"sendSessionAffinityHeaders": True}}, {}, "x-session-affinity"),
        ({"provider": "openrouter"}, {}, "x-session-id"),
        ({"compat": {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": "openrouter"}}, {}, "x-session-id"),
        ({}, {}, None),
        ({"provider": "openrouter"}, {"cache_retention": "none"}, None),
    ],
)
def test_affinity_headers_carry_the_session(
    fields: dict[str, Any], options: dict[str, Any], header: str | None
) -> None:
    sent = send([USER], model(**fields), session_id="s-1", **options)
    found = [name for name in ("x-session-affinity", "x-session-id") if sent.headers.get(name) == "s-1"]
    assert found == ([header] if header else [])


@pytest.mark.parametrize(("value", "expected"), [("mine-1", "mine-1"), (None, None)])
def test_betas_stated_by_the_caller_replace_all_others(value: str | None, expected: str | None) -> None:
    sent = send([USER], reasoning="high", headers={"Anthropic-Beta": value})
    assert sent.headers.get("anthropic-beta") == expected


# Thinking, temperature, limits


@pytest.mark.parametrize(
    ("fields", "options", "thinking"),
    [
        ({"reasoning": False}, {"reasoning": "high"}, None),
        ({}, {}, {"type": "disabled"}),
        ({}, {"reasoning": "off"}, {"type": "disabled"}),
        ({"thinking_level_map": {"off": None}}, {}, None),
        ({"max_tokens": 64_000}, {"reasoning": "minimal"}, 1024),
        ({"max_tokens": 64_000}, {"reasoning": "low"}, 2048),
        ({"max_tokens": 64_000}, {"reasoning": "high"}, 16_384),
        ({"max_tokens": 64_000, "thinking_level_map": {"xhigh": "x"}}, {"reasoning": "xhigh"}, 16_384),
        ({"max_tokens": 64_000}, {"reasoning": "high", "thinking_budgets": {"high": 5000}}, 5000),
        ({"max_tokens": 64_000}, {"extra": {"thinking_enabled": True, "thinking_budget_tokens": 3000}}, 3000),
        ({"max_tokens": 64_000}, {"reasoning": "high", "extra": {"thinking_enabled": False}}, {"type": "disabled"}),
        ({"max_tokens": 1500}, {"reasoning": "high"}, {"type": "disabled"}),
    ],
)
def test_thinking_by_budget(fields: dict[str, Any], options: dict[str, Any], thinking: Any) -> None:
    if isinstance(thinking, int):
        thinking = {"type": "enabled", "budget_tokens": thinking, "display": "summarized"}
    assert send([USER], model(**fields), **options).body.get("thinking") == thinking


def test_the_budget_comes_on_top_of_the_wanted_answer_and_leaves_room_for_it() -> None:
    sent = send([USER], model(max_tokens=64_000), reasoning="low", max_tokens=1000)
    assert (sent.body["max_tokens"], sent.body["thinking"]["budget_tokens"]) == (3048, 2024)


@pytest.mark.parametrize(
    ("level", "level_map", "effort"),
    [
        ("minimal", {}, "low"),
        ("low", {}, "low"),
        ("medium", {}, "medium"),
        ("high", {}, "high"),
        ("xhigh", {"xhigh": "xhigh"}, "xhigh"),
        ("max", {"max": "max"}, "max"),
        ("max", {}, "high"),
    ],
)
def test_adaptive_thinking_goes_by_effort(level: Any, level_map: dict[str, str | None], effort: str) -> None:
    use = model(compat={"forceAdaptiveThinking": True}, thinking_level_map=level_map)
    sent = send([USER], use, reasoning=level)
    assert sent.body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert sent.body["output_config"] == {"effort": effort}
    assert sent.betas == [""]


def test_the_display_of_thinking_may_be_chosen_and_interleaving_refused() -> None:
    extra = {"thinking_display": "omitted", "interleaved_thinking": False}
    sent = send([USER], reasoning="medium", extra=extra)
    assert sent.body["thinking"]["display"] == "omitted"
    assert sent.betas == [""]


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        ({}, {}, 0.5),
        ({}, {"reasoning": "high"}, None),
        ({"compat": {"supportsTemperature": False}}, {}, None),
        ({"reasoning": False}, {"reasoning": "high"}, 0.5),
    ],
)
def test_temperature_is_sent_only_where_it_is_allowed(
    fields: dict[str, Any], options: dict[str, Any], expected: float | None
) -> None:
    assert send([USER], model(**fields), temperature=0.5, **options).body.get("temperature") == expected


def test_the_output_limit_is_cut_to_the_room_that_is_left() -> None:
    history = assistant(TextContent("x"), usage=Usage(input=25_000, output=1000, total_tokens=26_000))
    sent = send([USER, history, USER], model(context_window=32_000, max_tokens=32_000))
    assert 1024 <= sent.body["max_tokens"] <= 6000


def test_a_conversation_that_leaves_no_room_is_an_overflow_and_nothing_is_sent() -> None:
    from pinyon.ai.overflow import is_overflow_error_text

    history = assistant(TextContent("x"), usage=Usage(input=31_900, output=100, total_tokens=32_000))
    assert is_overflow_error_text(failure([USER, history, USER], model(context_window=32_000, max_tokens=32_000)))


def test_metadata_passes_the_user_id_only() -> None:
    assert send([USER], metadata={"user_id": "u", "other": 1}).body["metadata"] == {"user_id": "u"}
    assert "metadata" not in send([USER], metadata={"user_id": 7}).body


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"extra": {"tool_choice": "any"}}, {"type": "any"}),
        ({"extra": {"tool_choice": {"type": "tool", "name": "read"}}}, {"type": "tool", "name": "read"}),
        ({}, None),
    ],
)
def test_tool_choice(options: dict[str, Any], expected: Any) -> None:
    assert send([system(tool()), USER], **options).body.get("tool_choice") == expected
    assert "tool_choice" not in send([USER], **options).body


# Cache marks


def marks(body: dict[str, Any]) -> list[dict[str, Any]]:
    found = [block["cache_control"] for block in body.get("system", ()) if "cache_control" in block]
    found += [declared["cache_control"] for declared in body.get("tools", ()) if "cache_control" in declared]
    for message in body["messages"]:
        if isinstance(message["content"], list):
            found += [block["cache_control"] for block in message["content"] if "cache_control" in block]
    return found


def test_three_parallel_results_and_a_new_prompt_carry_one_mark_among_never_more_than_four() -> None:
    calls = [ToolCall(id=f"c{n}", name="read", arguments={"path": "p"}) for n in range(3)]
    results: list[Message] = [result(f"c{n}", TextContent(f"r{n}")) for n in range(3)]
    sent = send([system(tool(), tool("bash")), USER, assistant(*calls), *results])
    assert len(marks(sent.body)) == 3
    last = sent.messages[-1]["content"]
    assert [("cache_control" in block) for block in last] == [False, False, True]
    prompted = send([system(tool()), USER, assistant(*calls), *results, USER])
    assert len(marks(prompted.body)) == 3
    assert "cache_control" in prompted.messages[-1]["content"][-1]


def test_a_string_prompt_becomes_a_block_to_carry_the_mark_and_only_when_it_is_last() -> None:
    first, last = UserMessage(content="one", timestamp=1), UserMessage(content="two", timestamp=3)
    sent = send([first, assistant(TextContent("a")), last])
    assert sent.messages[0] == {"role": "user", "content": "one"}
    assert sent.messages[2]["content"] == [{"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]


def test_no_marks_without_retention_and_long_ones_where_the_server_knows_them() -> None:
    messages: list[Message] = [system(tool()), USER]
    assert marks(send(messages, cache_retention="none").body) == []
    assert marks(send(messages, cache_retention="long").body) == [{"type": "ephemeral"}] * 3
    vendor = model(compat={"supportsLongCacheRetention": True})
    assert marks(send(messages, vendor, cache_retention="long").body) == [{"type": "ephemeral", "ttl": "1h"}] * 3
    assert marks(send(messages, vendor, env={"PI_CACHE_RETENTION": "long"}).body)[0]["ttl"] == "1h"


def test_a_server_may_take_no_mark_on_tools() -> None:
    sent = send([system(tool()), USER], model(compat={"supportsCacheControlOnTools": False}))
    assert "cache_control" not in sent.body["tools"][0]


def test_an_answer_at_the_end_carries_no_mark() -> None:
    sent = send([USER, assistant(TextContent("so far"))])
    assert marks(sent.body) == []


# Tools


def test_tools_have_a_plain_object_schema_and_other_root_keywords_are_dropped() -> None:
    schema: dict[str, Any] = {
        "anyOf": [{"required": ["a"]}],
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {}},
    }
    schema |= {"additionalProperties": False, "title": "T"}
    sent = send([system(tool(parameters=schema), tool("none", parameters={})), USER])
    assert sent.body["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "required": [],
        "additionalProperties": False,
        "$defs": {"x": {}},
    }
    assert sent.body["tools"][1]["input_schema"] == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize(
    ("fields", "eager", "beta"),
    [
        ({}, None, False),
        ({"compat": {"supportsEagerToolInputStreaming": True}}, True, False),
        ({"compat": {"supportsEagerToolInputStreaming": False}}, None, True),
        ({"compat": {"supportsEagerToolInputStreaming": None}}, None, False),
        ({"base_url": "https://api.anthropic.com"}, True, False),
    ],
)
def test_eager_tool_streaming_is_for_servers_that_are_known_to_do_it(
    fields: dict[str, Any], eager: bool | None, beta: bool
) -> None:
    sent = send([system(tool()), USER], model(**fields))
    assert sent.body["tools"][0].get("eager_input_streaming") is eager
    assert ("fine-grained-tool-streaming-2025-05-14" in sent.betas) is beta


STRICT = JsonSchemaSampling(strict="prefer")


def test_strict_tools_close_their_schema_where_the_model_has_them() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["a"]}
    declared = tool(parameters=schema, constrained_sampling=STRICT)
    sent = send([system(declared), USER], model(compat={"supportsStrictTools": True}))
    (wire,) = sent.body["tools"]
    assert wire["strict"] is True
    assert wire["input_schema"]["required"] == ["a", "b"]
    assert wire["input_schema"]["additionalProperties"] is False
    plain = send([system(declared), USER]).body["tools"][0]
    assert "strict" not in plain
    assert plain["input_schema"] == schema


@pytest.mark.parametrize(
    "refused",
    [
        {"type": "number", "minimum": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        {"format": "regex"},
    ],
)
def test_a_schema_the_vendor_refuses_is_sent_without_strictness(refused: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", **refused}}, "required": ["a"]}
    declared = tool(parameters=schema, constrained_sampling=STRICT)
    sent = send([system(declared), USER], model(compat={"supportsStrictTools": True}))
    assert "strict" not in sent.body["tools"][0]


def test_required_strictness_that_cannot_be_had_fails_and_names_the_tool() -> None:
    declared = tool(constrained_sampling=JsonSchemaSampling(strict="require"))
    assert "'read'" in failure([system(declared), USER])


def test_later_tool_changes_without_native_support_are_counted_in_the_request() -> None:
    later = SystemMessage(content="", timestamp=2, tools_added=[tool("bash")], tools_removed=[ToolReference("read")])
    sent = send([system(tool()), USER, later, USER])
    assert [declared["name"] for declared in sent.body["tools"]] == ["bash"]
    assert all(message["role"] != "system" for message in sent.messages)


NATIVE = {"supportsMidConvoSystemMessages": True, "supportsMidConvoToolChanges": True}


def test_native_tool_changes_stand_in_the_conversation() -> None:
    later = SystemMessage(
        content="",
        timestamp=2,
        tools_added=[tool("bash"), tool("edit")],
        tools_removed=[ToolReference("read"), ToolReference("edit")],
    )
    sent = send([system(tool(), tool("edit")), USER, assistant(TextContent("a")), later, USER], model(compat=NATIVE))
    assert [declared["name"] for declared in sent.body["tools"]] == ["read", "edit", "__pi_deferred_placeholder__"]
    assert sent.body["tools"][2]["defer_loading"] is True
    assert [("cache_control" in declared) for declared in sent.body["tools"]] == [False, True, False]
    change = sent.messages[-1]
    assert change["role"] == "system"
    assert [block["type"] for block in change["content"]] == ["tool_removal", "tool_addition", "tool_addition"]
    assert change["content"][0]["tool"] == {"type": "tool_reference", "name": "read"}
    assert change["content"][1]["tool"]["definition"]["name"] == "bash"
    assert "inline-tools-2026-09-15" in sent.betas
    assert len(marks(sent.body)) <= 4


def test_native_tool_changes_need_a_tool_from_the_beginning() -> None:
    later = SystemMessage(content="", timestamp=2, tools_added=[tool("bash")])
    sent = send([system(), USER, later, USER], model(compat=NATIVE))
    assert [declared["name"] for declared in sent.body["tools"]] == ["bash"]
    assert "inline-tools-2026-09-15" not in sent.betas


def test_a_later_system_message_stands_before_the_next_answer_or_at_the_end() -> None:
    first = SystemMessage(content="now in French", timestamp=2)
    second = SystemMessage(content="", timestamp=3, sections={"cwd": "/tmp", "old": None})
    use = model(compat={"supportsMidConvoSystemMessages": True})
    sent = send([SYSTEM, first, USER, assistant(TextContent("oui")), second, USER], use)
    assert [message["role"] for message in sent.messages] == ["user", "system", "assistant", "user", "system"]
    assert sent.messages[1]["content"] == [{"type": "text", "text": "now in French"}]
    update = sent.messages[4]["content"][0]["text"]
    assert "cwd" in update
    assert "/tmp" in update
    assert "old" in update
    assert sent.body["system"][0]["text"] == "be brief"


def test_a_model_without_support_gets_one_system_prompt() -> None:
    later = SystemMessage(content="now in French", timestamp=2)
    sent = send([SYSTEM, USER, later, USER])
    assert "now in French" in sent.body["system"][0]["text"]
    assert [message["role"] for message in sent.messages] == ["user", "user"]


# Effort inside the conversation


EFFORT = {"supportsMidConvoEffort": True}


def test_effort_stands_inside_the_conversation_where_the_model_takes_it() -> None:
    earlier = assistant(TextContent("a"), provider_thinking_level="high")
    foreign = assistant(TextContent("b"), provider_thinking_level="high", provider="other")
    odd = assistant(TextContent("c"), provider_thinking_level="enormous")
    messages: list[Message] = [USER, earlier, USER, foreign, USER, odd, USER]
    sent = send(messages, model(compat=EFFORT), reasoning="medium", temperature=0.5)
    assert sent.body["thinking"] == {
        "type": "adaptive",
        "display": "summarized",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert sent.body["output_config"] == {"effort": "low"}
    efforts = [message.get("output_config") for message in sent.messages]
    assert efforts == [None, {"effort": "high"}, *[None] * 6, {"effort": "medium"}]
    assert sent.messages[1] == {"role": "system", "content": [], "output_config": {"effort": "high"}}
    assert "temperature" not in sent.body
    assert set(sent.betas) == {"mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"}
    assert "cache_control" in sent.messages[-2]["content"][-1]


def test_effort_is_not_marked_while_thinking_is_off() -> None:
    sent = send([USER], model(compat=EFFORT))
    assert sent.body["thinking"] == {"type": "disabled"}
    assert len(sent.messages) == 1


# Messages


def test_blank_and_empty_messages_are_not_sent() -> None:
    messages: list[Message] = [
        UserMessage(content="  \n", timestamp=1),
        UserMessage(content=[TextContent(" "), TextContent("real")], timestamp=1),
        assistant(TextContent(" ")),
        assistant(),
        USER,
    ]
    sent = send(messages)
    assert [message["content"][0]["text"] for message in sent.messages] == ["real", "hello"]


def test_thinking_goes_back_exactly_as_it_came() -> None:
    signed = ThinkingContent("", "c2ln")
    redacted = ThinkingContent("", "b3BhcXVl", True)
    sent = send([USER, assistant(signed, redacted, TextContent("t")), USER])
    assert sent.messages[1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "t"},
    ]


@pytest.mark.parametrize(
    ("compat", "expected"),
    [
        ({}, {"type": "text", "text": "hm"}),
        ({"allowEmptySignature": True}, {"type": "thinking", "thinking": "hm", "signature": ""}),
    ],
)
def test_unsigned_thinking_of_the_same_model_is_text_or_has_an_empty_signature(
    compat: dict[str, Any], expected: dict[str, Any]
) -> None:
    sent = send([USER, assistant(ThinkingContent("hm"), TextContent("t")), USER], model(compat=compat))
    assert sent.messages[1]["content"][0] == expected


@pytest.mark.parametrize(
    "foreign", [{"api": "openai-completions"}, {"provider": "other"}, {"model": "fake-2"}, {"model": "claude-x"}]
)
@pytest.mark.parametrize("signature", ["reasoning_content", "c2ln"])
def test_thinking_of_another_model_or_api_is_not_sent(foreign: dict[str, Any], signature: str) -> None:
    message = assistant(ThinkingContent("secret", signature), TextContent("kept", "sig"), **foreign)
    sent = send([USER, message, USER])
    assert sent.messages[1]["content"] == [{"type": "text", "text": "kept"}]


def test_an_answer_may_not_end_in_thinking() -> None:
    sent = send([USER, assistant(TextContent("t"), ThinkingContent("cut", "c2ln"), stop_reason="length"), USER])
    assert [block["type"] for block in sent.messages[1]["content"]] == ["text"]


@pytest.mark.parametrize("stop_reason", ["error", "aborted"])
def test_failed_answers_are_left_out(stop_reason: str) -> None:
    sent = send([USER, assistant(TextContent("half"), stop_reason=stop_reason), USER])
    assert [message["role"] for message in sent.messages] == ["user", "user"]


def test_results_of_one_answer_share_a_turn_and_orphans_are_answered() -> None:
    calls = [ToolCall(id=f"c{n}", name="read", arguments={}) for n in range(3)]
    messages: list[Message] = [
        USER,
        assistant(*calls),
        result("c1", TextContent("a"), TextContent("b")),
        result("GHOST"),
        USER,
    ]
    sent = send(messages)
    assert [message["role"] for message in sent.messages] == ["user", "assistant", "user", "user"]
    blocks = sent.messages[2]["content"]
    assert [block["tool_use_id"] for block in blocks] == ["c0", "c1", "c2"]
    assert [block["is_error"] for block in blocks] == [True, False, True]
    assert blocks[1]["content"] == "a\nb"


def test_images_in_results() -> None:
    calls = [ToolCall(id=f"c{n}", name="read", arguments={}) for n in range(3)]
    messages: list[Message] = [
        USER,
        assistant(*calls),
        result("c0", TextContent("look"), PNG),
        result("c1", PNG),
        result("c2", TextContent("failed"), PNG, is_error=True),
    ]
    both, only, failed, caption, moved = send(messages).messages[2]["content"]
    assert [block["type"] for block in both["content"]] == ["text", "image"]
    assert [block["type"] for block in only["content"]] == ["text", "image"]
    assert failed["content"].startswith("failed")
    assert (failed["type"], failed["is_error"]) == ("tool_result", True)
    assert "c2" in caption["text"]
    assert "read" in caption["text"]
    assert moved["source"] == {"type": "base64", "media_type": "image/png", "data": PNG.data}


def test_a_model_without_image_input_gets_notes_instead() -> None:
    call = ToolCall(id="c", name="read", arguments={})
    messages: list[Message] = [UserMessage(content=[PNG, PNG], timestamp=1), assistant(call), result("c", PNG)]
    sent = send(messages, model(input=["text"]))
    assert "image" not in {block["type"] for block in sent.messages[0]["content"]}
    assert len(sent.messages[0]["content"]) == 1
    assert isinstance(sent.messages[2]["content"][0]["content"], str)


@pytest.mark.parametrize("call_id", ["call_a|fc_b", "x" * 100, "späße", "a b"])
def test_call_ids_are_made_of_what_the_api_takes_and_stay_paired(call_id: str) -> None:
    call = ToolCall(id=call_id, name="read", arguments={})
    for author in ({}, {"provider": "other", "api": "openai-responses"}):
        sent = send([USER, assistant(call, **author), result(call_id, TextContent("r"))])
        wire_id = sent.messages[1]["content"][0]["id"]
        assert wire_id == sent.messages[2]["content"][0]["tool_use_id"]
        assert len(wire_id) <= 64
        assert wire_id.isascii()
        assert wire_id.replace("_", "").replace("-", "").isalnum()


def test_arguments_go_out_in_the_order_they_came() -> None:
    arguments = {"z": 1, "a": {"y": [1.5, 2], "b": None}, "m": "ü"}
    sent = send([USER, assistant(ToolCall(id="c", name="read", arguments=arguments)), result("c", TextContent("r"))])
    assert '"input":{"z":1,"a":{"y":[1.5,2],"b":null},"m":"ü"}'.encode() in sent.raw


@pytest.mark.parametrize("place", ["system", "user", "result", "argument", "tool"])
def test_lone_surrogates_never_reach_the_wire(place: str) -> None:
    bad = "a\ud83db"
    call = ToolCall(id="c", name="read", arguments={"k": bad if place == "argument" else "fine"})
    messages: list[Message] = [
        system(tool(description=bad if place == "tool" else "d"), content=bad if place == "system" else "s"),
        UserMessage(content=bad if place == "user" else "u", timestamp=1),
        assistant(call),
        result("c", TextContent(bad if place == "result" else "r")),
    ]
    sent = send(messages)
    assert "a\ufffdb".encode() in sent.raw
    sent.raw.decode()


def test_a_growing_conversation_keeps_its_beginning_byte_for_byte() -> None:
    messages: list[Message] = [system(tool(), content="s" * 3000), USER]
    previous = b""
    for number in range(5):
        sent = send(messages, session_id="s", cache_retention="none", reasoning="medium")
        encoded = msgspec.json.encode(sent.messages)[:-1]
        assert encoded.startswith(previous)
        assert sent.raw.find(encoded) > 0
        previous = encoded
        call = ToolCall(id=f"c{number}", name="read", arguments={"path": "ü", "n": number})
        messages += [assistant(ThinkingContent("hm", "c2ln"), call), result(f"c{number}", TextContent("r"))]
        messages += [UserMessage(content="next", timestamp=9)] if number % 2 else []


def test_only_the_mark_moves_between_turns() -> None:
    messages: list[Message] = [system(tool()), USER]
    first = send(messages)
    second = send([*messages, assistant(TextContent("a")), UserMessage(content="b", timestamp=4)])
    unmarked = first.raw.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    later = second.raw.replace(b',"cache_control":{"type":"ephemeral"}', b"")
    end = unmarked.index(b'],"max_tokens"')
    assert later.startswith(unmarked[:end])


# Fallback models and hooks


def test_fallback_models_are_offered_at_most_three() -> None:
    fallbacks = [{"provider": "p", "model": f"m{n}", "cost": {"input": 1, "output": 2}} for n in range(5)]
    sent = send([USER], model(compat={"allowedFallbackModels": [{"no": "model"}, *fallbacks]}))
    assert sent.body["fallbacks"] == [{"model": "m0"}, {"model": "m1"}, {"model": "m2"}]
    assert sent.betas == ["server-side-fallback-2026-07-01"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_hook_sees_the_body_and_may_replace_it(asynchronous: bool) -> None:
    seen: list[dict[str, Any]] = []

    def change(body: dict[str, Any], use: Model) -> dict[str, Any]:
        seen.append(body)
        return {**body, "metadata": {"user_id": use.id}}

    async def change_later(body: dict[str, Any], use: Model) -> dict[str, Any]:
        return change(body, use)

    sent = send([SYSTEM, USER], on_payload=change_later if asynchronous else change)
    assert sent.body["metadata"] == {"user_id": "fake-1"}
    assert seen[0]["messages"][0]["content"][0]["text"] == "hello"


def test_a_hook_that_raises_fails_the_request() -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("not today")

    assert failure([USER], on_payload=refuse) == "ValueError: not today"
