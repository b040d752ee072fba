"""Where in an installed Python package its resources stand: the folder of one of its import packages."""

from __future__ import annotations

import re
from pathlib import Path

_GROUPS = ("[pinyon.package]", "[pi.package]")


def content_root(folder: Path, name: str) -> Path:
    """The import package that holds the resources of distribution `name` installed in `folder`.

    It is the module that an entry point of the group `pinyon.package` (or `pi.package`) names, else the one that is
    called like the distribution, else its only one; `folder` itself where there is none.
    """
    info = distribution_info(folder, name)
    if info is None:
        return folder
    modules = [_entry_point_module(info), re.sub(r"[-.]+", "_", name), *_recorded_packages(info)]
    for module in modules:
        path = folder.joinpath(*module.split(".")) if module else folder
        if path != folder and path.is_dir() and path.is_relative_to(folder):
            return path
    return folder


def distribution_info(folder: Path, name: str) -> Path | None:
    """The `.dist-info` folder of a distribution; None where it is not there."""
    if not folder.is_dir():
        return None
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".dist-info") and normalised(path.name.split("-", 1)[0]) == name:
            return path
    return None


def distribution_version(folder: Path, name: str) -> str | None:
    """The installed version of a distribution."""
    info = distribution_info(folder, name)
    if info is None:
        return None
    return info.name.removesuffix(".dist-info").partition("-")[2] or None


def required(folder: Path, name: str, extras: frozenset[str] = frozenset()) -> list[str]:
    """The requirements of an installed distribution as its metadata states them, those of `extras` included."""
    info = distribution_info(folder, name)
    if info is None:
        return []
    text = _read(info / "METADATA").partition("\n\n")[0]
    lines = re.findall(r"^Requires-Dist:[ \t]*(.+?)[ \t]*$", text, re.MULTILINE)
    return [_without_extra(line, extras) for line in lines]


def normalised(name: str) -> str:
    """A distribution name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(requirement: str) -> str:
    """The normalised name that a requirement begins with."""
    found = re.match(r"\s*([A-Za-z0-9][\w.-]*)", requirement)
    return normalised(found[1]) if found else ""


def _without_extra(line: str, extras: frozenset[str]) -> str:
    """A chosen extra becomes a condition that always holds; the others stay as conditions that never do."""
    return re.sub(
        r"""extra\s*==\s*["']([^"']+)["']""",
        lambda found: 'python_version >= "3"' if normalised(found[1]) in extras else found[0],
        line,
    )


def _entry_point_module(info: Path) -> str:
    group = ""
    for line in map(str.strip, _read(info / "entry_points.txt").splitlines()):
        if line.startswith("["):
            group = line
        elif group in _GROUPS and "=" in line:
            module = line.partition("=")[2].partition(":")[0].strip()
            if re.fullmatch(r"\w+(?:\.\w+)*", module):
                return module
    return ""


def _recorded_packages(info: Path) -> list[str]:
    names = {
        line.split("/", 1)[0] for line in _read(info / "RECORD").splitlines() if re.match(r"\w+/__init__\.py,", line)
    }
    return sorted(names)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
