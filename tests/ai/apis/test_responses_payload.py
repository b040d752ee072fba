"""Bodies of the Responses APIs: the vendor's types, every flag, items of every message, byte-stable beginnings."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, get_type_hints

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter
from tests.ai.apis.responses import (
    CONVERSATION,
    KEY,
    LS,
    PATCH,
    READ,
    REASONING,
    SYSTEM,
    USER,
    answer,
    body_of,
    exchange,
    model,
    result,
)

from pinyon.ai.api import get_api
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import Message, SystemMessage, UserMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import JsonSchemaSampling, Tool, ToolReference
from pinyon.testing.fake_codex import account_token
from pinyon.testing.fake_responses import function_call, input_fault, message, reasoning, responses_answer
from pinyon.testing.fake_server import FakeServer
from pinyon.testing.stream import collect, final_message

PARAMS: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)
TOKEN = account_token("acc-1")
PARAM_NAMES = set(get_type_hints(ResponseCreateParamsStreaming))
MID: dict[str, Any] = {"supportsMidConvoSystemMessages": True}
ALL_APIS = ["openai-responses", "azure-openai-responses", "openai-codex-responses"]


def items_of(messages: Sequence[Message], **fields: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = body_of(messages, **fields)["input"]
    return items


def is_valid(body: dict[str, Any]) -> bool:
    """Whether the vendor's own types take the body, and know every field of it."""
    checked = consumed(PARAMS.validate_python(body))
    assert checked["input"] == body["input"]
    assert checked.get("tools") == body.get("tools")
    return set(body) <= PARAM_NAMES and input_fault(body["input"]) is None


def consumed(value: Any) -> Any:
    """The value with every iterable read: only then are the items of one checked."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, dict):
        return {name: consumed(item) for name, item in value.items()}
    return [consumed(item) for item in value] if isinstance(value, Iterable) else value.model_dump(exclude_unset=True)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"reasoning": False},
        {"input": ["text"]},
        {"compat": {"supportsOpenAIGrammarTools": True}},
        {"compat": {**MID, "supportsAdditionalTools": True, "supportsMidConvoEffort": True}},
        {"compat": {**MID, "supportsToolSearch": True, "supportsExplicitPromptCacheMode": True}},
        {"api": "azure-openai-responses", "provider": "azure"},
        {"provider": "xai"},
    ],
)
def test_a_body_validates_against_the_vendors_types(fields: dict[str, Any]) -> None:
    later = SystemMessage(content="also", timestamp=5, tools_added=[READ, PATCH], sections={"a": "b"})
    call = answer(
        ToolCall("c2|ctc_2", "patch", {"text": "x"}), stop="toolUse", timestamp=6, provider_thinking_level="low"
    )
    turns = [*CONVERSATION, later, call, result("c2|ctc_2", name="patch"), UserMessage("go on", 7)]
    options = {
        "reasoning": "high",
        "temperature": 0.5,
        "session_id": "s",
        "cache_retention": "long",
        "tool_choice": "auto",
        "extra": {"service_tier": "flex", "reasoning_summary": "detailed"},
    }
    fields = {"compat": {"supportsStrictMode": True}} | fields
    assert is_valid(body_of(turns, options=options, **fields))


def test_an_unknown_server_gets_no_role_or_field_that_only_the_vendor_defines() -> None:
    body = body_of(provider="mine", options={"session_id": "s", "cache_retention": "long", "reasoning": "low"})
    assert list(body) == ["model", "input", "stream", "store", "max_output_tokens", "tools", "reasoning", "include"]
    assert body["input"][0] == {"role": "system", "content": "be brief"}
    assert "strict" not in body["tools"][0]


def test_the_vendor_gets_its_fields_in_a_fixed_order() -> None:
    body = body_of(options={"session_id": "s" * 70, "reasoning": "high", "max_tokens": 3, "cache_retention": "long"})
    assert list(body) == [
        "model",
        "input",
        "stream",
        "prompt_cache_key",
        "prompt_cache_retention",
        "store",
        "max_output_tokens",
        "tools",
        "reasoning",
        "include",
    ]
    assert body["prompt_cache_key"] == "s" * 64
    assert body["prompt_cache_retention"] == "24h"
    assert body["store"] is False
    assert body["max_output_tokens"] == 16
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["tools"][0]["strict"] is True


@pytest.mark.parametrize(
    ("compat", "options", "name", "value"),
    [
        ({"supportsMaxOutputTokens": False}, {}, "max_output_tokens", None),
        ({"supportsStore": False}, {}, "store", None),
        ({"promptCacheKeyMode": "disabled"}, {"session_id": "s"}, "prompt_cache_key", None),
        ({}, {"session_id": "s", "cache_retention": "none"}, "prompt_cache_key", None),
        ({}, {"session_id": "s"}, "prompt_cache_key", "s"),
        ({"supportsLongCacheRetention": False}, {"cache_retention": "long"}, "prompt_cache_retention", None),
        ({}, {"cache_retention": "long"}, "prompt_cache_retention", "24h"),
        ({}, {"env": {"PI_CACHE_RETENTION": "long"}}, "prompt_cache_retention", "24h"),
        (
            {"supportsExplicitPromptCacheMode": True},
            {"cache_retention": "long"},
            "prompt_cache_options",
            {"ttl": "30m"},
        ),
        (
            {"supportsExplicitPromptCacheMode": True},
            {"cache_retention": "none"},
            "prompt_cache_options",
            {"mode": "explicit"},
        ),
        ({"supportsExplicitPromptCacheMode": True}, {}, "prompt_cache_options", None),
        ({}, {"temperature": 0.2}, "temperature", 0.2),
        ({}, {"extra": {"service_tier": "priority"}}, "service_tier", "priority"),
        ({}, {"tool_choice": "none"}, "tool_choice", "none"),
        ({}, {"sampling_params": {"top_p": 0.5}}, "top_p", 0.5),
        (
            {},
            {"reasoning": "low", "extra": {"reasoning_summary": "concise"}},
            "reasoning",
            {"effort": "low", "summary": "concise"},
        ),
        ({}, {}, "reasoning", {"effort": "none"}),
        ({}, {}, "include", None),
    ],
)
def test_a_flag_or_an_option_changes_its_field(
    compat: dict[str, Any], options: dict[str, Any], name: str, value: Any
) -> None:
    assert body_of(compat=compat, options=options).get(name) == value


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        ({"thinking_level_map": {"off": None}}, {}, None),
        ({"thinking_level_map": {"off": "minimal"}}, {}, {"effort": "minimal"}),
        ({"provider": "github-copilot"}, {}, None),
        ({"reasoning": False}, {"reasoning": "high"}, None),
        ({"thinking_level_map": {"high": "max"}}, {"reasoning": "high"}, {"effort": "max", "summary": "auto"}),
        ({}, {"extra": {"reasoning_effort": "minimal"}}, {"effort": "minimal", "summary": "auto"}),
        ({}, {"extra": {"reasoning_effort": "none"}}, {"effort": "none"}),
    ],
)
def test_the_effort_is_the_providers_word_for_the_level(
    fields: dict[str, Any], options: dict[str, Any], expected: Any
) -> None:
    assert body_of(options=options, **fields).get("reasoning") == expected


def test_xai_is_always_asked_for_encrypted_reasoning() -> None:
    assert body_of(provider="xai")["include"] == ["reasoning.encrypted_content"]


def test_a_chatgpt_sign_in_takes_fewer_fields() -> None:
    fields: dict[str, Any] = {"base_url": "https://api.openai.com/v1", "compat": {"supportsMidConvoEffort": True}}
    options = {"temperature": 0.1, "cache_retention": "long", "session_id": "s", "reasoning": "low"}
    plain = body_of(options=options, **fields)
    assert {"max_output_tokens", "temperature", "prompt_cache_retention"} <= set(plain)
    assert plain["input"][-1]["type"] == "configuration_update"
    signed_in = body_of(options={**options, "api_key": "ey-access-token"}, **fields)
    assert {"max_output_tokens", "temperature", "prompt_cache_retention"}.isdisjoint(signed_in)
    assert signed_in["prompt_cache_key"] == "s"
    assert signed_in["reasoning"]["effort"] == "low"
    assert signed_in["input"][-1]["role"] == "user"


def test_messages_become_items() -> None:
    assert items_of(CONVERSATION) == [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "abc",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            "status": "completed",
            "id": "msg_1",
            "phase": "commentary",
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": '{"path":"."}'},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "a.txt"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "and"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
            ],
        },
    ]


def test_reasoning_goes_back_as_it_came() -> None:
    stored = '{"type":"reasoning","new":{"b":1,"a":[2.5]},"id":"rs_1","summary":[],"encrypted_content":"ä"}'
    turns: list[Message] = [SYSTEM, USER, answer(ThinkingContent("", stored), TextContent("x")), UserMessage("y", 3)]
    with FakeServer([responses_answer(message("ok"))]) as server:
        target = model(f"{server.url}/v1")
        collect(get_api(target.api).stream(target, turns, StreamOptions(api_key=KEY)))
        assert stored.encode() in server.requests[0].body


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        (None, ["msg_pi_1", "msg_pi_1_1"]),
        ("msg_old", ["msg_old", "msg_pi_1_1"]),
        ('{"v":1,"id":"' + "m" * 65 + '"}', ["msg_", "msg_pi_1_1"]),
        ('{"v":1}', ["msg_pi_1", "msg_pi_1_1"]),
    ],
)
def test_texts_have_short_ids_that_stay(signature: str | None, expected: list[str]) -> None:
    first = TextContent("a") if signature is None else TextContent("a", signature)
    items = items_of([SYSTEM, USER, answer(first, TextContent("b")), UserMessage("c", 3)])
    ids = [item["id"] for item in items if item.get("type") == "message"]
    assert ids[1] == expected[1]
    assert ids[0].startswith(expected[0])
    assert all(len(name) <= 64 for name in ids)


@pytest.mark.parametrize(
    ("source", "call_id", "expected_call", "has_item"),
    [
        ({}, "c1|fc_1", "c1", True),
        ({}, "c1|other_1", "c1", False),
        ({}, "c1", "c1", False),
        ({"model": "fake-2"}, "c1|fc_1", "c1", False),
        ({"provider": "xai"}, "c1|fc_1", "c1", True),
        ({"provider": "anthropic", "api": "anthropic-messages"}, "toolu:1", "toolu_1", False),
        ({"provider": "x", "api": "openai-completions"}, "a b|" + "y" * 90, "a_b", True),
    ],
)
def test_ids_of_other_models_are_made_fit(
    source: dict[str, Any], call_id: str, expected_call: str, has_item: bool
) -> None:
    turns: list[Message] = [
        SYSTEM,
        USER,
        answer(ToolCall(call_id, "ls", {}), stop="toolUse", **source),
        result(call_id),
    ]
    call, output = items_of(turns)[-2:]
    assert call["call_id"] == output["call_id"] == expected_call
    assert ("id" in call) == has_item
    assert call.get("id", "fc_").startswith("fc_")
    assert len(call.get("id", "")) <= 64


def test_a_custom_provider_gets_plain_ids() -> None:
    foreign = answer(ToolCall("c.1|fc_1", "ls", {}), stop="toolUse", model="other")
    call, output = items_of([USER, foreign, result("c.1|fc_1")], provider="mine")[-2:]
    assert call["call_id"] == output["call_id"] == "c_1_fc_1"


@pytest.mark.parametrize(
    "source",
    [{"model": "fake-2"}, {"api": "openai-completions"}, {"provider": "anthropic", "api": "anthropic-messages"}],
)
def test_reasoning_and_signatures_of_other_models_are_left_out(source: dict[str, Any]) -> None:
    foreign = answer(ThinkingContent("hm", REASONING), TextContent("hi", '{"v":1,"id":"msg_9"}'), **source)
    items = items_of([SYSTEM, USER, foreign, UserMessage("go on", 3)])
    assert "reasoning" not in [item.get("type") for item in items]
    assert next(item for item in items if item.get("type") == "message")["id"] == "msg_pi_1"


def test_reasoning_is_never_the_last_item_of_an_answer() -> None:
    cut = answer(ThinkingContent("hm", REASONING), stop="length")
    items = items_of([SYSTEM, USER, cut, UserMessage("go on", 3)])
    assert input_fault(items) is None
    assert "reasoning" not in [item.get("type") for item in items]


def test_a_call_without_result_gets_one() -> None:
    turns: list[Message] = [
        SYSTEM,
        USER,
        answer(ToolCall("c1|fc_1", "ls", {}), stop="toolUse"),
        UserMessage("go on", 3),
    ]
    items = items_of(turns)
    assert input_fault(items) is None
    assert items[-2]["type"] == "function_call_output"


def test_a_result_without_call_and_a_failed_answer_are_left_out() -> None:
    failed = answer(TextContent("half"), stop="error")
    items = items_of([SYSTEM, USER, failed, result("ghost"), UserMessage("go on", 3)])
    assert [item["role"] for item in items] == ["developer", "user", "user"]


def test_a_model_that_reads_text_only_is_told_of_images() -> None:
    items = items_of(CONVERSATION, input=["text"])
    assert "input_image" not in str(items)
    assert "left out" in items[-1]["content"][1]["text"]
    assert "left out" in items[-2]["output"]


def test_lone_surrogates_never_reach_the_wire() -> None:
    items = items_of([SYSTEM, UserMessage("a\ud83d b \ud83d\ude48", 1)])
    assert items[-1]["content"][0]["text"] == "a\ufffd b \U0001f648"


def test_an_empty_result_says_so() -> None:
    turns: list[Message] = [
        SYSTEM,
        USER,
        answer(ToolCall("c1", "ls", {}), stop="toolUse"),
        result("c1", TextContent(" ")),
    ]
    assert items_of(turns)[-1]["output"] == "(the tool returned nothing)"


def test_grammar_tools_are_custom_tools() -> None:
    system = SystemMessage(content="", timestamp=0, tools_added=[PATCH])
    call = answer(ToolCall("c1|ctc_1", "patch", {"text": "a\nb"}), stop="toolUse")
    body = body_of([system, USER, call, result("c1|ctc_1", name="patch")], compat={"supportsOpenAIGrammarTools": True})
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    assert body["tools"] == [{"type": "custom", "name": "patch", "description": "Patch files.", "format": grammar}]
    assert body["input"][-2:] == [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": "a\nb"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    ]
    without = body_of([system, USER, call, result("c1|ctc_1", name="patch")])
    assert without["input"][-2] == {
        "type": "function_call",
        "call_id": "c1",
        "name": "patch",
        "arguments": '{"text":"a\\nb"}',
    }


def test_a_namespace_goes_back_to_the_model_that_gave_it() -> None:
    def call(**source: Any) -> dict[str, Any]:
        made = answer(ToolCall("c1|fc_1", "ls", {}, namespace="ns"), stop="toolUse", **source)
        return items_of([SYSTEM, USER, made, result("c1|fc_1")])[-2]

    assert call()["namespace"] == "ns"
    assert "namespace" not in call(model="other")


@pytest.mark.parametrize(
    ("api", "strict"),
    [("openai-responses", False), ("azure-openai-responses", False), ("openai-codex-responses", None)],
)
def test_tools_that_do_not_ask_for_strict_sampling_say_so(api: str, strict: bool | None) -> None:
    body = body_of([SystemMessage("", 0, tools_added=[READ]), USER], api=api, options={"api_key": TOKEN})
    assert body["tools"][0]["strict"] is strict


def test_a_tool_that_requires_what_the_model_lacks_is_an_error() -> None:
    tool = Tool("must", "x", {"type": "object", "properties": {}}, JsonSchemaSampling("require"))
    messages: list[Message] = [SystemMessage("", 0, tools_added=[tool]), USER]
    events, requests = exchange(
        responses_answer(message("ok")), messages=messages, fields={"compat": {"supportsStrictMode": False}}
    )
    assert requests == []
    assert "'must'" in str(final_message(events).error_message)


# Tools and prompts that change on the way


TOOL_TURNS: list[Message] = [
    SYSTEM,
    USER,
    answer(TextContent("hi")),
    SystemMessage(content="", timestamp=3, tools_added=[READ]),
    UserMessage("next", 4),
    answer(TextContent("there"), timestamp=5),
    SystemMessage(content="", timestamp=6, tools_removed=[ToolReference("ls"), ToolReference("read")]),
    UserMessage("next", 7),
    answer(TextContent("you"), timestamp=8),
    SystemMessage(content="mind this", timestamp=9, tools_added=[LS], sections={"rules": "new"}),
    UserMessage("last", 10),
]


def test_all_tools_can_be_declared_in_place() -> None:
    body = body_of(TOOL_TURNS, compat={**MID, "supportsAdditionalTools": True})
    assert "tools" not in body
    shown: list[Any] = [
        [tool["name"] for tool in item["tools"]] if item.get("type") == "additional_tools" else item["content"]
        for item in body["input"]
        if item.get("role") == "developer"
    ]
    assert shown[:2] == [["ls"], "be brief"]
    assert shown[3] == ["read"]
    assert "gone" in shown[2]
    assert "read" not in shown[2]
    assert "- ls\n- read" in shown[4]
    assert shown[5].endswith("Not usable at present: read.")
    assert shown[6] == ["ls"]
    assert shown[7].startswith("mind this")
    assert "new" in shown[7]


def test_later_tools_appear_as_found_by_a_search() -> None:
    body = body_of(TOOL_TURNS[:5], compat={**MID, "supportsToolSearch": True})
    assert [tool["name"] for tool in body["tools"]] == ["ls"]
    call, output = body["input"][3:5]
    assert call["type"] == "tool_search_call"
    assert call["arguments"] == {"query": "read", "limit": 1}
    assert call["call_id"] == output["call_id"]
    assert call["call_id"].startswith("pi_tool_load_")
    assert [(tool["name"], tool["defer_loading"]) for tool in output["tools"]] == [("read", True)]
    after_removal = body_of(TOOL_TURNS, compat={**MID, "supportsToolSearch": True})
    assert [tool["name"] for tool in after_removal["tools"]] == ["ls"]
    assert "tool_search_call" not in str(after_removal["input"])


def test_without_support_one_system_message_leads() -> None:
    body = body_of(TOOL_TURNS)
    assert [tool["name"] for tool in body["tools"]] == ["ls"]
    developer = [item["content"] for item in body["input"] if item.get("role") == "developer"]
    assert developer == ["be brief\n\nmind this\n\nnew"]


def test_effort_can_be_told_by_items_of_the_conversation() -> None:
    said = answer(TextContent("hi"), provider_thinking_level="low")
    other = answer(TextContent("ho"), provider_thinking_level="low", model="fake-2", timestamp=4)
    turns: list[Message] = [SYSTEM, USER, said, UserMessage("next", 3), other, UserMessage("last", 5)]
    body = body_of(turns, compat={"supportsMidConvoEffort": True}, options={"reasoning": "high"})
    assert body["reasoning"] == {"effort": "medium", "summary": "auto"}
    kinds = [item.get("reasoning", {}).get("effort") or item.get("role") for item in body["input"]]
    assert kinds == ["developer", "user", "low", "assistant", "user", "assistant", "user", "high"]


# Byte-stable beginnings


def raw_input(body: bytes) -> bytes:
    start = body.index(b'"input":[') + len(b'"input":[')
    return body[start : body.index(b'],"stream"') if b'],"stream"' in body else body.index(b'],"text"')]


@pytest.mark.parametrize("api", ALL_APIS)
@pytest.mark.parametrize(
    "compat",
    [
        {},
        {**MID, "supportsAdditionalTools": True, "supportsMidConvoEffort": True},
        {**MID, "supportsToolSearch": True},
    ],
)
def test_the_input_of_a_turn_begins_with_that_of_the_turn_before(api: str, compat: dict[str, Any]) -> None:
    replies = [
        responses_answer(reasoning("look"), message("I look.", phase="commentary"), function_call("ls", {"path": "ä"})),
        responses_answer(reasoning("", encrypted="e2"), function_call("ls", {"n": 1.0}), function_call("ls", {})),
        responses_answer(message("done", phase="final_answer")),
        responses_answer(message("bye")),
    ]
    with FakeServer(replies) as server:
        target = model(f"{server.url}/v1", api=api, compat=compat)
        turns: list[Message] = [SYSTEM, USER]
        options = StreamOptions(api_key=TOKEN, reasoning="high", session_id="s", transport="sse")
        for number in range(4):
            said = final_message(collect(get_api(api).stream(target, turns, options)))
            assert said.stop_reason in ("stop", "toolUse"), said.error_message
            turns.append(said)
            turns += [result(call.id, TextContent(f"r{number}")) for call in said.tool_calls]
            if not said.tool_calls:
                turns.append(UserMessage(f"more {number}", 10 + number))
            if number == 1 and compat:
                turns.append(SystemMessage(content="new", timestamp=9, tools_added=[READ]))
        bodies = [raw_input(request.body) for request in server.requests]
        assert all(input_fault(request.json["input"]) is None for request in server.requests)
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier)
        assert len(later) > len(earlier)


def test_a_message_that_is_unchanged_is_encoded_once() -> None:
    from pinyon.ai.apis.responses_item import ItemWriter
    from pinyon.ai.apis.responses_option import settle
    from pinyon.ai.apis.responses_payload import EncodingMemory, build_payload

    memory = EncodingMemory()
    request = settle(model(), "openai", CONVERSATION, StreamOptions(api_key=KEY))
    first = build_payload(request, CONVERSATION, memory).items
    again = build_payload(request, CONVERSATION, memory).items
    assert all(left is right for left, right in zip(first[1:], again[1:], strict=True))
    assert isinstance(build_payload(request, CONVERSATION, memory).writer, ItemWriter)


def test_the_vendors_types_notice_a_wrong_body() -> None:
    body = body_of()
    body["tools"][0].pop("strict")
    with pytest.raises(ValueError, match="strict"):
        is_valid(body)


def test_calls_that_share_the_first_part_of_their_ids_are_told_apart() -> None:
    both = answer(ToolCall("c|fc_1", "ls", {"n": 1}), ToolCall("c|fc_2", "ls", {"n": 2}), stop="toolUse")
    later = answer(ToolCall("c|fc_3", "ls", {}), stop="toolUse", timestamp=4)
    results = [result("c|fc_2", TextContent("two")), result("c|fc_1", TextContent("one"))]
    items = items_of([SYSTEM, USER, both, *results, later, result("c|fc_3", TextContent("three"))])
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}
    assert calls[0] == "c"
    assert [outputs[call_id] for call_id in calls] == ["one", "two", "three"]
    assert input_fault(items) is None


def test_history_of_every_api_is_taken_by_a_strict_server() -> None:
    sources: list[dict[str, Any]] = [
        {"api": "anthropic-messages", "provider": "anthropic", "model": "claude"},
        {"api": "openai-completions", "provider": "groq", "model": "oss"},
        {"api": "google-generative-ai", "provider": "google", "model": "gemini"},
        {"api": "openai-responses", "provider": "openai", "model": "fake-0"},
        {},
    ]
    turns: list[Message] = [SYSTEM, USER]
    for number, source in enumerate(sources):
        call = ToolCall(f"dup|fc_{number % 2}", "ls", {"path": str(number)}, thought_signature="c2ln")
        blocks = [ThinkingContent("t", "sig"), TextContent(" "), TextContent("x", "c2ln"), call]
        said = answer(*blocks, stop="toolUse", **source)
        turns += [said, result(f"dup|fc_{number % 2}"), UserMessage("go on", 5)]
    items = items_of(turns)
    assert [item["type"] for item in items if item.get("type") == "function_call"] == ["function_call"] * 5
    assert input_fault(items) is None
