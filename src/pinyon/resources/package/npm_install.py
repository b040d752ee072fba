"""npm packages, for the skills, prompt templates and themes in them. They share one tree, which is exchanged whole.

Scripts of packages are not run: nothing of what is used here needs them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pinyon.resources.package.place import PackageInstallError, place_of, remove_place, staged, unit_of
from pinyon.resources.package.source import PackageSource
from pinyon.resources.package.tool_run import run_tool

_FLAGS = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")


class NpmInstaller:
    """Installs npm packages below one base folder."""

    def __init__(self, base: Path, command: list[str]) -> None:
        self._base = base
        self._command = command

    async def install(self, source: PackageSource) -> None:
        """Install or update a package in a copy of the tree, and exchange the trees."""
        await self._changed(source, "install", source.target)

    async def remove(self, source: PackageSource) -> None:
        """Take a package out of the tree."""
        if not place_of(source, self._base).exists():
            return
        if shutil.which(self._command[0]) is None:
            remove_place(place_of(source, self._base))
        else:
            await self._changed(source, "uninstall", source.name)

    async def _changed(self, source: PackageSource, action: str, target: str) -> None:
        if shutil.which(self._command[0]) is None:
            raise PackageInstallError(
                f"{source.label!r} needs {self._command[0]!r}, which is not there: install Node.js with npm, "
                "or name a command in the setting `npmCommand`"
            )
        root = unit_of(source, self._base)
        with staged(root) as copy:
            if root.exists():
                shutil.copytree(root, copy, symlinks=True)
            else:
                copy.mkdir(parents=True)
            await run_tool([*self._command, action, target, "--prefix", str(copy), *_FLAGS], cwd=copy)
            if action == "install" and not (copy / "node_modules" / source.name).exists():
                raise PackageInstallError(f"npm installed {target!r} under another name than {source.name!r}")
