"""The search of the find tool: entries of a tree whose name or path a glob accepts."""

from __future__ import annotations

import errno
import os
from typing import Any

import msgspec

from pinyon._util.abort import AbortSignal, until_aborted
from pinyon._util.thread import in_daemon_thread
from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.errors import ToolError
from pinyon.tools.find_pattern import addresses_git_folder, entry_filter
from pinyon.tools.operations.protocol import FindOperations, GlobOperations, WalkOperations
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.path import resolve_to_cwd
from pinyon.tools.search_limit import list_result, requested_number
from pinyon.tools.shown_name import shown_name
from pinyon.tools.tree_walk import WalkEntry, WalkRules, walk_operations, walk_tree

DEFAULT_LIMIT = 1000
"""Most results of a search unless the call says otherwise."""

NOTHING_FOUND = "No files found matching pattern"
"""Stands for the results of a search without any."""

ALWAYS_IGNORED = ("**/node_modules/**", "**/.git/**")
"""What operations that do the whole search are told to leave out."""


class FindRequest(msgspec.Struct, frozen=True):
    """One call: what is looked for, where, and how many results at most."""

    pattern: str
    root: str
    limit: int

    @classmethod
    def from_params(cls, params: dict[str, Any], cwd: str) -> FindRequest:
        """The request of validated arguments."""
        pattern = str(params.get("pattern", ""))
        if not pattern:
            raise ToolError("'pattern' is empty; use '*' to find everything.")
        root = resolve_to_cwd(str(params.get("path") or "."), cwd)
        return cls(pattern, root, requested_number(params, "limit", DEFAULT_LIMIT, minimum=1))

    def rules(self) -> WalkRules:
        """What the walk leaves out."""
        with_git = addresses_git_folder(self.pattern) or addresses_git_folder(self.root)
        return WalkRules(own_file=".fdignore", with_git_folders=with_git)


async def find_files(
    params: dict[str, Any], cwd: str, operations: FindOperations, signal: AbortSignal
) -> AgentToolResult:
    """Find what one call asks for; an abort ends it at once.

    Raises `ToolError` for a broken pattern and for a directory that is missing or none.
    """
    return await until_aborted(_find(FindRequest.from_params(params, cwd), operations, signal), signal)


async def _find(request: FindRequest, operations: FindOperations, signal: AbortSignal) -> AgentToolResult:
    try:
        if not await operations.exists(request.root):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), request.root)
        if isinstance(operations, GlobOperations):
            return await _find_with_glob(request, operations)
        if isinstance(operations, WalkOperations):
            paths = await _find_with_walk(request, operations)
        else:
            paths = await _find_here(request, signal)
    except OSError as error:
        raise FileAccessError("search in", request.root, error) from error
    return _result(request, paths)


async def _find_here(request: FindRequest, signal: AbortSignal) -> list[str]:
    accepts, rules = entry_filter(request.pattern, request.root), request.rules()
    stopped = False

    def should_stop() -> bool:
        return stopped or signal.aborted

    def work() -> list[str]:
        os.scandir(request.root).close()  # raises where there is no directory
        found: list[str] = []
        for entry in walk_tree(request.root, rules, should_stop):
            if accepts(entry):
                found.append(_shown(entry))
                if len(found) > request.limit:
                    break
        return found

    try:
        return await in_daemon_thread(work, "pinyon-find")
    finally:
        stopped = True


async def _find_with_walk(request: FindRequest, operations: WalkOperations) -> list[str]:
    accepts = entry_filter(request.pattern, request.root)
    await operations.list_entries(request.root)  # raises where there is no directory
    found: list[str] = []
    async for entry in walk_operations(request.root, operations, request.rules()):
        if accepts(entry):
            found.append(_shown(entry))
            if len(found) > request.limit:
                break
    return found


def _shown(entry: WalkEntry) -> str:
    return f"{entry.path}/" if entry.is_directory else entry.path


async def _find_with_glob(request: FindRequest, operations: GlobOperations) -> AgentToolResult:
    found = await operations.glob(request.pattern, request.root, ignore=ALWAYS_IGNORED, limit=request.limit + 1)
    return _result(request, [_below(path, request.root) for path in found], suggest=False)


def _below(path: str, root: str) -> str:
    """`path` below `root` with `/`; a separator at its end stays."""
    text, base = path.replace(os.sep, "/"), root.replace(os.sep, "/").rstrip("/")
    return text.removeprefix(f"{base}/")


def _result(request: FindRequest, paths: list[str], *, suggest: bool = True) -> AgentToolResult:
    if not paths:
        return AgentToolResult([TextContent(NOTHING_FOUND)])
    lines = [shown_name(path) for path in sorted(paths[: request.limit])]
    if len(paths) <= request.limit:
        return list_result(lines, [], {})
    notice = f"There are more than these {request.limit} results"
    if suggest:
        notice += f"; narrow the pattern or set limit={request.limit * 2}"
    return list_result(lines, [notice], {"resultLimitReached": request.limit})
