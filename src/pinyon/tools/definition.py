"""What models are told about read, edit and write, and how a call of them runs.

The tools themselves are imported when they are first called.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pinyon._util.abort import AbortSignal
from pinyon.agent.tool import AgentToolResult, ToolContext, ToolDefinition, ToolUpdate
from pinyon.ai.tool import JsonSchemaSampling
from pinyon.tools.catalogue import TOOL_SNIPPETS

if TYPE_CHECKING:
    from pinyon.ai.model import ImageResize
    from pinyon.env.shell import ExecutionEnv
    from pinyon.tools.operations.protocol import EditOperations, ReadOperations, WriteOperations

_READ_DESCRIPTION = (
    "Read a file. Text comes back as it is; images (jpg, png, gif, webp, bmp) come back as attachments. "
    "At most 2000 lines or 50KB of text are shown, whichever is reached first. Use offset and limit for large files, "
    "and go on with the next offset until you have seen all that you need."
)
_READ_PARAMETERS = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
        "offset": {"type": "number", "description": "Number of the first line to read; lines count from 1"},
        "limit": {"type": "number", "description": "How many lines to read at most"},
    },
}
_READ_OUTPUT = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "required": ["type", "data", "mimeType", "note"],
            "properties": {
                "type": {"type": "string", "const": "image"},
                "data": {"type": "string"},
                "mimeType": {"type": "string"},
                "note": {"type": "string"},
            },
        },
    ]
}
_EDIT_DESCRIPTION = (
    "Change one file by exact text replacement. Every edits[].oldText must stand exactly once in the file as it is "
    "before the call, and no two may overlap. Put changes that lie close together into one edit, and leave large "
    "unchanged parts out."
)
_EDIT_PARAMETERS = {
    "type": "object",
    "required": ["path", "edits"],
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["oldText", "newText"],
                "properties": {
                    "oldText": {
                        "type": "string",
                        "description": "Text to replace, exactly as in the file and long enough to be unique there",
                    },
                    "newText": {"type": "string", "description": "Text to put in its place"},
                },
            },
            "description": "The replacements; each one refers to the file before the call, not to the ones before it",
        },
    },
}
_WRITE_DESCRIPTION = (
    "Write a file as a whole. A file that does not exist is created with its folders, an existing one is overwritten."
)
_WRITE_PARAMETERS = {
    "type": "object",
    "required": ["path", "content"],
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
        "content": {"type": "string", "description": "The whole new content"},
    },
}


def create_read_tool_definition(
    cwd: str | os.PathLike[str],
    *,
    operations: ReadOperations | None = None,
    env: ExecutionEnv | None = None,
    auto_resize_images: bool = True,
    resize_options: ImageResize | None = None,
) -> ToolDefinition:
    """The read tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk.

    `resize_options` bounds images; limits that the model states win over them.
    """

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.read import ReadRequest, read_file, requested_lines

        start, limit = requested_lines(params)
        request = ReadRequest(str(params.get("path", "")), start, limit, ctx.model, auto_resize_images, resize_options)
        return await read_file(request, _cwd(ctx, cwd), operations or _read_operations(env), signal)

    return ToolDefinition(
        name="read",
        label="read",
        description=_READ_DESCRIPTION,
        parameters=_READ_PARAMETERS,
        output_schema=_READ_OUTPUT,
        constrained_sampling=JsonSchemaSampling(strict="prefer"),
        prompt_snippet=TOOL_SNIPPETS["read"],
        prompt_guidelines=("Look at files with read instead of cat or sed.",),
        execute=execute,
    )


def create_edit_tool_definition(
    cwd: str | os.PathLike[str], *, operations: EditOperations | None = None, env: ExecutionEnv | None = None
) -> ToolDefinition:
    """The edit tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk."""

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.edit import edit_file

        return await edit_file(params, _cwd(ctx, cwd), operations or _edit_operations(env), signal)

    return ToolDefinition(
        name="edit",
        label="edit",
        description=_EDIT_DESCRIPTION,
        parameters=_EDIT_PARAMETERS,
        prepare_arguments=_prepare_edit_arguments,
        constrained_sampling=JsonSchemaSampling(strict="prefer"),
        prompt_snippet=TOOL_SNIPPETS["edit"],
        prompt_guidelines=(
            "Use edit for targeted changes, and make all changes to one file in one call.",
            (
                "In edit, each oldText must match exactly and be unique in the file. Keep them short and free of "
                "overlap; merge neighbouring changes, but carry no large unchanged parts along to join distant ones."
            ),
        ),
        execute=execute,
    )


def create_write_tool_definition(
    cwd: str | os.PathLike[str], *, operations: WriteOperations | None = None, env: ExecutionEnv | None = None
) -> ToolDefinition:
    """The write tool for `cwd`, on the given operations, else on the files of `env`, else on the local disk."""

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate, ctx: ToolContext
    ) -> AgentToolResult:
        del tool_call_id, on_update
        from pinyon.tools.write import write_file

        return await write_file(params, _cwd(ctx, cwd), operations or _write_operations(env), signal)

    return ToolDefinition(
        name="write",
        label="write",
        description=_WRITE_DESCRIPTION,
        parameters=_WRITE_PARAMETERS,
        constrained_sampling=JsonSchemaSampling(strict="prefer"),
        prompt_snippet=TOOL_SNIPPETS["write"],
        prompt_guidelines=("Use write only for new files and complete rewrites.",),
        execute=execute,
    )


def _cwd(ctx: ToolContext, cwd: str | os.PathLike[str]) -> str:
    return os.fspath(cwd if ctx.cwd is None else ctx.cwd)


def _prepare_edit_arguments(raw: Any) -> Any:
    from pinyon.tools.edit_arguments import prepare_edit_arguments

    return prepare_edit_arguments(raw)


def _read_operations(env: ExecutionEnv | None) -> ReadOperations:
    from pinyon.tools.operations.environment import env_read_operations
    from pinyon.tools.operations.local import default_read_operations

    return default_read_operations() if env is None else env_read_operations(env)


def _edit_operations(env: ExecutionEnv | None) -> EditOperations:
    from pinyon.tools.operations.environment import env_edit_operations
    from pinyon.tools.operations.local import default_edit_operations

    return default_edit_operations() if env is None else env_edit_operations(env)


def _write_operations(env: ExecutionEnv | None) -> WriteOperations:
    from pinyon.tools.operations.environment import env_write_operations
    from pinyon.tools.operations.local import default_write_operations

    return default_write_operations() if env is None else env_write_operations(env)
