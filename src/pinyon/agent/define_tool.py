"""Tools from what Python already says: `define_tool` takes fields, or decorates a typed function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.agent.signature import FunctionSignature, type_schema
from pinyon.agent.tool import (
    AgentToolResult,
    DefinitionExecute,
    ExecutionMode,
    InvalidToolError,
    ToolContext,
    ToolDefinition,
    ToolExposure,
    ToolNamespace,
    ToolUpdate,
)
from pinyon.agent.tool_result import result_from
from pinyon.ai.tool import GrammarSampling, JsonSchemaSampling
from pinyon.errors import ToolError


class ToolFields(TypedDict, total=False):
    """The fields of `ToolDefinition` by name, all optional here.

    `parameters` is a JSON Schema, or a type (msgspec struct, dataclass, TypedDict, pydantic model) whose instance the
    tool then gets.
    """

    name: str
    label: str
    description: str
    parameters: dict[str, Any] | type[Any]
    prompt_snippet: str | None
    prompt_guidelines: Sequence[str]
    prepare_arguments: Callable[[Any], Any] | None
    output_schema: dict[str, Any] | None
    exposure: ToolExposure
    default_active: bool | None
    execution_mode: ExecutionMode | None
    namespace: ToolNamespace | str | None
    annotations: Mapping[str, Any] | None
    constrained_sampling: JsonSchemaSampling | GrammarSampling | Literal[False] | None
    prepare_loadout: Callable[[Any], Any] | None
    replay: Literal["never", "safe"] | None
    reaches_tools: bool | None
    render_shell: Literal["default", "self"] | None
    render_call: Callable[..., Any] | None
    render_result: Callable[..., Any] | None


@overload
def define_tool(function: Callable[..., Any], /, **fields: Unpack[ToolFields]) -> ToolDefinition: ...
@overload
def define_tool(*, execute: DefinitionExecute, **fields: Unpack[ToolFields]) -> ToolDefinition: ...
@overload
def define_tool(**fields: Unpack[ToolFields]) -> Callable[[Callable[..., Any]], ToolDefinition]: ...
def define_tool(
    function: Callable[..., Any] | None = None, /, *, execute: DefinitionExecute | None = None, **fields: Any
) -> ToolDefinition | Callable[[Callable[..., Any]], ToolDefinition]:
    """Make a tool from its fields, or from a typed function as a decorator with or without fields.

    With `execute(tool_call_id, params, signal, on_update, ctx)` the fields `name`, `description` and `parameters` are
    needed. A decorated function gives all three itself: name, docstring and annotations (`Annotated[str, "what it
    is"]` or the docstring describe a parameter, defaults make it optional). Its parameters named `ctx` (or annotated
    `ToolContext`), `signal`, `on_update`, `tool_call_id` and `params` are not the model's; they get what `execute`
    gets. A plain function runs in a worker thread, which an abort cannot stop. It may return a text, content blocks,
    an `AgentToolResult`, or any value that JSON can hold, which becomes `structured_content` and its JSON text.

    Raises `InvalidToolError` for declarations that no model could use.
    """
    if execute is not None:
        return _from_fields(execute, fields)
    if function is None:
        return lambda decorated: _from_function(decorated, fields)
    return _from_function(function, fields)


def _from_fields(execute: DefinitionExecute, fields: dict[str, Any]) -> ToolDefinition:
    missing = [name for name in ("name", "description", "parameters") if name not in fields]
    if missing:
        raise InvalidToolError(f"a tool with its own execute also needs {', '.join(missing)}")
    parameters = fields["parameters"]
    if isinstance(parameters, type):
        build = _builder(parameters)
        inner = execute

        def execute(
            tool_call_id: str, params: Any, signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext, /
        ) -> Awaitable[AgentToolResult] | AgentToolResult:
            return inner(tool_call_id, build(params), signal, on_update, ctx)

    return _definition(execute, fields)


def _from_function(function: Callable[..., Any], fields: dict[str, Any]) -> ToolDefinition:
    given = fields.get("parameters")
    signature = FunctionSignature(function, with_schema=given is None)
    build = _builder(given) if isinstance(given, type) else None
    defaults = {
        "name": getattr(function, "__name__", ""),
        "description": signature.description,
        "parameters": signature.parameters,
    }
    return _definition(_FunctionCall(function, signature, build), defaults | fields)


def _definition(execute: DefinitionExecute, fields: dict[str, Any]) -> ToolDefinition:
    parameters = fields["parameters"]
    schema = _schema_of(parameters) if isinstance(parameters, type) else parameters
    label = fields.get("label") or fields["name"]
    return ToolDefinition(**{**fields, "parameters": schema, "label": label, "execute": execute})


def _schema_of(kind: type[Any]) -> dict[str, Any]:
    """The schema of a parameter type; pydantic models describe themselves."""
    describe = getattr(kind, "model_json_schema", None)
    schema: dict[str, Any] = type_schema(kind) if describe is None else describe()
    return schema


def _builder(kind: type[Any]) -> Callable[[Any], Any]:
    """What turns validated arguments into an instance of a parameter type."""
    validate: Callable[[Any], Any] | None = getattr(kind, "model_validate", None)
    if validate is not None:
        return validate

    def build(params: Any) -> Any:
        try:
            return msgspec.convert(params, kind, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError(f"the arguments do not fit: {error}") from error

    return build


class _FunctionCall:
    """A decorated function in the form of `DefinitionExecute`."""

    def __init__(
        self, function: Callable[..., Any], signature: FunctionSignature, build: Callable[[Any], Any] | None
    ) -> None:
        self._function = function
        self._signature = signature
        self._build = build
        called = function if inspect.isroutine(function) else type(function).__call__
        self._is_async = inspect.iscoroutinefunction(called)

    async def __call__(
        self, tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext, /
    ) -> AgentToolResult:
        injected = {
            "tool_call_id": tool_call_id,
            "params": params if self._build is None else self._build(params),
            "signal": signal,
            "on_update": on_update if self._is_async else _from_thread(on_update),
            "ctx": ctx,
        }
        arguments = self._signature.bind(params, injected)
        if self._is_async:
            return result_from(await self._function(**arguments))
        value = await asyncio.to_thread(self._function, **arguments)
        return result_from(await value if inspect.isawaitable(value) else value)


def _from_thread(on_update: ToolUpdate) -> ToolUpdate:
    loop = asyncio.get_running_loop()

    def update(result: AgentToolResult) -> None:
        loop.call_soon_threadsafe(lambda: on_update(result))

    return update
