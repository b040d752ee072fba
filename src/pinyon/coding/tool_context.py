"""Where a tool call of a session runs, and how its tool calls others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.coding.nested_call import NestedCaller
from pinyon.coding.selection import ModelSelection
from pinyon.session.session import Session


class SessionToolContext:
    """The context of one call; implements `ToolContext`. Model and level are those of the moment."""

    def __init__(
        self, session: Session, selection: ModelSelection, caller: NestedCaller, call_id: str, signal: AbortSignal
    ) -> None:
        self.session = session
        self._selection = selection
        self._caller = caller
        self._call_id = call_id
        self._signal = signal

    @property
    def cwd(self) -> Path | None:
        """Working directory of the session."""
        return Path(self.session.get_cwd())

    @property
    def model(self) -> Model | None:
        """The model of the session."""
        return self._selection.model

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level of the session."""
        return self._selection.thinking_level

    async def execute_tool(self, name: str, args: Mapping[str, Any]) -> AgentToolResult:
        """Call another tool; its failure is a result with `is_error`."""
        return await self._caller.call(self._call_id, self._signal, name, args)
