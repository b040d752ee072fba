"""What a directory holds, as the ls tool shows it."""

from __future__ import annotations

import errno
import os
from typing import Any

from pinyon._util.abort import AbortSignal, until_aborted
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.operations.protocol import BatchStatOperations, EntryStat, LsOperations
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.path import resolve_to_cwd
from pinyon.tools.search_limit import list_result, requested_number
from pinyon.tools.shown_name import shown_name

DEFAULT_LIMIT = 500
"""Most entries of a listing unless the call says otherwise."""

EMPTY = "(empty directory)"
"""Stands for the entries of an empty directory."""


async def list_directory(
    params: dict[str, Any], cwd: str, operations: LsOperations, signal: AbortSignal
) -> AgentToolResult:
    """List the directory of one call; an abort ends it at once.

    Raises `ToolError` for what is missing, no directory or not readable.
    """
    return await until_aborted(_list(params, cwd, operations), signal)


async def _list(params: dict[str, Any], cwd: str, operations: LsOperations) -> AgentToolResult:
    path = resolve_to_cwd(str(params.get("path") or "."), cwd)
    limit = requested_number(params, "limit", DEFAULT_LIMIT, minimum=1)
    names = await _names(path, operations)
    names.sort(key=lambda name: (name.casefold(), name))
    lines, has_more = await _entries(path, names, limit, operations)
    if not lines:
        return AgentToolResult([TextContent(EMPTY)])
    if not has_more:
        return list_result(lines, [], {})
    notice = f"There are more than these {limit} entries; set limit={limit * 2} to see more"
    return list_result(lines, [notice], {"entryLimitReached": limit})


async def _names(path: str, operations: LsOperations) -> list[str]:
    try:
        if not await operations.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not (await operations.stat(path)).is_directory:
            raise ToolError(f"{path!r} is not a directory. Look at a file with read.")
        return list(await operations.readdir(path))
    except OSError as error:
        raise FileAccessError("list", path, error) from error


async def _entries(path: str, names: list[str], limit: int, operations: LsOperations) -> tuple[list[str], bool]:
    """Up to `limit` lines, and whether there are more entries. Links that lead nowhere are left out."""
    lines: list[str] = []
    for begin in range(0, len(names), limit):
        batch = names[begin : begin + limit]
        stats = await _stats([_join(path, name) for name in batch], operations)
        for at, (name, stat) in enumerate(zip(batch, stats, strict=True), begin):
            if len(lines) == limit:
                return lines, at < len(names)
            if stat is not None:
                lines.append(shown_name(name) + ("/" if stat.is_directory else ""))
    return lines, False


async def _stats(paths: list[str], operations: LsOperations) -> list[EntryStat | None]:
    if isinstance(operations, BatchStatOperations):
        return await operations.stat_many(paths)
    return [await _stat(path, operations) for path in paths]


async def _stat(path: str, operations: LsOperations) -> EntryStat | None:
    try:
        return await operations.stat(path)
    except OSError:
        return None


def _join(path: str, name: str) -> str:
    return os.path.join(path, name)  # noqa: PTH118 - paths of other machines are plain texts too
