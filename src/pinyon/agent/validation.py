"""Arguments of a tool call brought to the tool's schema and checked; the answer to bad ones says how to mend them."""

from __future__ import annotations

from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.text import slice_head, utf16_len
from pinyon.agent.coercion import coerce
from pinyon.agent.schema import Schema
from pinyon.agent.schema_check import Path, Problem, SchemaCheck
from pinyon.agent.tool import AgentTool
from pinyon.ai.content import ToolCall
from pinyon.errors import ToolError

MAX_SHOWN_PROBLEMS = 20
MAX_SHOWN_ARGUMENTS = 20_000
"""Characters of the received arguments that an error text repeats."""


class InvalidArgumentsError(ToolError):
    """Raised when a call's arguments do not fit the tool; the text lists each problem and shows the arguments."""


def validate_arguments(tool: AgentTool, call: ToolCall, arguments: Any) -> Any:
    """A copy of `arguments` in the form that the tool's schema asks for. Raises `InvalidArgumentsError`.

    `arguments` are those of the call, after the tool's own repair.
    """
    if call.arguments_error:
        raise InvalidArgumentsError(f"The arguments for {call.name!r} could not be used. {call.arguments_error}")
    document = _document(tool)
    try:
        value = coerce(document, copied(arguments))
        problems = SchemaCheck(document).problems(document.root, value)
    except RecursionError:
        problems = [Problem((), "is nested too deeply")]
        value = None
    if problems:
        raise InvalidArgumentsError(_error_text(call.name, problems, arguments))
    return value


def _document(tool: AgentTool) -> Schema:
    """The tool's schema, read once and kept with the tool."""
    kept: Schema | None = tool.__dict__.get("_schema")
    if kept is None or kept.root is not tool.parameters:
        kept = tool.__dict__["_schema"] = Schema(tool.parameters)
    return kept


def copied(value: Any) -> Any:
    """A deep copy of a JSON value; other objects are shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def _error_text(name: str, problems: list[Problem], arguments: Any) -> str:
    lines = [f"  - {_dotted(problem.path)}: {problem.text}" for problem in problems[:MAX_SHOWN_PROBLEMS]]
    if len(problems) > MAX_SHOWN_PROBLEMS:
        lines.append(f"  - and {len(problems) - MAX_SHOWN_PROBLEMS} more")
    return "\n".join(
        [f"The arguments do not fit the tool {name!r}:", *lines, "", "The call held:", shown_arguments(arguments)]
    )


def _dotted(path: Path) -> str:
    return ".".join(map(str, path)) or "root"


def shown_arguments(arguments: Any) -> str:
    """Arguments as JSON indented by two spaces, cut where they are very long."""
    try:
        text = msgspec.json.format(_json.encode(arguments), indent=2).decode()
    except RecursionError:
        return "[nested too deeply to show]"
    except (TypeError, ValueError):
        text = repr(arguments)
    shown = slice_head(text, MAX_SHOWN_ARGUMENTS)
    return shown if shown == text else f"{shown}\n[{utf16_len(text) - utf16_len(shown)} more characters]"
