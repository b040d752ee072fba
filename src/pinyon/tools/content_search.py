"""The search of the grep tool: lines of files that match a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinyon._util.abort import AbortSignal, until_aborted
from pinyon._util.thread import in_daemon_thread
from pinyon.agent.tool import AgentToolResult
from pinyon.tools.match_report import MatchReport
from pinyon.tools.operations.protocol import ContentOperations, GrepOperations
from pinyon.tools.os_failure import FileAccessError
from pinyon.tools.search_request import GrepRequest

ProgramLookup = Callable[[], str | None]
"""Gives the path of the ripgrep program, None where there is none."""


def installed_ripgrep() -> str | None:
    """The ripgrep program of this machine."""
    from pinyon.tools.ripgrep import find_ripgrep

    return find_ripgrep()


async def search_lines(
    params: dict[str, Any],
    cwd: str,
    operations: GrepOperations,
    signal: AbortSignal,
    find_program: ProgramLookup = installed_ripgrep,
) -> AgentToolResult:
    """Search for what one call asks for; an abort ends it at once.

    Raises `ToolError` for a pattern or a glob that cannot be used and for a path where nothing is.
    """
    request = GrepRequest.from_params(params, cwd)
    return await until_aborted(_search(request, operations, signal, find_program), signal)


async def _search(
    request: GrepRequest, operations: GrepOperations, signal: AbortSignal, find_program: ProgramLookup
) -> AgentToolResult:
    report = MatchReport(request.limit, request.context)
    try:
        is_directory = await operations.is_directory(request.path)
        if isinstance(operations, ContentOperations):
            from pinyon.tools.line_search import search_contents

            await search_contents(request, report, operations, lambda: signal.aborted, is_directory=is_directory)
        else:
            await _search_here(request, report, find_program(), is_directory=is_directory)
    except OSError as error:
        raise FileAccessError("search in", request.path, error) from error
    return report.result()


async def _search_here(request: GrepRequest, report: MatchReport, program: str | None, *, is_directory: bool) -> None:
    if program is not None:
        from pinyon.tools.ripgrep import RipgrepSearch

        search = RipgrepSearch(program, request, is_directory=is_directory)
        try:
            await in_daemon_thread(lambda: search.run(report), "pinyon-grep")
        finally:
            search.stop()
        return
    from pinyon.tools.line_search import search_here

    stopped = False
    try:
        await in_daemon_thread(
            lambda: search_here(request, report, lambda: stopped, is_directory=is_directory), "pinyon-grep"
        )
    finally:
        stopped = True
