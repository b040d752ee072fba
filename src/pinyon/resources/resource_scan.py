"""Which files of a folder hold resources of a kind, sorted by name, so that two runs give the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pinyon.resources.diagnostic import ResourceKind

_SUFFIX: dict[ResourceKind, str] = {"prompts": ".md", "themes": ".json"}
_MAX_DEPTH = 32


class FolderRule(msgspec.Struct, frozen=True):
    """How a folder is read: `is_deep` with the folders below it; skills may stand in Markdown files of any name
    directly in it (`loose_in_root`) or only in the folders below (`loose_below`).
    """

    is_deep: bool = False
    loose_in_root: bool = True
    loose_below: bool = False


SHARED_SKILLS = FolderRule(loose_in_root=False, loose_below=True)
"""The rule of `.agents/skills`."""


def resource_files(kind: ResourceKind, path: Path, rule: FolderRule) -> Iterator[Path]:
    """The files at `path`: itself, or those of the folder. Nothing where there is nothing."""
    if os.path.isfile(path):  # noqa: PTH113 - never raises
        yield path
    elif kind == "skills":
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            from pinyon.resources.skill_scan import skill_files

            yield from skill_files(path, loose_in_root=rule.loose_in_root, loose_below=rule.loose_below)
    elif kind == "extensions":
        yield from _extensions(path)
    else:
        yield from _files(path, _SUFFIX[kind], rule.is_deep, 0, set())


def _files(folder: Path, suffix: str, is_deep: bool, depth: int, seen: set[tuple[int, int]]) -> Iterator[Path]:
    for entry in _entries(folder):
        if entry.name.startswith("."):
            continue
        if entry.name.endswith(suffix) and is_file(entry):
            yield folder / entry.name
        elif is_deep and depth < _MAX_DEPTH and entry.name != "node_modules" and is_folder(entry):
            status = entry.stat()  # links may lead in a circle
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield from _files(folder / entry.name, suffix, is_deep, depth + 1, seen)


def _extensions(folder: Path) -> Iterator[Path]:
    """Python files and packages, and the TypeScript and JavaScript ones that other programs load."""
    for entry in _entries(folder):
        path = folder / entry.name
        if entry.name.startswith((".", "__")):
            continue
        if is_folder(entry):
            names = ("__init__.py", "index.ts", "index.js")
            yield from (path / name for name in names if os.path.isfile(path / name))  # noqa: PTH113 - never raises
        elif entry.name.endswith((".py", ".ts", ".js")) and is_file(entry):
            yield path


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is, or leads to, a folder; False where that cannot be seen."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is, or leads to, a file; False where that cannot be seen."""
    try:
        return entry.is_file()
    except OSError:
        return False
