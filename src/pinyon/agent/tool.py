"""What an agent can run: the tool itself and the result it gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal
from pinyon.ai.content import UserBlock
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage

ExecutionMode = Literal["sequential", "parallel"]


class AgentToolResult(msgspec.Struct, rename="camel"):
    """What a tool gives back.

    The model reads `content`. `details` is kept with the message for programs and screens. `structured_content` is the
    programmatic result. `terminate` asks the loop to stop when every call of the batch asks for it.
    """

    content: list[UserBlock]
    details: Any = UNSET
    structured_content: Any = UNSET
    usage: Usage | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    terminate: bool | UnsetType = UNSET


ToolUpdate = Callable[[AgentToolResult], None]
"""Receives partial results while a tool runs."""


class ToolExecute(Protocol):
    """The work of a tool. Raise `ToolError` (or any exception) to report failure; its text goes to the model."""

    def __call__(
        self, tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate
    ) -> Awaitable[AgentToolResult]:
        """Run with validated arguments."""
        ...


class AgentTool(msgspec.Struct, kw_only=True):
    """A tool that an agent can call.

    `parameters` is a JSON Schema object. `prepare_arguments` repairs the raw arguments before validation.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    execute: ToolExecute
    label: str = ""
    prepare_arguments: Callable[[Any], Any] | None = None
    output_schema: dict[str, Any] | None = None
    execution_mode: ExecutionMode | None = None
    replay: Literal["never", "safe"] | None = None
    constrained_sampling: JsonSchemaSampling | GrammarSampling | Literal[False] | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def declaration(self) -> Tool:
        """What the model is told about this tool."""
        sampling = UNSET if self.constrained_sampling is None else self.constrained_sampling
        return Tool(
            name=self.name, description=self.description, parameters=self.parameters, constrained_sampling=sampling
        )
