"""What models are told about bash, and how a call of it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.ai.tool import JsonSchemaSampling
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.command import SpawnHook
    from pinyon.tools.operations.protocol import BashOperations

_DESCRIPTION = (
    "Run a bash command in the working directory and get what it prints to stdout and stderr. Of a long output the "
    "last 2000 lines or 50KB are shown, whichever is reached first; the whole output is then kept in a temporary file "
    "that is named. A timeout in seconds is optional."
)
_PARAMETERS = {
    "type": "object",
    "required": ["command"],
    "properties": {
        "command": {"type": "string", "description": "The bash command"},
        "timeout": {"type": "number", "description": "Seconds after which the command is ended; no limit without it"},
    },
}
COMMAND_OUTPUT_SCHEMA = {
    "type": "object",
    "required": ["output", "truncated", "wall_time_seconds"],
    "properties": {
        "output": {"type": "string"},
        "truncated": {"type": "boolean"},
        "full_output_path": {"type": "string"},
        "exit_code": {"type": "number"},
        "wall_time_seconds": {"type": "number"},
    },
}
"""JSON Schema of the structured result of a command."""

SESSION_GUIDELINE = "Commands see the current model and session in environment variables whose names begin with PI_."
"""Rule of a tool whose commands are told of the session."""


def create_bash_tool_definition(
    cwd: str | os.PathLike[str],
    *,
    operations: BashOperations | None = None,
    env: ExecutionEnv | None = None,
    command_prefix: str | None = None,
    shell_path: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> ToolDefinition:
    """The bash tool for `cwd`, on the given operations, else in the shell of `env`, else on this machine.

    `command_prefix` is a line before every command, `shell_path` the shell of this machine to use. With
    `expose_session_environment` commands see session and model as `PI_*` variables. `spawn_hook` has the last word on
    what runs.
    """

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id
        from pinyon.tools.command import CommandSettings, run_command

        settings = CommandSettings(
            name="bash", prefix=command_prefix, expose_session=expose_session_environment, spawn_hook=spawn_hook
        )
        place = os.fspath(cwd if ctx.cwd is None else ctx.cwd)
        chosen = operations or _operations(env, shell_path)
        return await run_command(params, place, chosen, settings, signal, on_update, ctx)

    return ToolDefinition(
        name="bash",
        label="bash",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        output_schema=COMMAND_OUTPUT_SCHEMA,
        constrained_sampling=JsonSchemaSampling(strict="prefer"),
        prompt_snippet=TOOL_SNIPPETS["bash"],
        prompt_guidelines=(SESSION_GUIDELINE,) if expose_session_environment else (),
        execute=execute,
    )


def create_bash_tool(
    cwd: str | os.PathLike[str],
    *,
    operations: BashOperations | None = None,
    env: ExecutionEnv | None = None,
    command_prefix: str | None = None,
    shell_path: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> AgentTool:
    """The bash tool for an agent, running without a session; see `create_bash_tool_definition`."""
    return create_bash_tool_definition(
        cwd,
        operations=operations,
        env=env,
        command_prefix=command_prefix,
        shell_path=shell_path,
        expose_session_environment=expose_session_environment,
        spawn_hook=spawn_hook,
    ).bind()


def _operations(env: ExecutionEnv | None, shell_path: str | None) -> BashOperations:
    from pinyon.tools.operations.command import create_local_bash_operations, env_bash_operations

    return create_local_bash_operations(shell_path) if env is None else env_bash_operations(env)
