"""Where resources are looked for: the folders and settings of a user and of a trusted project, best first.

Nothing of a project that is not trusted is looked at, not even to list it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import config as _config
from pinyon._util.safe_path import is_file, path_exists
from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.resource_filter import ResourceEntries, is_switched_on, resolve_entry, sort_entries
from pinyon.resources.resource_scan import SHARED_SKILLS, FolderRule, resource_files
from pinyon.resources.source_info import SourceInfo, SourceScope


class FoundResource(msgspec.Struct, frozen=True):
    """A file that may hold a resource. One that is not `is_enabled` was switched off by settings."""

    path: Path
    source: SourceInfo
    is_enabled: bool = True


class Owner(msgspec.Struct, frozen=True):
    """The user or the project: whose settings, the folder that their relative paths start from, and shared folders.

    `shared` are the `.agents` folders that belong to the owner, nearest first.
    """

    scope: SourceScope
    base: Path
    settings: dict[str, Any]
    shared: tuple[Path, ...] = ()


def owners_of(
    cwd: Path,
    agent_dir: Path | None,
    *,
    is_trusted: bool,
    project_settings: dict[str, Any],
    global_settings: dict[str, Any],
    home: Path | None = None,
) -> list[Owner]:
    """The project, if it is trusted, and the user. `home` defaults to the user's home folder."""
    home = home or _config.home_dir()
    own = None if home is None else home / ".agents"
    found: list[Owner] = []
    if is_trusted:
        shared = tuple(folder for folder in _shared_folders(cwd) if not _is_same(folder, own))
        found.append(Owner("project", cwd / _config.CONFIG_DIR_NAME, project_settings, shared))
    if agent_dir is not None:
        found.append(Owner("user", agent_dir, global_settings, () if own is None else (own,)))
    return found


def _shared_folders(cwd: Path) -> Iterator[Path]:
    """`.agents` of `cwd` and its ancestors, up to the root of the repository or else of the file system."""
    folders = (cwd, *cwd.parents)
    root = next((folder for folder in folders if os.path.lexists(folder / ".git")), None)
    for folder in folders:
        yield folder / ".agents"
        if folder == root:
            return


def _is_same(folder: Path, other: Path | None) -> bool:
    if other is None or folder == other:
        return other is not None
    return os.path.exists(folder) and os.path.realpath(folder) == os.path.realpath(other)  # noqa: PTH110 - runs often


def find_resources(
    kind: ResourceKind, owners: Sequence[Owner], diagnostics: list[ResourceDiagnostic]
) -> Iterator[FoundResource]:
    """The files of a kind, best first: each owner's settings entries, then its folders.

    `+path` and `-path` entries of the project also switch what the user has.
    """
    above: tuple[Path, ResourceEntries] | None = None
    for owner in owners:
        listed = owner.settings.get(kind)
        entries = sort_entries(listed) if isinstance(listed, list) else ResourceEntries()
        for found in (*_listed(kind, owner, entries, diagnostics), *_discovered(kind, owner, entries)):
            yield found if above is None else _switched(found, *above)
        if entries.on or entries.off:
            above = (owner.base, ResourceEntries(on=entries.on, off=entries.off))


def _switched(found: FoundResource, base: Path, entries: ResourceEntries) -> FoundResource:
    is_on = is_switched_on(found.path, base, entries, with_includes=False, is_on=found.is_enabled)
    return found if is_on == found.is_enabled else msgspec.structs.replace(found, is_enabled=is_on)


def _listed(
    kind: ResourceKind, owner: Owner, entries: ResourceEntries, diagnostics: list[ResourceDiagnostic]
) -> Iterator[FoundResource]:
    for entry in entries.paths:
        path = resolve_entry(entry, owner.base)
        if not path_exists(path):
            message = f"{kind} entry {entry!r} of the {owner.scope} settings is not there: {str(path)!r}"
            diagnostics.append(ResourceDiagnostic("warning", message, str(path)))
        for file in resource_files(kind, path, FolderRule(is_deep=True)):
            is_on = is_switched_on(file, owner.base, entries, with_includes=True)
            yield FoundResource(file, SourceInfo(str(file), "local", owner.scope), is_on)


def _discovered(kind: ResourceKind, owner: Owner, entries: ResourceEntries) -> Iterator[FoundResource]:
    places = [(owner.base, owner.base / kind, FolderRule())]
    if kind == "prompts" and not path_exists(places[0][1]):
        places = [(owner.base, owner.base / "commands", FolderRule())]
    if kind == "skills":
        places += [(shared, shared / kind, SHARED_SKILLS) for shared in owner.shared]
    for base, folder, rule in places:
        for file in resource_files(kind, folder, rule):
            is_on = not entries.switches or is_switched_on(file, base, entries, with_includes=False)
            yield FoundResource(file, SourceInfo(str(file), "auto", owner.scope, base_dir=str(base)), is_on)


def find_explicit(
    kind: ResourceKind, paths: Sequence[str], diagnostics: list[ResourceDiagnostic]
) -> Iterator[FoundResource]:
    """The files that flags or programs name; a path that is not there or holds the wrong kind is told."""
    for text in paths:
        path = resolve_entry(text, Path.cwd())
        problem = _explicit_problem(kind, path)
        if problem is not None:
            message = f"{kind.removesuffix('s')} {str(path)!r} {problem}"
            is_error = kind in ("extensions", "prompts")
            diagnostics.append(ResourceDiagnostic("error" if is_error else "warning", message, str(path)))
            continue
        for file in resource_files(kind, path, FolderRule()):
            yield FoundResource(file, SourceInfo(str(file), "local", "temporary", base_dir=str(file.parent)))


def _explicit_problem(kind: ResourceKind, path: Path) -> str | None:
    if not path_exists(path):
        return "is not there"
    suffix = {"skills": ".md", "prompts": ".md", "themes": ".json"}.get(kind)
    if suffix is not None and is_file(path) and path.suffix != suffix:
        return f"is not a {suffix} file"
    return None
