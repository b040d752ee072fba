"""Where the program works: the folder as people write it, and the branch that is checked out there."""

from __future__ import annotations

import os
from pathlib import Path


def home_short(path: Path) -> str:
    """A path with the home folder as `~`."""
    return home_short_text(str(path))


def home_short_text(text: str) -> str:
    """The same for a path that is only a text."""
    home = str(Path.home())
    return "~" + text[len(home) :] if (text == home or text.startswith(home + os.sep)) else text


def git_branch(cwd: Path) -> str:
    """The branch that is checked out in or above `cwd`; `detached` without one, empty outside of a repository."""
    for folder in (cwd, *cwd.parents):
        head = _head_file(folder / ".git")
        if head is None:
            continue
        try:
            text = head.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: ") else "detached"
    return ""


def _head_file(git: Path) -> Path | None:
    if git.is_dir():
        return git / "HEAD"
    if not git.is_file():
        return None
    try:
        text = git.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return (git.parent / text.removeprefix("gitdir:").strip()) / "HEAD" if text.startswith("gitdir:") else None
