"""Bodies of the Mistral API: against the vendor's types, and what conversations and options become."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistralai.client.models import ChatCompletionStreamRequest
from tests.ai.apis.wires import LS, MISTRAL, PNG, SYSTEM, USER, result

from pinyon.ai.apis.mistral_message import ERROR_PREFIX, IMAGE_ONLY, NO_OUTPUT
from pinyon.ai.apis.mistral_payload import EncodingMemory, build_body
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import Message, SystemMessage, UserMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.testing.fake_mistral import mistral_fault

IMAGE = ImageContent(PNG, "image/png")
DATA_URL = f"data:image/png;base64,{PNG}"
CONVERSATION: list[Message] = [
    SYSTEM,
    USER,
    MISTRAL.said(
        ThinkingContent("hm"),
        TextContent("I look."),
        ToolCall("abc000001", "ls", {"path": ".", "n": 1.0}),
        ToolCall("abc000002", "ls", {}),
    ),
    result("abc000001", TextContent("a.txt"), IMAGE),
    result("abc000002", TextContent("no such folder"), is_error=True),
    UserMessage(content=[TextContent("and"), IMAGE], timestamp=4),
]


def published(body: dict[str, Any]) -> dict[str, Any]:
    """The body after a way through the vendor's types, which drop what they do not know."""
    return ChatCompletionStreamRequest.model_validate(body).model_dump(by_alias=True, mode="json", exclude_unset=True)


def keys_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in keys_in(item)}
    return {key for item in value for key in keys_in(item)} if isinstance(value, list) else set()


@pytest.mark.parametrize("reasoning", [None, "minimal", "high"])
@pytest.mark.parametrize("choice", [None, "auto", "any", "none", "required"])
@pytest.mark.parametrize("level_map", [None, {"off": "none", "high": "high"}])
def test_a_body_is_what_the_vendor_publishes(reasoning: Any, choice: Any, level_map: Any) -> None:
    fields = {} if level_map is None else {"thinking_level_map": level_map}
    body = MISTRAL.body(CONVERSATION, fields, reasoning=reasoning, temperature=0.5, tool_choice=choice, session_id="s1")
    assert keys_in(body) == keys_in(published(body))
    assert set(body) <= set(ChatCompletionStreamRequest.model_fields)


def test_a_conversation_on_the_wire() -> None:
    body = MISTRAL.body(CONVERSATION)
    assert list(body)[:4] == ["model", "stream", "messages", "tools"]
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {
            "role": "assistant",
            "prefix": False,
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "I look."},
            ],
            "tool_calls": [
                {
                    "id": "abc000001",
                    "type": "function",
                    "function": {"name": "ls", "arguments": '{"path":".","n":1}'},
                    "index": 0,
                },
                {"id": "abc000002", "type": "function", "function": {"name": "ls", "arguments": "{}"}, "index": 0},
            ],
        },
        {
            "role": "tool",
            "name": "ls",
            "content": [{"type": "text", "text": "a.txt"}, {"type": "image_url", "image_url": DATA_URL}],
            "tool_call_id": "abc000001",
        },
        {
            "role": "tool",
            "name": "ls",
            "content": [{"type": "text", "text": ERROR_PREFIX + "no such folder"}],
            "tool_call_id": "abc000002",
        },
        {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "image_url", "image_url": DATA_URL}]},
    ]


def test_an_answer_of_calls_alone_has_no_content() -> None:
    said = MISTRAL.said(TextContent(" "), ToolCall("abc000001", "ls", {}))
    message = MISTRAL.body([USER, said, result("abc000001")])["messages"][1]
    assert set(message) == {"role", "prefix", "tool_calls"}


def test_an_answer_of_thinking_alone_is_left_out() -> None:
    messages = MISTRAL.body([USER, MISTRAL.said(ThinkingContent("hm")), USER])["messages"]
    assert [message["role"] for message in messages] == ["user", "user"]


@pytest.mark.parametrize(("content", "text"), [([TextContent(" ")], NO_OUTPUT), ([IMAGE], IMAGE_ONLY)])
def test_a_result_without_text_says_so(content: list[Any], text: str) -> None:
    history: list[Message] = [USER, MISTRAL.said(ToolCall("abc000001", "ls", {})), result("abc000001", *content)]
    assert MISTRAL.body(history)["messages"][2]["content"][0] == {"type": "text", "text": text}


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6))
def test_whatever_ids_a_history_has_the_api_gets_its_own(ids: list[str]) -> None:
    history: list[Message] = [USER]
    for place, call_id in enumerate(ids):
        said = MISTRAL.said(ToolCall(call_id, "ls", {}), model="other" if place % 2 else MISTRAL.model_id)
        history += [said, result(call_id)]
    body = build_body(MISTRAL.model(), history, StreamOptions(), EncodingMemory())
    messages = [json.loads(bytes(raw)) for raw in body["messages"]]
    assert mistral_fault(messages) is None
    assert sum(message["role"] == "tool" for message in messages) == len(ids)


def test_ids_that_look_alike_stay_apart_and_their_results_with_them() -> None:
    said = MISTRAL.said(ToolCall("abc-000001", "ls", {"n": 1}), ToolCall("abc000001", "ls", {"n": 2}), model="other")
    history: list[Message] = [
        USER,
        said,
        result("abc000001", TextContent("two")),
        result("abc-000001", TextContent("one")),
    ]
    messages = MISTRAL.body(history)["messages"]
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert [(message["tool_call_id"], message["content"][0]["text"]) for message in messages[2:]] == [
        (ids[0], "one"),
        (ids[1], "two"),
    ]


# System messages


def test_later_system_messages_join_the_first_unless_the_model_takes_them_in_place() -> None:
    later = SystemMessage(content="be kind", timestamp=3)
    history: list[Message] = [SYSTEM, USER, MISTRAL.said(TextContent("hi")), later, USER]
    joined = MISTRAL.body(history)["messages"]
    assert [message["role"] for message in joined] == ["system", "user", "assistant", "user"]
    assert joined[0]["content"] == "be brief\n\nbe kind"
    flag = {"compat": {"supportsMidConvoSystemMessages": True}}
    in_place = MISTRAL.body(history, flag)["messages"]
    assert [message["role"] for message in in_place] == ["system", "user", "assistant", "system", "user"]
    assert in_place[3]["content"] == "be kind"


def test_a_flag_of_the_wrong_kind_counts_as_unset() -> None:
    tool = MISTRAL.body(fields={"compat": {"supportsStrictMode": "yes", "unknown": 1}})["tools"][0]
    assert tool["function"]["strict"] is False


# Tools


@pytest.mark.parametrize(
    ("sampling", "supported", "strict"),
    [
        (False, True, False),
        (JsonSchemaSampling("prefer"), False, False),
        (JsonSchemaSampling("prefer"), True, True),
        (JsonSchemaSampling("require"), True, True),
    ],
)
def test_every_tool_says_whether_it_is_strict(sampling: Any, supported: bool, strict: bool) -> None:
    tool = Tool("ls", "List.", LS.parameters, sampling)
    system = SystemMessage(content="", timestamp=0, tools_added=[tool])
    body = MISTRAL.body([system, USER], {"compat": {"supportsStrictMode": supported}})
    function = body["tools"][0]["function"]
    assert function["strict"] is strict
    assert ("additionalProperties" in function["parameters"]) is strict


def test_a_tool_that_requires_strict_arguments_is_refused_without_the_flag() -> None:
    tool = Tool("ls", "List.", LS.parameters, JsonSchemaSampling("require"))
    asked = MISTRAL.ask(messages=[SystemMessage(content="", timestamp=0, tools_added=[tool]), USER])
    assert "tool 'ls' requires strict sampling" in asked.error


@pytest.mark.parametrize("choice", ["auto", "none", {"type": "function", "function": {"name": "ls"}}])
def test_the_choice_of_tools_is_passed_on(choice: Any) -> None:
    assert MISTRAL.body(tool_choice=choice)["tool_choice"] == choice
    assert "tool_choice" not in MISTRAL.body([USER], tool_choice=choice)


# Thinking


@pytest.mark.parametrize(
    ("level_map", "level", "fields"),
    [
        (None, "high", {"prompt_mode": "reasoning"}),
        (None, "minimal", {"prompt_mode": "reasoning"}),
        (None, None, {}),
        (None, "off", {}),
        ({"off": "none", "high": "high"}, None, {"reasoning_effort": "none"}),
        ({"off": "none", "low": "some"}, "low", {"reasoning_effort": "some"}),
        ({"off": "none"}, "medium", {"reasoning_effort": "high"}),
        ({"off": None}, "off", {}),
        ({"low": None, "medium": None, "minimal": None}, "low", {"reasoning_effort": "high"}),
    ],
)
def test_how_thinking_is_asked_for(level_map: Any, level: Any, fields: dict[str, str]) -> None:
    given = {} if level_map is None else {"thinking_level_map": level_map}
    body = MISTRAL.body([USER], given, reasoning=level)
    assert {name: body[name] for name in ("prompt_mode", "reasoning_effort") if name in body} == fields


def test_a_model_that_does_not_reason_is_asked_for_nothing() -> None:
    body = MISTRAL.body([USER], {"reasoning": False}, reasoning="high")
    assert not {"prompt_mode", "reasoning_effort"} & set(body)


def test_a_caller_can_spell_the_thinking_out() -> None:
    body = MISTRAL.body([USER], reasoning="high", extra={"reasoning_effort": "none"})
    assert body["reasoning_effort"] == "none"
    assert "prompt_mode" not in body


# Session


def test_a_session_names_itself_for_the_cache() -> None:
    asked = MISTRAL.ask(MISTRAL.answer("ok"), session_id="s1")
    assert asked.body["prompt_cache_key"] == "s1"
    assert asked.requests[0].headers["x-affinity"] == "s1"
    assert asked.requests[0].path == "/v1/chat/completions"


def test_without_caching_the_session_stays_unnamed() -> None:
    asked = MISTRAL.ask(MISTRAL.answer("ok"), session_id="s1", cache_retention="none")
    assert "prompt_cache_key" not in asked.body
    assert "x-affinity" not in asked.requests[0].headers
