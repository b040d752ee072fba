"""Built-in tools by name and in sets, ready for an agent or as definitions for a product.

Options of single tools are given by tool name: `{"read": {"auto_resize_images": False}}`. `env` puts all of them into
an execution environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pinyon.agent.tool import AgentTool, ToolDefinition
from pinyon.tools.catalogue import CODING_TOOL_NAMES, READ_ONLY_TOOL_NAMES, TOOL_NAMES, UnknownToolError
from pinyon.tools.definition import (
    create_edit_tool_definition,
    create_read_tool_definition,
    create_write_tool_definition,
)

if TYPE_CHECKING:
    from pinyon.ai.model import ImageResize
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.operations.protocol import EditOperations, ReadOperations, WriteOperations

ToolOptions = Mapping[str, Mapping[str, Any]]
"""Keyword arguments of the tools' factories by tool name."""

_DEFINED_HERE: dict[str, Callable[..., ToolDefinition]] = {
    "read": create_read_tool_definition,
    "edit": create_edit_tool_definition,
    "write": create_write_tool_definition,
}


def create_tool_definition(
    name: str, cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: Mapping[str, Any] | None = None
) -> ToolDefinition:
    """The definition of one built-in tool; raises `UnknownToolError` (a `ValueError`) for other names."""
    if name not in TOOL_NAMES:
        raise UnknownToolError(name)
    create = _DEFINED_HERE.get(name)
    if create is None:
        create = getattr(import_module(f"pinyon.tools.{name}"), f"create_{name}_tool_definition")
    placed = {} if env is None else {"env": env}
    return create(cwd, **placed, **(options or {}))


def create_tool(
    name: str, cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: Mapping[str, Any] | None = None
) -> AgentTool:
    """One built-in tool for an agent, running without a session; raises `UnknownToolError` for other names."""
    return create_tool_definition(name, cwd, env=env, options=options).bind()


def create_read_tool(
    cwd: str | os.PathLike[str],
    *,
    operations: ReadOperations | None = None,
    env: ExecutionEnv | None = None,
    auto_resize_images: bool = True,
    resize_options: ImageResize | None = None,
) -> AgentTool:
    """The read tool for an agent; see `create_read_tool_definition`."""
    return create_read_tool_definition(
        cwd,
        operations=operations,
        env=env,
        auto_resize_images=auto_resize_images,
        resize_options=resize_options,
    ).bind()


def create_edit_tool(
    cwd: str | os.PathLike[str], *, operations: EditOperations | None = None, env: ExecutionEnv | None = None
) -> AgentTool:
    """The edit tool for an agent; see `create_edit_tool_definition`."""
    return create_edit_tool_definition(cwd, operations=operations, env=env).bind()


def create_write_tool(
    cwd: str | os.PathLike[str], *, operations: WriteOperations | None = None, env: ExecutionEnv | None = None
) -> AgentTool:
    """The write tool for an agent; see `create_write_tool_definition`."""
    return create_write_tool_definition(cwd, operations=operations, env=env).bind()


def create_coding_tool_definitions(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> list[ToolDefinition]:
    """Definitions of read, bash, edit and write, the tools that are active by default."""
    return _definitions(CODING_TOOL_NAMES, cwd, env, options)


def create_read_only_tool_definitions(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> list[ToolDefinition]:
    """Definitions of read, grep, find and ls, the tools that change nothing."""
    return _definitions(READ_ONLY_TOOL_NAMES, cwd, env, options)


def create_all_tool_definitions(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> dict[str, ToolDefinition]:
    """Definitions of all built-in tools by name; powershell is there on every system and fails off Windows."""
    return {item.name: item for item in _definitions(TOOL_NAMES, cwd, env, options)}


def create_coding_tools(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> list[AgentTool]:
    """Read, bash, edit and write for an agent."""
    return [item.bind() for item in create_coding_tool_definitions(cwd, env=env, options=options)]


def create_read_only_tools(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> list[AgentTool]:
    """Read, grep, find and ls for an agent."""
    return [item.bind() for item in create_read_only_tool_definitions(cwd, env=env, options=options)]


def create_all_tools(
    cwd: str | os.PathLike[str], *, env: ExecutionEnv | None = None, options: ToolOptions | None = None
) -> dict[str, AgentTool]:
    """All built-in tools for an agent by name."""
    return {name: item.bind() for name, item in create_all_tool_definitions(cwd, env=env, options=options).items()}


def _definitions(
    names: Iterable[str], cwd: str | os.PathLike[str], env: ExecutionEnv | None, options: ToolOptions | None
) -> list[ToolDefinition]:
    chosen = options or {}
    for name in chosen:
        if name not in TOOL_NAMES:
            raise UnknownToolError(name)
    return [create_tool_definition(name, cwd, env=env, options=chosen.get(name)) for name in names]
