from typing import Any

import pytest

from pinyon.ai.strict_schema import (
    StrictSchemaError,
    anthropic_unsupported,
    grammar_of,
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
    assert strict_parameters(tool(bad, JsonSchemaSampling("prefer"))) is None
    assert strict_parameters(tool(schema(a=TEXT), JsonSchemaSampling("prefer"))) is not None
    assert strict_parameters(tool(schema(a=TEXT), False)) is None
    with pytest.raises(StrictSchemaError, match="'t' requires"):
        strict_parameters(tool(bad, JsonSchemaSampling("require")))


def test_a_grammar_prefers_lark_and_needs_one_required_text() -> None:
    parameters = {"type": "object", "properties": {"code": TEXT}, "required": ["code"]}
    both = GrammarSampling({"openai_regex": "r", "openai_lark": "l"})
    assert grammar_of(tool(parameters, both)) == ("lark", "l", "code")
    assert grammar_of(tool(parameters, GrammarSampling({"openai_regex": "r"}))) == ("regex", "r", "code")
    assert grammar_of(tool(parameters, JsonSchemaSampling("prefer"))) is None
    for broken in (schema(code=TEXT), {"type": "object", "properties": {}, "required": []}):
        with pytest.raises(StrictSchemaError):
            grammar_of(tool(broken, both))
    with pytest.raises(StrictSchemaError, match="no grammar"):
        grammar_of(tool(parameters, GrammarSampling({})))
