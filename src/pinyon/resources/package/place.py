"""Where packages are installed, and how one version takes the place of another without a moment in between.

A new version is made ready beside its place and renamed into it. The version before it is moved aside under a fixed
name first, so that whatever interrupts the exchange leaves a whole version: the new one, or the one that was moved.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pinyon._util.atomic import make_private_folder
from pinyon._util.safe_path import path_exists
from pinyon.errors import ConfigError
from pinyon.resources.package.source import PackageSource

_PREVIOUS = ".pinyon-previous"
_STAGED = ".pinyon-staged-"
_INCOMPLETE = ".pi-update-incomplete"


class PackageInstallError(ConfigError):
    """Raised when a package cannot be installed, updated or removed; what was there before still is."""


def place_of(source: PackageSource, base: Path) -> Path:
    """The folder of a package of the user (`base` is the agent folder) or of a project (its `.pi` folder)."""
    match source.kind:
        case "npm":
            return base / "npm" / "node_modules" / source.name
        case "git":
            return base / "git" / source.name
        case "pypi":
            return base / "pypi" / source.name
        case "local":
            return Path(source.target)


def unit_of(source: PackageSource, base: Path) -> Path:
    """What is exchanged as a whole when the package changes: its folder, for npm the tree that its packages share."""
    return base / "npm" if source.kind == "npm" else place_of(source, base)


def installed_folder(source: PackageSource, base: Path) -> Path | None:
    """Where a package is now, also in the middle of an exchange that was interrupted; None where it is nowhere."""
    place = place_of(source, base)
    if path_exists(place):
        return place
    unit = unit_of(source, base)
    if source.kind == "local" or path_exists(unit):
        return None
    previous = _sibling(unit, _PREVIOUS) / place.relative_to(unit)
    return previous if path_exists(previous) else None


def is_incomplete(place: Path) -> bool:
    """Whether another program left an update of this place unfinished."""
    return path_exists(_sibling(place, _INCOMPLETE))


def prepare_root(base: Path, kind: str) -> Path:
    """Make the folder of all packages of a kind, with a `.gitignore` that keeps them out of repositories."""
    root = base / kind
    if not root.exists():
        make_private_folder(root) if base.name == "agent" else root.mkdir(parents=True, exist_ok=True)
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n!.gitignore\n", encoding="utf-8")
    return root


def ensure_inside(place: Path, root: Path) -> None:
    """Refuse a place whose folders lead out of `root`."""
    parent = Path(os.path.realpath(place.parent))
    if not parent.is_relative_to(os.path.realpath(root)):
        raise PackageInstallError(f"{str(place)!r} leads out of {str(root)!r} by a link; remove the link")


@contextlib.contextmanager
def staged(place: Path) -> Iterator[Path]:
    """A path beside `place` to build a new version at; it takes the place when the block ends without an error."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    staging = _sibling(place, f"{_STAGED}{os.getpid()}")
    try:
        yield staging
        _exchange(staging, place)
    finally:
        remove_tree(staging)


def remove_place(place: Path) -> None:
    """Remove a package and what is left of earlier versions."""
    _sweep(place)
    remove_tree(_sibling(place, _PREVIOUS))
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        doomed = _sibling(place, f"{_STAGED}{os.getpid()}")
        place.replace(doomed)  # first out of sight, so that a half removed package is never loaded
        remove_tree(doomed)
    _sibling(place, _INCOMPLETE).unlink(missing_ok=True)


def remove_tree(path: Path) -> None:
    """Delete a folder with everything in it, also what is write-protected; nothing where there is none."""
    if not path_exists(path):
        return
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101 - a plain text path
    shutil.rmtree(path, ignore_errors=True)


def _exchange(staging: Path, place: Path) -> None:
    previous = _sibling(place, _PREVIOUS)
    if place.is_symlink():
        place.unlink()  # a development link; what it leads to is not ours
    elif place.exists():
        remove_tree(previous)
        place.replace(previous)
    staging.replace(place)
    _sibling(place, _INCOMPLETE).unlink(missing_ok=True)
    remove_tree(previous)


def _sweep(place: Path) -> None:
    """Finish what an interrupted exchange left, and delete what it never finished."""
    previous = _sibling(place, _PREVIOUS)
    if path_exists(previous) and not path_exists(place):
        previous.replace(place)
    prefix = f".{place.name}{_STAGED}"
    if place.parent.is_dir():
        for entry in place.parent.iterdir():
            if entry.name.startswith(prefix):
                remove_tree(entry)


def _sibling(place: Path, suffix: str) -> Path:
    return place.with_name(f".{place.name}{suffix}")
