"""Argument schemas for constrained sampling: the strict form of a JSON Schema, and grammar tools.

Strict sampling (the "structured outputs" subset that OpenAI and others publish) wants every property required, optional
ones nullable, and no additional properties. What cannot be said in that subset is rejected with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from pinyon._util import json as _json
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.errors import ModelError, PinyonError

UnsupportedKeyword = Callable[[str, Any], bool]
"""Tells whether a provider's strict mode refuses a keyword with this value."""

_REJECTED = frozenset({
    "$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
    "unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
})  # fmt: skip


_ANTHROPIC_KEYWORDS = frozenset({
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "uniqueItems",
    "minContains", "maxContains", "minProperties", "maxProperties",
})  # fmt: skip
_ANTHROPIC_FORMATS = frozenset({
    "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
})  # fmt: skip


class StrictSchemaError(PinyonError):
    """Raised when a schema has no strict form; the text is the reason."""


class SamplingError(ModelError):
    """Raised when a tool demands a way of sampling that the model or the tool's schema cannot give."""


class GrammarTool(msgspec.Struct, frozen=True):
    """A tool whose input is free text in a grammar.

    `input_property` is the one required property of its schema, under which the text reaches the tool.
    """

    syntax: Literal["lark", "regex"]
    definition: str
    input_property: str


def make_strict(schema: Mapping[str, Any], is_unsupported: UnsupportedKeyword | None = None) -> dict[str, Any]:
    """The strict form of an argument schema, as a copy. Raises `StrictSchemaError` where there is none."""
    strict = _strict_node(schema, "root", is_unsupported)
    if strict.get("type") != "object":
        raise StrictSchemaError("root: the schema of all arguments must have the type 'object'")
    return strict


def anthropic_unsupported(keyword: str, value: Any) -> bool:
    """Whether the Anthropic API refuses a keyword in a strict schema."""
    if keyword == "minItems":
        return not isinstance(value, int) or value > 1
    return keyword in _ANTHROPIC_KEYWORDS or (keyword == "format" and value not in _ANTHROPIC_FORMATS)


def _strict_node(schema: Any, place: str, is_unsupported: UnsupportedKeyword | None) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise StrictSchemaError(f"{place}: a boolean schema has no strict form")
    _check_keywords(schema, place, is_unsupported)
    node = dict(schema)
    if "anyOf" in node:
        node["anyOf"] = _strict_variants(node["anyOf"], f"{place}.anyOf", is_unsupported)
    if "items" in node:
        if isinstance(node["items"], list):
            raise StrictSchemaError(f"{place}: a tuple has no strict form")
        node["items"] = _strict_node(node["items"], f"{place}.items", is_unsupported)
    if node.get("type") == "object":
        _close_object(node, place, is_unsupported)
    elif "properties" in node:
        raise StrictSchemaError(f"{place}: 'properties' needs the type 'object'")
    return node


def _check_keywords(schema: Mapping[str, Any], place: str, is_unsupported: UnsupportedKeyword | None) -> None:
    for name, value in schema.items():
        if name in _REJECTED or (is_unsupported is not None and is_unsupported(name, value)):
            raise StrictSchemaError(f"{place}: the keyword {name!r} has no strict form")
    if not any(name in schema for name in ("type", "anyOf", "enum")):
        raise StrictSchemaError(f"{place}: a schema without type, anyOf or enum has no strict form")
    if schema.get("additionalProperties", False) is not False:
        raise StrictSchemaError(f"{place}: 'additionalProperties' may only be false in the strict form")


def _strict_variants(variants: Any, place: str, is_unsupported: UnsupportedKeyword | None) -> list[dict[str, Any]]:
    if not isinstance(variants, list) or not variants:
        raise StrictSchemaError(f"{place}: there must be at least one variant")
    if any(_names_type(variant, "object", "array") for variant in variants):
        raise StrictSchemaError(f"{place}: objects and arrays cannot be variants in the strict form")
    return [_strict_node(variant, place, is_unsupported) for variant in variants]


def _close_object(node: dict[str, Any], place: str, is_unsupported: UnsupportedKeyword | None) -> None:
    properties, required = node.get("properties", {}), node.get("required", [])
    if not isinstance(properties, Mapping):
        raise StrictSchemaError(f"{place}: 'properties' must be an object")
    if not isinstance(required, list) or not all(name in properties for name in required):
        raise StrictSchemaError(f"{place}: 'required' names a property that the schema does not have")
    strict = {name: _strict_node(schema, f"{place}.{name}", is_unsupported) for name, schema in properties.items()}
    if "properties" in node:
        node["properties"] = {
            name: schema if name in required or _allows_null(schema) else {"anyOf": [schema, {"type": "null"}]}
            for name, schema in strict.items()
        }
    node["required"] = list(strict)
    node["additionalProperties"] = False


def _names_type(schema: Any, *names: str) -> bool:
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    return any(name in kinds if isinstance(kinds, list) else name == kinds for name in names)


def _allows_null(schema: Mapping[str, Any]) -> bool:
    variants, members = schema.get("anyOf"), schema.get("enum")
    return (
        _names_type(schema, "null")
        or (isinstance(members, list) and None in members)
        or (isinstance(variants, list) and any(_allows_null(variant) for variant in variants))
    )


def strict_parameters(
    tool: Tool, supported: bool, is_unsupported: UnsupportedKeyword | None = None
) -> dict[str, Any] | None:
    """The strict argument schema of a tool that asks for it, None where it is sent as it is.

    Raises `SamplingError` when the tool requires strict sampling and cannot have it.
    """
    sampling = tool.constrained_sampling
    if not isinstance(sampling, JsonSchemaSampling):
        return None
    problem = "this model's API is not known to support it"
    if supported:
        try:
            return make_strict(tool.parameters, is_unsupported)
        except StrictSchemaError as error:
            problem = str(error)
    if sampling.strict == "require":
        raise SamplingError(f"tool {tool.name!r} requires strict sampling, but {problem}")
    return None


def grammar_tool(tool: Tool, supported: bool) -> GrammarTool | None:
    """The grammar of a tool that has one and may be sent as such, else None.

    Raises `SamplingError` when the grammar or the schema of the tool is not usable.
    """
    sampling = tool.constrained_sampling
    if not supported or not isinstance(sampling, GrammarSampling):
        return None
    lark, regex = sampling.variants.get("openai_lark"), sampling.variants.get("openai_regex")
    if not lark and not regex:
        raise SamplingError(f"tool {tool.name!r} has no usable grammar: give 'openai_lark' or 'openai_regex'")
    return GrammarTool(
        syntax="lark" if lark else "regex", definition=lark or regex or "", input_property=_input_property(tool)
    )


def _input_property(tool: Tool) -> str:
    schema = tool.parameters
    required, properties = schema.get("required"), schema.get("properties")
    names = required if isinstance(required, list) else []
    schemas = properties if isinstance(properties, Mapping) else {}
    if schema.get("type") != "object" or len(names) != 1 or not _names_type(schemas.get(names[0]), "string"):
        raise SamplingError(
            f"grammar tool {tool.name!r} needs an object schema with exactly one required property, of type string"
        )
    return str(names[0])


class GrammarInput:
    """Presents the free text of a grammar tool call as the JSON text of its arguments, piece by piece."""

    def __init__(self, input_property: str) -> None:
        self._property = input_property
        self._text = ""
        self._started = False

    def append(self, text: str) -> str:
        """The JSON fragment for more free text."""
        self._text += text
        fragment = _json.encode(text).decode()[1:-1]
        if self._started:
            return fragment
        self._started = True
        return "{" + _json.encode(self._property).decode() + ':"' + fragment

    def close(self, final: str | None = None) -> str:
        """The last fragment. `final` is the whole text where the provider repeats it.

        Raises `SamplingError` when it does not continue what was streamed.
        """
        whole = self._text if final is None else final
        if not whole.startswith(self._text):
            raise SamplingError("the final input of a grammar tool call differs from the input that was streamed")
        return self.append(whole[len(self._text) :]) + '"}'

    @property
    def text(self) -> str:
        """The free text so far."""
        return self._text
