from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pinyon.resources.context_file import CONTEXT_FILE_NAMES, find_context_files, load_project_context_files


def write(path: Path, text: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def contents(cwd: Path, agent_dir: Path) -> list[str]:
    return [file.content for file in load_project_context_files(cwd, agent_dir)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "agent").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path


def test_the_agent_folder_comes_first_then_the_root_down_to_the_working_directory(root: Path) -> None:
    for folder in ("agent", "a/b", "a"):
        write(root / folder / "AGENTS.md", folder)
    write(root / "a" / "b" / "c" / "AGENTS.md", "below")
    assert contents(root / "a" / "b", root / "agent") == ["agent", "a", "a/b"]


def test_every_ancestor_counts_also_above_a_repository(root: Path) -> None:
    (root / "a" / "b" / ".git").mkdir()
    write(root / "a" / "AGENTS.md", "above")
    assert contents(root / "a" / "b", root / "agent") == ["above"]


@pytest.mark.parametrize("first", range(len(CONTEXT_FILE_NAMES)))
def test_a_folder_gives_its_first_file_only(root: Path, first: int) -> None:
    for name in CONTEXT_FILE_NAMES[first:]:
        write(root / "a" / name, name)
    assert contents(root / "a", root / "agent") == [CONTEXT_FILE_NAMES[first]]


def test_a_folder_of_that_name_is_no_file(root: Path) -> None:
    (root / "a" / "AGENTS.md").mkdir()
    write(root / "a" / "CLAUDE.md", "claude")
    assert contents(root / "a", root / "agent") == ["claude"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that even root cannot read")
def test_a_file_that_cannot_be_read_is_told_and_the_next_one_is_taken(root: Path) -> None:
    (root / "a" / "AGENTS.md").symlink_to("/proc/self/mem")
    write(root / "a" / "CLAUDE.md", "claude")
    found = find_context_files(root / "a", root / "agent")
    assert [file.content for file in found.files] == ["claude"]
    assert found.diagnostics[0].path == str(root / "a" / "AGENTS.md")


def test_a_file_that_two_ways_lead_to_stands_once(root: Path) -> None:
    write(root / "a" / "AGENTS.md", "once")
    assert contents(root / "a" / "b", root / "a") == ["once"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfmark", "mark"),
        (b"a\r\nb\r", "a\r\nb\r"),
        (b"bad \xff byte", "bad \ufffd byte"),
        ("wide".encode("utf-16"), "wide"),
        (b"", ""),
    ],
)
def test_the_text_is_taken_as_it_is_without_its_byte_order_mark(root: Path, data: bytes, text: str) -> None:
    write(root / "a" / "AGENTS.md", data)
    assert contents(root / "a", root / "agent") == [text]


def test_paths_are_absolute_and_keep_links_as_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root / "a" / "AGENTS.md", "x")
    (root / "link").symlink_to(root / "a")
    monkeypatch.chdir(root)
    [file] = load_project_context_files("link/../link", root / "agent")
    assert file.path == str(root / "link" / "AGENTS.md")


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "-C", folder, *settings, *arguments], check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(root: Path) -> Path:
    folder = root / "repo"
    write(folder / "AGENTS.md", "main")
    git(root, "init", "-q", "repo")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def test_a_worktree_inside_its_checkout_hides_the_checkouts_file(root: Path, repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "trees/one")
    worktree = repository / "trees" / "one"
    write(worktree / "AGENTS.md", "worktree")
    write(repository / "trees" / "AGENTS.md", "between")
    write(worktree / "deep" / "AGENTS.md", "deep")
    assert contents(worktree / "deep", root / "agent") == ["between", "worktree", "deep"]
    assert contents(repository / "trees", root / "agent") == ["main", "between"]


def test_a_worktree_without_a_file_of_that_name_hides_nothing(root: Path, repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "trees/one")
    worktree = repository / "trees" / "one"
    (worktree / "AGENTS.md").unlink()
    assert contents(worktree, root / "agent") == ["main"]
    write(worktree / "CLAUDE.md", "worktree")
    assert contents(worktree, root / "agent") == ["main", "worktree"]


def test_a_worktree_beside_its_checkout_and_one_of_a_bare_repository_hide_nothing(root: Path, repository: Path) -> None:
    write(root / "AGENTS.md", "root")
    git(repository, "worktree", "add", "-q", str(root / "beside"))
    assert contents(root / "beside", root / "agent") == ["root", "main"]
    git(root, "clone", "-q", "--bare", "repo", "bare")
    write(root / "bare" / "AGENTS.md", "bare")
    git(root / "bare", "worktree", "add", "-q", "tree")
    assert contents(root / "bare" / "tree", root / "agent") == ["root", "bare", "main"]


def test_a_submodule_hides_nothing(root: Path, repository: Path) -> None:
    write(root / "outer" / "AGENTS.md", "outer")
    git(root, "init", "-q", "outer")
    git(root / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    assert contents(root / "outer" / "inner", root / "agent") == ["outer", "main"]
