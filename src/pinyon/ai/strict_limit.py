"""Strict tools that are too many for a server: it says so, and the request goes out again with fewer."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.session_resource import SessionMemory
from pinyon.ai.tool import JsonSchemaSampling, Tool

_LIMITS = (
    "compiled grammar is too large",
    "too many strict tools (",
    "too many parameters with union types (",
)


def names_strict_limit(message: str) -> bool:
    """Whether an error message says that the strict tools together are too much."""
    message = message.lower()
    return any(limit in message for limit in _LIMITS)


def has_preferred_strict(tools: Sequence[Tool]) -> bool:
    """Whether some tool would rather have strict sampling and can do without."""
    return any(
        isinstance(tool.constrained_sampling, JsonSchemaSampling) and tool.constrained_sampling.strict == "prefer"
        for tool in tools
    )


class StrictLimits:
    """The sessions in which a server of one API refused preferred strict tools."""

    def __init__(self) -> None:
        self._limited: SessionMemory[bool] = SessionMemory()

    def may_prefer_strict(self, session_id: str | None) -> bool:
        """Whether tools that only prefer strict sampling may ask for it: not after a refusal in this session."""
        return not session_id or not self._limited.get(session_id)

    def remember(self, session_id: str | None) -> None:
        """Do without preferred strict tools for the rest of the session."""
        if session_id:
            self._limited.set(session_id, True)
