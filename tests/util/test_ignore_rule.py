"""Lines of ignore files, and which files of a tree win over which."""

from __future__ import annotations

import pytest

from pinyon._util.ignore_rule import IgnoreFiles, IgnoreRules, IgnoreScope


def decide(content: str, path: str) -> bool | None:
    is_directory = path.endswith("/")
    path = path.removesuffix("/")
    return IgnoreRules.parse(content.encode()).ignores(path, path.rpartition("/")[2], is_directory)


@pytest.mark.parametrize(
    ("content", "path", "expected"),
    [
        ("*.log", "a.log", True),
        ("*.log", "deep/er/a.log", True),
        ("*.log", "a.txt", None),
        ("*.tar.gz", "a.tar.gz", True),
        ("*.tar.gz", "a.gz", None),
        ("*", "x", True),
        ("build", "build/", True),
        ("build", "build", True),
        ("build/", "build", None),
        ("build/", "build/", True),
        ("build/", "x/build/", True),
        ("/build", "build/", True),
        ("/build", "x/build/", None),
        ("doc/*.txt", "doc/a.txt", True),
        ("doc/*.txt", "x/doc/a.txt", None),
        ("**/doc/*.txt", "x/doc/a.txt", True),
        ("a/**", "a/", None),
        ("a/**", "a/b", True),
        ("a/**", "a/b/c", True),
        ("a/**/b", "a/x/y/b", True),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("*\n!*/\n!*.py", "x/", False),
        ("*\n!*/\n!*.py", "x/a.py", False),
        ("*\n!*/\n!*.py", "x/a.txt", True),
        ("# comment\n\n   \n", "# comment", None),
        ("\\#file", "#file", True),
        ("\\!file", "!file", True),
        ("name   ", "name", True),
        ("name\\ ", "name ", True),
        ("name\r\nother\r\n", "name", True),
        ("\ufeffname", "name", True),
        ("[ab].txt", "a.txt", True),
        ("{a,b}.txt", "b.txt", True),
        ("[broken\ngood", "good", True),
        ("/", "x", None),
        ("!", "x", None),
        ("ünï", "ünï", True),
    ],
)
def test_lines_decide_about_entries(content: str, path: str, expected: bool | None) -> None:
    assert decide(content, path) is expected


def test_bytes_that_are_no_utf8_match_themselves() -> None:
    assert IgnoreRules.parse(b"bad\xff").ignores("bad\udcff", "bad\udcff", is_directory=False)


def scope(*folders: tuple[str, IgnoreFiles]) -> IgnoreScope:
    current = IgnoreScope()
    for path, files in folders:
        current = current.enter(files, below=len(path))
    return current


def test_the_nearest_file_wins() -> None:
    rules = scope(("", IgnoreFiles(git=b"*.log")), ("a/", IgnoreFiles(git=b"!k.log")))
    assert not rules.ignores("a/k.log", "k.log", is_directory=False)
    assert rules.ignores("a/x.log", "x.log", is_directory=False)


def test_anchored_lines_count_from_their_own_folder() -> None:
    rules = scope(("", IgnoreFiles()), ("a/", IgnoreFiles(git=b"/x\nb/c")))
    assert rules.ignores("a/x", "x", is_directory=False)
    assert rules.ignores("a/b/c", "c", is_directory=False)
    assert not rules.ignores("a/b/x", "x", is_directory=False)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (IgnoreFiles(own=b"!x", ignore=b"x"), False),
        (IgnoreFiles(ignore=b"!x", git=b"x"), False),
        (IgnoreFiles(git=b"!x", exclude=b"x"), False),
        (IgnoreFiles(exclude=b"x"), True),
    ],
)
def test_kinds_have_an_order(files: IgnoreFiles, expected: bool) -> None:
    assert scope(("", files)).ignores("x", "x", is_directory=False) is expected


def test_an_outer_file_of_a_stronger_kind_wins() -> None:
    rules = scope(("", IgnoreFiles(ignore=b"x")), ("a/", IgnoreFiles(git=b"!x")))
    assert rules.ignores("a/x", "x", is_directory=False)


def test_a_nested_repository_hides_from_the_rules_of_git_only() -> None:
    outer = IgnoreFiles(git=b"*.log", exclude=b"*.tmp", ignore=b"*.bak", is_repository=True)
    rules = scope(("", outer), ("sub/", IgnoreFiles(is_repository=True)))
    assert not rules.ignores("sub/a.log", "a.log", is_directory=False)
    assert not rules.ignores("sub/a.tmp", "a.tmp", is_directory=False)
    assert rules.ignores("sub/a.bak", "a.bak", is_directory=False)


def test_rules_from_above_the_root_count_from_their_folder() -> None:
    rules = IgnoreScope().enter(IgnoreFiles(git=b"/src/gen\n*.log"), above="src/")
    assert rules.ignores("gen", "gen", is_directory=True)
    assert rules.ignores("x.log", "x.log", is_directory=False)
    assert not rules.ignores("src", "src", is_directory=True)


def test_the_users_rules_are_the_weakest() -> None:
    rules = IgnoreScope().with_user_rules(b"x\ny").enter(IgnoreFiles(git=b"!x", is_repository=True))
    assert not rules.ignores("x", "x", is_directory=False)
    assert rules.ignores("y", "y", is_directory=False)
