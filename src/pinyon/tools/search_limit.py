"""How many results a call of grep, find or ls asks for, and how their lists are finished."""

from __future__ import annotations

import math
from typing import Any

from msgspec import UNSET

from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.truncate import DEFAULT_MAX_BYTES, format_size, truncate_head, with_notices

BYTES_NOTICE = f"Cut at the limit of {format_size(DEFAULT_MAX_BYTES)}"
"""Said when a list is longer than what a model is shown."""


def requested_number(params: dict[str, Any], name: str, default: int, *, minimum: int) -> int:
    """A number of a call, cut to a whole one that is at least `minimum`; `default` where it is absent."""
    value = params.get(name)
    if value is None:
        return default
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ToolError(f"{name!r} must be a number, got {value!r}")
    return max(minimum, math.floor(value))


def list_result(lines: list[str], notices: list[str], details: dict[str, Any]) -> AgentToolResult:
    """Lines as the result of a tool, cut to what a model is shown, with what has to be said about it."""
    cut = truncate_head("\n".join(lines), None)
    if cut.truncated:
        notices = [*notices, BYTES_NOTICE]
        details = {**details, "truncation": cut.to_json()}
    return AgentToolResult([TextContent(with_notices(cut.content, notices))], details=details or UNSET)
