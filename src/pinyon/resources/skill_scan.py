"""Looking for skills in folders: every `SKILL.md`, and Markdown files where a folder is known to hold skills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pinyon._util.ignore_rule import IgnoreRules
from pinyon._util.safe_path import is_file as is_regular_file
from pinyon._util.safe_path import read_file
from pinyon.resources.resource_scan import is_file, is_folder
from pinyon.resources.skill import SKILL_FILE

_IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")
_SKIPPED_FOLDERS = frozenset({"node_modules"})
_MAX_DEPTH = 32


def skill_files(folder: Path, *, loose_in_root: bool, loose_below: bool = False) -> Iterator[Path]:
    """The files below `folder` that may be skills, sorted by name in each folder.

    A folder with a `SKILL.md` is one skill, and nothing below it is looked at. Other Markdown files count directly in
    `folder` with `loose_in_root`, and in the folders below with `loose_below`. Hidden entries, `node_modules` and what
    ignore files leave out are passed over; links are followed.
    """
    yield from _Scan(folder, loose_in_root, loose_below).walk()


class _Scan:
    def __init__(self, root: Path, loose_in_root: bool, loose_below: bool) -> None:
        self._root = root
        self._loose_in_root = loose_in_root
        self._loose_below = loose_below
        self._seen: set[tuple[int, int]] = set()

    def walk(self) -> Iterator[Path]:
        yield from self._folder(self._root, "", [], 0)

    def _folder(self, folder: Path, relative: str, rules: list[tuple[str, IgnoreRules]], depth: int) -> Iterator[Path]:
        entries = self._entries(folder)
        if entries is None or depth > _MAX_DEPTH:
            return
        names = {entry.name for entry in entries}
        if SKILL_FILE in names and is_regular_file(folder / SKILL_FILE):
            yield folder / SKILL_FILE
            return
        rules = [*rules, *_rules_in(folder, relative, names)]
        takes_loose = self._loose_below if depth else self._loose_in_root
        for entry in entries:
            path = f"{relative}{entry.name}"
            if entry.name.startswith(".") or _is_ignored(rules, path, entry.name, is_folder(entry)):
                continue
            if is_folder(entry):
                if entry.name not in _SKIPPED_FOLDERS:
                    yield from self._folder(folder / entry.name, f"{path}/", rules, depth + 1)
            elif takes_loose and entry.name.endswith(".md") and is_file(entry):
                yield folder / entry.name

    def _entries(self, folder: Path) -> list[os.DirEntry[str]] | None:
        """What a folder holds; None for one that cannot be read or was visited before (links may lead in a circle)."""
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in self._seen:
                return None
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError:
            return None


def _rules_in(folder: Path, relative: str, names: set[str]) -> Iterator[tuple[str, IgnoreRules]]:
    for name in _IGNORE_FILES:
        if name in names:
            try:
                yield relative, IgnoreRules.parse(read_file(folder / name))
            except OSError:
                continue  # a folder of that name, or one that may not be read: it leaves nothing out


def _is_ignored(rules: list[tuple[str, IgnoreRules]], path: str, name: str, is_directory: bool) -> bool:
    verdict: bool | None = None
    for base, file_rules in rules:
        said = file_rules.ignores(path[len(base) :], name, is_directory)
        verdict = verdict if said is None else said
    return verdict is True
