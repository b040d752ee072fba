"""Matching lines on their way to the model: counted, limited, cut and put in order."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from pinyon.agent.tool import AgentToolResult
from pinyon.ai.content import TextContent
from pinyon.tools.search_limit import BYTES_NOTICE
from pinyon.tools.truncate import (
    DEFAULT_MAX_BYTES,
    GREP_MAX_LINE_LENGTH,
    truncate_head,
    truncate_line,
    utf8_len,
    with_notices,
)

NO_MATCHES = "No matches found"
"""Stands for the results of a search without any."""


class MatchReport:
    """Takes lines as a search finds them, file by file, and stops it when enough is known.

    After the last match that may be shown only the lines around it are taken, and the search goes on until it is known
    whether there is another match. Lines past the size limit are counted but not kept.
    """

    def __init__(self, limit: int, context: int) -> None:
        self._limit = limit
        self._context = context
        self._matches = 0
        self._window: tuple[str, int] | None = None
        self._has_more = False
        self._files: list[tuple[str, list[str]]] = []
        self._kept_bytes = 0
        self._total_lines = 0
        self._total_bytes = 0
        self._cut_lines = False
        self.skipped_files = False

    def add(self, path: str, number: int, text: str, *, is_match: bool) -> bool:
        """Take a matching line or one around it; False when the search can stop."""
        if self._window is None:
            if is_match:
                self._matches += 1
                if self._matches == self._limit:
                    self._window = (path, number + self._context)
            self._keep(path, number, text, is_match=is_match)
            return True
        window_path, last = self._window
        self._has_more = self._has_more or is_match
        inside = path == window_path and number <= last
        if inside:
            self._keep(path, number, text, is_match=False)
        return not self._has_more or (inside and number < last)

    def result(self) -> AgentToolResult:
        """What the model is shown."""
        if not self._total_lines:
            return AgentToolResult([TextContent(with_notices(NO_MATCHES, self._notices(is_long=False)))])
        is_long = self._kept_bytes > DEFAULT_MAX_BYTES
        if not (self._has_more or is_long):
            self._files.sort(key=lambda file: file[0])
        cut = truncate_head("\n".join(line for _, lines in self._files for line in lines), None)
        details: dict[str, Any] = {}
        if cut.truncated:
            cut.total_lines, cut.total_bytes = self._total_lines, self._total_bytes - 1
            details["truncation"] = cut.to_json()
        if self._has_more:
            details["matchLimitReached"] = self._limit
        if self._cut_lines:
            details["linesTruncated"] = True
        text = with_notices(cut.content, self._notices(is_long=cut.truncated))
        return AgentToolResult([TextContent(text)], details=details or UNSET)

    def _keep(self, path: str, number: int, text: str, *, is_match: bool) -> None:
        shown, was_cut = truncate_line(text)
        self._cut_lines = self._cut_lines or was_cut
        line = f"{path}:{number}: {shown}" if is_match else f"{path}-{number}- {shown}"
        size = utf8_len(line) + 1
        self._total_lines += 1
        self._total_bytes += size
        if self._kept_bytes > DEFAULT_MAX_BYTES:
            return
        self._kept_bytes += size
        if not self._files or self._files[-1][0] != path:
            self._files.append((path, []))
        self._files[-1][1].append(line)

    def _notices(self, *, is_long: bool) -> list[str]:
        notices = []
        if self._has_more:
            notices.append(
                f"There are more than these {self._limit} matches; narrow the pattern or set limit={self._limit * 2}"
            )
        if is_long:
            notices.append(BYTES_NOTICE)
        if self._cut_lines:
            notices.append(f"Lines longer than {GREP_MAX_LINE_LENGTH} characters were cut; see them whole with read")
        if self.skipped_files:
            notices.append("Some files could not be read")
        return notices
