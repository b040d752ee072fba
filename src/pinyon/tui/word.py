"""What a double and a triple click take: a word, where paths stay whole, and a paragraph."""

from __future__ import annotations

from rich.cells import cell_len

_IN_WORD = frozenset("_-./~@+%:#$\\")
_AT_ENDS = ".:"


def word_columns(line: str, column: int) -> tuple[int, int] | None:
    """First column and the one after the last of the word at a column; None between words."""
    index = _index_at(line, column)
    if index is None or not _is_word(line[index]):
        return None
    start, end = index, index + 1
    while start > 0 and _is_word(line[start - 1]):
        start -= 1
    while end < len(line) and _is_word(line[end]):
        end += 1
    while end - 1 > index and line[end - 1] in _AT_ENDS:
        end -= 1
    return cell_len(line[:start]), cell_len(line[:end])


def paragraph_rows(lines: list[str], row: int) -> tuple[int, int] | None:
    """First and last row of the lines around a row that have text; None for an empty one."""
    if not lines[row].strip():
        return None
    first = last = row
    while first > 0 and lines[first - 1].strip():
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].strip():
        last += 1
    return first, last


def _index_at(line: str, column: int) -> int | None:
    used = 0
    for index, character in enumerate(line):
        used += cell_len(character)
        if column < used:
            return index
    return None


def _is_word(character: str) -> bool:
    return character.isalnum() or character in _IN_WORD
