"""The find tool on real trees. Expectations are what fd gives for the same tree, `.git` folders left out."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.agent.tool import AgentToolResult, FixedToolContext
from pinyon.ai.content import TextContent
from pinyon.env import LocalEnv, MemoryEnv
from pinyon.errors import ToolError
from pinyon.tools.file_search import ALWAYS_IGNORED, find_files
from pinyon.tools.find import create_find_tool_definition
from pinyon.tools.tree_walk import excludes_file

NOTHING = "No files found matching pattern"


def find(
    folder: Path | str, pattern: str, *, env: Any = None, operations: Any = None, **params: Any
) -> AgentToolResult:
    definition = create_find_tool_definition(folder, env=env, operations=operations)
    return asyncio.run(definition.run({"pattern": pattern, **params}))


def text_of(result: AgentToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def found(folder: Path | str, pattern: str, **params: Any) -> list[str]:
    text = text_of(find(folder, pattern, **params))
    return [] if text == NOTHING else text.split("\n")


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"x\n")


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def test_the_declaration_is_complete(tmp_path: Path) -> None:
    tool = create_find_tool_definition(tmp_path)
    assert tool.parameters["required"] == ["pattern"]
    assert {name: value["type"] for name, value in tool.parameters["properties"].items()} == {
        "pattern": "string",
        "path": "string",
        "limit": "number",
    }
    for fact in (".gitignore", "1000 results", "50KB", "relative"):
        assert fact in tool.description
    assert tool.constrained_sampling is None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(
        tmp_path,
        "README.md",
        "readme.txt",
        "src/a.ts",
        "src/deep/b.ts",
        "src/deep/B.TS",
        "pkg/src/c.ts",
        ".env.sample",
        ".hid/h.ts",
        "[odd]/x.ts",
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "broken").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.ts", [".hid/h.ts", "[odd]/x.ts", "pkg/src/c.ts", "src/a.ts", "src/deep/B.TS", "src/deep/b.ts"]),
        ("*.TS", ["src/deep/B.TS"]),
        ("src", ["pkg/src/", "src/"]),
        ("src/*.ts", ["src/a.ts"]),
        ("./src/*.ts", ["src/a.ts"]),
        ("././/src/*.ts", ["src/a.ts"]),
        ("**/src/*.ts", ["pkg/src/c.ts", "src/a.ts"]),
        ("src/**", ["src/a.ts", "src/deep/", "src/deep/B.TS", "src/deep/b.ts"]),
        ("readme*", ["README.md", "readme.txt"]),
        ("README*", ["README.md"]),
        (".env*", [".env.sample"]),
        ("{a,c}.ts", ["pkg/src/c.ts", "src/a.ts"]),
        (r"\[odd\]", ["[odd]/"]),
        ("[[]odd]", ["[odd]/"]),
        ("loop", ["loop"]),
        ("broken", ["broken"]),
        ("empty", ["empty/"]),
        ("nothing-like-this", []),
        ("-x", []),
    ],
)
def test_patterns_find_what_fd_finds(tree: Path, pattern: str, expected: list[str]) -> None:
    assert found(tree, pattern) == expected


def test_everything_is_found_once_in_spite_of_a_loop(tree: Path) -> None:
    everything = found(tree, "*")
    assert len(everything) == len(set(everything)) == 18
    assert not any(path.startswith("loop/") for path in everything)
    assert everything == sorted(everything)


def test_an_absolute_pattern_matches_absolute_paths(tree: Path) -> None:
    assert found(tree, f"{tree}/src/*.ts") == ["src/a.ts"]
    assert found(tree / "src", f"{tree}/**/B.TS") == ["deep/B.TS"]


def test_a_path_is_searched_relative_to_itself(tree: Path) -> None:
    assert found(tree, "*.ts", path="src") == ["a.ts", "deep/B.TS", "deep/b.ts"]
    assert found("/", "*.md", path=str(tree)) == ["README.md"]
    assert found(tree, "*.md", path="loop") == ["README.md"]
    definition = create_find_tool_definition("/nowhere")
    result = asyncio.run(definition.run({"pattern": "*.md"}, FixedToolContext(cwd=tree)))
    assert text_of(result) == "README.md"


def test_a_pattern_that_looks_like_an_option_is_text(tmp_path: Path) -> None:
    write(tmp_path, "-x", "--exec=sh")
    assert found(tmp_path, "-x") == ["-x"]
    assert found(tmp_path, "--exec=*") == ["--exec=sh"]


def test_ignore_files_hold_where_they_are(tmp_path: Path) -> None:
    write(tmp_path, "a/k.log", "b/k.log", "a/keep.log", "dist/x", "b/x.tmp", "b/y.bak", "c/y.bak", "c/z.fd")
    (tmp_path / "a/.gitignore").write_text("*.log\n!keep.log\n")
    (tmp_path / ".gitignore").write_text("dist/\n")
    (tmp_path / "b/.ignore").write_text("*.tmp\n")
    (tmp_path / ".fdignore").write_text("*.fd\n")
    assert found(tmp_path, "*.log") == ["a/keep.log", "b/k.log"]
    assert found(tmp_path, "x*") == []
    assert found(tmp_path, "*.bak") == ["b/y.bak", "c/y.bak"]
    assert found(tmp_path, "*.fd") == []
    assert found(tmp_path, "*", path="dist") == ["x"]


def test_rules_of_git_hold_inside_and_outside_of_repositories(tmp_path: Path) -> None:
    write(tmp_path, "x.log", "deep/y.log")
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert found(tmp_path, "*.log") == []
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert found(tmp_path, "*.log") == []
    assert found(tmp_path / "deep", "*.log") == []
    (tmp_path / ".git/info/exclude").write_text("deep/\n")
    (tmp_path / ".gitignore").unlink()
    assert found(tmp_path, "*.log") == ["x.log"]


def test_a_nested_repository_is_its_own_world(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "sub"):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (tmp_path / ".gitignore").write_text("sub/\n*.log\n")
    write(tmp_path, "sub/x.py", "sub/y.log")
    assert found(tmp_path, "*.py") == []
    assert found(tmp_path, "*.py", path="sub") == ["x.py"]
    assert found(tmp_path / "sub", "*.log") == ["y.log"]


def test_a_linked_work_tree_has_the_excludes_of_its_repository(tmp_path: Path) -> None:
    main = tmp_path / "main"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    (main / ".git/info/exclude").write_text("*.secret\n")
    write(tmp_path / "tree", "a.secret", "b.txt")
    assert found(tmp_path / "tree", "*.{secret,txt}") == ["b.txt"]


def test_the_users_global_excludes_hold(tmp_path: Path, home: Path) -> None:
    write(tmp_path, "a.swp", "b.orig", "c.txt")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.swp\n")
    assert found(tmp_path, "?.*") == ["b.orig", "c.txt"]
    (home / ".gitconfig").write_text('[core]\n\texcludesFile = "~/.mine"\n')
    (home / ".mine").write_text("*.orig\n")
    assert found(tmp_path, "?.*") == ["a.swp", "c.txt"]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("[core]\n excludesfile = /x/y\n", "/x/y"),
        ('[core]\n\tExcludesFile="~/a b"\n', "~/a b"),
        ("[core]\n editor = vi\n", None),
        ("", None),
    ],
)
def test_the_place_of_the_global_excludes_is_read(config: str, expected: str | None) -> None:
    assert excludes_file(config) == expected


def test_git_folders_are_left_out_unless_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(tmp_path, "config", ".gitignore", ".github/config")
    assert found(tmp_path, "config") == [".github/config", "config"]
    assert found(tmp_path, ".git*") == [".github/", ".gitignore"]
    assert found(tmp_path, ".git") == [".git/"]
    assert found(tmp_path, ".git/config") == [".git/config"]
    assert found(tmp_path, "config", path=".git") == ["config"]


@pytest.mark.parametrize(
    ("limit", "shown", "is_cut"),
    [(2, 2, True), (3, 3, True), (4, 4, False), (9, 4, False), (0, 1, True), (-1, 1, True), (2.7, 2, True)],
)
def test_the_limit_is_told_only_when_there_is_more(tmp_path: Path, limit: float, shown: int, is_cut: bool) -> None:
    write(tmp_path, *"abcd")
    result = find(tmp_path, "*", limit=limit)
    paths, _, notice = text_of(result).partition("\n\n")
    assert paths.split("\n") == list("abcd")[:shown]
    if is_cut:
        assert f"limit={shown * 2}" in notice
        assert result.details == {"resultLimitReached": shown}
    else:
        assert (notice, bool(result.details)) == ("", False)


def test_fifty_kilobytes_are_the_most(tmp_path: Path) -> None:
    write(tmp_path, *(f"{n:03d}{'x' * 200}" for n in range(300)))
    result = find(tmp_path, "*")
    assert text_of(result).endswith("[Cut at the limit of 50.0KB]")
    assert result.details["truncation"]["totalLines"] == 300


def test_no_result_is_said(tmp_path: Path) -> None:
    result = find(tmp_path, "*.none")
    assert text_of(result) == NOTHING
    assert not result.details


def test_failures_name_the_path_or_the_pattern(tmp_path: Path) -> None:
    write(tmp_path, "file")
    for path in ("missing", "file"):
        with pytest.raises(ToolError, match=re.escape(repr(str(tmp_path / path)))):
            find(tmp_path, "*", path=path)
    with pytest.raises(ToolError, match=re.escape("'[a'")):
        find(tmp_path, "[a")
    with pytest.raises(ToolError, match="empty"):
        find(tmp_path, "")


def test_odd_names_are_found_and_shown_harmlessly(tmp_path: Path) -> None:
    write(tmp_path, "esc\x1b[2J.txt", "new\nline.txt", os.fsdecode(b"latin\xe9.txt"), "ünï.txt")
    (tmp_path / os.fsdecode(b"dir\xff")).mkdir()
    write(tmp_path / os.fsdecode(b"dir\xff"), "in.txt")
    assert found(tmp_path, "*.txt") == [
        "dir\ufffd/in.txt",
        r"esc\x1b[2J.txt",
        "latin\ufffd.txt",
        r"new\nline.txt",
        "ünï.txt",
    ]
    assert text_of(find(tmp_path, "*")).encode()


def test_unreadable_folders_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "closed/b.txt")
    (tmp_path / "closed").chmod(0)
    try:
        assert "a.txt" in found(tmp_path, "*.txt")
    finally:
        (tmp_path / "closed").chmod(0o755)


def test_an_environment_is_searched_by_the_same_rules(tree: Path) -> None:
    write(tree, "dist/x.ts", "src/skip/y.ts", ".git/config", "src/.git/HEAD", "src/z.log")
    (tree / ".gitignore").write_text("dist/\n*.log\n")
    (tree / "src/.gitignore").write_text("/skip\n")
    files = {
        f"/w/{path.relative_to(tree).as_posix()}": path.read_bytes()
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    env = MemoryEnv(files, cwd="/w")
    asyncio.run(env.create_dir("/w/empty"))
    for name, target in (("loop", "."), ("broken", "nowhere")):
        asyncio.run(env.create_symlink(f"/w/{name}", target))
    for pattern in ("*", "*.ts", "src/**", "**/src/*.ts", "*.log", "config", ".git/config"):
        assert found("/w", pattern, env=env) == found(tree, pattern), pattern
        assert found(tree, pattern, env=LocalEnv(str(tree))) == found(tree, pattern), pattern
    assert found("/w", "*.ts", env=env, path="src") == ["a.ts", "deep/B.TS", "deep/b.ts"]
    assert len(found("/w", "*", env=env, limit=3)) == 5
    with pytest.raises(ToolError, match="missing"):
        find("/w", "*", env=env, path="missing")


class FakeGlob:
    def __init__(self, answer: Callable[[str, str], list[str]]) -> None:
        self.asked: tuple[str, str, Sequence[str], int] | None = None
        self._answer = answer

    async def exists(self, path: str) -> bool:
        return path == "/remote"

    async def glob(self, pattern: str, cwd: str, *, ignore: Sequence[str], limit: int) -> list[str]:
        self.asked = (pattern, cwd, ignore, limit)
        return self._answer(pattern, cwd)


def test_operations_may_do_the_whole_search() -> None:
    operations = FakeGlob(lambda pattern, cwd: [f"{cwd}/b/", f"{cwd}/a.txt", "c.txt"])
    assert found("/remote", "*.txt", operations=operations) == ["a.txt", "b/", "c.txt"]
    assert operations.asked == ("*.txt", "/remote", ALWAYS_IGNORED, 1001)
    result = find("/remote", "*", operations=operations, limit=2)
    assert text_of(result) == "a.txt\nb/\n\n[There are more than these 2 results]"
    assert result.details == {"resultLimitReached": 2}
    with pytest.raises(ToolError, match="elsewhere"):
        find("/elsewhere", "*", operations=operations)


class HangingOperations:
    async def exists(self, path: str) -> bool:
        await asyncio.sleep(60)
        return True


def test_an_abort_ends_a_search_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        controller = AbortController()
        asyncio.get_running_loop().call_later(0.05, controller.abort)
        await find_files({"pattern": "*"}, str(tmp_path), HangingOperations(), controller.signal)

    with pytest.raises(OperationAbortedError):
        asyncio.run(work())
