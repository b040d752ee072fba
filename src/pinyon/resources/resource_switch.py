"""Switching single resources on and off: the entries that say so, in the settings of the user or of the project.

A file of a known folder gets a `+path` or `-path` entry in the list of its kind; one of a package gets it in the entry
of the package. In a project, packages of the user are adjusted by an entry with `"autoload": false`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pinyon.errors import ConfigError
from pinyon.resources import setting as _setting
from pinyon.resources.diagnostic import ResourceKind
from pinyon.resources.package.source import PackageSource, parse_source
from pinyon.resources.package.store import PackageStore
from pinyon.resources.resource_filter import resolve_entry
from pinyon.resources.resource_place import FoundResource
from pinyon.resources.setting import Setting
from pinyon.resources.settings import SettingsManager
from pinyon.resources.source_info import SourceScope

_SETTINGS: dict[ResourceKind, Setting[Any]] = {
    "extensions": _setting.EXTENSIONS,
    "skills": _setting.SKILLS,
    "prompts": _setting.PROMPTS,
    "themes": _setting.THEMES,
}
_SKILL_FILE = "SKILL.md"


class ResourceSwitch:
    """Switches resources in the settings of one scope, whose relative paths start from `base`."""

    def __init__(self, settings: SettingsManager, scope: SourceScope, base: Path, user_base: Path | None) -> None:
        self._settings = settings
        self._scope: SourceScope = scope
        self._base = base
        self._user_base = user_base

    async def set(self, kind: ResourceKind, found: FoundResource, *, is_on: bool) -> None:
        """Switch one resource. Raises `ConfigError` where the settings cannot be changed."""
        subject = found.path.parent if found.path.name == _SKILL_FILE else found.path
        if found.source.origin == "package":
            await self._set_in_package(kind, found, subject, is_on=is_on)
            return
        if self._scope == "user" and found.source.scope == "project":
            raise ConfigError(f"{str(subject)!r} belongs to the project; switch it with -l")
        if not self._settings.is_readable("project" if self._scope == "project" else "global"):
            raise ConfigError(f"the {self._scope} settings cannot be read and are not changed; mend the file first")
        entry = _entry(subject, self._base, is_on=is_on)

        def changed(current: Any) -> list[Any]:
            return _with_entry(current if isinstance(current, list) else [], entry, self._base, subject)

        self._settings.edit(_SETTINGS[kind], changed, scope="project" if self._scope == "project" else "global")
        await self._settings.flush()

    async def _set_in_package(self, kind: ResourceKind, found: FoundResource, subject: Path, *, is_on: bool) -> None:
        root = Path(found.source.base_dir or found.path.parent)
        source = self._package(found)
        store = PackageStore(self._settings, self._scope, self._base)
        value = store.value_of(source)
        if value is None:
            if self._scope == found.source.scope:
                raise ConfigError(
                    f"the entry of package {source.label!r} is not in the {self._scope} settings any more"
                )
            value = {"source": store.stored_text(source), "autoload": False}
        elif not isinstance(value, dict):
            value = {"source": value}
        listed = value.get(kind)
        entry = _entry(subject, root, is_on=is_on)
        await store.replace(
            source, {**value, kind: _with_entry(listed if isinstance(listed, list) else [], entry, root, subject)}
        )

    def _package(self, found: FoundResource) -> PackageSource:
        base = self._base if found.source.scope == self._scope else self._user_base
        return parse_source(found.source.source, base or self._base)


def _entry(subject: Path, base: Path, *, is_on: bool) -> str:
    relative = os.path.relpath(subject, base)
    named = str(subject) if relative.startswith("..") else Path(relative).as_posix()
    return f"{'+' if is_on else '-'}{named}"


def _with_entry(listed: list[Any], entry: str, base: Path, subject: Path) -> list[Any]:
    """The list without earlier switches of the same file, and with the new one at its end."""
    names = {subject, subject / _SKILL_FILE}

    def is_earlier(value: Any) -> bool:
        return isinstance(value, str) and value[:1] in {"+", "-"} and resolve_entry(value[1:], base) in names

    return [*(value for value in listed if not is_earlier(value)), entry]
