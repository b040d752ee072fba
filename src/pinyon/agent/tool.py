"""What an agent can run: tools, the results they give, and the richer definitions that products list and describe.

`AgentTool` is what the loop runs. `ToolDefinition` adds what a product needs around it (lines for the prompt, exposure,
renderers) and gets a `ToolContext` when it runs; `bind` turns one into the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util import json as _json
from pinyon._util.abort import AbortSignal
from pinyon.ai.content import UserBlock
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling, Tool
from pinyon.ai.usage import Usage
from pinyon.errors import ToolError

ExecutionMode = Literal["sequential", "parallel"]

ToolExposure = Literal["direct", "model-only", "codemode", "deferred", "hidden"]
"""Who may see and call a tool.

`direct`: declared to the model and callable by other tools while active. `model-only`: declared, not callable by other
tools. `codemode` and `deferred`: callable by other tools, declared only once activated. `hidden`: neither.
"""


class InvalidToolError(ToolError):
    """Raised when a tool is declared in a way that no model could use: no name, or a schema that is not JSON."""


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
"""Receives partial results while a tool runs; ignored once the tool has returned. Call it in the loop's thread."""


class ToolSession(Protocol):
    """What a tool may know of the conversation that it works for."""

    def get_session_id(self) -> str:
        """The session's id."""
        ...

    def get_session_file(self) -> str | Path | None:
        """The session's file; None for a session that is not stored."""
        ...


class ToolContext(Protocol):
    """Where and for whom a tool runs. A value of None means that the host knows none."""

    @property
    def cwd(self) -> Path | None:
        """Working directory; overrides the one that the tool was made for."""
        ...

    @property
    def model(self) -> Model | None:
        """The model that made the call."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level of the run."""
        ...

    @property
    def session(self) -> ToolSession | None:
        """The conversation."""
        ...

    async def execute_tool(self, name: str, args: Mapping[str, Any]) -> AgentToolResult:
        """Call another tool with the same checks and hooks; its failure is a result with `is_error`, never raised."""
        ...


class FixedToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """A `ToolContext` of fixed values, for tools that run without a session."""

    cwd: Path | None = None
    model: Model | None = None
    thinking_level: ThinkingLevel = "off"
    session: ToolSession | None = None

    async def execute_tool(self, name: str, args: Mapping[str, Any]) -> AgentToolResult:  # noqa: ARG002 - the seam's own
        """Raise `ToolError`: there are no other tools here."""
        raise ToolError(f"cannot call {name!r}: this tool runs outside of a session")


class ToolExecute(Protocol):
    """The work of a tool. Raise `ToolError` (or any exception) to report failure; its text goes to the model."""

    def __call__(
        self, tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, /
    ) -> Awaitable[AgentToolResult] | AgentToolResult:
        """Run with validated arguments."""
        ...


class DefinitionExecute(Protocol):
    """The work of a tool definition; like `ToolExecute` with the context as the last argument."""

    def __call__(
        self, tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext, /
    ) -> Awaitable[AgentToolResult] | AgentToolResult:
        """Run with validated arguments."""
        ...


class ToolDeclaration(msgspec.Struct, kw_only=True, dict=True):
    """What `AgentTool` and `ToolDefinition` share: the name, the words for the model, and how calls are treated.

    `parameters` is a JSON Schema of an object; it passes a JSON round trip, so later changes to the given object have
    no effect. `prepare_arguments` repairs the raw arguments before validation. A tool with `execution_mode`
    `sequential` makes every batch that calls it run one call after another.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    label: str = ""
    prepare_arguments: Callable[[Any], Any] | None = None
    output_schema: dict[str, Any] | None = None
    execution_mode: ExecutionMode | None = None
    replay: Literal["never", "safe"] | None = None
    constrained_sampling: JsonSchemaSampling | GrammarSampling | Literal[False] | None = None

    def __post_init__(self) -> None:
        """Refuse what no provider could be sent."""
        name, parameters = cast("Any", self.name), cast("Any", self.parameters)
        if not isinstance(name, str) or not name:
            raise InvalidToolError(f"a tool needs a name, got {name!r}")
        if not isinstance(parameters, dict):
            raise InvalidToolError(f"parameters of tool {name!r} must be a JSON Schema object")
        try:
            self.parameters = _json.decode(_json.encode(parameters))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidToolError(f"parameters of tool {name!r} are not JSON: {error}") from error

    def declaration(self) -> Tool:
        """What the model is told about this tool."""
        sampling = UNSET if self.constrained_sampling is None else self.constrained_sampling
        return Tool(
            name=self.name, description=self.description, parameters=self.parameters, constrained_sampling=sampling
        )


class AgentTool(ToolDeclaration, kw_only=True):
    """A tool that an agent can call."""

    execute: ToolExecute
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class ToolNamespace(msgspec.Struct, frozen=True):
    """A group of tools, such as those of one server, with words of its own for the model."""

    name: str
    description: str | None = None
    instructions: str | None = None


class ToolDefinition(ToolDeclaration, kw_only=True):
    """A tool as a product keeps it: listed in the prompt, activated, rendered and run with a context.

    `prompt_snippet` is its line in the prompt's tool list (absent: not listed), `prompt_guidelines` are rules that hold
    while it is active. `default_active` False keeps a `direct` tool from being activated when it is registered.
    `annotations` are the hints of the Model Context Protocol. `prepare_loadout` is given
    what each request declares (`pinyon.coding.loadout.Loadout`) while the tool is active, and may rewrite it.
    """

    execute: DefinitionExecute
    prompt_snippet: str | None = None
    prompt_guidelines: Sequence[str] = ()
    exposure: ToolExposure = "direct"
    default_active: bool | None = None
    namespace: ToolNamespace | str | None = None
    annotations: Mapping[str, Any] | None = None
    reaches_tools: bool | None = None
    prepare_loadout: Callable[[Any], Any] | None = None
    render_shell: Literal["default", "self"] | None = None
    render_call: Callable[..., Any] | None = None
    render_result: Callable[..., Any] | None = None

    def bind(self, context: ToolContext | Callable[[], ToolContext] | None = None) -> AgentTool:
        """The tool for an agent loop, running in `context`; a function is asked for the context at every call."""
        execute = self.execute

        def run(
            tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate
        ) -> Awaitable[AgentToolResult] | AgentToolResult:
            ctx = context() if callable(context) else context
            return execute(tool_call_id, params, signal, on_update, FixedToolContext() if ctx is None else ctx)

        return AgentTool(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            label=self.label or self.name,
            prepare_arguments=self.prepare_arguments,
            output_schema=self.output_schema,
            execution_mode=self.execution_mode,
            replay=self.replay,
            constrained_sampling=self.constrained_sampling,
            execute=run,
        )

    async def run(
        self, params: dict[str, Any], ctx: ToolContext | None = None, *, tool_call_id: str = "call"
    ) -> AgentToolResult:
        """Run the tool once outside of an agent, as tests do. Arguments are not validated and failures raise."""
        outcome = self.execute(tool_call_id, params, AbortSignal(), _ignore_update, ctx or FixedToolContext())
        return await outcome if inspect.isawaitable(outcome) else outcome


def definition_of(tool: AgentTool | ToolDefinition) -> ToolDefinition:
    """A tool as a product keeps it; a plain one gets no context when it runs."""
    if isinstance(tool, ToolDefinition):
        return tool

    def run(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> Awaitable[AgentToolResult] | AgentToolResult:
        del ctx
        return tool.execute(tool_call_id, params, signal, on_update)

    shared = {name: getattr(tool, name) for name in ToolDeclaration.__struct_fields__}
    return ToolDefinition(**shared, execute=run)


def _ignore_update(result: AgentToolResult) -> None:
    """Nobody watches."""
