"""Packages of Python indexes: each in a folder of its own, never in the environment that the program runs in."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pinyon.resources.package.place import PackageInstallError, place_of, staged
from pinyon.resources.package.python_content import normalised, required, requirement_name
from pinyon.resources.package.source import PackageSource
from pinyon.resources.package.tool_run import run_tool

_OWN_NAME = "pinyon"


class PythonInstaller:
    """Installs distributions below one base folder with `uv`, else with `pip`, or with the command of the user."""

    def __init__(self, base: Path, command: Sequence[str] | None = None) -> None:
        self._base = base
        self._chosen = list(command or ())

    async def install(self, source: PackageSource) -> None:
        """Install a distribution and what it needs; a version that is there stays until the new one is whole."""
        with staged(place_of(source, self._base)) as folder:
            await self._run(folder, [source.target], with_dependencies=False)
            extras = re.search(r"\[(.*?)\]", source.target)
            chosen = frozenset(normalised(name.strip()) for name in extras[1].split(",")) if extras else frozenset()
            await self.install_into(folder, required(folder, source.name, chosen))

    async def install_into(self, folder: Path, requirements: Sequence[str]) -> None:
        """Install requirements into a folder, all but Pinyon itself, which is there already."""
        needed = [text for text in requirements if requirement_name(text) != _OWN_NAME]
        for text in needed:
            if not requirement_name(text):  # what begins like an option must not become one
                raise PackageInstallError(f"{text!r} is no requirement; the package is not installed")
        if needed:
            await self._run(folder, needed, with_dependencies=True)

    async def _run(self, folder: Path, requirements: Sequence[str], *, with_dependencies: bool) -> None:
        flags = [] if with_dependencies else ["--no-deps"]
        argv = [*self._command(), "--quiet", "--target", str(folder), *flags, *requirements]
        await run_tool(argv, cwd=folder.parent)  # a folder in the caller's directory must not pass for a package

    def _command(self) -> list[str]:
        if self._chosen:
            return [*self._chosen, "install"]
        uv = shutil.which("uv")
        if uv is not None:
            return [uv, "pip", "install", "--python", sys.executable]
        if find_spec("pip") is not None:
            return [sys.executable, "-m", "pip", "install"]
        raise PackageInstallError(
            "Python packages need `uv` or `pip`: install uv, or name a command in the setting `pipCommand`"
        )
