"""Changes of the list `packages` in a settings file, made on what the file holds at that moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pinyon.errors import ConfigError
from pinyon.resources.package.configured import entry_source
from pinyon.resources.package.source import PackageSource, PackageSourceError, parse_source
from pinyon.resources.setting import PACKAGES
from pinyon.resources.settings import SettingsManager
from pinyon.resources.settings_storage import SettingsScope
from pinyon.resources.source_info import SourceScope


class PackageStore:
    """The list of one scope; relative paths in it start from `base`."""

    def __init__(self, settings: SettingsManager, scope: SourceScope, base: Path) -> None:
        self._settings = settings
        self._base = base
        self._scope: SettingsScope = "project" if scope == "project" else "global"

    def stored_text(self, source: PackageSource) -> str:
        """A source as the file keeps it: paths relative to the file's folder, so that both can move together."""
        if source.kind != "local" or source.text.startswith("~"):
            return source.text
        try:
            relative = os.path.relpath(os.path.realpath(source.target), os.path.realpath(self._base))
        except ValueError:  # another drive
            return source.target
        return Path(relative).as_posix()

    async def add(self, source: PackageSource) -> None:
        """Put a source into the list, in place of another version of it; what is chosen from it stays."""
        text = self.stored_text(source)

        def changed(listed: list[Any]) -> list[Any]:
            replaced = [self._with_source(value, text) if self._is(value, source) else value for value in listed]
            return replaced if any(self._is(value, source) for value in listed) else [*listed, text]

        await self._edit(changed)

    async def remove(self, source: PackageSource) -> None:
        """Take every version of a package out of the list."""
        await self._edit(lambda listed: [value for value in listed if not self._is(value, source)])

    async def replace(self, source: PackageSource, value: Any) -> None:
        """Put an entry in place of that of a package; at the end where there is none."""

        def changed(listed: list[Any]) -> list[Any]:
            if not any(self._is(each, source) for each in listed):
                return [*listed, value]
            return [value if self._is(each, source) else each for each in listed]

        await self._edit(changed)

    def value_of(self, source: PackageSource) -> Any:
        """The entry of a package as it stands in the settings; None without one."""
        return next((value for value in self._listed() if self._is(value, source)), None)

    async def _edit(self, change: Callable[[list[Any]], list[Any]]) -> None:
        if not self._settings.is_readable(self._scope):
            raise ConfigError(f"the {self._scope} settings cannot be read and are not changed; mend the file first")

        def changed(current: Any) -> list[Any]:
            return change(current if isinstance(current, list) else [])

        self._settings.edit(PACKAGES, changed, scope=self._scope)
        await self._settings.flush()
        problem = next((each for each in self._settings.drain_errors() if "was not stored" in each.message), None)
        if problem is not None:
            raise ConfigError(problem.message)

    def _listed(self) -> list[Any]:
        settings = self._settings
        own = settings.get_project_settings() if self._scope == "project" else settings.get_global_settings()
        listed = own.get("packages")
        return listed if isinstance(listed, list) else []

    def _is(self, value: Any, source: PackageSource) -> bool:
        text = entry_source(value)
        if text is None:
            return False
        try:
            other = parse_source(text, self._base)
        except PackageSourceError:
            return text == source.text
        if source.kind == other.kind == "local":
            return os.path.realpath(source.target) == os.path.realpath(other.target)
        return other.identity == source.identity

    def _with_source(self, value: Any, text: str) -> Any:
        return {**value, "source": text} if isinstance(value, dict) else text
