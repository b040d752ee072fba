"""The entries of a directory tree that no ignore file leaves out, in a fixed order."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from pinyon._util.ignore_rule import IgnoreFiles, IgnoreScope
from pinyon.tools.operations.protocol import WalkOperations

_GIT = ".git"


class WalkEntry(NamedTuple):
    """An entry: its path below the root with `/`, its name, and what it is. Links are neither."""

    path: str
    name: str
    is_directory: bool
    is_file: bool


class WalkRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk leaves out: `own_file` is the name of the program's own ignore files."""

    own_file: str
    with_git_folders: bool = False

    def ignore_file_names(self) -> frozenset[str]:
        """Names of the files and folders that change the rules."""
        return frozenset((self.own_file, ".ignore", ".gitignore", _GIT))


def walk_tree(root: str, rules: WalkRules, should_stop: Callable[[], bool]) -> Iterator[WalkEntry]:
    """Entries below the local directory `root`, sorted by name in each directory, directories before their content.

    What cannot be read is passed over. Links are not followed. Ends early when `should_stop()` says so.
    """
    special = rules.ignore_file_names()
    pending: list[tuple[str, IgnoreScope] | WalkEntry] = [("", _scope_above(root, rules))]
    while pending:
        item = pending.pop()
        if isinstance(item, WalkEntry):
            yield item
            continue
        if should_stop():
            return
        prefix, scope = item
        entries = _scan(os.path.join(root, prefix), prefix)  # noqa: PTH118 - paths stay texts on this hot way
        found = special.intersection(entry.name for entry in entries)
        if found:
            files = _local_files(os.path.join(root, prefix), found, rules)  # noqa: PTH118
            scope = scope.enter(files, below=len(prefix))
        for entry in _visible(entries, scope, rules):
            pending += [(f"{entry.path}/", scope), entry] if entry.is_directory else [entry]


async def walk_operations(root: str, operations: WalkOperations, rules: WalkRules) -> AsyncIterator[WalkEntry]:
    """The same for directories that operations list; rules above `root` do not count there."""
    special = rules.ignore_file_names()
    pending: list[tuple[str, IgnoreScope] | WalkEntry] = [("", IgnoreScope())]
    while pending:
        item = pending.pop()
        if isinstance(item, WalkEntry):
            yield item
            continue
        prefix, scope = item
        folder = f"{root.rstrip('/')}/{prefix}".rstrip("/") or "/"
        entries = [
            WalkEntry(prefix + entry.name, entry.name, entry.is_directory, entry.is_file)
            for entry in await operations.list_entries(folder)
        ]
        found = special.intersection(entry.name for entry in entries)
        if found:
            scope = scope.enter(await _operation_files(folder, found, rules, operations), below=len(prefix))
        for entry in _visible(entries, scope, rules):
            pending += [(f"{entry.path}/", scope), entry] if entry.is_directory else [entry]


def _visible(entries: list[WalkEntry], scope: IgnoreScope, rules: WalkRules) -> Iterable[WalkEntry]:
    """Entries to visit, last first."""
    entries.sort(key=lambda entry: entry.name, reverse=True)
    for entry in entries:
        if entry.name == _GIT and entry.is_directory and not rules.with_git_folders:
            continue
        if not scope.ignores(entry.path, entry.name, entry.is_directory):
            yield entry


def _scan(folder: str, prefix: str) -> list[WalkEntry]:
    try:
        with os.scandir(folder) as entries:
            return [WalkEntry(prefix + entry.name, entry.name, *_kind(entry)) for entry in entries]
    except OSError:
        return []  # no permission, or it went while we looked


def _kind(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    try:
        return entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)
    except OSError:
        return False, False


def _scope_above(root: str, rules: WalkRules) -> IgnoreScope:
    """Rules of the user and of the directories above `root`."""
    place = Path(root).absolute()
    scope, from_repository = IgnoreScope(), ""
    for folder in reversed(place.parents):
        found = {name for name in rules.ignore_file_names() if (folder / name).exists()}
        if not found:
            continue
        above = f"{place.relative_to(folder).as_posix()}/"
        scope = scope.enter(_local_files(str(folder), found, rules), above=above)
        from_repository = above if _GIT in found else from_repository
    return scope.with_user_rules(_user_excludes(), above="" if (place / _GIT).exists() else from_repository)


def _local_files(folder: str, found: Iterable[str], rules: WalkRules) -> IgnoreFiles:
    base = Path(folder)
    is_repository = _GIT in found
    return IgnoreFiles(
        own=_content(base / rules.own_file),
        ignore=_content(base / ".ignore"),
        git=_content(base / ".gitignore"),
        exclude=_content(_git_folder(base / _GIT) / "info" / "exclude") if is_repository else b"",
        is_repository=is_repository,
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else b""
    except OSError:
        return b""  # missing or not readable: no rules


def _git_folder(path: Path) -> Path:
    """The common folder of a repository; in a linked work tree `.git` is a file that leads to it."""
    if not path.is_file():
        return path
    place = path.parent / _content(path).decode("utf-8", "replace").removeprefix("gitdir:").strip()
    common = _content(place / "commondir").decode("utf-8", "replace").strip()
    return place / common if common else place


async def _operation_files(
    folder: str, found: Iterable[str], rules: WalkRules, operations: WalkOperations
) -> IgnoreFiles:
    async def content(name: str) -> bytes:
        if name.split("/", maxsplit=1)[0] not in found:
            return b""
        try:
            data = await operations.read_file(f"{folder}/{name}")
        except OSError:
            return b""
        return data.encode() if isinstance(data, str) else data

    return IgnoreFiles(
        own=await content(rules.own_file),
        ignore=await content(".ignore"),
        git=await content(".gitignore"),
        exclude=await content(f"{_GIT}/info/exclude"),
        is_repository=_GIT in found,
    )


def _user_excludes() -> bytes:
    """The global excludes of git: `core.excludesFile`, else the usual place."""
    home = os.environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - may be unknown
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "git"
    for file in (Path(home) / ".gitconfig", config / "config"):
        named = excludes_file(_content(file).decode("utf-8", "replace"))
        if named is not None:
            return _content(Path(home) / named[2:] if named.startswith("~/") else Path(named))
    return _content(config / "ignore")


def excludes_file(config: str) -> str | None:
    """The value of `excludesFile` in a git configuration; None where it is not set."""
    value = None
    for line in config.splitlines():
        name, equals, rest = line.partition("=")
        if equals and name.strip().lower() == "excludesfile":
            value = rest.strip().strip('"').strip()
    return value or None
