"""The files of a kind that one package brings: what its manifest lists, or what stands in the usual folders.

Nothing outside of the package is taken, whatever its manifest or its links say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pinyon._util.safe_path import is_file, is_folder, path_exists
from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind
from pinyon.resources.package.manifest import KINDS, PackageManifest
from pinyon.resources.resource_filter import ResourceEntries, is_switched_on, resolve_entry, sort_entries
from pinyon.resources.resource_scan import FolderRule, resource_files

_RULE = FolderRule(is_deep=True)
_MAX_WALKED = 20_000
_LEFT_OUT = frozenset({"node_modules", ".git", ".pi-deps", "__pycache__"})


def package_files(
    kind: ResourceKind, root: Path, manifest: PackageManifest, told: list[ResourceDiagnostic], *, is_local: bool = False
) -> list[Path]:
    """The files of a kind in the package at `root`, each once, in the order of the manifest.

    A package `is_local` may also be a single extension, or a plain folder of them.
    """
    if is_file(root):
        return [root] if kind == "extensions" else []
    if not manifest.is_declared:
        if is_local and kind == "extensions" and not any(is_folder(root / each) for each in KINDS):
            return _inside(root, resource_files(kind, root, _RULE), told)
        return _inside(root, resource_files(kind, root / kind, _RULE), told)
    entries = sort_entries(manifest.lists.get(kind, ()))
    found = _inside(root, _listed(kind, root, entries, told), told)
    return [path for path in found if is_switched_on(path, root, entries, with_includes=False)]


def _listed(kind: ResourceKind, root: Path, entries: ResourceEntries, told: list[ResourceDiagnostic]) -> Iterator[Path]:
    for entry in entries.paths:
        path = resolve_entry(entry, root)
        if not path_exists(path) and path.is_relative_to(root):
            message = f"package {str(root)!r} lists {kind} at {entry!r}, which is not there"
            told.append(ResourceDiagnostic("warning", message, str(path)))
        yield from resource_files(kind, path, _RULE)
    for glob in entries.includes:
        for path in _globbed(root, glob):
            yield from resource_files(kind, path, _RULE)


def _globbed(root: Path, glob: str) -> Iterator[Path]:
    from pinyon._util.glob import InvalidGlobError, compile_glob

    try:
        pattern = compile_glob(glob.removeprefix("./"))
    except InvalidGlobError:
        return
    walked = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in [*folders, *sorted(files)]:
            walked += 1
            path = Path(folder, name)
            if pattern.fullmatch(path.relative_to(root).as_posix()):
                yield path
        if walked > _MAX_WALKED:
            return


def _inside(root: Path, paths: Iterator[Path], told: list[ResourceDiagnostic]) -> list[Path]:
    found: dict[Path, None] = {}
    plain = {str(root)}
    for path in paths:
        if _is_plainly_inside(str(path), plain) or _is_really_inside(path, root):
            found[path] = None
        else:
            message = f"package {str(root)!r} names {str(path)!r}, which is outside of it; it is not used"
            told.append(ResourceDiagnostic("warning", message, str(path)))
    return list(found)


def _is_plainly_inside(path: str, plain: set[str]) -> bool:
    """Whether a path leads into the package without a link; `plain` are the folders of which that is known."""
    if path in plain:
        return True
    parent, name = os.path.split(path)
    is_plain = name not in ("", "..") and _is_plainly_inside(parent, plain) and not os.path.islink(path)  # noqa: PTH114 - hot
    if is_plain:
        plain.add(path)
    return is_plain


def _is_really_inside(path: Path, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
