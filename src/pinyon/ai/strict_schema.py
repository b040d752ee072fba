"""Schemas that providers can enforce while sampling: every property required, nothing additional, no fancy keywords."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.errors import ModelError

IsUnsupported = Callable[[Mapping[str, Any]], "str | None"]
"""Names what a provider refuses in one schema node, None where it refuses nothing."""

_REFUSED_KEYWORDS = (
    "$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
    "unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
)  # fmt: skip
_ANTHROPIC_KEYWORDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "uniqueItems",
    "minContains", "maxContains", "minProperties", "maxProperties",
)  # fmt: skip
_ANTHROPIC_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)


class StrictSchemaError(ModelError):
    """Raised when a schema cannot be made strict; the text names the place."""


def make_strict(schema: Mapping[str, Any], is_unsupported: IsUnsupported | None = None) -> dict[str, Any]:
    """A strict copy of a schema. Optional properties become required and may be null.

    Raises `StrictSchemaError` for what strict sampling cannot express, or what the provider refuses.
    """
    strict = _strict(copy.deepcopy(dict(schema)), "root", is_unsupported)
    if strict.get("type") != "object":
        raise StrictSchemaError("root: the schema of a tool must be of type object")
    return strict


def _strict(node: Any, place: str, is_unsupported: IsUnsupported | None) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise StrictSchemaError(f"{place}: a schema must be an object here")
    _refuse(node, place, is_unsupported)
    if "anyOf" in node:
        node["anyOf"] = [_variant(item, f"{place}.anyOf", is_unsupported) for item in node["anyOf"]]
    if "items" in node:
        node["items"] = _strict(node["items"], f"{place}.items", is_unsupported)
    if _is_type(node, "object") or "properties" in node:
        _close_object(node, place, is_unsupported)
    return node


def _refuse(node: Mapping[str, Any], place: str, is_unsupported: IsUnsupported | None) -> None:
    refused = next((keyword for keyword in _REFUSED_KEYWORDS if keyword in node), None)
    if refused is None and is_unsupported is not None:
        refused = is_unsupported(node)
    if refused is not None:
        raise StrictSchemaError(f"{place}: {refused!r} cannot be used in a strict schema")
    if not any(keyword in node for keyword in ("type", "anyOf", "enum")):
        raise StrictSchemaError(f"{place}: a strict schema needs type, anyOf or enum")
    if isinstance(node.get("items"), list):
        raise StrictSchemaError(f"{place}: tuples cannot be used in a strict schema")


def _variant(node: Any, place: str, is_unsupported: IsUnsupported | None) -> dict[str, Any]:
    if isinstance(node, dict) and (_is_type(node, "object") or _is_type(node, "array")):
        raise StrictSchemaError(f"{place}: objects and arrays cannot be variants in a strict schema")
    return _strict(node, place, is_unsupported)


def _is_type(node: Mapping[str, Any], name: str) -> bool:
    kind = node.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)


def _close_object(node: dict[str, Any], place: str, is_unsupported: IsUnsupported | None) -> None:
    properties, required = node.get("properties", {}), node.get("required", [])
    if not _is_type(node, "object") or not isinstance(properties, dict):
        raise StrictSchemaError(f"{place}: properties need type object")
    if node.get("additionalProperties", False) is not False:
        raise StrictSchemaError(f"{place}: additional properties cannot be used in a strict schema")
    unknown = [name for name in required if name not in properties]
    if unknown:
        raise StrictSchemaError(f"{place}: required names unknown properties {', '.join(map(repr, unknown))}")
    for name, child in properties.items():
        strict = _strict(child, f"{place}.{name}", is_unsupported)
        properties[name] = strict if name in required else _nullable(strict)
    node["properties"] = properties
    node["required"] = list(properties)
    node["additionalProperties"] = False


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    kinds = node.get("type")
    allows = kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or None in node.get("enum", ())
    allows = allows or any(item.get("type") == "null" for item in node.get("anyOf", ()))
    return node if allows else {"anyOf": [node, {"type": "null"}]}


def anthropic_unsupported(node: Mapping[str, Any]) -> str | None:
    """What the Anthropic API refuses in a strict schema."""
    refused = next((keyword for keyword in _ANTHROPIC_KEYWORDS if keyword in node), None)
    if refused is not None:
        return refused
    if node.get("minItems", 0) > 1:
        return "minItems"
    text_format = node.get("format")
    return "format" if text_format is not None and text_format not in _ANTHROPIC_FORMATS else None


def strict_parameters(tool: Tool, is_unsupported: IsUnsupported | None = None) -> dict[str, Any] | None:
    """The strict schema of a tool that asks for one; None where it does not, or only prefers what cannot be had.

    Raises `StrictSchemaError` when the tool requires strict sampling and its schema does not allow it.
    """
    sampling = tool.constrained_sampling
    if not isinstance(sampling, JsonSchemaSampling):
        return None
    try:
        return make_strict(tool.parameters, is_unsupported)
    except StrictSchemaError as error:
        if sampling.strict == "prefer":
            return None
        raise StrictSchemaError(f"tool {tool.name!r} requires strict sampling: {error}") from None


def grammar_of(tool: Tool) -> tuple[str, str, str] | None:
    """Syntax (`lark` or `regex`), definition and input property of a tool with a grammar; None for other tools.

    Raises `StrictSchemaError` for a grammar tool whose parameters are not one required string, or without a variant.
    """
    sampling = tool.constrained_sampling
    if not isinstance(sampling, GrammarSampling):
        return None
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", [])
    if (
        len(properties) != 1
        or list(properties) != list(required)
        or not _is_type(next(iter(properties.values())), "string")
    ):
        raise StrictSchemaError(f"tool {tool.name!r} with a grammar needs exactly one required string property")
    for syntax, key in (("lark", "openai_lark"), ("regex", "openai_regex")):
        if sampling.variants.get(key):
            return syntax, sampling.variants[key], next(iter(properties))
    raise StrictSchemaError(f"tool {tool.name!r} has no grammar that can be used; give openai_lark or openai_regex")
