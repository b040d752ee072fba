"""A window fed in pieces shows the same as the whole text cut at once."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from pinyon.tools.line_window import LineWindow, WindowContent
from pinyon.tools.truncate import count_lines, truncate_head

texts = st.text(st.sampled_from(["a", "\n", "é", "\U0001f600", "b"]), max_size=40)


def window_of(pieces: list[str], start: int, limit: int | None, max_lines: int, max_bytes: int) -> WindowContent:
    window = LineWindow(start, limit, max_lines=max_lines, max_bytes=max_bytes)
    for piece in pieces:
        window.feed(piece)
    return window.finish()


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    at = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[first:second] for first, second in pairwise(at)]


@given(
    texts,
    st.lists(st.integers(0, 40), max_size=5),
    st.integers(0, 4),
    st.none() | st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 12),
)
@example("aaaa\n\nb", [], 0, None, 4, 4)
@example("aa\n", [2], 0, 1, 4, 2)
def test_pieces_give_what_the_whole_text_gives(
    text: str, cuts: list[int], start: int, limit: int | None, max_lines: int, max_bytes: int
) -> None:
    content = window_of(pieces_of(text, cuts), start, limit, max_lines, max_bytes)
    lines = text.splitlines(keepends=True)
    total = count_lines(text)
    chosen = lines[start:] if limit is None else lines[start : start + limit]
    expected_text = "".join(chosen)
    if start + len(chosen) < total:
        expected_text = expected_text.removesuffix("\n")
    expected = truncate_head(expected_text, max_lines, max_bytes)
    expected.total_lines = len(chosen)
    if expected.truncated and expected.output_lines == len(chosen):
        expected.truncated, expected.truncated_by = False, None
    assert content.total_lines == total
    assert content.end_line == start + len(chosen)
    assert content.truncation == expected


@given(texts, st.lists(st.integers(0, 40), max_size=5), st.integers(0, 3))
def test_the_first_line_is_measured_whole(text: str, cuts: list[int], start: int) -> None:
    window = LineWindow(start, None, max_lines=2, max_bytes=3)
    for piece in pieces_of(text, cuts):
        window.feed(piece)
    lines = text.split("\n")
    assert window.first_line_bytes == (len(lines[start].encode()) if start < len(lines) else 0)


def test_memory_does_not_grow_with_the_text() -> None:
    block = "x" * 99 + "\n"
    window = LineWindow(10, None)
    tracemalloc.start()
    try:
        for _ in range(200):
            window.feed(block * 1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert window.is_settled
    assert window.finish().total_lines == 200_000


def test_a_single_endless_line_is_not_stored() -> None:
    window = LineWindow(0, None)
    for _ in range(100):
        window.feed("x" * 100_000)
    assert sum(map(len, window._pieces)) < 60_000
    content = window.finish()
    assert content.truncation.first_line_exceeds_limit
    assert (window.first_line_bytes, content.truncation.total_bytes) == (10_000_000, 10_000_000)
