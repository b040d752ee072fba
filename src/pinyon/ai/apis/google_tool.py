"""Tool declarations of Google's APIs, and how freely the model may call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pinyon.ai.apis.google_model import is_gemini_3
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.strict_schema import SamplingError
from pinyon.ai.tool import JsonSchemaSampling, Tool

_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS = frozenset({
    "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains",
    "propertyNames", "not", "if", "then", "else",
})  # fmt: skip
_MODES = {"auto": "AUTO", "none": "NONE", "any": "ANY", "required": "ANY"}


def declarations(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The `tools` of a request; empty without tools."""
    functions = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": without_const(tool.parameters)}
        for tool in tools
    ]
    return [{"functionDeclarations": functions}] if functions else []


def without_const(schema: Any) -> Any:
    """The schema with `const` texts and numbers written as an `enum` of one, which the API takes.

    Only where a schema stands: properties and data that are called `const` stay as they are.
    """
    if not isinstance(schema, Mapping):
        return schema
    written: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "const" and isinstance(value, str | int | float) and not isinstance(value, bool):
            written["enum"] = [value]
        elif name != "enum" or "enum" not in written:
            written[name] = _inner(name, value)
    return written


def _inner(name: str, value: Any) -> Any:
    if name in _NAMED_SCHEMAS and isinstance(value, Mapping):
        return {key: without_const(item) for key, item in value.items()}
    if (name in _SCHEMA_LISTS or name == "items") and isinstance(value, list):
        return [without_const(item) for item in value]
    return without_const(value) if name in _SCHEMAS else value


def tool_config(model: Model, tools: Sequence[Tool], options: StreamOptions) -> dict[str, Any] | None:
    """The `toolConfig` of a request, None where the API's default will do.

    Raises `SamplingError` for a tool that requires strict sampling of a model that has none.
    """
    is_strict = _wants_validation(model, tools)
    choice = (options.extra or {}).get("tool_choice", options.tool_choice)
    if not tools:
        return None
    name = _named_tool(choice)
    if name is not None:
        return {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}
    mode = _MODES.get(choice) if isinstance(choice, str) else None
    if is_strict and mode in (None, "AUTO"):
        mode = "VALIDATED"
    return None if mode is None else {"functionCallingConfig": {"mode": mode}}


def _wants_validation(model: Model, tools: Sequence[Tool]) -> bool:
    """Whether a tool asks for arguments that follow its schema, and the model can be held to that."""
    asking = [tool for tool in tools if isinstance(tool.constrained_sampling, JsonSchemaSampling)]
    if is_gemini_3(model.id):
        return bool(asking)
    for tool in asking:
        sampling = tool.constrained_sampling
        if isinstance(sampling, JsonSchemaSampling) and sampling.strict == "require":
            raise SamplingError(f"tool {tool.name!r} requires strict sampling, which {model.spec!r} does not have")
    return False


def _named_tool(choice: Any) -> str | None:
    """The tool that a choice object names, in any of the forms that callers know from other APIs."""
    if not isinstance(choice, Mapping):
        return None
    function = choice.get("function")
    name = function.get("name") if isinstance(function, Mapping) else choice.get("name")
    return name if isinstance(name, str) else None
