"""What a package says it brings: `[tool.pinyon]` in pyproject.toml, `pi.json`, or the `pi` object in package.json.

Each may hold lists of paths and patterns under `extensions`, `skills`, `prompts` and `themes`. A package without any of
them is looked through at the folders of these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.resources.diagnostic import ResourceDiagnostic, ResourceKind

KINDS: tuple[ResourceKind, ...] = ("extensions", "skills", "prompts", "themes")


class PackageManifest(msgspec.Struct, frozen=True):
    """The lists of a package, by kind. Where `is_declared` is False there are none, and the usual folders count."""

    lists: dict[ResourceKind, list[str]] = {}
    is_declared: bool = False
    changelog: str | None = None


def read_manifest(root: Path, told: list[ResourceDiagnostic]) -> PackageManifest:
    """Read what the package at `root` declares. A file that is not usable is told and passed over."""
    for name, read in (("pyproject.toml", _pyproject), ("pi.json", _pi_json), ("package.json", _package_json)):
        path = root / name
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            told.append(_bad(path, error.strerror or str(error)))
            continue
        try:
            table = read(data)
        except (ValueError, RecursionError) as error:
            told.append(_bad(path, str(error) or "it is nested too deeply"))
            continue
        if table is not None:
            manifest = _manifest(table, path, told)
            if manifest.is_declared:
                return manifest
    return PackageManifest()


def package_version(root: Path) -> str | None:
    """The version that package.json or pyproject.toml of a package names."""
    for name in ("package.json", "pyproject.toml"):
        try:
            data = (root / name).read_bytes()
            value = _json.decode(data) if name.endswith("json") else _toml(data).get("project")
        except (OSError, ValueError, RecursionError):
            continue
        version = value.get("version") if isinstance(value, dict) else None
        if isinstance(version, str):
            return version
    return None


def _pyproject(data: bytes) -> Any:
    if b"pinyon" not in data:
        return None  # the parser is slow, and most projects say nothing about us
    tool = _toml(data).get("tool")
    return tool.get("pinyon") if isinstance(tool, dict) else None


def _pi_json(data: bytes) -> Any:
    return _json.decode(data)


def _package_json(data: bytes) -> Any:
    value = _json.decode(data)
    return value.get("pi") if isinstance(value, dict) else None


def _toml(data: bytes) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(data.decode("utf-8"))


def _manifest(table: Any, path: Path, told: list[ResourceDiagnostic]) -> PackageManifest:
    if not isinstance(table, Mapping):
        told.append(_bad(path, "its list of resources must be an object"))
        return PackageManifest()
    lists: dict[ResourceKind, list[str]] = {}
    for kind in KINDS:
        value = table.get(kind)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            told.append(_bad(path, f"{kind!r} must be a list of texts"))
            continue
        lists[kind] = value
    changelog = table.get("changelogPath")
    is_declared = any(kind in table for kind in KINDS)
    return PackageManifest(lists, is_declared, changelog if isinstance(changelog, str) else None)


def _bad(path: Path, detail: str) -> ResourceDiagnostic:
    return ResourceDiagnostic("warning", f"package file {str(path)!r} is not used: {detail}", str(path))
