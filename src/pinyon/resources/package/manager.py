"""Installing, updating, removing and listing packages of a user and of a trusted project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from pinyon._util import config as _config
from pinyon._util.config import CONFIG_DIR_NAME, is_offline
from pinyon._util.lock import hold_lock_async
from pinyon._util.safe_path import path_exists
from pinyon.errors import ConfigError
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.package.configured import PackageEntry, read_entries
from pinyon.resources.package.place import (
    PackageInstallError,
    ensure_inside,
    installed_folder,
    is_incomplete,
    place_of,
    prepare_root,
    remove_place,
)
from pinyon.resources.package.source import PackageSource, PackageSourceError, parse_source, suggested_prefix
from pinyon.resources.package.store import PackageStore
from pinyon.resources.resource_place import Owner, owners_of
from pinyon.resources.setting import NPM_COMMAND, PIP_COMMAND
from pinyon.resources.settings import SettingsManager
from pinyon.resources.source_info import SourceScope

if TYPE_CHECKING:
    from pinyon.resources.package.git_install import GitInstaller

Progress = Callable[[str], None]
_CHECKS_AT_ONCE = 4
_LOCK_WAIT_S = 900.0
_LOCKED = "packages"
"""What the lock of installations is named after; it stands outside of all that is exchanged."""


class ListedPackage(msgspec.Struct, frozen=True):
    """An entry of the settings, where it is installed, and the version that is there."""

    entry: PackageEntry
    folder: Path | None
    version: str | None = None


class PackageUpdate(msgspec.Struct, frozen=True):
    """What became of one package."""

    source: PackageSource
    outcome: Literal["updated", "current", "pinned", "local", "failed"]
    before: str | None = None
    after: str | None = None
    problem: str | None = None


class PackageManager:
    """Packages of one working directory. `progress(line)` hears what is being done."""

    def __init__(
        self,
        *,
        cwd: str | Path,
        agent_dir: str | Path | None = None,
        settings: SettingsManager | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.cwd = Path(cwd).absolute()
        self.agent_dir = _config.agent_dir() if agent_dir is None else _config.expand_home(str(agent_dir))
        self.settings = settings or SettingsManager.create(self.cwd, self.agent_dir)
        self._progress = progress or (lambda _: None)

    async def install(self, text: str, scope: SourceScope = "user") -> PackageSource:
        """Install a package and enter it into the settings; relative paths start from the working directory.

        Raises `ConfigError`: then neither files nor settings have changed.
        """
        base = self.base(scope)
        self._ensure_settings(scope)
        source = parse_source(text, self.cwd)
        await self.fetch(source, base)
        await self._store(scope).add(source)
        return source

    async def remove(self, text: str, scope: SourceScope = "user") -> PackageSource:
        """Take a package out of the settings and remove what was installed; folders of the user's own stay."""
        base = self.base(scope)
        self._ensure_settings(scope)
        source = self._known(text, self._entries_of(scope)).source
        await self._store(scope).remove(source)
        await self._remove_files(source, base)
        return source

    async def update(self, text: str | None = None, *, force: bool = False) -> list[PackageUpdate]:
        """Update one package, or all, to the newest versions that their sources allow. Failures are in the answer."""
        entries = self.entries()
        if text is not None:
            known = self._known(text, entries).source
            entries = [entry for entry in entries if entry.source.identity == known.identity]
        limit = asyncio.Semaphore(_CHECKS_AT_ONCE)

        async def checked(entry: PackageEntry) -> PackageUpdate | None:
            async with limit:
                return await self._check(entry, force=force)

        checks = await asyncio.gather(*map(checked, entries))
        return [check or await self._update(entry) for entry, check in zip(entries, checks, strict=True)]

    async def list_packages(self) -> list[ListedPackage]:
        """The entries of both settings files, the user's first."""
        found: list[ListedPackage] = []
        for entry in sorted(self.entries(), key=lambda entry: entry.scope != "user"):
            folder = installed_folder(entry.source, entry.base)
            found.append(ListedPackage(entry, folder, await installed_version(entry.source, folder)))
        return found

    async def install_missing(self) -> dict[str, str]:
        """Fetch what the settings ask for and is not there. Returns identity and problem of what failed."""
        failures: dict[str, str] = {}
        for entry in self.missing():
            try:
                await self.fetch(entry.source, entry.base)
            except (ConfigError, OSError) as error:
                failures[entry.source.identity] = str(error)
        return failures

    def missing(self) -> list[PackageEntry]:
        """What could be fetched: entries whose packages are not installed, each package once."""
        found: dict[str, PackageEntry] = {}
        for entry in self.entries():
            if entry.source.kind == "local" or (entry.scope == "project" and not entry.autoload):
                continue
            place = place_of(entry.source, entry.base)
            if installed_folder(entry.source, entry.base) is None or is_incomplete(place):
                found.setdefault(entry.source.identity, entry)
        return list(found.values())

    async def fetch(self, source: PackageSource, base: Path) -> None:
        """Install the files of a package below `base`; a version that is there stays until the new one is whole."""
        if source.kind == "local":
            _ensure_local(source)
            return
        if is_offline():
            raise PackageInstallError(f"offline: {source.label!r} cannot be fetched; unset PI_OFFLINE to install it")
        self._progress(f"Installing {source.label} ...")
        root = prepare_root(base, source.kind)
        place = place_of(source, base)
        ensure_inside(place, root)
        async with hold_lock_async(base / _LOCKED, wait_s=_LOCK_WAIT_S):
            await self._install(source, base)

    def entries(self) -> list[PackageEntry]:
        """The usable entries of the project's and the user's settings."""
        told: list[ResourceDiagnostic] = []
        return [entry for owner in self._owners() for entry in read_entries(owner, told)]

    def base(self, scope: SourceScope) -> Path:
        """The folder below which packages of a scope are installed. Raises `ConfigError` where there is none."""
        if scope == "project":
            return self.cwd / CONFIG_DIR_NAME
        if self.agent_dir is None:
            raise ConfigError("there is no agent folder for packages: set HOME or PI_CODING_AGENT_DIR")
        return self.agent_dir

    def _owners(self) -> list[Owner]:
        settings = self.settings
        return owners_of(
            self.cwd,
            self.agent_dir,
            is_trusted=settings.is_project_trusted,
            project_settings=settings.get_project_settings(),
            global_settings=settings.get_global_settings(),
        )

    def _entries_of(self, scope: SourceScope) -> list[PackageEntry]:
        return [entry for entry in self.entries() if entry.scope == scope]

    def _store(self, scope: SourceScope) -> PackageStore:
        return PackageStore(self.settings, scope, self.base(scope))

    def _ensure_settings(self, scope: SourceScope) -> None:
        if scope == "project" and not self.settings.is_project_trusted:
            raise ConfigError("this project is not trusted: its packages are not changed; give --approve, or trust it")
        if not self.settings.is_readable("project" if scope == "project" else "global"):
            raise ConfigError(f"the {scope} settings cannot be read and are not changed; mend the file first")

    def _known(self, text: str, entries: Sequence[PackageEntry]) -> PackageEntry:
        for candidate in _readings(text, self.cwd):
            for entry in entries:
                if entry.source.identity == candidate.identity:
                    return entry
        written = next((entry for entry in entries if text in (entry.source.text, entry.source.label)), None)
        if written is not None:
            return written
        near = [e.source.label for e in entries if text and text in (e.source.name, e.source.name.rsplit("/", 1)[-1])]
        hint = f"; did you mean {near[0]!r}?" if near else "; `pinyon list` shows those that are"
        raise ConfigError(f"no package {text!r} is in the settings{hint}")

    async def _check(self, entry: PackageEntry, *, force: bool) -> PackageUpdate | None:
        """What is known without installing; None where the package must be installed anew."""
        source = entry.source
        if source.kind == "local":
            return PackageUpdate(source, "local")
        if force or installed_folder(source, entry.base) is None:
            return None
        if source.kind != "git":
            return PackageUpdate(source, "pinned") if source.is_pinned else None
        try:
            is_current = await self._git(entry.base).is_current(source)
        except PackageInstallError as error:
            return PackageUpdate(source, "failed", problem=str(error))
        return PackageUpdate(source, "current") if is_current else None

    async def _update(self, entry: PackageEntry) -> PackageUpdate:
        source = entry.source
        before = await installed_version(source, installed_folder(source, entry.base))
        try:
            await self.fetch(source, entry.base)
        except (ConfigError, OSError) as error:
            return PackageUpdate(source, "failed", before=before, problem=str(error))
        after = await installed_version(source, installed_folder(source, entry.base))
        is_same = before is not None and before == after
        return PackageUpdate(source, "current" if is_same else "updated", before, after)

    async def _install(self, source: PackageSource, base: Path) -> None:
        if source.kind == "git":
            await self._git(base).install(source)
        elif source.kind == "npm":
            from pinyon.resources.package.npm_install import NpmInstaller

            await NpmInstaller(base, self._npm_command()).install(source)
        else:
            from pinyon.resources.package.python_install import PythonInstaller

            await PythonInstaller(base, self.settings.get(PIP_COMMAND)).install(source)

    async def _remove_files(self, source: PackageSource, base: Path) -> None:
        if source.kind == "local" or not (base / source.kind).is_dir():
            return
        place = place_of(source, base)
        ensure_inside(place, base / source.kind)
        async with hold_lock_async(base / _LOCKED, wait_s=_LOCK_WAIT_S):
            if source.kind == "npm":
                from pinyon.resources.package.npm_install import NpmInstaller

                await NpmInstaller(base, self._npm_command()).remove(source)
            else:
                remove_place(place)

    def _git(self, base: Path) -> GitInstaller:
        from pinyon.resources.package.git_install import GitInstaller
        from pinyon.resources.package.python_install import PythonInstaller

        return GitInstaller(base, PythonInstaller(base, self.settings.get(PIP_COMMAND)), self._npm_command())

    def _npm_command(self) -> list[str]:
        return self.settings.get(NPM_COMMAND) or ["npm"]


async def installed_version(source: PackageSource, folder: Path | None) -> str | None:
    """The version of an installed package: commit, version of a distribution, or what its package.json says."""
    if folder is None:
        return None
    if source.kind == "git":
        from pinyon.resources.package.git_install import version_of

        return await version_of(folder)
    if source.kind == "pypi":
        from pinyon.resources.package.python_content import distribution_version

        return distribution_version(folder, source.name)
    from pinyon.resources.package.manifest import package_version

    return package_version(folder)


def _readings(text: str, cwd: Path) -> Iterable[PackageSource]:
    try:
        yield parse_source(text, cwd)
    except PackageSourceError:
        return


def _ensure_local(source: PackageSource) -> None:
    if path_exists(Path(source.target)):
        return
    prefix = suggested_prefix(source.text)
    hint = (
        f"; did you mean {prefix + source.text!r}?"
        if prefix
        else "; a package is a path, or begins with git:, npm: or pypi:"
    )
    raise PackageInstallError(f"there is nothing at {source.target!r}{hint}")
