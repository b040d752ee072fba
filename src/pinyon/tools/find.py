"""What models are told about find, and how a call of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.operations.protocol import FindOperations

_DESCRIPTION = (
    "Find files and directories by a glob pattern. Results are paths relative to the searched directory; directories "
    "end in '/'. What .gitignore names is left out. At most 1000 results or 50KB are shown, whichever is reached first."
)
_PARAMETERS = {
    "type": "object",
    "required": ["pattern"],
    "properties": {
        "pattern": {
            "type": "string",
            "description": (
                "The glob: one without '/' matches names at any depth, such as '*.ts'; one with '/' matches the whole "
                "relative path, such as 'src/*.ts' or '**/test/*.py'"
            ),
        },
        "path": {"type": "string", "description": "The directory to search; the working directory without it"},
        "limit": {"type": "number", "description": "How many results to show at most (1000 without it)"},
    },
}


def create_find_tool_definition(
    cwd: str | os.PathLike[str], *, operations: FindOperations | None = None, env: ExecutionEnv | None = None
) -> ToolDefinition:
    """The find tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk."""

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.file_search import find_files

        place = os.fspath(cwd if ctx.cwd is None else ctx.cwd)
        return await find_files(params, place, operations or _operations(env), signal)

    return ToolDefinition(
        name="find",
        label="find",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        prompt_snippet=TOOL_SNIPPETS["find"],
        execute=execute,
    )


def create_find_tool(
    cwd: str | os.PathLike[str], *, operations: FindOperations | None = None, env: ExecutionEnv | None = None
) -> AgentTool:
    """The find tool for an agent; see `create_find_tool_definition`."""
    return create_find_tool_definition(cwd, operations=operations, env=env).bind()


def _operations(env: ExecutionEnv | None) -> FindOperations:
    from pinyon.tools.operations.environment import env_find_operations
    from pinyon.tools.operations.local import default_find_operations

    return default_find_operations() if env is None else env_find_operations(env)
