"""Paths as models write them, on real files and for both flavours."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from pinyon.tools.path import (
    PathError,
    expand_path,
    is_path_within,
    path_key,
    read_path_candidates,
    resolve_read_path,
    resolve_to_cwd,
    shorten_home_path,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt", "/proj/a.txt"),
        ("./a/../b.txt", "/proj/b.txt"),
        ("../x", "/x"),
        ("../../../x", "/x"),
        ("/etc/./hosts", "/etc/hosts"),
        ("//etc//hosts", "/etc/hosts"),
        ("@a.txt", "/proj/a.txt"),
        ("@@a.txt", "/proj/@a.txt"),
        ("a\u00a0b.txt", "/proj/a b.txt"),
        ("a\u2009\u202f\u205f\u3000b", "/proj/a    b"),
        ("  a ", "/proj/  a "),
        ("~other/x", "/proj/~other/x"),
        ("a~", "/proj/a~"),
        ("file:///tmp/a%20b.txt", "/tmp/a b.txt"),
        ("file://localhost/tmp/x?y#z", "/tmp/x"),
        ("@file:///tmp/x", "/tmp/x"),
        ("", "/proj"),
        (".", "/proj"),
        ("back\\slash", "/proj/back\\slash"),
    ],
)
def test_posix_paths_resolve_in_the_working_directory(text: str, expected: str) -> None:
    assert resolve_to_cwd(text, "/proj", "posix") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt", "C:\\work\\a.txt"),
        ("a/b/../c", "C:\\work\\a\\c"),
        ("/c/Users/x", "C:\\Users\\x"),
        ("/mnt/d/data", "D:\\data"),
        ("/cygdrive/e", "E:\\"),
        ("/mnt/data", "C:\\mnt\\data"),
        ("//server/share/x", "\\\\server\\share\\x"),
        ("/c\\odd", "C:\\c\\odd"),
        ("D:\\x\\.\\y", "D:\\x\\y"),
        ("file:///C:/a%20b", "C:\\a b"),
        ("file://server/share/a", "\\\\server\\share\\a"),
    ],
)
def test_windows_paths_resolve_in_the_working_directory(text: str, expected: str) -> None:
    assert resolve_to_cwd(text, "C:\\work", "windows") == expected


def test_tilde_is_the_home_directory(home: Path) -> None:
    assert expand_path("~") == str(home)
    assert expand_path("~/x/y") == str(home / "x" / "y")
    assert expand_path("@~/x") == str(home / "x")
    assert resolve_to_cwd("a", "~/project", "posix") == f"{home}/project/a"
    assert expand_path("~\\x", "windows").endswith("\\x")
    assert expand_path("~\\x", "posix") == "~\\x"


@pytest.mark.parametrize(
    ("text", "flavour", "problem"),
    [
        ("a\0b", "posix", "NUL"),
        ("file:///a%00b", "posix", "NUL"),
        ("file://elsewhere/x", "posix", "elsewhere"),
        ("file:///a%2Fb", "posix", "separator"),
        ("file:///x/y", "windows", "drive"),
    ],
)
def test_texts_that_name_no_file_are_refused_with_the_reason(text: str, flavour: str, problem: str) -> None:
    with pytest.raises(PathError, match=problem):
        expand_path(text, "windows" if flavour == "windows" else "posix")


def test_lone_surrogates_that_are_no_raw_bytes_are_replaced() -> None:
    assert expand_path("x\ud83dy", "posix") == "x\ufffdy"
    assert expand_path("raw\udcff", "posix") == "raw\udcff"


@pytest.mark.parametrize(
    ("on_disk", "written"),
    [
        ("Screenshot 2026-01-02 at 3.04.05\u202fPM.png", "Screenshot 2026-01-02 at 3.04.05 PM.png"),
        ("at 3.04\u202fam.png", "at 3.04 am.png"),
        (unicodedata.normalize("NFD", "café.txt"), "café.txt"),
        ("it\u2019s.txt", "it's.txt"),
        (unicodedata.normalize("NFD", "l\u2019été.txt"), "l'été.txt"),
        ("odd\u00a0blank.txt", "odd\u00a0blank.txt"),
        ("@types.txt", "@types.txt"),
        ("plain.txt", "@plain.txt"),
    ],
)
def test_a_file_is_found_under_the_spelling_it_has_on_disk(tmp_path: Path, on_disk: str, written: str) -> None:
    (tmp_path / on_disk).write_text("x", encoding="utf-8")
    assert Path(resolve_read_path(written, tmp_path)).read_text(encoding="utf-8") == "x"


def test_the_plain_spelling_wins_when_several_exist(tmp_path: Path) -> None:
    for name in ("it's.txt", "it\u2019s.txt"):
        (tmp_path / name).touch()
    assert resolve_read_path("it's.txt", tmp_path) == str(tmp_path / "it's.txt")


def test_a_missing_file_keeps_its_plain_path(tmp_path: Path) -> None:
    assert resolve_read_path("it's PM.txt", tmp_path) == str(tmp_path / "it's PM.txt")


def test_candidates_are_distinct() -> None:
    assert list(read_path_candidates("a", "/w", "posix")) == ["/w/a"]


def test_keys_compare_without_case_on_windows_only() -> None:
    assert path_key("C:\\Work\\..\\A", "windows") == path_key("c:\\a", "windows")
    assert path_key("/A", "posix") != path_key("/a", "posix")


@pytest.mark.parametrize(
    ("parent", "child", "inside"),
    [("/a", "/a/b", True), ("/a", "/a", True), ("/a", "/ab", False), ("/", "/x", True), ("/a/b", "/a", False)],
)
def test_containment_respects_the_separator(parent: str, child: str, inside: bool) -> None:
    assert is_path_within(parent, child, "posix") is inside


def test_containment_on_windows_ignores_case() -> None:
    assert is_path_within("C:\\Work", "c:\\work\\x", "windows")


def test_home_is_shortened_for_display(home: Path) -> None:
    assert shorten_home_path(str(home)) == "~"
    assert shorten_home_path(str(home / "x")) == "~/x"
    assert shorten_home_path(f"{home}other") == f"{home}other"
    assert shorten_home_path("/elsewhere") == "/elsewhere"


UNDER_ASCII = r"""
import asyncio, sys
from pinyon.tools import create_tool_definition

def run(name, **params):
    try:
        result = asyncio.run(create_tool_definition(name, sys.argv[1]).run(params))
        text = result.content[0].text
    except Exception as failure:
        text = str(failure)
    sys.stdout.buffer.write(f"{name}: {text.strip()}\n".replace(sys.argv[1], "").encode())

name = "\u4f60/it's\u2713.txt"
run("write", path=name, content="\u597d\n")
run("read", path=name)
run("edit", path="@" + name, edits=[{"oldText": "\u597d", "newText": "\u2713"}])
run("read", path="file://" + sys.argv[1] + "/%E4%BD%A0/it's%E2%9C%93.txt")
run("ls", path="\u4f60")
run("find", path="\u4f60", pattern="*.txt")
run("grep", path="\u4f60", pattern="\u2713")
run("read", path="it's\u00e9")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_names_mean_the_same_under_every_locale(tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", UNDER_ASCII, str(tmp_path)]
    output = subprocess.run(command, env=env, capture_output=True, check=True).stdout
    assert output.decode().splitlines() == [
        "write: Wrote 你/it's✓.txt.",
        "read: 好",
        "edit: Made 1 replacement in @你/it's✓.txt.",
        "read: ✓",
        "ls: it's✓.txt",
        "find: it's✓.txt",
        "grep: it's✓.txt:1: ✓",
        'read: Cannot read "/it\'sé": No such file or directory (ENOENT).',
    ]
    assert (tmp_path / "你" / "it's✓.txt").read_text(encoding="utf-8") == "✓\n"
