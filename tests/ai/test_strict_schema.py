from typing import Any

import pytest

from pinyon.ai.strict_schema import (
    GrammarTool,
    SamplingError,
    StrictSchemaError,
    anthropic_unsupported,
    grammar_tool,
    make_strict,
    strict_parameters,
)
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool

TEXT = {"type": "string"}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": []}


def test_optional_properties_become_required_and_nullable() -> None:
    given = {"type": "object", "properties": {"a": TEXT, "b": {"type": ["string", "null"]}}, "required": []}
    strict = make_strict(given)
    assert strict == {
        "type": "object",
        "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}, "b": {"type": ["string", "null"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert given["required"] == []


@pytest.mark.parametrize(
    "node",
    [
        {"$ref": "#/x"},
        {"oneOf": [TEXT]},
        {"description": "anything"},
        True,
        {"type": "array", "items": [TEXT]},
        {"anyOf": [{"type": "object"}]},
        {"type": "object", "additionalProperties": True},
        {"properties": {"x": TEXT}, "enum": [1]},
        {"type": "object", "properties": {}, "required": ["gone"]},
    ],
)
def test_what_strict_sampling_cannot_express_is_refused_with_its_place(node: Any) -> None:
    with pytest.raises(StrictSchemaError, match=r"root\.a"):
        make_strict(schema(a=node))


@pytest.mark.parametrize("extra", [{"minimum": 1}, {"minItems": 2}, {"format": "regex"}])
def test_a_provider_may_refuse_more(extra: dict[str, Any]) -> None:
    given = schema(a={"type": "string", **extra})
    assert make_strict(given)
    with pytest.raises(StrictSchemaError):
        make_strict(given, anthropic_unsupported)


def tool(parameters: dict[str, Any], sampling: Any) -> Tool:
    return Tool(name="t", description="", parameters=parameters, constrained_sampling=sampling)


def test_prefer_falls_back_and_require_fails() -> None:
    bad = schema(a={"$ref": "#/x"})
    assert strict_parameters(tool(bad, JsonSchemaSampling("prefer")), True) is None
    assert strict_parameters(tool(schema(a=TEXT), JsonSchemaSampling("prefer")), True) is not None
    assert strict_parameters(tool(schema(a=TEXT), False), True) is None
    assert strict_parameters(tool(schema(a=TEXT), JsonSchemaSampling("prefer")), False) is None
    with pytest.raises(SamplingError, match=r"'t' requires.*root\.a.*'\$ref'"):
        strict_parameters(tool(bad, JsonSchemaSampling("require")), True)
    with pytest.raises(SamplingError, match=r"'t' requires.*support"):
        strict_parameters(tool(schema(a=TEXT), JsonSchemaSampling("require")), False)


def test_a_grammar_prefers_lark_and_needs_one_required_text() -> None:
    parameters = {"type": "object", "properties": {"code": TEXT}, "required": ["code"]}
    both = GrammarSampling({"openai_regex": "r", "openai_lark": "l"})
    assert grammar_tool(tool(parameters, both), True) == GrammarTool("lark", "l", "code")
    assert grammar_tool(tool(parameters, GrammarSampling({"openai_regex": "r"})), True) == GrammarTool(
        "regex", "r", "code"
    )
    assert grammar_tool(tool(parameters, JsonSchemaSampling("prefer")), True) is None
    assert grammar_tool(tool(parameters, both), False) is None
    with_option = {"type": "object", "properties": {"code": TEXT, "more": TEXT}, "required": ["code"]}
    assert grammar_tool(tool(with_option, both), True) == GrammarTool("lark", "l", "code")
    number = {"type": "object", "properties": {"code": {"type": "number"}}, "required": ["code"]}
    for broken in (schema(code=TEXT), number, {"type": "object", "properties": {}, "required": []}):
        with pytest.raises(SamplingError, match="'t'"):
            grammar_tool(tool(broken, both), True)
    with pytest.raises(SamplingError, match="no usable grammar"):
        grammar_tool(tool(parameters, GrammarSampling({})), True)
