"""Searching without the ripgrep program: every file is read here, line by line."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO

from pinyon._util.glob import InvalidGlobError, compile_glob
from pinyon.errors import ToolError
from pinyon.tools.line_pattern import line_pattern
from pinyon.tools.match_report import MatchReport
from pinyon.tools.operations.protocol import ContentOperations, WalkOperations
from pinyon.tools.search_request import GrepRequest
from pinyon.tools.shown_name import shown_name
from pinyon.tools.tree_walk import WalkEntry, WalkRules, walk_operations, walk_tree

MAX_LINE_BYTES = 1024 * 1024
"""How much of a line is looked at."""

_BINARY_SAMPLE_BYTES = 8192
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

LineFilter = Callable[[WalkEntry], bool]


def search_here(
    request: GrepRequest, report: MatchReport, should_stop: Callable[[], bool], *, is_directory: bool
) -> None:
    """Search files of the local disk until the end, until `report` has enough or `should_stop()` says so."""
    search = LineSearch(request, report)
    if not is_directory:
        with open(request.path, "rb") as file:  # noqa: PTH123 - names that are no text of the user's locale
            search.lines(os.path.basename(request.path), _lines(file, skip_binary=False))  # noqa: PTH119
        return
    accepts = glob_filter(request.glob)
    for entry in walk_tree(request.path, walk_rules(request), should_stop):
        if not (entry.is_file and accepts(entry)):
            continue
        if should_stop() or not _search_file(search, request, entry, report):
            return


def _search_file(search: LineSearch, request: GrepRequest, entry: WalkEntry, report: MatchReport) -> bool:
    try:
        with open(os.path.join(request.path, entry.path), "rb") as file:  # noqa: PTH118, PTH123
            return search.lines(shown_name(entry.path), _lines(file, skip_binary=True))
    except OSError:
        report.skipped_files = True
        return True


async def search_contents(
    request: GrepRequest,
    report: MatchReport,
    operations: ContentOperations,
    should_stop: Callable[[], bool],
    *,
    is_directory: bool,
) -> None:
    """Search contents that operations give, in directories that they list, else in those of the local disk."""
    search = LineSearch(request, report)
    if not is_directory:
        content = _as_bytes(await operations.read_file(request.path))
        search.lines(shown_name(request.path.replace(os.sep, "/").rpartition("/")[2]), _content_lines(content))
        return
    accepts = glob_filter(request.glob)
    async for entry in _entries(request, operations, should_stop):
        if not (entry.is_file and accepts(entry)):
            continue
        try:
            content = _as_bytes(await operations.read_file(f"{request.path.rstrip('/')}/{entry.path}"))
        except OSError:
            report.skipped_files = True
            continue
        if b"\0" in content[:_BINARY_SAMPLE_BYTES] and content[:2] not in _UTF16:
            continue
        if not search.lines(shown_name(entry.path), _content_lines(content)):
            return


async def _entries(
    request: GrepRequest, operations: ContentOperations, should_stop: Callable[[], bool]
) -> AsyncIterator[WalkEntry]:
    if isinstance(operations, WalkOperations):
        async for entry in walk_operations(request.path, operations, walk_rules(request)):
            yield entry
        return
    for entry in walk_tree(request.path, walk_rules(request), should_stop):
        yield entry


def walk_rules(request: GrepRequest) -> WalkRules:
    """What a search leaves out."""
    return WalkRules(own_file=".rgignore", with_git_folders=request.with_git_folders)


def glob_filter(glob: str) -> LineFilter:
    """Whether the glob of a call lets a file through; a glob that begins with `!` leaves files and folders out.

    Without `/` it is matched against names, with one against the path below the searched directory.
    """
    if not glob:
        return lambda _: True
    text = glob.removeprefix("!").removesuffix("/")
    try:
        matches = compile_glob(text.removeprefix("/")).fullmatch
    except InvalidGlobError as error:
        raise ToolError(f"The glob cannot be used: {error}.") from error
    by_path = "/" in text
    if not glob.startswith("!"):
        return lambda entry: matches(entry.path if by_path else entry.name) is not None
    return lambda entry: not any(matches(part) for part in _parts(entry.path, whole=by_path))


def _parts(path: str, *, whole: bool) -> Iterator[str]:
    """The components of a path, or the paths of all folders on the way and its own."""
    names = path.split("/")
    return ("/".join(names[: at + 1]) if whole else name for at, name in enumerate(names))


class LineSearch:
    """Looks through the lines of one file after the other."""

    def __init__(self, request: GrepRequest, report: MatchReport) -> None:
        pattern = line_pattern(request.pattern, literal=request.literal, ignore_case=request.ignore_case)
        self._found = pattern.search
        self._context = request.context
        self._report = report

    def lines(self, path: str, lines: Iterator[str]) -> bool:
        """Report the matches of a file with the lines around them; False when the search can stop."""
        before: deque[tuple[int, str]] = deque(maxlen=self._context)
        after = 0
        for number, line in enumerate(lines, 1):
            if self._found(line):
                while before:
                    if not self._report.add(path, *before.popleft(), is_match=False):
                        return False
                if not self._report.add(path, number, line, is_match=True):
                    return False
                after = self._context
            elif after:
                after -= 1
                if not self._report.add(path, number, line, is_match=False):
                    return False
            elif self._context:
                before.append((number, line))
        return True


def _lines(file: BinaryIO, *, skip_binary: bool) -> Iterator[str]:
    sample = file.read(_BINARY_SAMPLE_BYTES)
    encoding = _UTF16.get(sample[:2])
    if encoding is None and skip_binary and b"\0" in sample:
        return
    file.seek(0)
    if encoding is not None:
        yield from _content_lines(file.read())
        return
    start = True
    while line := file.readline(MAX_LINE_BYTES):
        if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
            _skip_rest(file)
        yield _text(line.removeprefix(codecs.BOM_UTF8) if start else line)
        start = False


def _skip_rest(file: BinaryIO) -> None:
    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _text(line: bytes) -> str:
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")


def _content_lines(content: bytes) -> Iterator[str]:
    encoding = _UTF16.get(content[:2])
    if encoding is not None:
        content = content[2:].decode(encoding, "replace").encode("utf-8", "replace")
    content = content.removeprefix(codecs.BOM_UTF8)
    begin = 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        yield _text(content[begin : min(end, begin + MAX_LINE_BYTES)])
        begin = end + 1


def _as_bytes(content: bytes | str) -> bytes:
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
