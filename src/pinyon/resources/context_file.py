"""Context files: the instructions for agents that stand in the agent folder and in the folders above a project.

They need no trust. Each folder gives at most one file, the first of `CONTEXT_FILE_NAMES` that can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pinyon._util import config as _config
from pinyon._util.safe_path import is_file
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.text_file import read_text_file

CONTEXT_FILE_NAMES: tuple[str, ...] = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")


class ContextFile(msgspec.Struct, frozen=True):
    """A file of instructions: its path and its text as it stands, without a byte order mark."""

    path: str
    content: str


class ContextFiles(msgspec.Struct, frozen=True):
    """The files in the order in which the prompt holds them, and what could not be read."""

    files: list[ContextFile]
    diagnostics: list[ResourceDiagnostic]


def load_project_context_files(cwd: str | Path, agent_dir: str | Path | None = None) -> list[ContextFile]:
    """The context files for `cwd`: the agent folder's first, then from the root of the file system down to `cwd`."""
    return find_context_files(cwd, agent_dir).files


def find_context_files(cwd: str | Path, agent_dir: str | Path | None = None) -> ContextFiles:
    """Like `load_project_context_files`, with a warning for each candidate that could not be read."""
    diagnostics: list[ResourceDiagnostic] = []
    files: dict[str, ContextFile] = {}
    for folder in _folders(cwd, agent_dir):
        found = _first_readable(folder, diagnostics)
        if found is not None:
            files.setdefault(found.path, found)
    shadowed = _shadowed_by_worktree(_absolute(cwd), files)
    return ContextFiles([file for path, file in files.items() if path not in shadowed], diagnostics)


def _folders(cwd: str | Path, agent_dir: str | Path | None) -> Iterator[Path]:
    own = _config.agent_dir() if agent_dir is None else _config.expand_home(str(agent_dir))
    if own is not None:
        yield _absolute(own)
    start = _absolute(cwd)
    yield from reversed((start, *start.parents))


def _first_readable(folder: Path, diagnostics: list[ResourceDiagnostic]) -> ContextFile | None:
    for name in CONTEXT_FILE_NAMES:
        path = folder / name
        if not is_file(path):
            continue
        try:
            return ContextFile(str(path), read_text_file(path))
        except OSError as error:
            message = f"{str(path)!r} cannot be read: {error.strerror or error}"
            diagnostics.append(ResourceDiagnostic("warning", message, str(path)))
    return None


def _shadowed_by_worktree(cwd: Path, files: dict[str, ContextFile]) -> set[str]:
    """The file of a main checkout that a linked worktree nested below it has a copy of, under the same name."""
    worktree = next((folder for folder in (cwd, *cwd.parents) if os.path.lexists(folder / ".git")), None)
    main = None if worktree is None else _main_checkout(worktree)
    if worktree is None or main is None or main not in Path(os.path.realpath(worktree)).parents:
        return set()
    own_names = {Path(path).name for path in files if Path(path).parent == worktree}
    return {
        path for path in files if Path(path).name in own_names and Path(os.path.realpath(Path(path).parent)) == main
    }


def _main_checkout(worktree: Path) -> Path | None:
    """Real path of the checkout that a linked worktree belongs to; None for ordinary repositories, submodules and
    worktrees of bare repositories (layout: gitrepository-layout(5), `.git/worktrees/<name>`).
    """
    marker = worktree / ".git"
    if not is_file(marker):
        return None
    try:
        text = read_text_file(marker)
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    private = Path(os.path.realpath(worktree / text.removeprefix("gitdir:").strip()))
    common = private.parent.parent
    return common.parent if private.parent.name == "worktrees" and common.name == ".git" else None


def _absolute(path: str | Path) -> Path:
    """The path without `..`, with symbolic links left as the user wrote them."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolving would follow the links
