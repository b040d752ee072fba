r"""How tool output is cut: by lines and by UTF-8 bytes, whichever limit is reached first.

Lines end in `\n` only. Text that was cut is followed by a notice: one blank line, then one bracketed line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pinyon._util.text import utf16_len

DEFAULT_MAX_LINES = 2000
"""Most lines of tool output that a model is shown."""

DEFAULT_MAX_BYTES = 50 * 1024
"""Most UTF-8 bytes of tool output that a model is shown."""

GREP_MAX_LINE_LENGTH = 500
"""Longest line of a search result, in UTF-16 code units."""

UNLIMITED_LINES = 2**53 - 1
"""What a result reports as its line limit when it had none (the largest integer that every JSON reader holds)."""

LINE_CUT_MARKER = "... [truncated]"
"""Stands after a line that `truncate_line` cut."""

TruncatedBy = Literal["lines", "bytes"]


class TruncationResult(msgspec.Struct, rename="camel", kw_only=True):
    """What was kept of a text and why; encodes to the object that stands in `details.truncation`.

    Byte counts are UTF-8 lengths. A final newline makes no further line.
    """

    content: str
    truncated: bool
    truncated_by: TruncatedBy | None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool = False
    first_line_exceeds_limit: bool = False
    max_lines: int
    max_bytes: int

    def to_json(self) -> dict[str, Any]:
        """The result as a plain camelCase object."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def utf8_len(text: str) -> int:
    """Length in UTF-8 bytes; a lone surrogate counts three, like the replacement character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def count_lines(text: str) -> int:
    r"""Number of lines: an empty text has none, `"a\n"` has one."""
    if not text:
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def truncate_head(
    content: str, max_lines: int | None = DEFAULT_MAX_LINES, max_bytes: int = DEFAULT_MAX_BYTES
) -> TruncationResult:
    """Keep whole lines from the beginning; `max_lines=None` sets no line limit.

    Nothing is kept, and `first_line_exceeds_limit` is set, when the first line alone is longer than `max_bytes`.
    """
    result = _whole(content, max_lines, max_bytes)
    if not result.truncated:
        return result
    result.content = ""
    start, end = 0, _line_end(content, 0)
    if utf8_len(content[:end]) > max_bytes:
        result.truncated_by = "bytes"
        result.first_line_exceeds_limit = True
        return result
    used = lines = kept_end = 0
    while start < len(content) and lines < result.max_lines:
        end = _line_end(content, start)
        cost = utf8_len(content[start:end]) + (lines > 0)
        if used + cost > max_bytes:
            result.truncated_by = "bytes"
            break
        used, lines, kept_end, start = used + cost, lines + 1, end, end + 1
    result.content = content[:kept_end]
    result.output_lines, result.output_bytes = lines, used
    return result


def truncate_tail(
    content: str, max_lines: int | None = DEFAULT_MAX_LINES, max_bytes: int = DEFAULT_MAX_BYTES
) -> TruncationResult:
    """Keep whole lines from the end; `max_lines=None` sets no line limit.

    When the last line alone is longer than `max_bytes`, its longest fitting suffix is kept and `last_line_partial` set.
    """
    result = _whole(content, max_lines, max_bytes)
    if not result.truncated:
        return result
    text_end = len(content) - content.endswith("\n")
    used = lines = 0
    kept_start, end = text_end, text_end
    while end >= 0 and lines < result.max_lines:
        start = content.rfind("\n", 0, end) + 1
        cost = utf8_len(content[start:end]) + (lines > 0)
        if used + cost > max_bytes:
            result.truncated_by = "bytes"
            break
        used, lines, kept_start, end = used + cost, lines + 1, start, start - 1
    result.content = content[kept_start:text_end]
    if lines == 0 and result.truncated_by == "bytes":
        result.content = utf8_suffix(content[content.rfind("\n", 0, text_end) + 1 : text_end], max_bytes)
        lines, used, result.last_line_partial = 1, utf8_len(result.content), True
    result.output_lines, result.output_bytes = lines, used
    return result


def _whole(content: str, max_lines: int | None, max_bytes: int) -> TruncationResult:
    limit = UNLIMITED_LINES if max_lines is None else max_lines
    lines, size = count_lines(content), utf8_len(content)
    cut = lines > limit or size > max_bytes
    return TruncationResult(
        content=content,
        truncated=cut,
        truncated_by="lines" if cut else None,
        total_lines=lines,
        total_bytes=size,
        output_lines=0 if cut else lines,
        output_bytes=0 if cut else size,
        max_lines=limit,
        max_bytes=max_bytes,
    )


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def utf8_suffix(text: str, max_bytes: int) -> str:
    """The longest suffix of at most `max_bytes` UTF-8 bytes that splits no character."""
    if max_bytes <= 0:
        return ""
    tail = text[-max_bytes:]
    if tail.isascii():
        return tail
    data = tail.encode("utf-8", "surrogatepass")
    start = max(0, len(data) - max_bytes)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "surrogatepass")


def utf8_prefix(text: str, max_bytes: int) -> str:
    """The longest prefix of at most `max_bytes` UTF-8 bytes that splits no character."""
    head = text[: max(0, max_bytes)]
    if head.isascii():
        return head
    data = head.encode("utf-8", "surrogatepass")
    end = min(len(data), max_bytes)
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass")


def truncate_line(line: str, max_chars: int = GREP_MAX_LINE_LENGTH) -> tuple[str, bool]:
    """The first `max_chars` UTF-16 units of a line with a marker, and whether it was cut.

    A character whose second half is cut off shows as U+FFFD.
    """
    if len(line) <= max_chars and (line.isascii() or utf16_len(line) <= max_chars):
        return line, False
    return _utf16_head(line, max_chars) + LINE_CUT_MARKER, True


def _utf16_head(text: str, limit: int) -> str:
    used = 0
    for index, char in enumerate(text[:limit]):
        used += 2 if char > "\uffff" else 1
        if used >= limit:
            return text[:index] + ("\ufffd" if used > limit else char)
    return ""


def format_size(size_bytes: int) -> str:
    """A size for people: `512B`, `1.5KB`, `2.0MB`; ties round up."""
    if size_bytes < 1024:
        return f"{size_bytes}B"
    unit, name = (1024, "KB") if size_bytes < 1024 * 1024 else (1024 * 1024, "MB")
    tenths = (20 * size_bytes + unit) // (2 * unit)
    return f"{tenths // 10}.{tenths % 10}{name}"


def with_notices(text: str, notices: Sequence[str]) -> str:
    """`text`, a blank line and the notices in one bracket; `text` alone when there are none."""
    return f"{text}\n\n[{'. '.join(notices)}]" if notices else text
