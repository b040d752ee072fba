"""Bodies of Google's APIs: against the vendor's types, and what models of different generations are sent."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from tests.ai.apis.wires import GOOGLE, LS, PNG, SYSTEM, USER, VERTEX, result

from pinyon.ai.apis.google_message import IMAGES_CAPTION, NO_OUTPUT, is_signature
from pinyon.ai.apis.google_run import stream_url
from pinyon.ai.apis.google_tool import without_const
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import Message, SystemMessage, UserMessage
from pinyon.ai.tool import JsonSchemaSampling, Tool, ToolReference

IMAGE = ImageContent(PNG, "image/png")
SIGNATURE = "QUJDRA=="
CONVERSATION: list[Message] = [
    SYSTEM,
    USER,
    GOOGLE.said(
        ThinkingContent("hm", SIGNATURE),
        TextContent("I look.", SIGNATURE),
        ToolCall("c1", "ls", {"path": "."}, SIGNATURE),
        ToolCall("c2", "ls", {"path": "x"}),
    ),
    result("c1", TextContent("a.txt"), IMAGE),
    result("c2", TextContent("no such folder"), is_error=True),
    UserMessage(content=[TextContent("and"), IMAGE], timestamp=4),
]


class PublishedBody(types.GenerateContentConfig.__base__):  # type: ignore[misc,name-defined]
    """The body as the vendor's types describe its fields; its base refuses fields that are not published."""

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = None
    generation_config: types.GenerationConfig | None = None


@pytest.mark.parametrize("wire", [GOOGLE, VERTEX], ids=lambda wire: wire.api)
@pytest.mark.parametrize("model_id", ["gemini-3-flash", "gemini-2.5-pro", "claude-opus-5", "gemma-4-27b"])
@pytest.mark.parametrize("reasoning", [None, "minimal", "high"])
@pytest.mark.parametrize("choice", [None, "auto", "any", "none", {"type": "tool", "name": "ls"}])
def test_a_body_is_what_the_vendor_publishes(wire: Any, model_id: str, reasoning: Any, choice: Any) -> None:
    body = wire.body(CONVERSATION, {"id": model_id}, reasoning=reasoning, temperature=0.5, tool_choice=choice)
    PublishedBody.model_validate(body)
    assert list(body)[:3] == ["contents", "systemInstruction", "tools"]


def test_the_vendors_types_refuse_what_they_do_not_know() -> None:
    with pytest.raises(ValueError, match="extra"):
        PublishedBody.model_validate({"contents": [{"parts": [{"txt": "a"}]}]})


def test_a_conversation_of_a_new_gemini() -> None:
    body = GOOGLE.body(CONVERSATION)
    assert body["contents"] == [
        {"parts": [{"text": "hello"}], "role": "user"},
        {
            "parts": [
                {"text": "hm", "thought": True, "thoughtSignature": SIGNATURE},
                {"text": "I look.", "thoughtSignature": SIGNATURE},
                {"functionCall": {"name": "ls", "args": {"path": "."}, "id": "c1"}, "thoughtSignature": SIGNATURE},
                {"functionCall": {"name": "ls", "args": {"path": "x"}, "id": "c2"}},
            ],
            "role": "model",
        },
        {
            "parts": [
                {
                    "functionResponse": {
                        "name": "ls",
                        "response": {"output": "a.txt"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                        "id": "c1",
                    }
                },
                {"functionResponse": {"name": "ls", "response": {"error": "no such folder"}, "id": "c2"}},
            ],
            "role": "user",
        },
        {"parts": [{"text": "and"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}], "role": "user"},
    ]
    assert body["systemInstruction"] == {"parts": [{"text": "be brief"}], "role": "user"}


def test_an_older_gemini_gets_no_ids_and_images_in_a_turn_of_their_own() -> None:
    body = GOOGLE.body(CONVERSATION, {"id": "gemini-2.5-flash"})
    responses, images = body["contents"][2:4]
    assert responses["parts"] == [
        {"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}},
        {"functionResponse": {"name": "ls", "response": {"error": "no such folder"}}},
    ]
    inline = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    assert images == {"parts": [{"text": IMAGES_CAPTION}, inline], "role": "user"}
    assert body["contents"][1]["parts"][1]["functionCall"] == {"name": "ls", "args": {"path": "."}}


@pytest.mark.parametrize("model_id", ["claude-opus-5", "gpt-oss-120b", "gemini-flash-latest", "models/gemini-4-argon"])
def test_these_models_get_ids_and_images_inside_results(model_id: str) -> None:
    response = GOOGLE.body(CONVERSATION, {"id": model_id})["contents"][2]["parts"][0]["functionResponse"]
    assert response["id"] == "c1"
    assert response["parts"]


def test_a_result_without_text_says_so() -> None:
    history: list[Message] = [USER, GOOGLE.said(ToolCall("c1", "ls", {})), result("c1", TextContent("  "))]
    response = GOOGLE.body(history)["contents"][2]["parts"][0]["functionResponse"]
    assert response["response"] == {"output": NO_OUTPUT}


@pytest.mark.parametrize("signature", ["not base64!", "QUJ", "", "QUJD====", "msg_abc-"])
def test_a_signature_that_is_not_base64_stays_behind(signature: str) -> None:
    said = GOOGLE.said(TextContent("hi", signature), ToolCall("c1", "ls", {}, signature))
    parts = GOOGLE.body([USER, said, result("c1")])["contents"][1]["parts"]
    assert not any("thoughtSignature" in part for part in parts)


@given(st.binary(min_size=1, max_size=40))
def test_whatever_is_base64_counts_as_a_signature(data: bytes) -> None:
    assert is_signature(base64.b64encode(data).decode())


def test_an_empty_text_goes_back_only_with_its_signature() -> None:
    said = GOOGLE.said(TextContent("", SIGNATURE), TextContent(" "), ThinkingContent("", "bad"), TextContent("hi"))
    assert GOOGLE.body([USER, said, USER])["contents"][1]["parts"] == [
        {"text": "", "thoughtSignature": SIGNATURE},
        {"text": "hi"},
    ]


def test_a_model_that_reads_one_system_message_gets_the_newest_prompt_and_tools() -> None:
    read = Tool("read", "Read a file.", {"type": "object", "properties": {}})
    change = SystemMessage(content="be kind", timestamp=3, tools_added=[read], tools_removed=[ToolReference("ls")])
    body = GOOGLE.body([SYSTEM, USER, GOOGLE.said(TextContent("hi")), change, USER])
    assert body["systemInstruction"]["parts"] == [{"text": "be brief\n\nbe kind"}]
    assert [tool["name"] for tool in body["tools"][0]["functionDeclarations"]] == ["read"]


def test_a_request_without_prompt_and_tools_has_no_fields_for_them() -> None:
    assert set(GOOGLE.body([USER], {"reasoning": False})) == {"contents", "generationConfig"}


# Tools


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": "a"}, {"enum": ["a"]}),
        ({"type": "number", "const": 3}, {"type": "number", "enum": [3]}),
        ({"const": True}, {"const": True}),
        ({"const": None}, {"const": None}),
        ({"const": "a", "enum": ["a", "b"]}, {"enum": ["a"]}),
        ({"enum": ["a", "b"], "const": "a"}, {"enum": ["a"]}),
        ({"properties": {"const": {"const": "a"}}}, {"properties": {"const": {"enum": ["a"]}}}),
        ({"properties": {"const": {"type": "string"}}}, {"properties": {"const": {"type": "string"}}}),
        ({"default": {"const": "a"}}, {"default": {"const": "a"}}),
        ({"examples": [{"const": "a"}]}, {"examples": [{"const": "a"}]}),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}),
        ({"items": {"const": "a"}}, {"items": {"enum": ["a"]}}),
        ({"items": [{"const": "a"}]}, {"items": [{"enum": ["a"]}]}),
        ({"$defs": {"x": {"const": "a"}}}, {"$defs": {"x": {"enum": ["a"]}}}),
        ({"additionalProperties": {"const": "a"}}, {"additionalProperties": {"enum": ["a"]}}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"if": {"const": 1}, "then": {"not": {"const": 2}}}, {"if": {"enum": [1]}, "then": {"not": {"enum": [2]}}}),
    ],
)  # fmt: skip
def test_a_constant_is_written_as_an_enum_where_a_schema_stands(schema: Any, expected: Any) -> None:
    before = repr(schema)
    assert without_const(schema) == expected
    assert repr(schema) == before


def mode_of(sampling: Any, model_id: str, choice: Any = None) -> Any:
    tool = Tool("ls", "List.", LS.parameters, sampling)
    system = SystemMessage(content="", timestamp=0, tools_added=[tool])
    config = GOOGLE.body([system, USER], {"id": model_id}, tool_choice=choice).get("toolConfig")
    return None if config is None else config["functionCallingConfig"]["mode"]


@pytest.mark.parametrize(
    ("sampling", "model_id", "choice", "mode"),
    [
        (False, "gemini-3-flash", None, None),
        (False, "gemini-3-flash", "auto", "AUTO"),
        (False, "gemini-3-flash", "none", "NONE"),
        (False, "gemini-3-flash", "any", "ANY"),
        (JsonSchemaSampling("prefer"), "gemini-3-flash", None, "VALIDATED"),
        (JsonSchemaSampling("require"), "gemini-4-argon", "auto", "VALIDATED"),
        (JsonSchemaSampling("prefer"), "gemini-3-flash", "none", "NONE"),
        (JsonSchemaSampling("prefer"), "gemini-3-flash", "any", "ANY"),
        (JsonSchemaSampling("prefer"), "gemini-2.5-flash", None, None),
        (JsonSchemaSampling("prefer"), "gemini-2.5-flash", "auto", "AUTO"),
    ],
)
def test_how_freely_a_model_may_call(sampling: Any, model_id: str, choice: Any, mode: str | None) -> None:
    assert mode_of(sampling, model_id, choice) == mode


def test_a_tool_that_requires_strict_arguments_is_refused_for_a_model_without_them() -> None:
    tool = Tool("ls", "List.", LS.parameters, JsonSchemaSampling("require"))
    system = SystemMessage(content="", timestamp=0, tools_added=[tool])
    asked = GOOGLE.ask(messages=[system, USER], fields={"id": "gemini-2.5-flash"})
    assert "tool 'ls' requires strict sampling" in asked.error
    assert asked.requests == []


# Thinking


def thinking(model_id: str, level: Any, **given: Any) -> Any:
    wire = VERTEX if given.pop("vertex", False) else GOOGLE
    options = {name: given.pop(name) for name in ("thinking_budgets", "extra", "max_tokens") if name in given}
    body = wire.body([USER], {"id": model_id, "max_tokens": 65_536} | given, reasoning=level, **options)
    return body["generationConfig"].get("thinkingConfig")


@pytest.mark.parametrize(
    "model_id",
    ["gemini-3-pro-preview", "gemini-3.1-flash", "gemini-4-argon", "gemini-12", "gemini-flash-latest",
     "gemini-flash-lite-latest", "gemma-4-27b", "models/gemini-3-flash"],
)  # fmt: skip
def test_new_models_think_by_level(model_id: str) -> None:
    for level in ("minimal", "low", "medium", "high"):
        assert thinking(model_id, level) == {"includeThoughts": True, "thinkingLevel": level.upper()}


@pytest.mark.parametrize(
    ("model_id", "budgets"),
    [
        ("gemini-2.5-pro", (128, 2048, 8192, 32_768)),
        ("gemini-2.5-flash-lite", (512, 2048, 8192, 24_576)),
        ("gemini-2.5-flash-lite-preview", (512, 2048, 8192, 24_576)),
        ("gemini-2.5-flash", (128, 2048, 8192, 24_576)),
        ("gemini-2.0-flash-thinking", (-1, -1, -1, -1)),
    ],
)
def test_older_models_think_within_a_budget(model_id: str, budgets: tuple[int, ...]) -> None:
    for level, budget in zip(("minimal", "low", "medium", "high"), budgets, strict=True):
        assert thinking(model_id, level) == {"includeThoughts": True, "thinkingBudget": budget}


def test_vertex_gives_the_lite_model_the_budgets_of_flash() -> None:
    assert thinking("gemini-2.5-flash-lite", "minimal", vertex=True)["thinkingBudget"] == 128


def test_budgets_of_the_caller_win() -> None:
    budgets = {"low": 99}
    assert thinking("gemini-2.5-flash", "low", thinking_budgets=budgets)["thinkingBudget"] == 99
    assert thinking("gemini-2.5-flash", "high", thinking_budgets=budgets)["thinkingBudget"] == 24_576


def test_a_budget_leaves_room_for_an_answer_of_the_length_asked_for() -> None:
    assert thinking("gemini-2.5-flash", "high", max_tokens=4096)["thinkingBudget"] == 3072


@pytest.mark.parametrize("level", [None, "off"])
def test_thinking_is_switched_off_where_it_can_be(level: Any) -> None:
    assert thinking("gemini-2.5-flash", level) == {"thinkingBudget": 0}
    assert thinking("gemini-3-flash", level) == {"thinkingBudget": 0}
    assert thinking("gemini-3-flash", level, thinking_level_map={"off": None}) == {"thinkingLevel": "MINIMAL"}
    only_high = {"off": None, "minimal": None, "low": None, "medium": None}
    assert thinking("gemini-4-argon", level, thinking_level_map=only_high) == {"thinkingLevel": "HIGH"}
    assert thinking("gemini-3-flash", level, thinking_level_map={"off": "minimal"}) == {"thinkingLevel": "MINIMAL"}
    assert thinking("gemini-2.5-pro", level) == {"thinkingBudget": 128}
    assert thinking("gemini-2.5-flash", level, reasoning=False) is None


def test_a_level_map_gives_other_names_for_levels() -> None:
    assert thinking("gemini-3-flash", "max", thinking_level_map={"max": "HIGH"})["thinkingLevel"] == "HIGH"
    assert thinking("gemini-2.5-flash", "high", thinking_level_map={"high": "low"})["thinkingBudget"] == 2048
    assert thinking("gemini-3-flash", "max")["thinkingLevel"] == "HIGH"


def test_a_level_map_with_a_name_that_the_api_lacks_is_an_error() -> None:
    asked = GOOGLE.ask(messages=[USER], fields={"thinking_level_map": {"high": "ultra"}}, reasoning="high")
    assert "gives 'ultra' for 'high'; this API takes one of: minimal, low, medium, high" in asked.error


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"enabled": True, "budget_tokens": 7}, {"includeThoughts": True, "thinkingBudget": 7}),
        ({"enabled": True, "level": "low"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ({"enabled": True}, {"includeThoughts": True}),
        ({"enabled": False}, {"thinkingBudget": 0}),
    ],
)
def test_a_caller_can_spell_the_thinking_out(own: dict[str, Any], expected: dict[str, Any]) -> None:
    assert thinking("gemini-2.5-flash", "high", extra={"thinking": own}) == expected


def test_the_output_limit_is_the_callers_or_the_models_as_far_as_it_fits() -> None:
    assert GOOGLE.body([USER])["generationConfig"]["maxOutputTokens"] == 8192
    assert GOOGLE.body([USER], max_tokens=10)["generationConfig"]["maxOutputTokens"] == 10
    assert "maxOutputTokens" not in GOOGLE.body([USER], {"max_tokens": 0})["generationConfig"]


@pytest.mark.parametrize(
    ("base", "model_id", "expected"),
    [
        ("https://h/v1beta/", "gemini-3", "https://h/v1beta/models/gemini-3:streamGenerateContent?alt=sse"),
        ("https://h/v1", "models/a b", "https://h/v1/models/a%20b:streamGenerateContent?alt=sse"),
        ("https://h/v1", "tunedModels/x", "https://h/v1/tunedModels/x:streamGenerateContent?alt=sse"),
        ("https://h/v1", "x?key=1#y", "https://h/v1/models/x%3Fkey%3D1%23y:streamGenerateContent?alt=sse"),
    ],
)
def test_the_address_names_the_model(base: str, model_id: str, expected: str) -> None:
    assert stream_url(base, model_id) == expected
