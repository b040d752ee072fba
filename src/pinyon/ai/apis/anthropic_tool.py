"""Tool declarations as the Anthropic Messages API wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinyon.ai.apis.anthropic_option import AnthropicRequest
from pinyon.ai.strict_schema import anthropic_unsupported, strict_parameters
from pinyon.ai.tool import JsonSchemaSampling, Tool

PLACEHOLDER_NAME = "__pi_deferred_placeholder__"

_ROOT_KEYWORDS = ("additionalProperties", "$defs", "definitions")


def wire_tools(request: AnthropicRequest, tools: Sequence[Tool], *, may_prefer_strict: bool) -> list[dict[str, Any]]:
    """The declarations of a request; the last one carries the cache mark."""
    declared = [wire_tool(request, tool, may_prefer_strict=may_prefer_strict) for tool in tools]
    mark = request.cache_control
    if declared and mark is not None and request.compat.cache_control_on_tools:
        declared[-1]["cache_control"] = mark
    return declared


def wire_tool(request: AnthropicRequest, tool: Tool, *, may_prefer_strict: bool) -> dict[str, Any]:
    """One declaration.

    Raises `SamplingError` for a tool that requires strict sampling where it cannot be had. With
    `may_prefer_strict` false, tools that only prefer it go without.
    """
    strict = _strict_schema(request, tool, may_prefer_strict=may_prefer_strict)
    declared: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if request.compat.eager_tool_input:
        declared["eager_input_streaming"] = True
    declared["input_schema"] = _input_schema(tool) if strict is None else strict
    if strict is not None:
        declared["strict"] = True
    return declared


def _strict_schema(request: AnthropicRequest, tool: Tool, *, may_prefer_strict: bool) -> dict[str, Any] | None:
    sampling = tool.constrained_sampling
    if isinstance(sampling, JsonSchemaSampling) and sampling.strict == "prefer" and not may_prefer_strict:
        return None
    strict = strict_parameters(tool, request.compat.strict_tools, anthropic_unsupported)
    return None if strict is None else _input_schema(tool) | strict


def _input_schema(tool: Tool) -> dict[str, Any]:
    # Other keywords at the root, such as anyOf, are refused by the API.
    schema = tool.parameters
    kept = {"type": "object", "properties": schema.get("properties") or {}, "required": schema.get("required") or []}
    return kept | {name: schema[name] for name in _ROOT_KEYWORDS if name in schema}


def deferred_placeholder() -> dict[str, Any]:
    """A declaration that is never used: with it present, tools may be added later in the conversation."""
    return {
        "name": PLACEHOLDER_NAME,
        "description": "Reserved. Never call this.",
        "input_schema": {"type": "object", "properties": {}, "required": []},
        "defer_loading": True,
    }
