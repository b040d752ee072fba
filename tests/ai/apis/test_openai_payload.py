"""Bodies of chat completions: which server is asked for what, histories of other models, and bytes that stay."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util import json as wire_json
from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat, completions_compat, known_server
from pinyon.ai.apis.openai_header import request_headers
from pinyon.ai.apis.openai_message import NO_REASONING
from pinyon.ai.apis.openai_payload import EncodingMemory, Payload, build_payload
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.strict_schema import SamplingError
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_openai import conversation_fault

LS = Tool(name="ls", description="d", parameters={"type": "object", "properties": {}})
SYSTEM = SystemMessage(content="S", timestamp=0, tools_added=[LS])
IMAGE = ImageContent("AAAA", "image/png")


def model(**fields: Any) -> Model:
    defaults: dict[str, Any] = {"id": "m", "name": "m", "api": "openai-completions", "provider": "fake"}
    defaults |= {"base_url": "http://127.0.0.1:9/v1", "reasoning": True, "input": ["text", "image"]}
    return Model(**(defaults | fields))


def user(content: Any = "hi") -> UserMessage:
    return UserMessage(content=content, timestamp=1)


def answer(*content: Any, **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {"api": "openai-completions", "provider": "fake", "model": "m", "stop_reason": "stop"}
    return AssistantMessage(content=list(content), usage=Usage(), timestamp=2, **(defaults | fields))


def result(call_id: str, *content: Any, is_error: bool = False) -> ToolResultMessage:
    blocks = list(content) or [TextContent("ok")]
    return ToolResultMessage(tool_call_id=call_id, tool_name="ls", content=blocks, is_error=is_error, timestamp=3)


def payload_of(messages: Sequence[Message], memory: EncodingMemory | None = None, **fields: Any) -> Payload:
    options = StreamOptions(**fields.pop("options", {}))
    target = model(**fields)
    return build_payload(target, completions_compat(target), messages, options, memory or EncodingMemory())


def body_of(messages: Sequence[Message] = (SYSTEM, user()), **fields: Any) -> dict[str, Any]:
    return dict(wire_json.decode(wire_json.encode_clean(payload_of(messages, **fields).body)))


def sent(messages: Sequence[Message], **fields: Any) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = body_of(messages, **fields)["messages"]
    return wire


@pytest.mark.parametrize(
    ("provider", "base_url", "server"),
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("mine", "https://api.openai.com/v1", "openai"),
        ("openai", "https://api.deepseek.com", "deepseek"),
        ("mine", "https://api.z.ai/api/paas/v4", "zai"),
        ("mine", "https://api.moonshot.cn/v1", "moonshot"),
        ("mine", "https://x.openai.azure.com/openai/v1", "azure"),
        ("mine", "https://gateway.ai.cloudflare.com/v1/a/b/compat", "cloudflare-ai-gateway"),
        ("qwen-token-plan-cn", "http://127.0.0.1:1/v1", "qwen"),
        ("xiaomi-token-plan-ams", "", "xiaomi"),
        ("openrouter", "http://localhost/v1", "openrouter"),
        ("mine", "http://127.0.0.1:1/api.openai.com/v1", None),
        ("ollama", "http://127.0.0.1:11434/v1", None),
        ("openai-mirror", "https://llm.example.com/v1", None),
    ],
)
def test_a_server_is_known_by_its_host_or_its_providers_name(provider: str, base_url: str, server: str | None) -> None:
    assert known_server(model(provider=provider, base_url=base_url)) == server


def flags(base_url: str, **fields: Any) -> OpenAICompletionsCompat:
    return completions_compat(model(base_url=base_url, **fields))


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:8080/v1", "https://llm.example.com/v1", "https://api.groq.com/openai/v1", "https://api.x.ai/v1"],
)
def test_servers_of_others_get_nothing_that_only_the_vendor_knows(base_url: str) -> None:
    compat = flags(base_url)
    assert not compat.supports_store
    assert not compat.supports_developer_role
    assert not compat.supports_strict_mode
    assert not compat.supports_long_cache_retention


def test_an_unknown_server_is_asked_carefully() -> None:
    assert flags("http://127.0.0.1:8080/v1") == OpenAICompletionsCompat()
    careful = OpenAICompletionsCompat()
    assert (careful.max_tokens_field, careful.supports_reasoning_effort) == ("max_tokens", False)
    assert (careful.supports_usage_in_streaming, careful.supports_finish_reason) == (True, True)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://api.openai.com/v1", {"supports_store": True, "supports_developer_role": True}),
        ("https://api.openai.com/v1", {"max_tokens_field": "max_completion_tokens", "supports_reasoning_effort": True}),
        ("https://api.deepseek.com", {"thinking_format": "deepseek", "max_tokens_field": "max_tokens"}),
        ("https://api.deepseek.com", {"requires_reasoning_content_on_assistant_messages": True}),
        ("https://api.z.ai/v4", {"thinking_format": "zai", "supports_reasoning_effort": False}),
        ("https://api.together.xyz/v1", {"thinking_format": "together", "max_tokens_field": "max_tokens"}),
        ("https://api.ant-ling.com/v1", {"thinking_format": "ant-ling", "supports_reasoning_effort": False}),
        ("https://llm.chutes.ai/v1", {"max_tokens_field": "max_tokens", "supports_reasoning_effort": True}),
        ("https://api.x.ai/v1", {"supports_reasoning_effort": False, "max_tokens_field": "max_completion_tokens"}),
        ("https://integrate.api.nvidia.com/v1", {"supports_reasoning_effort": False, "max_tokens_field": "max_tokens"}),
        ("https://openrouter.ai/api/v1", {"thinking_format": "openrouter", "send_session_affinity_headers": True}),
        ("https://openrouter.ai/api/v1", {"session_affinity_format": "openrouter", "cache_control_format": None}),
        ("https://api.groq.com/openai/v1", {"max_tokens_field": "max_completion_tokens"}),
    ],
)
def test_known_servers_have_their_defaults(base_url: str, expected: dict[str, Any]) -> None:
    compat = flags(base_url)
    assert {name: getattr(compat, name) for name in expected} == expected


def test_claude_behind_openrouter_is_marked_for_caching() -> None:
    compat = flags("https://openrouter.ai/api/v1", id="anthropic/claude-opus")
    assert (compat.cache_control_format, compat.supports_long_cache_retention) == ("anthropic", True)


@pytest.mark.parametrize(
    ("own", "changed"),
    [
        ({"supportsStore": False}, {"supports_store": False}),
        ({"supportsStore": None, "maxTokensField": "max_tokens"}, {"max_tokens_field": "max_tokens"}),
        ({"supportsStore": "no", "maxTokensField": "tokens", "unknownFlag": 1, "vllmPriority": []}, {}),
        ({"supportsOpenAIGrammarTools": True}, {"supports_open_ai_grammar_tools": True}),
        ({"toolCallFormat": "json-schema"}, {"tool_call_format": "json-schema"}),
    ],
)
def test_flags_of_the_model_win_and_nonsense_leaves_the_default(own: dict[str, Any], changed: dict[str, Any]) -> None:
    plain = flags("https://api.openai.com/v1")
    compat = flags("https://api.openai.com/v1", compat=own)
    differences = {
        name: getattr(compat, name)
        for name in compat.__struct_fields__
        if getattr(compat, name) != getattr(plain, name)
    }
    assert differences == changed


def test_an_optional_budget_field_has_an_older_spelling() -> None:
    assert OpenAICompletionsCompat(supports_thinking_token_budget=True).budget_field == "thinking_token_budget"
    both = OpenAICompletionsCompat(supports_thinking_token_budget=True, thinking_token_budget_field="thinking_budget")
    assert both.budget_field == "thinking_budget"


def test_a_level_may_be_given_as_an_option_of_this_api() -> None:
    extra = {"reasoning_effort": "high", "thinking_budgets": {"high": 100}}
    compat = {"supportsReasoningEffort": True, "supportsThinkingTokenBudget": True}
    body = body_of(compat=compat, options={"extra": extra})
    assert (body["reasoning_effort"], body["thinking_token_budget"]) == ("high", 100)


def test_a_tool_choice_without_tools_is_not_sent() -> None:
    assert "tool_choice" not in body_of([user()], options={"tool_choice": "auto"})
    chosen = {"type": "function", "function": {"name": "ls"}}
    assert body_of(options={"extra": {"tool_choice": chosen}})["tool_choice"] == chosen


def test_later_system_messages_stand_in_place_where_the_server_takes_them() -> None:
    later = SystemMessage(content="later", timestamp=4, sections={"x": "X", "y": None})
    place = sent([SYSTEM, user(), later, user("b")], compat={"supportsMidConvoSystemMessages": True})
    assert [message["role"] for message in place] == ["system", "user", "system", "user"]
    assert "X" in place[2]["content"]
    assert [message["role"] for message in sent([SYSTEM, user(), later, user("b")])] == ["system", "user", "user"]


def test_later_tools_are_declared_in_place_where_the_server_takes_them() -> None:
    more = Tool(name="more", description="d", parameters={"type": "object"})
    history: list[Message] = [SYSTEM, user(), SystemMessage(content="now", timestamp=4, tools_added=[more]), user("b")]
    compat = {"supportsMidConvoSystemMessages": True, "supportsMidConvoToolAdditions": True}
    body = body_of(history, compat=compat)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["ls"]
    declared, told = body["messages"][2:4]
    assert [tool["function"]["name"] for tool in declared["tools"]] == ["more"]
    assert told == {"role": "system", "content": "now"}
    assert [tool["function"]["name"] for tool in body_of(history)["tools"]] == ["ls", "more"]


def test_a_server_that_insists_on_reasoning_gets_a_stand_in_only_where_there_is_none() -> None:
    own = answer(ThinkingContent("think", "reasoning_content"), ToolCall("1", "ls", {}))
    bare = answer(ToolCall("2", "ls", {}))
    foreign = answer(ThinkingContent("secret", "c2ln"), ToolCall("3", "ls", {}), model="other")
    history: list[Message] = [
        user(),
        own,
        result("1"),
        bare,
        result("2"),
        foreign,
        result("3"),
        answer(TextContent("t")),
    ]
    compat = {"requiresReasoningContentOnAssistantMessages": True}
    wire = [message for message in sent(history, compat=compat) if message["role"] == "assistant"]
    assert [message["reasoning_content"] for message in wire] == ["think", NO_REASONING, NO_REASONING, ""]
    assert conversation_fault(sent(history, compat=compat), demands_reasoning=True) is None
    assert "reasoning_content" not in json.dumps(sent(history, compat=compat, reasoning=False)[3:])


@pytest.mark.parametrize("signature", ["c2lnbmF0dXJl", "[broken", "rs_123", '{"type":"x"}'])
def test_a_signature_that_names_no_field_sends_no_thinking(signature: str) -> None:
    (_, wire) = sent([user(), answer(ThinkingContent("hidden", signature), TextContent("t"))])
    assert wire == {"role": "assistant", "content": "t"}


def test_a_call_whose_arguments_were_broken_goes_out_as_an_object() -> None:
    broken = ToolCall("1", "ls", {}, arguments_error="no JSON")
    lost = ToolCall("2", "ls", None)  # type: ignore[arg-type]
    wire = sent([SYSTEM, user(), answer(broken, lost), result("1"), result("2")])
    assert [call["function"]["arguments"] for call in wire[2]["tool_calls"]] == ["{}", "{}"]


def grammar_tool(variants: dict[str, str]) -> Tool:
    schema = {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}
    return Tool(name="gr", description="d", parameters=schema, constrained_sampling=GrammarSampling(variants))


def test_a_grammar_call_with_foreign_arguments_goes_out_as_text() -> None:
    system = SystemMessage(content="", timestamp=0, tools_added=[grammar_tool({"openai_regex": "a+"})])
    history: list[Message] = [system, user(), answer(ToolCall("1", "gr", {"q": 1})), result("1")]
    (_, call, _) = sent(history, compat={"supportsOpenAIGrammarTools": True})
    assert call["tool_calls"] == [{"id": "1", "type": "custom", "custom": {"name": "gr", "input": '{"q":1}'}}]


@pytest.mark.parametrize(
    ("tool", "compat", "said"),
    [
        (grammar_tool({}), {"supportsOpenAIGrammarTools": True}, "'gr'"),
        (Tool("st", "d", {"type": "object"}, JsonSchemaSampling("require")), {}, "'st' requires"),
        (Tool("st", "d", {"type": "string"}, JsonSchemaSampling("require")), {"supportsStrictMode": True}, "object"),
    ],
)
def test_a_tool_that_cannot_be_sampled_as_it_must_is_an_error(tool: Tool, compat: dict[str, Any], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        body_of([SystemMessage(content="", timestamp=0, tools_added=[tool]), user()], compat=compat)


def test_cache_marks_leave_the_kept_encodings_alone() -> None:
    memory = EncodingMemory()
    compat = {"cacheControlFormat": "anthropic"}
    history: list[Message] = [SYSTEM, user("a")]
    marked = payload_of(history, memory, compat=compat)
    assert b"cache_control" in bytes(marked.body["messages"][-1])
    longer = payload_of([*history, answer(TextContent("b")), user("c")], memory, compat=compat)
    texts = [bytes(message) for message in longer.body["messages"]]
    assert [b"cache_control" in text for text in texts] == [True, False, False, True]
    without = payload_of(history, memory, compat=compat, options={"cache_retention": "none"})
    assert not any(b"cache_control" in bytes(message) for message in without.body["messages"])


def test_the_retention_comes_from_the_environment_where_the_caller_says_nothing() -> None:
    compat = {"supportsLongCacheRetention": True}
    options = {"session_id": "s" * 80, "env": {"PI_CACHE_RETENTION": "long"}}
    body = body_of(compat=compat, options=options)
    assert (body["prompt_cache_retention"], len(body["prompt_cache_key"])) == ("24h", 64)
    assert "prompt_cache_key" not in body_of(compat=compat, options={**options, "cache_retention": "short"})
    assert "prompt_cache_key" not in body_of(compat={"promptCacheKeyMode": "disabled"} | compat, options=options)


def headers_of(**fields: Any) -> dict[str, str]:
    payload = payload_of([user()], **fields)
    return {name.lower(): value for name, value in request_headers(payload.request, [user()]).items()}


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("openai", {"session_id", "x-client-request-id", "x-session-affinity"}),
        ("openai-nosession", {"x-client-request-id", "x-session-affinity"}),
        ("openrouter", {"x-session-id"}),
    ],
)
def test_affinity_headers_carry_the_session_where_caching_is_on(form: str, names: set[str]) -> None:
    compat = {"sendSessionAffinityHeaders": True, "sessionAffinityFormat": form}
    found = headers_of(compat=compat, options={"session_id": "abc"})
    assert {name for name, value in found.items() if value == "abc"} == names
    assert "abc" not in headers_of(compat=compat, options={"session_id": "abc", "cache_retention": "none"}).values()


def test_headers_of_the_caller_win_and_remove() -> None:
    options = {"api_key": "k", "headers": {"Authorization": None, "X-Own": "caller", "ACCEPT": "x"}}
    found = headers_of(headers={"x-own": "model", "x-model": "m"}, options=options)
    assert "authorization" not in found
    assert (found["x-own"], found["x-model"], found["accept"]) == ("caller", "m", "x")
    assert headers_of(options={"api_key": "k"})["authorization"] == "Bearer k"


HISTORY: list[Message] = [
    SYSTEM,
    user([TextContent("look"), IMAGE]),
    answer(
        ThinkingContent("hm", "reasoning_content"), ToolCall("1", "ls", {"b": 1.0, "a": "é"}), ToolCall("2", "ls", {})
    ),
    result("1", TextContent("one"), IMAGE),
    result("2"),
    answer(TextContent("from elsewhere"), ToolCall("x|" + "y" * 60, "ls", {}), model="other", provider="p2"),
    result("x|" + "y" * 60),
    user("steer"),
    answer(ToolCall("3", "ls", {}), stop_reason="aborted"),
    user("again"),
    answer(TextContent("done")),
    user("more"),
]


def test_every_request_begins_with_the_bytes_of_the_request_before() -> None:
    memory = EncodingMemory()
    previous: list[bytes] = []
    for end in (2, 5, 7, 8, 10, 12):
        messages = [bytes(raw) for raw in payload_of(HISTORY[:end], memory).body["messages"]]
        assert messages[: len(previous)] == previous
        fresh = payload_of(HISTORY[:end])
        assert messages == [bytes(raw) for raw in fresh.body["messages"]]
        previous = messages
    assert conversation_fault([wire_json.decode(message) for message in previous]) is None


class CountingMemo(MessageMemo[bytes]):
    """Counts what was kept anew."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0

    def put(self, message: Message, key: Hashable, value: bytes) -> None:
        self.puts += 1
        super().put(message, key, value)


def test_a_message_is_encoded_once() -> None:
    memory = EncodingMemory()
    counting = memory.encoded = CountingMemo()
    payload_of(HISTORY, memory)
    assert counting.puts == 10
    payload_of([*HISTORY, answer(TextContent("new"))], memory)
    assert counting.puts == 11


def test_a_message_that_was_changed_in_place_goes_out_as_it_is_now() -> None:
    memory = EncodingMemory()
    message = user([TextContent("before")])
    payload_of([message], memory)
    assert isinstance(message.content, list)
    message.content[0] = TextContent("after")
    assert b"after" in bytes(payload_of([message], memory).body["messages"][0])


def test_another_model_gets_its_own_encoding_of_the_same_message() -> None:
    memory = EncodingMemory()
    own = answer(ThinkingContent("hm", "reasoning_content"), TextContent("t"))
    assert b"reasoning_content" in bytes(payload_of([user(), own], memory).body["messages"][1])
    assert b"reasoning_content" not in bytes(payload_of([user(), own], memory, id="other").body["messages"][1])
    assert b"reasoning_content" in bytes(payload_of([user(), own], memory).body["messages"][1])


ids = st.sampled_from(["", "1", "2", "a|b", "x" * 70])
blocks = st.one_of(
    st.sampled_from(["t", " ", "", "\ud83d"]).map(TextContent),
    st.just(ThinkingContent("hm", "reasoning_content")),
    st.builds(lambda call_id, name: ToolCall(call_id, name, {}), ids, st.sampled_from(["ls", "", "a.b"])),
)
answers = st.builds(
    lambda content, stop, name: answer(*content, stop_reason=stop, model=name),
    st.lists(blocks, max_size=3),
    st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
    st.sampled_from(["m", "other"]),
)
others = st.one_of(
    ids.map(result),
    st.sampled_from(["q", " ", [], [TextContent("")], [IMAGE]]).map(user),
    st.just(SystemMessage(content="s", timestamp=0)),
)


@given(st.lists(answers | others, max_size=10), st.booleans())
def test_whatever_a_session_holds_strict_servers_take_the_request(history: list[Message], reads_images: bool) -> None:
    wire = sent(history, input=["text", "image"] if reads_images else ["text"])
    assert conversation_fault(wire) is None
    for message in wire:
        parts = message.get("content")
        texts = [part.get("text", "x") for part in parts] if isinstance(parts, list) else [parts]
        assert all(text is None or text.strip() for text in texts)
        names = [call["function"]["name"] for call in message.get("tool_calls", ())]
        assert all(name.replace("_", "").replace("-", "").isalnum() for name in names)
