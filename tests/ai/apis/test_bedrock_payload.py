"""Requests to the Bedrock Converse API: every body is checked against the vendor's own service model."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from tests.ai.apis.bedrock import CLAUDE, TOKEN, USER, ask, body, model, no_aws, sent, stream

from pinyon.ai.apis.bedrock_payload import PLACEHOLDER_NAME
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.refused_image import forget_refused_images
from pinyon.ai.session_resource import cleanup_session_resources
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.testing.fake_bedrock import bedrock_answer, error_reply, strict_bedrock, text
from pinyon.testing.fake_server import FakeServer
from pinyon.testing.stream import collect, final_message

__all__ = ["no_aws"]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
TOOL = Tool(name="ls", description="lists", parameters={"type": "object", "properties": {"p": {"type": "string"}}})
SYSTEM = SystemMessage(content="be brief", timestamp=0, tools_added=[TOOL])


def answer(*content: Any, model_id: str = CLAUDE, stop_reason: Any = "toolUse", **fields: Any) -> AssistantMessage:
    defaults: dict[str, Any] = {"api": "bedrock-converse-stream", "provider": "amazon-bedrock", "usage": Usage()}
    return AssistantMessage(
        content=[*content], model=model_id, stop_reason=stop_reason, timestamp=2, **(defaults | fields)
    )


def result(call_id: str, *content: Any, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call_id, tool_name="ls", content=[*content], is_error=is_error, timestamp=3)


def call(call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name="ls", arguments=arguments)


def image(mime_type: str = "image/png") -> ImageContent:
    return ImageContent(data=PIXEL, mime_type=mime_type)


TALK: list[Message] = [
    SYSTEM,
    UserMessage(content=[TextContent("look"), image()], timestamp=1),
    answer(ThinkingContent("hm", "c2ln"), TextContent("I look"), call("c1", p="."), call("c2", p="..")),
    result("c1", TextContent("a"), image("image/jpeg")),
    result("c2", TextContent("failed"), image(), is_error=True),
    answer(TextContent("done"), stop_reason="stop"),
    UserMessage(content="more", timestamp=4),
]


def as_vendor_params(value: Any) -> Any:
    """The body with its base64 texts as bytes, as the vendor's SDK is given it."""
    if isinstance(value, list):
        return [as_vendor_params(item) for item in value]
    if not isinstance(value, dict):
        return value
    binary = ("bytes", "redactedContent")
    return {
        k: base64.b64decode(v) if k in binary and isinstance(v, str) else as_vendor_params(v) for k, v in value.items()
    }


def check_against_service_model(wire: dict[str, Any], model_id: str = CLAUDE) -> None:
    service = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")
    shape = service.operation_model("ConverseStream").input_shape
    report = ParamValidator().validate({"modelId": model_id, **as_vendor_params(wire)}, shape)
    assert not report.has_errors(), report.generate_report()
    unknown = set(wire) - set(shape.members)
    assert not unknown


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {"reasoning": "high"}),
        ({}, {"cache_retention": "long", "tool_choice": "any", "extra": {"request_metadata": {"team": "a"}}}),
        ({"id": "amazon.nova-pro-v1:0"}, {"temperature": 0.5}),
        ({"id": "openai.gpt-oss-120b-1:0"}, {"reasoning": "low", "tool_choice": {"type": "tool", "name": "ls"}}),
        ({"id": "anthropic.claude-opus-4-7", "compat": {"supportsStrictMode": True}}, {"reasoning": "max"}),
        ({"input": ["text"]}, {"tool_choice": "none"}),
    ],
)
def test_requests_satisfy_the_vendors_service_model(fields: dict[str, Any], options: dict[str, Any]) -> None:
    check_against_service_model(body(TALK, fields, **options))


def test_a_whole_conversation_on_the_wire() -> None:
    wire = body(TALK, reasoning="medium")
    assert list(wire) == ["messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields"]
    assert wire["system"] == [{"text": "be brief"}, {"cachePoint": {"type": "default"}}]
    assert wire["messages"] == [
        {"role": "user", "content": [{"text": "look"}, {"image": {"format": "png", "source": {"bytes": PIXEL}}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
                {"text": "I look"},
                {"toolUse": {"toolUseId": "c1", "name": "ls", "input": {"p": "."}}},
                {"toolUse": {"toolUseId": "c2", "name": "ls", "input": {"p": ".."}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "c1",
                        "content": [{"text": "a"}, {"image": {"format": "jpeg", "source": {"bytes": PIXEL}}}],
                        "status": "success",
                    }
                },
                {
                    "toolResult": {
                        "toolUseId": "c2",
                        "content": [{"text": "failed"}, {"text": "(the image follows after the tool results)"}],
                        "status": "error",
                    }
                },
                {"text": "Image from the failed call c2 of the tool ls:"},
                {"image": {"format": "png", "source": {"bytes": PIXEL}}},
            ],
        },
        {"role": "assistant", "content": [{"text": "done"}]},
        {"role": "user", "content": [{"text": "more"}, {"cachePoint": {"type": "default"}}]},
    ]
    assert wire["toolConfig"] == {
        "tools": [{"toolSpec": {"name": "ls", "description": "lists", "inputSchema": {"json": TOOL.parameters}}}]
    }


def test_the_model_stands_in_the_path_encoded() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc"
    assert sent(fields={"id": arn, "name": "Claude"}).path == (
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fabc/converse-stream"
    )


@pytest.mark.parametrize(
    ("model_id", "name", "has_points"),
    [
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", "x", True),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "x", True),
        ("eu.anthropic.claude-sonnet-4-20250514-v1:0", "x", True),
        ("global.anthropic.claude-opus-4-8", "x", True),
        ("anthropic.claude-fable-5", "x", True),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a", "Claude Sonnet 4.5", True),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "x", False),
        ("anthropic.claude-3-haiku-20240307-v1:0", "x", False),
        ("amazon.nova-pro-v1:0", "x", False),
    ],
)
def test_cache_points_are_for_models_that_know_them(model_id: str, name: str, has_points: bool) -> None:
    wire = json.dumps(body(TALK, {"id": model_id, "name": name}))
    assert wire.count("cachePoint") == (2 if has_points else 0)


def test_cache_points_can_be_forced_and_forbidden_and_made_long() -> None:
    nova = {"id": "amazon.nova-pro-v1:0"}
    forced = {"AWS_BEDROCK_FORCE_CACHE": "1"}
    assert json.dumps(body(TALK, nova, env=forced)).count("cachePoint") == 2
    assert json.dumps(body(TALK, {"id": "my-profile", "name": "Claude"}, env=forced)).count("cachePoint") == 2
    assert "cachePoint" not in json.dumps(body(TALK, {"id": "anthropic.claude-3-haiku-20240307-v1:0"}, env=forced))
    assert "cachePoint" not in json.dumps(body(TALK, cache_retention="none"))
    assert body(TALK, cache_retention="long")["system"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}


ADAPTIVE = {"type": "adaptive", "display": "summarized"}
BOUND = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING = {"anthropic_beta": ["thinking-binding-controls-2026-08-01"]}
INTERLEAVED = {"anthropic_beta": ["interleaved-thinking-2025-05-14"]}


@pytest.mark.parametrize(
    ("model_id", "options", "expected"),
    [
        (
            "us.anthropic.claude-opus-4-6-v1",
            {"reasoning": "low"},
            {"thinking": ADAPTIVE, "output_config": {"effort": "low"}},
        ),
        (
            "us.anthropic.claude-opus-4-7",
            {"reasoning": "high"},
            {"thinking": BOUND, "output_config": {"effort": "high"}, **BINDING},
        ),
        (
            "global.anthropic.claude-haiku-5",
            {"reasoning": "minimal"},
            {"thinking": BOUND, "output_config": {"effort": "low"}, **BINDING},
        ),
        (
            "us-gov.anthropic.claude-opus-4-8",
            {"reasoning": "medium"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
        ),
        (
            CLAUDE,
            {"reasoning": "low", "max_tokens": 4000},
            {"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}, **INTERLEAVED},
        ),
        (
            CLAUDE,
            {
                "reasoning": "low",
                "max_tokens": 4000,
                "extra": {"region": "us-gov-west-1", "interleaved_thinking": False},
            },
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        (
            CLAUDE,
            {"reasoning": "low", "thinking_budgets": {"low": 3000}, "extra": {"thinking_display": "omitted"}},
            {"thinking": {"type": "enabled", "budget_tokens": 3000, "display": "omitted"}, **INTERLEAVED},
        ),
        ("openai.gpt-oss-120b-1:0", {"reasoning": "minimal"}, {"reasoning_effort": "low"}),
        ("openai.gpt-6.2-sol", {"reasoning": "minimal"}, {"reasoning": {"effort": "low"}}),
        ("amazon.nova-pro-v1:0", {"reasoning": "high"}, None),
        (CLAUDE, {}, None),
        (CLAUDE, {"reasoning": "off"}, None),
    ],
)
def test_each_family_is_told_to_think_in_its_own_words(model_id: str, options: dict[str, Any], expected: Any) -> None:
    assert body([USER], {"id": model_id}, **options).get("additionalModelRequestFields") == expected


def test_a_budget_leaves_room_for_the_answer() -> None:
    wire = body([USER], {"max_tokens": 4096}, reasoning="high")
    budget = wire["additionalModelRequestFields"]["thinking"]["budget_tokens"]
    assert wire["inferenceConfig"]["maxTokens"] - budget >= 1024


def test_a_model_that_does_not_reason_is_not_told_to() -> None:
    assert "additionalModelRequestFields" not in body([USER], {"reasoning": False}, reasoning="high")


def test_temperature_is_not_sent_while_claude_thinks() -> None:
    assert body(temperature=0.5)["inferenceConfig"]["temperature"] == 0.5
    assert "temperature" not in body(temperature=0.5, reasoning="high")["inferenceConfig"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"auto": {}}),
        ("any", {"any": {}}),
        ({"type": "tool", "name": "ls"}, {"tool": {"name": "ls"}}),
        (None, None),
    ],
)
def test_tool_choice(choice: Any, expected: Any) -> None:
    assert body([SYSTEM, USER], tool_choice=choice)["toolConfig"].get("toolChoice") == expected


def test_without_tools_there_is_no_tool_configuration_unless_the_history_holds_calls() -> None:
    assert "toolConfig" not in body([USER])
    assert "toolConfig" not in body([SYSTEM, USER], tool_choice="none")
    (only,) = body(TALK, tool_choice="none")["toolConfig"]["tools"]
    assert only["toolSpec"]["name"] == PLACEHOLDER_NAME


def test_results_and_what_follows_share_a_turn_and_orphans_are_answered() -> None:
    talk = [
        SYSTEM,
        USER,
        answer(call("a"), call("b")),
        result("b"),
        result("zz"),
        UserMessage(content="stop", timestamp=5),
    ]
    turns = body(talk)["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    blocks = turns[2]["content"]
    assert [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block] == ["a", "b"]
    assert blocks[0]["toolResult"]["status"] == "error"
    assert blocks[1]["toolResult"]["content"] == [{"text": "(the tool returned nothing)"}]
    assert {"text": "stop"} in blocks


@pytest.mark.parametrize("stop_reason", ["error", "aborted"])
def test_failed_answers_are_left_out_and_prompts_share_a_turn(stop_reason: Any) -> None:
    talk = [USER, answer(TextContent("half"), stop_reason=stop_reason), UserMessage(content="again", timestamp=4)]
    (turn,) = body(talk, cache_retention="none")["messages"]
    assert turn["content"] == [{"text": "hello"}, {"text": "again"}]


def test_blank_texts_are_not_sent() -> None:
    talk: list[Message] = [
        SystemMessage(content=" ", timestamp=0),
        UserMessage(content=[TextContent("  "), TextContent("x")], timestamp=1),
        answer(TextContent("\n"), stop_reason="stop"),
        answer(ThinkingContent("hm", "c2ln"), stop_reason="stop"),
        UserMessage(content=" ", timestamp=1),
    ]
    wire = body(talk, cache_retention="none")
    assert wire["messages"] == [{"role": "user", "content": [{"text": "x"}]}]
    assert "system" not in wire


def test_empty_keys_of_arguments_are_dropped_at_any_depth_and_order_is_kept() -> None:
    talk = [SYSTEM, USER, answer(call("c", z=1, a={"": 1, "x": [{"": 2, "y": 3}]})), result("c", TextContent("r"))]
    request = sent(talk)
    assert b'"input":{"z":1,"a":{"x":[{"y":3}]}}' in request.body


def test_thinking_of_the_same_model_goes_back_as_it_came() -> None:
    kept = answer(
        ThinkingContent("", "QUJD", redacted=True), ThinkingContent("hm", "c2ln"), TextContent("a"), stop_reason="stop"
    )
    content = body([USER, kept, USER])["messages"][1]["content"]
    assert content == [
        {"reasoningContent": {"redactedContent": "QUJD"}},
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"text": "a"},
    ]


def test_unsigned_thinking_is_text_for_claude_and_thinking_for_others() -> None:
    for model_id, expected in (
        (CLAUDE, {"text": "hm"}),
        ("deepseek.r1-v1:0", {"reasoningContent": {"reasoningText": {"text": "hm"}}}),
    ):
        talk = [USER, answer(ThinkingContent("hm"), TextContent("a"), model_id=model_id, stop_reason="stop"), USER]
        assert body(talk, {"id": model_id})["messages"][1]["content"][0] == expected


@pytest.mark.parametrize(
    "foreign",
    [{"model_id": "anthropic.claude-opus-4-6-v1"}, {"api": "anthropic-messages"}, {"provider": "other"}],
)
def test_thinking_of_another_model_provider_or_api_is_not_sent(foreign: dict[str, Any]) -> None:
    talk = [USER, answer(ThinkingContent("hm", "Zm9yZWlnbg=="), TextContent("a"), stop_reason="stop", **foreign), USER]
    request = sent(talk)
    assert b"Zm9yZWlnbg" not in request.body
    assert request.json["messages"][1]["content"] == [{"text": "a"}]


def test_call_ids_of_other_apis_are_made_of_what_the_service_takes_and_stay_paired() -> None:
    talk = [
        SYSTEM,
        USER,
        answer(call("call_a|fc_ü" + "x" * 80), api="openai-responses"),
        result("call_a|fc_ü" + "x" * 80),
    ]
    turns = body(talk)["messages"]
    used = turns[1]["content"][0]["toolUse"]["toolUseId"]
    assert used == turns[2]["content"][0]["toolResult"]["toolUseId"]
    assert len(used) == 64


def test_a_model_without_image_input_gets_notes() -> None:
    wire = json.dumps(body(TALK, {"input": ["text"]}))
    assert PIXEL not in wire
    assert "reads text only" in wire


def test_an_image_of_another_format_is_told_of_instead() -> None:
    wire = body([UserMessage(content=[image("image/tiff")], timestamp=1)])
    assert "image/tiff" in wire["messages"][0]["content"][0]["text"]


@pytest.mark.parametrize("place", ["prompt", "system", "result", "arguments", "tool"])
def test_lone_surrogates_never_reach_the_wire(place: str) -> None:
    bad = "a\ud800b"
    texts = dict.fromkeys(("prompt", "system", "result", "arguments", "tool"), "fine") | {place: bad}
    tool = Tool(name="ls", description=texts["tool"], parameters={"type": "object"})
    talk: list[Message] = [
        SystemMessage(content=texts["system"], timestamp=0, tools_added=[tool]),
        UserMessage(content=texts["prompt"], timestamp=1),
        answer(call("c", p=texts["arguments"])),
        result("c", TextContent(texts["result"])),
    ]
    assert "a�b" in sent(talk).body.decode()


def without_points(value: Any) -> Any:
    if isinstance(value, list):
        return [without_points(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    return {k: without_points(v) for k, v in value.items()} if isinstance(value, dict) else value


def test_a_growing_conversation_keeps_its_beginning_byte_for_byte() -> None:
    before = b""
    for length in (2, 5, 7):
        request = sent(TALK[:length], cache_retention="none")
        messages = request.body[: request.body.index(b'],"system"')]
        assert messages.startswith(before)
        before = messages


def test_only_the_cache_point_moves_between_turns() -> None:
    before: list[Any] = []
    for length in (2, 5, 7):
        messages = without_points(body(TALK[:length])["messages"])
        assert messages[: len(before)] == before
        before = messages


def test_each_message_is_encoded_once() -> None:
    first, second = answer(call("k", p=".")), result("k", TextContent("r"))
    talk = [SYSTEM, USER, first, second]
    one = sent(talk).body
    assert sent(talk).body == one
    first.content[0].arguments = {"p": "changed"}  # type: ignore[union-attr]
    assert b"changed" in sent(talk).body


STRICT = Tool(
    name="ls",
    description="d",
    parameters={"type": "object", "properties": {"p": {"type": "string"}}},
    constrained_sampling=JsonSchemaSampling(strict="prefer"),
)


def test_strict_tools_close_their_schema_where_the_model_has_them() -> None:
    talk = [SystemMessage(content="", timestamp=0, tools_added=[STRICT]), USER]
    (tool,) = body(talk, {"compat": {"supportsStrictMode": True}})["toolConfig"]["tools"]
    assert tool["toolSpec"]["strict"] is True
    assert tool["toolSpec"]["inputSchema"]["json"]["additionalProperties"] is False
    assert "strict" not in body(talk)["toolConfig"]["tools"][0]["toolSpec"]


@pytest.mark.parametrize("message", ["The compiled grammar is too large, ...", "Too many strict tools (30)"])
def test_too_many_strict_tools_are_sent_again_with_fewer_and_so_for_the_rest_of_the_session(message: str) -> None:
    talk = [SystemMessage(content="", timestamp=0, tools_added=[STRICT]), USER]
    fields = {"compat": {"supportsStrictMode": True}}
    replies = [error_reply(400, "ValidationException", message), *[strict_bedrock(bedrock_answer(text("ok")))] * 2]
    with FakeServer(replies) as server:
        first = final_message(collect(stream(server, talk, fields, session_id=f"strict-{message}")))
        final_message(collect(stream(server, talk, fields, session_id=f"strict-{message}")))
        flags = ["strict" in request.json["toolConfig"]["tools"][0]["toolSpec"] for request in server.requests]
    cleanup_session_resources(f"strict-{message}")
    assert flags == [True, False, False]
    assert [diagnostic.type for diagnostic in first.diagnostics or ()] == ["bedrock_strict_tools_fallback"]


def test_a_refused_image_is_left_out_and_the_conversation_goes_on() -> None:
    replies = [
        error_reply(400, "ValidationException", "Could not process image"),
        strict_bedrock(bedrock_answer(text("ok"))),
    ]
    with FakeServer(replies) as server:
        message = final_message(collect(stream(server, TALK)))
        assert message.stop_reason == "stop"
        assert PIXEL not in server.requests[1].body.decode()
    forget_refused_images()


def test_a_hook_sees_the_body_and_may_replace_it() -> None:
    request = sent(on_payload=lambda wire, _: {**wire, "performanceConfig": {"latency": "optimized"}})
    assert request.json["performanceConfig"] == {"latency": "optimized"}


def test_headers_of_model_and_caller_are_sent_except_those_of_the_signature() -> None:
    headers = {"X-Team": "a", "Authorization": "Bearer other", "X-Amz-Date": "never", "Host": "elsewhere"}
    request = sent(fields={"headers": {"x-model": "m"}}, headers=headers)
    assert (request.headers["x-team"], request.headers["x-model"]) == ("a", "m")
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-amz-date" not in request.headers
    assert request.headers["host"].startswith("127.0.0.1")


def test_a_conversation_that_leaves_no_room_is_an_overflow_and_nothing_is_sent() -> None:
    with FakeServer([bedrock_answer(text("x"))]) as server:
        long = UserMessage(content="word " * 4000, timestamp=1)
        message = final_message(collect(stream(server, [long], {"context_window": 4000})))
    assert "context window exceeded" in str(message.error_message)
    assert not server.requests


def test_the_fake_service_refuses_what_the_real_one_refuses() -> None:
    bad = [{"role": "user", "content": [{"text": " "}]}]
    message = final_message(
        ask(strict_bedrock(bedrock_answer(text("x"))), on_payload=lambda wire, _: {**wire, "messages": bad})
    )
    assert message.error_message == "Validation error: a text is blank"
    assert model().base_url
