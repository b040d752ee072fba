r"""Where the old texts of an edit stand in a file, and what replaces them there.

Matching happens in a text whose line ends are all `\n`. A text that is not found exactly is looked for in a tolerant
form of both (compatibility characters, typographic quotes, dashes and blanks, trailing blanks of lines). The tolerant
form only locates: every span is mapped back to the characters that the file really holds, and nothing outside of the
spans changes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import msgspec

from pinyon.errors import ToolError

TRAILING_BLANKS = (
    "\t\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What counts as blank at the end of a line."""

MAX_COUNT = 100
"""Beyond so many places an ambiguous text is only called very frequent."""

_FINE_MAP_CHARS = 20_000
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
_COARSE_PIECES = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]*")


class EditError(ToolError):
    """Raised when an edit cannot be made as asked; the file is unchanged."""


class Edit(msgspec.Struct, frozen=True):
    """One replacement as asked for."""

    old_text: str
    new_text: str


class Replacement(msgspec.Struct, frozen=True):
    """A located edit: `text[start:end]` of the matching text becomes `text`; `index` is its place in the call."""

    start: int
    end: int
    text: str
    index: int


def normalise_newlines(text: str) -> str:
    r"""All line ends as `\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def tolerant_form(text: str) -> str:
    """The form in which texts are compared when they differ only in typography and trailing blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    text = "\n".join([line.rstrip(TRAILING_BLANKS) for line in text.split("\n")])
    return text if text.isascii() else text.translate(_ALIKE)


def count_occurrences(text: str, part: str) -> int:
    """How often `part` stands in `text`, overlapping places included; counting stops at `MAX_COUNT`."""
    count, at = 0, text.find(part)
    while at >= 0 and count < MAX_COUNT:
        count, at = count + 1, text.find(part, at + 1)
    return count


class MatchText:
    r"""A file's text with `\n` line ends, its tolerant form, and the way back from there."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def tolerant(self) -> str:
        """The tolerant form of the whole text; it has the same number of lines."""
        return tolerant_form(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _line_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def locate_tolerantly(self, wanted: str) -> tuple[int, int] | None:
        """The characters of the text that differ from `wanted` at most in its tolerant form.

        None where there are no such characters, or only parts of some. Blanks at the end of `wanted`, which its
        tolerant form lacks, take as many blanks of the text with them.
        """
        part = tolerant_form(wanted)
        at = self.tolerant.find(part)
        if at < 0 or not part:
            return None
        start = self._source_offset(at, begins_span=True)
        end = self._source_offset(at + len(part), begins_span=False)
        if start is None or end is None:
            return None
        last = end + len(wanted) - len(wanted.rstrip(TRAILING_BLANKS))
        while end < min(last, len(self.text)) and self.text[end] in TRAILING_BLANKS:
            end += 1
        return start, end

    def _source_offset(self, offset: int, *, begins_span: bool) -> int | None:
        number = self.tolerant.count("\n", 0, offset)
        column = offset - (self.tolerant.rfind("\n", 0, offset) + 1)
        line = self._lines[number]
        if begins_span and self.tolerant.startswith("\n", offset):
            return self._line_starts[number] + len(line)  # trailing blanks stay outside of the span
        source_column = column if line.isascii() else _source_column(line, column)
        return None if source_column is None else self._line_starts[number] + source_column


def _source_column(line: str, column: int) -> int | None:
    """The offset in `line` that stands at `column` of its compatibility form; None inside of a character."""
    pieces = _stable_pieces(line)
    normal_ends = [0, *accumulate(len(unicodedata.normalize("NFKC", piece)) for piece in pieces)]
    place = bisect_left(normal_ends, column)
    if place >= len(normal_ends) or normal_ends[place] != column:
        return None
    return sum(map(len, pieces[:place]))


def _stable_pieces(line: str) -> list[str]:
    """Pieces of a line that can be normalised one by one with the same result as the whole line."""
    normal = unicodedata.normalize("NFKC", line)
    fine = _fine_pieces(line) if len(line) <= _FINE_MAP_CHARS else []
    for pieces in (fine, _COARSE_PIECES.findall(line)):
        if "".join(unicodedata.normalize("NFKC", piece) for piece in pieces) == normal:
            return pieces
    return [line]


def _fine_pieces(line: str) -> list[str]:
    pieces: list[str] = []
    for char in line:
        if pieces and not char.isascii() and _combines(pieces[-1], char):
            pieces[-1] += char
        else:
            pieces.append(char)
    return pieces


def _combines(piece: str, char: str) -> bool:
    if unicodedata.combining(char):
        return True
    apart = unicodedata.normalize("NFKC", piece) + unicodedata.normalize("NFKC", char)
    return unicodedata.normalize("NFKC", piece + char) != apart


def locate_edits(source: MatchText, edits: Sequence[Edit], path: str) -> list[Replacement]:
    """Find every edit in the unchanged text, in the order of their places.

    Raises `EditError` when an old text is empty, missing or ambiguous, and when two overlap; `path` is for the texts.
    """
    found = [_locate(source, edit, index, _name(index, len(edits)), path) for index, edit in enumerate(edits)]
    found.sort(key=lambda replacement: (replacement.start, replacement.end))
    for first, second in pairwise(found):
        if first.end > second.start:
            low, high = sorted((first.index, second.index))
            raise EditError(
                f"edits[{low}] and edits[{high}] overlap in {path!r}. Merge them into one edit. Nothing was changed."
            )
    return found


def _name(index: int, count: int) -> str:
    return f"edits[{index}].oldText" if count > 1 else "oldText"


def _locate(source: MatchText, edit: Edit, index: int, name: str, path: str) -> Replacement:
    old_text, new_text = normalise_newlines(edit.old_text), normalise_newlines(edit.new_text)
    if not old_text:
        raise EditError(f"{name} is empty for {path!r}. Give the text to replace, or use write for a new file.")
    at = source.text.find(old_text)
    span = (at, at + len(old_text)) if at >= 0 else source.locate_tolerantly(old_text)
    if span is None:
        raise EditError(_not_found(source, old_text, name, path))
    _require_unique(source, old_text, name, path)
    start, end = span
    return Replacement(start, end, source.text[start:end] if new_text == old_text else new_text, index)


def _not_found(source: MatchText, old_text: str, name: str, path: str) -> str:
    hint = ""
    if "\ufffd" in old_text and "\ufffd" not in source.text:
        hint = " The character \ufffd stands for bytes that are no text: leave them out of oldText."
    return (
        f"{name} was not found in {path!r}. It must match the file exactly, blanks and line breaks included; "
        f"read the file again if it may have changed.{hint} Nothing was changed."
    )


def _require_unique(source: MatchText, old_text: str, name: str, path: str) -> None:
    tolerant = tolerant_form(old_text)
    if not tolerant:
        raise EditError(
            f"{name} holds only blanks, which are not unique in {path!r}. Add text around them. Nothing was changed."
        )
    count = max(count_occurrences(source.tolerant, tolerant), count_occurrences(source.text, old_text))
    if count > 1:
        times = f"{count} times" if count < MAX_COUNT else f"at least {count} times"
        raise EditError(
            f"{name} occurs {times} in {path!r}, and it must be unique. "
            "Add lines around it to say which one is meant. Nothing was changed."
        )


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with all replacements made."""
    pieces, at = [], 0
    for replacement in replacements:
        pieces += [text[at : replacement.start], replacement.text]
        at = replacement.end
    return "".join([*pieces, text[at:]])


class LineEnds:
    r"""The line ends that a file really has, beside its text with `\n` only."""

    def __init__(self, original: str) -> None:
        self._original = original
        self._is_plain = "\r" not in original

    @cached_property
    def _crlf_offsets(self) -> list[int]:
        return [match.start() - number for number, match in enumerate(re.finditer("\r\n", self._original))]

    def original_offset(self, offset: int) -> int:
        r"""Where a place of the matching text stands in the original; never inside of a `\r\n`."""
        return offset if self._is_plain else offset + bisect_left(self._crlf_offsets, offset)

    def adapt(self, text: str, offset: int) -> str:
        """New text with the line ends of the line that holds a place of the matching text."""
        if self._is_plain or "\n" not in text:
            return text
        return text.replace("\n", self._line_end_at(self.original_offset(offset)))

    def _line_end_at(self, offset: int) -> str:
        text = self._original
        at = text.find("\n", offset)
        if at < 0:
            at = text.rfind("\n", 0, offset)
        if at < 0:
            return "\r"  # the file has no other line ends
        return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def splice(original: str, text: str, replacements: Sequence[Replacement]) -> list[str]:
    r"""The pieces of the changed original: kept ones exactly as they were, and new texts with fitting line ends.

    `text` is the original with `\n` line ends, which the replacements refer to. What old and new text have in common at
    their beginning and end is kept too.
    Where a `\r` and a `\n` would meet that did not belong together, a `\n` keeps them two line ends.
    """
    ends = LineEnds(original)
    pieces: list[str] = []
    at = 0
    for replacement in replacements:
        start, end, new_text = _changed_part(text, replacement)
        _append_apart(pieces, original[at : ends.original_offset(start)])
        _append_apart(pieces, ends.adapt(new_text, replacement.start))
        at = ends.original_offset(end)
    _append_apart(pieces, original[at:])
    return pieces


def _changed_part(text: str, replacement: Replacement) -> tuple[int, int, str]:
    old = text[replacement.start : replacement.end]
    head = common_prefix_length(old, replacement.text)
    tail = common_prefix_length(old[head:][::-1], replacement.text[head:][::-1])
    new_end = len(replacement.text) - tail
    return replacement.start + head, replacement.end - tail, replacement.text[head:new_end]


def common_prefix_length(first: str, second: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _append_apart(pieces: list[str], piece: str) -> None:
    if not piece:
        return
    if pieces and pieces[-1].endswith("\r") and piece.startswith("\n"):
        pieces.append("\n")
    pieces.append(piece)
