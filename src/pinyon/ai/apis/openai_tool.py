"""Tool declarations as the chat-completions API wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat
from pinyon.ai.strict_schema import grammar_tool, strict_parameters
from pinyon.ai.tool import Tool


def wire_tools(tools: Sequence[Tool], compat: OpenAICompletionsCompat) -> list[dict[str, Any]]:
    """The declarations of a request. Raises `SamplingError` for tools that require sampling that cannot be had."""
    return [wire_tool(tool, compat) for tool in tools]


def wire_tool(tool: Tool, compat: OpenAICompletionsCompat) -> dict[str, Any]:
    """One declaration: a function, strict where that is wanted and possible, or a custom tool with a grammar."""
    grammar = grammar_tool(tool, compat.supports_open_ai_grammar_tools)
    if grammar is not None:
        definition = {"syntax": grammar.syntax, "definition": grammar.definition}
        custom = {"name": tool.name, "description": tool.description}
        return {"type": "custom", "custom": custom | {"format": {"type": "grammar", "grammar": definition}}}
    strict = strict_parameters(tool, compat.supports_strict_mode)
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if strict is None else strict,
    }
    if compat.supports_strict_mode:
        function["strict"] = strict is not None
    return {"type": "function", "function": function}


def grammar_inputs(tools: Iterable[Tool], compat: OpenAICompletionsCompat) -> dict[str, str]:
    """The names of grammar tools and the argument that holds their text."""
    found = ((tool.name, grammar_tool(tool, compat.supports_open_ai_grammar_tools)) for tool in tools)
    return {name: grammar.input_property for name, grammar in found if grammar is not None}
