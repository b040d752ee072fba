"""What models are told about powershell, and how a call of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.ai.tool import JsonSchemaSampling
from pinyon.errors import ToolError
from pinyon.tools.bash import COMMAND_OUTPUT_SCHEMA, SESSION_GUIDELINE
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.command import SpawnHook
    from pinyon.tools.operations.protocol import BashOperations

_DESCRIPTION = (
    "Run a PowerShell command in the working directory and get what it prints to stdout and stderr. Of a long output "
    "the last 2000 lines or 50KB are shown, whichever is reached first; the whole output is then kept in a temporary "
    "file that is named. A timeout in seconds is optional. Works on Windows only."
)
_PARAMETERS = {
    "type": "object",
    "required": ["command"],
    "properties": {
        "command": {"type": "string", "description": "The PowerShell command"},
        "timeout": {"type": "number", "description": "Seconds after which the command is ended; no limit without it"},
    },
}


def create_powershell_tool_definition(
    cwd: str | os.PathLike[str],
    *,
    operations: BashOperations | None = None,
    env: ExecutionEnv | None = None,
    command_prefix: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> ToolDefinition:
    """The powershell tool for `cwd`, on the given operations, else on this machine, where it fails off Windows.

    An `env` offers one shell, which is bash: there the tool refuses. The other arguments are those of the bash tool.
    """

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id
        from pinyon.tools.command import CommandSettings, run_command

        settings = CommandSettings(
            name="powershell", prefix=command_prefix, expose_session=expose_session_environment, spawn_hook=spawn_hook
        )
        place = os.fspath(cwd if ctx.cwd is None else ctx.cwd)
        chosen = operations or _operations(env)
        return await run_command(params, place, chosen, settings, signal, on_update, ctx)

    return ToolDefinition(
        name="powershell",
        label="powershell",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        output_schema=COMMAND_OUTPUT_SCHEMA,
        constrained_sampling=JsonSchemaSampling(strict="prefer"),
        prompt_snippet=TOOL_SNIPPETS["powershell"],
        prompt_guidelines=(SESSION_GUIDELINE,) if expose_session_environment else (),
        execute=execute,
    )


def create_powershell_tool(
    cwd: str | os.PathLike[str],
    *,
    operations: BashOperations | None = None,
    env: ExecutionEnv | None = None,
    command_prefix: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> AgentTool:
    """The powershell tool for an agent, running without a session; see `create_powershell_tool_definition`."""
    return create_powershell_tool_definition(
        cwd,
        operations=operations,
        env=env,
        command_prefix=command_prefix,
        expose_session_environment=expose_session_environment,
        spawn_hook=spawn_hook,
    ).bind()


def _operations(env: ExecutionEnv | None) -> BashOperations:
    from pinyon.tools.operations.command import create_local_powershell_operations

    if env is not None:
        raise ToolError("This execution environment runs bash commands; there is no PowerShell in it. Use bash.")
    return create_local_powershell_operations()
