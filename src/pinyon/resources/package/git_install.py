"""Packages in git repositories: cloned beside their place, with what they depend on, and then exchanged."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pinyon._util import json as _json
from pinyon.resources.package.place import PackageInstallError, installed_folder, is_incomplete, place_of, staged
from pinyon.resources.package.python_install import PythonInstaller
from pinyon.resources.package.source import PackageSource
from pinyon.resources.package.tool_run import run_tool

_CHECK_TIMEOUT_S = 10.0
DEPENDENCIES = ".pi-deps"
"""The folder in a repository that holds the Python packages it depends on."""


class GitInstaller:
    """Installs repositories below one base folder."""

    def __init__(self, base: Path, python: PythonInstaller, npm_command: list[str]) -> None:
        self._base = base
        self._python = python
        self._npm_command = npm_command

    async def install(self, source: PackageSource) -> None:
        """Clone the repository at its ref; a version that is there stays until the new one is whole."""
        place = place_of(source, self._base)
        with staged(place) as folder:
            await _clone(source, folder, installed_folder(source, self._base))
            await self._add_dependencies(folder)

    async def is_current(self, source: PackageSource) -> bool:
        """Whether the repository has nothing newer for the source. Raises `PackageInstallError`."""
        folder = place_of(source, self._base)
        if not (folder / ".git").exists() or is_incomplete(folder):
            return False
        head = (await _git(folder, "rev-parse", "HEAD")).strip()
        if source.ref is not None and re.fullmatch(r"[0-9a-f]{7,64}", source.ref) and head.startswith(source.ref):
            return True
        names = ["HEAD"] if source.ref is None else [source.ref, f"{source.ref}^{{}}"]
        listing = await run_tool(["git", "ls-remote", "--", source.target, *names], timeout_s=_CHECK_TIMEOUT_S)
        return head in {line.split("\t")[0] for line in listing.splitlines()}

    async def _add_dependencies(self, folder: Path) -> None:
        requirements = _python_requirements(folder)
        if requirements:
            await self._python.install_into(folder / DEPENDENCIES, requirements)
        if _has_npm_dependencies(folder) and shutil.which(self._npm_command[0]):
            flags = ("--omit=dev", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
            await run_tool([*self._npm_command, "install", *flags], cwd=folder)


async def version_of(folder: Path) -> str | None:
    """The commit of a clone, short; None for a folder that is none, whatever it stands in."""
    if not (folder / ".git").exists():
        return None
    try:
        return (await _git(folder, "rev-parse", "--short", "HEAD")).strip() or None
    except PackageInstallError:
        return None


async def _clone(source: PackageSource, folder: Path, known: Path | None) -> None:
    reference = []
    if known is not None and (known / ".git").is_dir():
        reference = ["--reference-if-able", str(known), "--dissociate"]  # fetch only what is new
    await run_tool(["git", "clone", "--quiet", *reference, "--", source.target, str(folder)])
    if source.ref is None:
        return
    try:
        await _git(folder, "checkout", "--quiet", source.ref, "--")
    except PackageInstallError:
        await _git(folder, "fetch", "--quiet", "origin", source.ref)  # a commit that no branch leads to
        await _git(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD", "--")


async def _git(folder: Path, *arguments: str) -> str:
    return await run_tool(["git", "-C", str(folder), *arguments])


def _python_requirements(folder: Path) -> list[str]:
    import tomllib

    try:
        value = tomllib.loads((folder / "pyproject.toml").read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []  # told by the manifest when the package is loaded
    project = value.get("project")
    listed = project.get("dependencies") if isinstance(project, dict) else None
    return [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []


def _has_npm_dependencies(folder: Path) -> bool:
    try:
        value = _json.decode((folder / "package.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool(value.get("dependencies"))
