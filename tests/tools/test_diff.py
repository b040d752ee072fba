"""Descriptions of changes: numbered lines, patches, and bounds on what they cost."""

from __future__ import annotations

import re
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon.tools.diff import (
    MAX_DIFF_LINE_CHARS,
    MAX_EDIT_DISTANCE,
    MAX_PATCH_LINE_CHARS,
    EditDiff,
    describe_change,
    diff_lines,
)
from pinyon.tools.edit_match import Replacement, apply_replacements

HUNDRED = "".join(f"l{number}\n" for number in range(1, 101))
lines = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=25)


def change(text: str, *edits: tuple[str, str]) -> EditDiff:
    replacements = []
    for index, (old, new) in enumerate(edits):
        start = text.index(old)
        replacements.append(Replacement(start, start + len(old), new, index))
    return describe_change("e", text, sorted(replacements, key=lambda item: item.start))


@pytest.mark.parametrize(
    ("text", "old", "new", "diff", "patch", "first"),
    [
        (
            "alpha\nbeta\ngamma\n",
            "beta",
            "BETA",
            " 1 alpha\n-2 beta\n+2 BETA\n 3 gamma",
            "@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n",
            2,
        ),
        (
            "x",
            "x",
            "y",
            "-1 x\n+1 y",
            "@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n",
            1,
        ),
        ("x\ny", "y", "", " 1 x\n-2 y", "@@ -1,2 +1,1 @@\n x\n-y\n\\ No newline at end of file\n", 2),
        ("x\ny\n", "x\ny\n", "", "-1 x\n-2 y", "@@ -1,2 +0,0 @@\n-x\n-y\n", 1),
        ("x\n", "x", "x\n", " 1 x\n+2 ", "@@ -1,1 +1,2 @@\n x\n+\n", 2),
        (
            "a\nb",
            "b",
            "c\nd",
            " 1 a\n-2 b\n+2 c\n+3 d",
            "@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+c\n+d\n\\ No newline at end of file\n",
            2,
        ),
    ],
)
def test_a_change_is_described(text: str, old: str, new: str, diff: str, patch: str, first: int) -> None:
    assert change(text, (old, new)) == EditDiff(diff, f"--- e\n+++ e\n{patch}", first)


def test_context_is_cut_to_four_lines_with_one_skip_line_between() -> None:
    described = change(HUNDRED, ("l50\n", "L50\nnew\n"), ("l60\n", ""), ("l3\n", "q\n"))
    assert described.diff.split("\n") == [
        *["   1 l1", "   2 l2", "-  3 l3", "+  3 q", "   4 l4", "   5 l5", "   6 l6", "   7 l7", "     ..."],
        *["  46 l46", "  47 l47", "  48 l48", "  49 l49", "- 50 l50", "+ 50 L50", "+ 51 new"],
        *["  51 l51", "  52 l52", "  53 l53", "  54 l54", "     ...", "  56 l56", "  57 l57", "  58 l58", "  59 l59"],
        *["- 60 l60", "  61 l61", "  62 l62", "  63 l63", "  64 l64", "     ..."],
    ]
    assert re.findall(r"@@.*@@", described.patch) == [
        "@@ -1,7 +1,7 @@",
        "@@ -46,9 +46,10 @@",
        "@@ -56,9 +57,8 @@",
    ]
    assert described.first_changed_line == 3


def test_windows_far_apart_share_one_skip_line() -> None:
    described = change(HUNDRED, ("l1\n", "A\n"), ("l100\n", "B\n"))
    assert described.diff.split("\n").count("     ...") == 1


def test_eight_unchanged_lines_between_changes_are_shown_whole() -> None:
    assert "..." not in change("".join(HUNDRED.splitlines(True)[:10]), ("l1\n", "A\n"), ("l10\n", "B\n")).diff
    assert "..." in change("".join(HUNDRED.splitlines(True)[:11]), ("l1\n", "A\n"), ("l11\n", "B\n")).diff


def test_numbers_are_as_wide_as_the_longer_text() -> None:
    assert change("a\n", ("a\n", "x\n" * 10)).diff.startswith("- 1 a\n+ 1 x")


@given(lines, lines)
def test_changes_turn_the_old_lines_into_the_new(old: list[str], new: list[str]) -> None:
    result: list[str] = []
    at = 0
    for item in diff_lines(old, new):
        assert item.old_start - at == item.new_start - len(result)
        result += old[at : item.old_start] + new[item.new_start : item.new_end]
        at = item.old_end
    assert result + old[at:] == new


@given(lines, lines)
def test_a_difference_is_minimal(old: list[str], new: list[str]) -> None:
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old)):
        for j in range(len(new)):
            common[i + 1][j + 1] = common[i][j] + 1 if old[i] == new[j] else max(common[i][j + 1], common[i + 1][j])
    changed = sum(item.old_end - item.old_start + item.new_end - item.new_start for item in diff_lines(old, new))
    assert changed == len(old) + len(new) - 2 * common[-1][-1]


def test_texts_with_too_little_in_common_are_replaced_as_a_block() -> None:
    old = [f"o{number}" for number in range(MAX_EDIT_DISTANCE)]
    new = [f"n{number}" for number in range(MAX_EDIT_DISTANCE)]
    (block,) = diff_lines(["head", *old, "tail"], ["head", *new, "tail"])
    assert (block.old_start, block.old_end, block.new_end) == (1, MAX_EDIT_DISTANCE + 1, MAX_EDIT_DISTANCE + 1)


@given(st.lists(st.sampled_from(["a", "b", "c", "\n"]), max_size=60), st.data())
def test_a_patch_applies(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    replacement = Replacement(start, end, data.draw(st.text("abX\n", max_size=12)), 0)
    after = apply_replacements(text, [replacement])
    described = describe_change("f", text, [replacement])
    assert apply_patch(text, described.patch) == after
    assert (described.first_changed_line is None) == (text == after)


def apply_patch(text: str, patch: str) -> str:
    """A strict reader of unified diffs, independent of the writer."""
    old = text.split("\n")
    old = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    result: list[str] = []
    at = 0
    body = patch.split("\n")[2:-1]
    index = 0
    while index < len(body):
        header = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", body[index])
        assert header is not None
        start, removed, new_start, added = map(int, header.groups())
        start -= 1 if removed else 0
        result += old[at:start]
        at = start
        assert new_start - (1 if added else 0) == len(result)
        index += 1
        while index < len(body) and not body[index].startswith("@@"):
            sign, line = body[index][0], body[index][1:] + "\n"
            if index + 1 < len(body) and body[index + 1].startswith("\\"):
                line = line[:-1]
                index += 1
            if sign in " -":
                assert old[at] == line
                at, removed = at + 1, removed - 1
            if sign in " +":
                result.append(line)
                added -= 1
            index += 1
        assert (removed, added) == (0, 0)
    return "".join(result + old[at:])


def test_the_system_patch_tool_accepts_a_patch(tmp_path: Path) -> None:
    described = change(HUNDRED, ("l50\n", "L50\nnew\n"), ("l60\n", ""), ("l100\n", "end"))
    target = tmp_path / "e"
    target.write_text(HUNDRED)
    run = subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=described.patch, text=True, check=False)
    assert run.returncode == 0
    assert target.read_text() == HUNDRED.replace("l50\n", "L50\nnew\n").replace("l60\n", "").replace("l100\n", "end")


# bounds


def test_a_long_neighbour_is_clipped_and_left_out_of_the_patch() -> None:
    text = "x" * 5_000_000 + "\nneedle\n"
    tracemalloc.start()
    try:
        described = change(text, ("needle", "N"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(described.diff) < MAX_DIFF_LINE_CHARS + 200
    assert "-2 needle\n+2 N" in described.diff
    assert described.patch == "--- e\n+++ e\n@@ -2,1 +2,1 @@\n-needle\n+N\n"
    assert peak < 40_000_000


def test_a_long_changed_line_is_clipped_around_the_change_and_has_no_patch() -> None:
    text = "a" * 3_000_000 + "needle" + "b" * 3_000_000 + "\n"
    described = change(text, ("needle", "NEEDLE"))
    old, new = described.diff.split("\n")
    assert "needle" in old
    assert "NEEDLE" in new
    assert max(len(old), len(new)) < MAX_DIFF_LINE_CHARS + 200
    assert described.patch == ""


def test_a_line_at_the_limits_is_shown_whole() -> None:
    text = "y" * (MAX_PATCH_LINE_CHARS - 1) + "\nneedle\n"
    assert "yyy\n-needle" in change(text, ("needle", "N")).patch
    text = "y" * MAX_DIFF_LINE_CHARS + "\nneedle\n"
    assert "y" * MAX_DIFF_LINE_CHARS in change(text, ("needle", "N")).diff.split("\n")[0]


def test_cost_follows_the_edit_and_not_the_file() -> None:
    text = "same line\n" * 300_000 + "needle\n" + "same line\n" * 300_000
    tracemalloc.start()
    try:
        described = change(text, ("needle", "N"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert described.first_changed_line == 300_001
