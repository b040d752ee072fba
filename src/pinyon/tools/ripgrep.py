"""Searching with the ripgrep program: where it is, how it is asked, and how its answer is read.

Its answer is the JSON Lines format of `rg --json`, one object for each line of interest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pinyon._util.os_text import native_arguments, native_text
from pinyon.env.variable import managed_bin_dir
from pinyon.errors import ToolError
from pinyon.tools.match_report import MatchReport
from pinyon.tools.ripgrep_event import EventStream, FoundLine
from pinyon.tools.search_request import GrepRequest
from pinyon.tools.shown_name import shown_name

_BLOCK_BYTES = 65536
_STDERR_BYTES = 4096


def find_ripgrep(environ: Mapping[str, str] | None = None) -> str | None:
    """The program: the user's own in the agent folder, the one installed beside Python, or one on the search path."""
    variables = os.environ if environ is None else environ
    name = "rg.exe" if sys.platform == "win32" else "rg"
    for folder in _folders(variables):
        candidate = os.path.join(folder, name)  # noqa: PTH118 - a text for the operating system
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):  # noqa: PTH113
            return candidate
    return None


def _folders(environ: Mapping[str, str]) -> Iterator[str]:
    managed = managed_bin_dir(environ)
    if managed is not None:
        yield managed
    if sys.executable:
        yield os.path.dirname(sys.executable)  # noqa: PTH120
    import sysconfig

    yield sysconfig.get_path("scripts")
    yield from (folder for folder in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder))  # noqa: PTH117


def ripgrep_arguments(request: GrepRequest, *, is_directory: bool) -> list[str]:
    """Arguments of a search; the pattern stands where it cannot be taken for an option."""
    arguments = ["--no-config", "--json", "--line-number", "--color=never", "--hidden"]
    arguments.append("--no-messages")
    if not _is_in_repository(request.path):
        # Ignore files of git count everywhere; within a repository this would lift its borders.
        arguments.append("--no-require-git")
    if request.ignore_case:
        arguments.append("--ignore-case")
    if request.literal:
        arguments.append("--fixed-strings")
    if request.glob:
        arguments += ["--glob", request.glob]
    if not request.with_git_folders:
        arguments += ["--glob", "!.git/"]
    if request.context:
        arguments += ["--context", str(request.context)]
    return [*arguments, "--", request.pattern, "." if is_directory else request.path]


def _is_in_repository(path: str) -> bool:
    place = Path(path)
    return any((folder / ".git").exists() for folder in (place, *place.parents))


class RipgrepSearch:
    """One run of the program, in a thread of its own; `stop` may be called from any thread."""

    def __init__(self, program: str, request: GrepRequest, *, is_directory: bool) -> None:
        self._request = request
        self._is_directory = is_directory
        self._command = [program, *ripgrep_arguments(request, is_directory=is_directory)]
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the program; what it has found so far does not matter any more."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def run(self, report: MatchReport) -> None:
        """Search until the end or until `report` has enough. Raises `ToolError` with the program's own words."""
        folder = self._request.path if self._is_directory else os.path.dirname(self._request.path)  # noqa: PTH120
        try:
            process = subprocess.Popen(
                native_arguments(self._command),
                cwd=native_text(folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except ValueError as error:
            raise ToolError(f"Cannot search for {self._request.pattern!r}: {error}") from error
        with process:
            self._process = process
            if self._stopped:
                process.kill()
            self._read(process, report)

    def _read(self, process: subprocess.Popen[bytes], report: MatchReport) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        events = EventStream()
        while block := process.stdout.read(_BLOCK_BYTES):
            for line in events.feed(block):
                if not self._add(line, report):
                    process.kill()
                    return
        message = process.stderr.read(_STDERR_BYTES).decode("utf-8", "replace").strip()
        code = process.wait()
        if code in (0, 1) or self._stopped:
            return
        if not events.is_complete:
            raise ToolError(_failure(self._request, message, code))
        if not self._is_directory:
            raise ToolError(f"Cannot read {self._request.path!r}.")
        report.skipped_files = True

    def _add(self, line: FoundLine, report: MatchReport) -> bool:
        path = line.path.removeprefix("./").removeprefix(".\\").replace(os.sep, "/")
        if not self._is_directory:
            path = path.rpartition("/")[2]
        return report.add(shown_name(path), line.number, line.text, is_match=line.is_match)


def _failure(request: GrepRequest, message: str, code: int) -> str:
    reason = message.removeprefix("rg: ") or f"ripgrep ended with code {code}"
    advice = "" if request.literal else "\nSet literal to true to search for the text as it is."
    return f"The search for {request.pattern!r} failed: {reason}{advice}"
