"""Tool declarations as the Responses API wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.strict_schema import grammar_tool, strict_parameters
from pinyon.ai.tool import Tool


def wire_tools(request: ResponsesRequest, tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The declarations of a request. Raises `SamplingError` for tools that require sampling that cannot be had."""
    return [wire_tool(request, tool) for tool in tools]


def wire_tool(request: ResponsesRequest, tool: Tool) -> dict[str, Any]:
    """One declaration: a function, strict where that is wanted and possible, or a custom tool with a grammar."""
    compat = request.compat
    grammar = grammar_tool(tool, compat.supports_open_ai_grammar_tools)
    if grammar is not None:
        form = {"type": "grammar", "syntax": grammar.syntax, "definition": grammar.definition}
        return {"type": "custom", "name": tool.name, "description": tool.description, "format": form}
    strict = strict_parameters(tool, compat.supports_strict_mode)
    declared: dict[str, Any] = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if strict is None else strict,
    }
    if compat.supports_strict_mode:
        # null leaves the choice to the service, which is what its own clients do
        not_strict = None if request.flavour == "codex" else False
        declared["strict"] = True if strict is not None else not_strict
    return declared


def grammar_inputs(request: ResponsesRequest, tools: Iterable[Tool]) -> dict[str, str]:
    """The names of grammar tools and the argument that holds their text."""
    found = ((tool.name, grammar_tool(tool, request.compat.supports_open_ai_grammar_tools)) for tool in tools)
    return {name: grammar.input_property for name, grammar in found if grammar is not None}
