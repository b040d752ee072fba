"""Environment variables of commands: what every local command inherits."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pinyon._util.config import agent_dir


def managed_bin_dir(environ: Mapping[str, str] | None = None) -> str | None:
    """Folder of the user's own helper programs in the agent folder; None without a home."""
    folder = agent_dir(environ)
    return None if folder is None else str(folder / "bin")


def command_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The process environment with the managed folder first on the search path."""
    variables = dict(os.environ if environ is None else environ)
    folder = managed_bin_dir(variables)
    if folder is not None:
        name = next((key for key in variables if key.upper() == "PATH"), "PATH")
        variables[name] = path_with(folder, variables.get(name, ""))
    return variables


def path_with(folder: str, path: str, separator: str = os.pathsep) -> str:
    """The search path `path` with `folder` first; unchanged where it already holds it."""
    if folder in path.split(separator):
        return path
    return f"{folder}{separator}{path}" if path else folder
