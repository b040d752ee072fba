"""Globs against a plain matcher and against what fd and ripgrep do."""

from __future__ import annotations

import contextlib
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinyon._util.glob import InvalidGlobError, compile_glob

PART = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "**", "[ab]", "[!a]"])
NAME = st.sampled_from(["a", "b", "ab", "ba", ".a", "c"])


def matches_plainly(parts: list[str], names: list[str]) -> bool:
    """Component by component, as the words of the documentation say it."""
    if not parts:
        return not names
    if parts[0] == "**":
        if len(parts) == 1:
            return bool(names)
        return any(matches_plainly(parts[1:], names[skip:]) for skip in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and matches_plainly(parts[1:], names[1:])


@given(st.lists(PART, min_size=1, max_size=4), st.lists(NAME, min_size=1, max_size=4))
def test_components_match_like_a_plain_matcher(parts: list[str], names: list[str]) -> None:
    accepted = compile_glob("/".join(parts)).fullmatch("/".join(names)) is not None
    assert accepted == matches_plainly(parts, names)


@pytest.mark.parametrize(
    ("glob", "accepted", "refused"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("a?c", ["abc", "aéc", "a\udcffc"], ["a/c", "ac"]),
        ("src/*.ts", ["src/a.ts"], ["pkg/src/a.ts", "src/x/a.ts"]),
        ("**/src/*.ts", ["src/a.ts", "pkg/src/a.ts", "a/b/src/c.ts"], ["xsrc/a.ts"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "src2/a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("**", ["a", "a/b", ""], []),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("{a,b}.txt", ["a.txt", "b.txt"], ["c.txt", "a,b.txt"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"], ["b"]),
        ("{sub,b/**}", ["sub", "b/x/y"], ["b"]),
        ("x{,y}", ["x", "xy"], ["y"]),
        ("[a-c]", ["a", "b", "c"], ["d", "-"]),
        ("[!a-c]", ["d"], ["a", "/"]),
        ("[^a]", ["b"], ["a"]),
        ("[]-]", ["]", "-"], ["a"]),
        ("[.-0]", [".", "0"], ["/"]),
        (r"\*\[x\]", ["*[x]"], ["ax"]),
        (r"[\]", ["\\"], ["]"]),
        ("a.b+c", ["a.b+c"], ["axbbc"]),
        ("new\nline*", ["new\nline\n"], ["newline"]),
    ],
)
def test_every_form_means_what_it_says(glob: str, accepted: list[str], refused: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [path for path in accepted if not pattern.fullmatch(path)] == []
    assert [path for path in refused if pattern.fullmatch(path)] == []


def test_case_can_be_ignored() -> None:
    assert compile_glob("*.Md", ignore_case=True).fullmatch("README.MD")
    assert not compile_glob("*.Md").fullmatch("README.MD")


@pytest.mark.parametrize("glob", ["[", "[]", "[!", "{a", "{a,{b}", "a}", "x\\", "[z-a]"])
def test_broken_globs_are_refused_with_their_text(glob: str) -> None:
    with pytest.raises(InvalidGlobError) as caught:
        compile_glob(glob)
    assert repr(glob) in str(caught.value)


@given(st.text("ab*?[]{}!^-,\\/."))
def test_any_text_is_a_glob_or_refused(glob: str) -> None:
    with contextlib.suppress(InvalidGlobError):
        compile_glob(glob)


PIECE = st.sampled_from(["*", "**", "?", "a", "b", "ab", "[ab]", "[!a]", "."])
LETTERS = st.text(alphabet="ab.c", max_size=8)


@given(st.lists(PIECE, min_size=1, max_size=8), LETTERS)
def test_many_stars_in_one_component_match_like_a_plain_matcher(pieces: list[str], name: str) -> None:
    glob = "".join(pieces)
    if "***" in glob or glob.startswith("**"):
        return  # more than one component may match those
    assert (compile_glob(glob).fullmatch(name) is not None) == fnmatchcase(name, glob.replace("**", "*"))


@pytest.mark.parametrize(
    ("glob", "accepted", "refused"),
    [
        ("*{a,ab}*c", ["abc", "xac", "aabxc"], ["abd", "a/c"]),
        ("*{a,b/c}*d", ["ad", "b/cd", "xb/cxd"], ["bd"]),
        ("{*a*b,c}*d", ["abd", "cd", "xaxbxd"], ["ad"]),
        ("*a*/*b*/c", ["a/b/c", "xax/xbx/c"], ["a/c", "b/a/c"]),
    ],
)
def test_stars_beside_alternatives_and_components(glob: str, accepted: list[str], refused: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [name for name in accepted if not pattern.fullmatch(name)] == []
    assert [name for name in refused if pattern.fullmatch(name)] == []


def test_many_stars_are_not_tried_in_every_combination() -> None:
    assert compile_glob("*a" * 30 + "b").fullmatch("a" * 200) is None
    assert compile_glob("*{a,aa}" * 30 + "b").fullmatch("a" * 200) is None
