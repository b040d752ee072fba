"""Entries of resource settings: paths to load, and patterns that switch what was found on and off.

`!glob` switches off, `+path` on, `-path` off, in that order; an entry with `*` or `?` keeps only what it matches. Globs
are compared with the path relative to the settings' folder, the name and the absolute path, for a `SKILL.md` also with
its folder; `+` and `-` name one relative or absolute path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import config as _config

_SKILL_FILE = "SKILL.md"


class ResourceEntries(msgspec.Struct, frozen=True):
    """A list of settings or of a package, sorted by what its entries do."""

    paths: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    @property
    def switches(self) -> bool:
        """Whether anything that was found elsewhere may be switched."""
        return bool(self.excludes or self.on or self.off)


def sort_entries(entries: Iterable[Any]) -> ResourceEntries:
    """Sort entries; those that are no texts, or empty, are passed over."""
    paths: list[str] = []
    includes: list[str] = []
    marked: dict[str, list[str]] = {"!": [], "+": [], "-": []}
    for entry in entries:
        if not isinstance(entry, str) or not entry:
            continue
        if entry[0] in marked:
            marked[entry[0]].append(entry[1:])
        elif "*" in entry or "?" in entry:
            includes.append(entry)
        else:
            paths.append(entry)
    return ResourceEntries(tuple(paths), tuple(includes), tuple(marked["!"]), tuple(marked["+"]), tuple(marked["-"]))


def is_switched_on(
    path: Path, base: Path, entries: ResourceEntries, *, with_includes: bool, is_on: bool = True
) -> bool:
    """Whether a file that was found, and `is_on` so far, is in use.

    `with_includes` lets patterns without a mark choose too.
    """
    if with_includes and entries.includes:
        is_on = _matches(path, base, entries.includes)
    if is_on and entries.excludes and _matches(path, base, entries.excludes):
        is_on = False
    if entries.on and _is_named(path, base, entries.on):
        is_on = True
    return is_on and not (entries.off and _is_named(path, base, entries.off))


def resolve_entry(entry: str, base: Path) -> Path:
    """The absolute path that an entry names: `~` is the home, other relative paths start from `base`."""
    return Path(os.path.abspath(base / _config.expand_home(entry.strip())))  # noqa: PTH100 - links stay as written


def _matches(path: Path, base: Path, globs: Sequence[str]) -> bool:
    from pinyon._util.glob import InvalidGlobError, compile_glob

    names = [
        name for subject in _subjects(path) for name in (_relative(subject, base), subject.name, subject.as_posix())
    ]
    for glob in globs:
        try:
            pattern = compile_glob(_config.expand_home(glob).as_posix() if glob.startswith("~") else glob)
        except InvalidGlobError:
            continue  # matches nothing; a setting must not keep the program from starting
        if any(pattern.fullmatch(name) for name in names):
            return True
    return False


def _is_named(path: Path, base: Path, entries: Sequence[str]) -> bool:
    subjects = _subjects(path)
    return any(resolve_entry(entry, base) in subjects for entry in entries)


def _subjects(path: Path) -> tuple[Path, ...]:
    return (path, path.parent) if path.name == _SKILL_FILE else (path,)


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()
