"""The layers that settings come from (the user's file, the project's, overrides), their problems, and the merge."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pinyon._util import json as _json
from pinyon.errors import ConfigError
from pinyon.resources.setting import SETTINGS, Setting
from pinyon.resources.setting_kind import Kind
from pinyon.resources.settings_merge import Settings, merge_settings, migrate_settings
from pinyon.resources.settings_storage import SettingsScope, SettingsStorage
from pinyon.resources.settings_writer import REMOVED, with_value

T = TypeVar("T")


class SettingsError(ConfigError):
    """Raised when a strict setting holds a value that cannot be used. `setting` is its dotted key."""

    def __init__(self, message: str, setting: str, path: Path | None) -> None:
        super().__init__(message)
        self.setting = setting
        self.path = path


class SettingsProblem(msgspec.Struct, frozen=True):
    """A settings file or value that is not usable; `line` and `column` count from 1 where the text is not JSON."""

    scope: SettingsScope
    message: str
    path: Path | None = None
    line: int | None = None
    column: int | None = None


class SettingsLayers:
    """Both files as they were read last, the overrides above them, and the merged view."""

    def __init__(self, storage: SettingsStorage, *, project_trusted: bool) -> None:
        self.storage = storage
        self.project_trusted = project_trusted
        self.overrides: Settings = {}
        self.merged: Settings = {}
        self._layers: dict[SettingsScope, Settings] = {"global": {}, "project": {}}
        self._file_problems: dict[SettingsScope, SettingsProblem] = {}
        self._other_problems: list[SettingsProblem] = []
        self._reported: set[str] = set()
        self.load()

    def load(self) -> None:
        """Read both texts and drop the overrides. A text that cannot be read leaves its layer as it was."""
        self.overrides = {}
        self._reported.clear()
        for scope in self._layers:
            try:
                self._layers[scope] = migrate_settings(parse_settings(self.storage.read(scope)))
                self._file_problems.pop(scope, None)
            except (OSError, ValueError) as error:
                self._file_problems[scope] = _file_problem(scope, self.storage.path(scope), error)
        self.merge()

    def change(self, scope: SettingsScope, path: tuple[str, ...], value: Any) -> None:
        """Set a value of a layer (`REMOVED` takes it out), in memory only."""
        self._layers[scope] = with_value(self._layers[scope], path, value)
        self.overrides = with_value(self.overrides, path, REMOVED)
        self.merge()

    def write_failed(self, scope: SettingsScope, error: Exception) -> None:
        """Report that a change could not be written."""
        path = self.storage.path(scope)
        where = f"{scope} settings" if path is None else repr(str(path))
        detail = getattr(error, "strerror", None) or str(error)
        self.add_problem(SettingsProblem(scope, f"a change of {where} was not stored: {detail}", path))

    def merge(self) -> None:
        """Bring `merged` up to date after a change of a layer or of the trust."""
        files = merge_settings(self._layers["global"], self.visible("project"))
        self.merged = merge_settings(files, self.overrides) if self.overrides else files

    def visible(self, scope: SettingsScope) -> Settings:
        """The layer of a scope; the project's is empty while the project is not trusted. Not to be changed."""
        return self._layers[scope] if scope == "global" or self.project_trusted else {}

    def is_readable(self, scope: SettingsScope) -> bool:
        """Whether the scope's text could be read; one that could not must not be written."""
        return scope not in self._file_problems

    def get(self, setting: Setting[T]) -> T:
        """The typed value of a setting; its default where it is absent, null or (not strict and) unusable."""
        value = find(self._source(setting), setting.path)
        if value is None:
            return _fresh(setting.default)
        try:
            return setting.kind.read(value)
        except ValueError as error:
            if setting.strict:
                raise self.error(setting.key, setting.path, error) from None
            return _fresh(setting.default)

    def read_nested(self, kind: Kind[T], value: Any, path: tuple[str, ...]) -> T | None:
        """A value inside a strict setting; None where it is absent. Raises `SettingsError` where it is unusable."""
        if value is None:
            return None
        try:
            return kind.read(value)
        except ValueError as error:
            raise self.error(".".join(path), path, error) from None

    def error(self, key: str, path: tuple[str, ...], problem: ValueError) -> SettingsError:
        """The error of an unusable value, naming the file it stands in."""
        scopes: tuple[SettingsScope, ...] = ("project", "global")
        file = next((self.storage.path(scope) for scope in scopes if find(self.visible(scope), path) is not None), None)
        where = "the settings" if file is None else repr(str(file))
        return SettingsError(f"setting {key!r} in {where} {problem}", key, file)

    def drain_problems(self) -> list[SettingsProblem]:
        """Problems of the files and values that count and were not handed out before."""
        fresh = [problem for problem in self.problems() if problem.message not in self._reported]
        self._reported.update(problem.message for problem in fresh)
        return fresh

    def _source(self, setting: Setting[Any]) -> Settings:
        if setting.scope == "global":
            return merge_settings(self._layers["global"], self.overrides)
        if setting.before_trust and not self.project_trusted:
            return merge_settings(merge_settings(self._layers["global"], self._layers["project"]), self.overrides)
        return self.merged

    def add_problem(self, problem: SettingsProblem) -> None:
        """Report something beside the files, such as trust decisions that cannot be read."""
        self._other_problems.append(problem)

    def problems(self) -> Iterator[SettingsProblem]:
        """Everything that is wrong with the files and values that count."""
        yield from self._other_problems
        for scope in self._layers:
            if scope == "global" or self.project_trusted:
                if scope in self._file_problems:
                    yield self._file_problems[scope]
                yield from self._value_problems(scope)

    def _value_problems(self, scope: SettingsScope) -> Iterator[SettingsProblem]:
        layer, path = self._layers[scope], self.storage.path(scope)
        where = f"{scope} settings" if path is None else repr(str(path))
        for parent in dict.fromkeys(setting.path[:-1] for setting in SETTINGS):
            group = find(layer, parent) if parent else None
            if group is not None and not isinstance(group, dict):
                key = ".".join(parent)
                yield SettingsProblem(scope, f"{where}: {key!r} must be an object; it is passed over", path)
        for setting in SETTINGS:
            value = find(layer, setting.path)
            if value is None or (scope == "project" and setting.scope == "global"):
                continue
            try:
                setting.kind.read(value)
            except ValueError as error:
                mend = "correct it" if setting.strict else "the default is used instead"
                yield SettingsProblem(scope, f"{where}: {setting.key!r} {error}; {mend}", path)


def find(settings: Settings, path: tuple[str, ...]) -> Any:
    """The value at the end of a path of keys; None where a key is missing or a value on the way is no object."""
    value: Any = settings
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def parse_settings(text: str | None) -> Settings:
    """The object of a settings text, empty for none; raises `ValueError` for anything that is not a JSON object."""
    if text is None or not text.strip():
        return {}
    value = _json.decode(text.removeprefix("\ufeff"))
    if not isinstance(value, dict):
        raise _json.JsonError("the file must hold a JSON object")
    return value


def _file_problem(scope: SettingsScope, path: Path | None, error: Exception) -> SettingsProblem:
    where = f"{scope} settings" if path is None else repr(str(path))
    line = column = None
    if isinstance(error.__cause__, json.JSONDecodeError):
        cause = error.__cause__
        line, column = cause.lineno, cause.colno
        detail = f"line {line}, column {column}: {cause.msg} (comments and trailing commas are not JSON)"
    elif isinstance(error, UnicodeDecodeError):
        detail = "the file is not UTF-8"
    else:
        detail = getattr(error, "strerror", None) or str(error)
    message = f"{where} is not used: {detail}; it is left as it is until you mend it"
    return SettingsProblem(scope, message, path, line, column)


def _fresh(default: T) -> T:
    return copy.copy(default)
