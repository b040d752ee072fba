"""What models are told about ls, and how a call of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.operations.protocol import LsOperations

_DESCRIPTION = (
    "List what a directory holds, hidden entries included, sorted by name; directories end in '/'. "
    "At most 500 entries or 50KB are shown, whichever is reached first."
)
_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The directory; the working directory without it"},
        "limit": {"type": "number", "description": "How many entries to show at most (500 without it)"},
    },
}


def create_ls_tool_definition(
    cwd: str | os.PathLike[str], *, operations: LsOperations | None = None, env: ExecutionEnv | None = None
) -> ToolDefinition:
    """The ls tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk."""

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.listing import list_directory

        place = os.fspath(cwd if ctx.cwd is None else ctx.cwd)
        return await list_directory(params, place, operations or _operations(env), signal)

    return ToolDefinition(
        name="ls",
        label="ls",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        prompt_snippet=TOOL_SNIPPETS["ls"],
        execute=execute,
    )


def create_ls_tool(
    cwd: str | os.PathLike[str], *, operations: LsOperations | None = None, env: ExecutionEnv | None = None
) -> AgentTool:
    """The ls tool for an agent; see `create_ls_tool_definition`."""
    return create_ls_tool_definition(cwd, operations=operations, env=env).bind()


def _operations(env: ExecutionEnv | None) -> LsOperations:
    from pinyon.tools.operations.environment import env_ls_operations
    from pinyon.tools.operations.local import default_ls_operations

    return default_ls_operations() if env is None else env_ls_operations(env)
