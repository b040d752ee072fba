"""Truncation: examples of the contract and properties that hold for every text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util import json
from pinyon.tools.truncate import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    GREP_MAX_LINE_LENGTH,
    LINE_CUT_MARKER,
    UNLIMITED_LINES,
    TruncationResult,
    count_lines,
    format_size,
    truncate_head,
    truncate_line,
    truncate_tail,
    utf8_len,
    utf8_prefix,
    utf8_suffix,
    with_notices,
)

EMOJI = "\U0001f600"
texts = st.text(st.sampled_from(["a", "b", "\n", "é", "漢", EMOJI, "\r", "\u2028", "\ud83d"]), max_size=60)


def facts(result: TruncationResult) -> tuple[Any, ...]:
    return (result.truncated, result.truncated_by, result.total_lines, result.output_lines, result.output_bytes)


def test_the_limits_are_the_documented_ones() -> None:
    assert (DEFAULT_MAX_LINES, DEFAULT_MAX_BYTES, GREP_MAX_LINE_LENGTH) == (2000, 51200, 500)


@pytest.mark.parametrize("cut", [truncate_head, truncate_tail])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_two_thousand_lines_stay_whole_with_or_without_a_final_newline(cut: Any, ending: str) -> None:
    text = "\n".join(["x"] * 2000) + ending
    result = cut(text)
    assert result.content == text
    assert facts(result) == (False, None, 2000, 2000, len(text))


@pytest.mark.parametrize("ending", ["", "\n"])
def test_line_2001_is_cut_and_the_final_newline_with_it(ending: str) -> None:
    lines = [str(number) for number in range(2001)]
    text = "\n".join(lines) + ending
    head, tail = truncate_head(text), truncate_tail(text)
    assert head.content == "\n".join(lines[:2000])
    assert tail.content == "\n".join(lines[1:])
    for result in (head, tail):
        assert (result.truncated, result.truncated_by, result.total_lines, result.output_lines) == (
            True,
            "lines",
            2001,
            2000,
        )
        assert result.output_bytes == len(result.content)
        assert result.total_bytes == len(text)


@pytest.mark.parametrize("cut", [truncate_head, truncate_tail])
def test_exactly_the_byte_limit_stays_whole(cut: Any) -> None:
    text = ("x" * 99 + "\n") * 512
    assert facts(cut(text)) == (False, None, 512, 512, 51200)


def test_one_byte_more_cuts_a_whole_line() -> None:
    text = ("x" * 99 + "\n") * 512 + "y"
    assert facts(truncate_head(text)) == (True, "bytes", 513, 512, 51199)
    # from the end: "y", its newline and 511 full lines fit
    assert facts(truncate_tail(text)) == (True, "bytes", 513, 512, 51100 + 1)


def test_a_limit_passed_by_the_final_newline_alone_counts_as_lines() -> None:
    text = "x" * 51200 + "\n"
    for result in (truncate_head(text), truncate_tail(text)):
        assert result.content == "x" * 51200
        assert facts(result) == (True, "lines", 1, 1, 51200)
        assert not result.last_line_partial


def test_whichever_limit_stops_first_is_named() -> None:
    assert facts(truncate_head("aa\nbb\ncc", max_lines=2, max_bytes=5)) == (True, "lines", 3, 2, 5)
    assert facts(truncate_head("aa\nbb\ncc", max_lines=2, max_bytes=4)) == (True, "bytes", 3, 1, 2)
    assert facts(truncate_tail("aa\nbb\ncc", max_lines=2, max_bytes=5)) == (True, "lines", 3, 2, 5)
    assert facts(truncate_tail("aa\nbb\ncc", max_lines=2, max_bytes=4)) == (True, "bytes", 3, 1, 2)


def test_head_keeps_nothing_of_a_first_line_that_is_too_long() -> None:
    result = truncate_head("aaaaaa\nb\n", max_bytes=3)
    assert (result.content, result.first_line_exceeds_limit) == ("", True)
    assert facts(result) == (True, "bytes", 2, 0, 0)
    assert truncate_head(EMOJI * 2, max_bytes=5).first_line_exceeds_limit


def test_tail_of_three_lines() -> None:
    result = truncate_tail("a\nb\nc\n", max_lines=2)
    assert result.content == "b\nc"
    assert (result.total_lines, result.total_bytes, result.output_bytes) == (3, 6, 3)


def test_tail_keeps_the_end_of_a_last_line_that_is_too_long() -> None:
    result = truncate_tail("aa\nbbbbbbbbbbb\n", max_lines=2, max_bytes=4)
    assert (result.content, result.last_line_partial) == ("bbbb", True)
    assert facts(result) == (True, "bytes", 2, 1, 4)


def test_tail_never_splits_a_character() -> None:
    result = truncate_tail(EMOJI * 2, max_bytes=5)
    assert (result.content, result.output_bytes, result.last_line_partial) == (EMOJI, 4, True)


def test_blank_lines_count() -> None:
    assert truncate_tail("aaaaaa\nb\n\n", max_bytes=3).content == "b\n"
    assert truncate_head("\n\n\nx", max_lines=2).content == "\n"


def test_no_line_limit_is_reported_as_the_largest_integer() -> None:
    result = truncate_head("x\n" * 5000, max_lines=None)
    assert not result.truncated
    assert result.max_lines == UNLIMITED_LINES == 9007199254740991


@pytest.mark.parametrize("cut", [truncate_head, truncate_tail])
def test_an_empty_text_has_no_lines(cut: Any) -> None:
    assert facts(cut("")) == (False, None, 0, 0, 0)


def test_a_limit_of_no_lines_keeps_nothing() -> None:
    assert facts(truncate_head("a\nb", max_lines=0)) == (True, "lines", 2, 0, 0)
    assert facts(truncate_tail("a\nb", max_lines=0)) == (True, "lines", 2, 0, 0)


def test_the_json_form_has_the_shared_names_in_order() -> None:
    result = truncate_head("a\nb", max_lines=1)
    expected = {
        "content": "a",
        "truncated": True,
        "truncatedBy": "lines",
        "totalLines": 2,
        "totalBytes": 3,
        "outputLines": 1,
        "outputBytes": 1,
        "lastLinePartial": False,
        "firstLineExceedsLimit": False,
        "maxLines": 1,
        "maxBytes": 51200,
    }
    assert list(result.to_json().items()) == list(expected.items())
    assert json.decode(json.encode(result)) == expected
    assert json.decode(json.encode(truncate_head("")))["truncatedBy"] is None


@given(texts, st.integers(0, 6), st.integers(0, 30))
def test_head_keeps_whole_lines_within_the_limits(text: str, max_lines: int, max_bytes: int) -> None:
    result = truncate_head(text, max_lines, max_bytes)
    assert text.startswith(result.content)
    if result.truncated:
        rest = text[len(result.content) :]
        assert not rest or rest.startswith("\n") or not result.output_lines
        assert result.output_lines <= max_lines
        assert utf8_len(result.content) == result.output_bytes <= max_bytes
        assert result.output_lines < result.total_lines or rest == "\n"
    else:
        assert result.content == text


@given(texts, st.integers(0, 6), st.integers(0, 30))
def test_tail_keeps_the_end_within_the_limits(text: str, max_lines: int, max_bytes: int) -> None:
    result = truncate_tail(text, max_lines, max_bytes)
    if not result.truncated:
        assert result.content == text
        return
    body = text.removesuffix("\n")
    assert body.endswith(result.content)
    before = body[: len(body) - len(result.content)]
    assert result.last_line_partial or not result.output_lines or not before or before.endswith("\n")
    assert utf8_len(result.content) == result.output_bytes <= max_bytes
    assert result.output_lines <= max(max_lines, result.last_line_partial)
    assert not result.first_line_exceeds_limit


@given(texts)
def test_lines_are_counted_like_split_without_the_last_empty_piece(text: str) -> None:
    pieces = text.split("\n") if text else []
    assert count_lines(text) == len(pieces) - (bool(pieces) and not pieces[-1])


@given(texts, st.integers(0, 40))
def test_pieces_by_bytes_are_the_longest_that_fit(text: str, limit: int) -> None:
    prefix, suffix = utf8_prefix(text, limit), utf8_suffix(text, limit)
    assert text.startswith(prefix)
    assert text.endswith(suffix)
    for piece, more in ((prefix, text[: len(prefix) + 1]), (suffix, text[max(0, len(text) - len(suffix) - 1) :])):
        assert utf8_len(piece) <= limit
        assert piece == text or utf8_len(more) > limit


@pytest.mark.parametrize(
    ("line", "limit", "expected", "cut"),
    [
        ("abc", 3, "abc", False),
        ("abcd", 3, "abc" + LINE_CUT_MARKER, True),
        ("a" + EMOJI, 3, "a" + EMOJI, False),
        ("a" + EMOJI + "b", 2, "a\ufffd" + LINE_CUT_MARKER, True),
        ("a" + EMOJI + "b", 3, "a" + EMOJI + LINE_CUT_MARKER, True),
        (EMOJI * 250, 500, EMOJI * 250, False),
        (EMOJI * 251, 500, EMOJI * 250 + LINE_CUT_MARKER, True),
        ("", 0, "", False),
    ],
)
def test_a_line_is_measured_in_utf16_units(line: str, limit: int, expected: str, cut: bool) -> None:
    assert truncate_line(line, limit) == (expected, cut)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KB"),
        (1280, "1.3KB"),
        (51200, "50.0KB"),
        (1048575, "1024.0KB"),
        (1048576, "1.0MB"),
        (1048576 + 52429, "1.1MB"),
        (3 * 1024**3, "3072.0MB"),
    ],
)
def test_sizes_round_ties_up(size: int, text: str) -> None:
    assert format_size(size) == text


def test_notices_share_one_bracket_after_one_blank_line() -> None:
    assert with_notices("text", []) == "text"
    assert with_notices("text", ["one", "two"]) == "text\n\n[one. two]"
