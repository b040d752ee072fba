"""The write tool: a file created or replaced as a whole, its folders created with it."""

from __future__ import annotations

import os
from typing import Any

from pinyon._util.abort import AbortSignal
from pinyon._util.text import clean_surrogates
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.mutation_queue import with_file_mutation_queue
from pinyon.tools.operations.protocol import ReadableWriteOperations, WriteOperations
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.path import resolve_to_cwd
from pinyon.tools.text_encoding import is_utf8

_REPLACEMENT_CHARACTER = "\ufffd"


async def write_file(
    params: dict[str, Any], cwd: str, operations: WriteOperations, signal: AbortSignal
) -> AgentToolResult:
    """Write the content of one call byte for byte as UTF-8, waiting for other changes of the same file.

    An abort is noticed between the steps, never in the middle of one. Raises `ToolError`.
    """
    signal.raise_if_aborted()
    path, content = str(params.get("path", "")), params.get("content")
    if not isinstance(content, str):
        raise ToolError("'content' must be a text.")
    target = resolve_to_cwd(path, cwd)
    text = clean_surrogates(content)
    await with_file_mutation_queue(target, lambda: _write(target, text, path, operations, signal))
    return AgentToolResult([TextContent(f"Wrote {clean_surrogates(path)}.")])


async def _write(target: str, content: str, path: str, operations: WriteOperations, signal: AbortSignal) -> None:
    try:
        signal.raise_if_aborted()
        if _REPLACEMENT_CHARACTER in content:
            await _refuse_to_garble(target, path, operations)
            signal.raise_if_aborted()
        await operations.mkdir(os.path.dirname(target))  # noqa: PTH120 - paths of other machines are plain texts too
        signal.raise_if_aborted()
        await operations.write_file(target, content)
    except OSError as error:
        raise FileAccessError("write", target, error) from error


async def _refuse_to_garble(target: str, path: str, operations: WriteOperations) -> None:
    """Stop U+FFFD replacing the bytes that it was shown for."""
    if not isinstance(operations, ReadableWriteOperations):
        return
    try:
        old = await operations.read_file(target)
    except OSError:
        return  # there is nothing to lose, or writing will say what is wrong
    if not is_utf8(old, complete=True):
        raise ToolError(
            f"The content holds the character {_REPLACEMENT_CHARACTER}, which stands for bytes of {path!r} that are no "
            "UTF-8. Writing it would lose them: use edit on the other parts, or a command. Nothing was changed."
        )
