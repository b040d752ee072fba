"""What models are told about grep, and how a call of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.operations.protocol import GrepOperations

_DESCRIPTION = (
    "Search for a pattern in the contents of files. Every result has the path, the line number and the line. What "
    ".gitignore names is left out. At most 100 matches or 50KB are shown, whichever is reached first; lines are cut "
    "after 500 characters."
)
_PARAMETERS = {
    "type": "object",
    "required": ["pattern"],
    "properties": {
        "pattern": {"type": "string", "description": "The regular expression, or the text with literal"},
        "path": {"type": "string", "description": "The file or directory to search; the working directory without it"},
        "glob": {"type": "string", "description": "Which files to search, such as '*.ts' or '**/*.spec.ts'"},
        "ignoreCase": {"type": "boolean", "description": "Whether to ignore case (false without it)"},
        "literal": {
            "type": "boolean",
            "description": "Whether to take the pattern as plain text, not as a regular expression (false without it)",
        },
        "context": {"type": "number", "description": "How many lines to show around each match (0 without it)"},
        "limit": {"type": "number", "description": "How many matches to show at most (100 without it)"},
    },
}


def create_grep_tool_definition(
    cwd: str | os.PathLike[str], *, operations: GrepOperations | None = None, env: ExecutionEnv | None = None
) -> ToolDefinition:
    """The grep tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk."""

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.content_search import search_lines

        place = os.fspath(cwd if ctx.cwd is None else ctx.cwd)
        return await search_lines(params, place, operations or _operations(env), signal)

    return ToolDefinition(
        name="grep",
        label="grep",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        prompt_snippet=TOOL_SNIPPETS["grep"],
        execute=execute,
    )


def create_grep_tool(
    cwd: str | os.PathLike[str], *, operations: GrepOperations | None = None, env: ExecutionEnv | None = None
) -> AgentTool:
    """The grep tool for an agent; see `create_grep_tool_definition`."""
    return create_grep_tool_definition(cwd, operations=operations, env=env).bind()


def _operations(env: ExecutionEnv | None) -> GrepOperations:
    from pinyon.tools.operations.environment import env_grep_operations
    from pinyon.tools.operations.local import default_grep_operations

    return default_grep_operations() if env is None else env_grep_operations(env)
