"""How settings of several layers become one: objects merge key by key, everything else is replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Settings = dict[str, Any]
"""The object of a settings file, with every key that stands in it."""


def merge_settings(base: Settings, override: Settings) -> Settings:
    """`override` over `base`; neither is changed. A null replaces like any other value.

    `defaultTools` of only `+x`/`-x` entries is appended to the list below it instead of replacing it.
    """
    merged = merge_objects(base, override)
    below, above = base.get("defaultTools"), override.get("defaultTools")
    if isinstance(below, list) and isinstance(above, list) and is_edit_list(above):
        merged["defaultTools"] = [*below, *above]
    return merged


def merge_objects(base: Settings, override: Settings) -> Settings:
    """`override` over `base`, objects recursively, lists and scalars replaced."""
    merged = dict(base)
    for key, value in override.items():
        current = merged.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            merged[key] = merge_objects(current, value)
        else:
            merged[key] = value
    return merged


def is_edit_list(entries: list[Any]) -> bool:
    """Whether a tool list holds only `+name` and `-name` entries, and at least one."""
    return bool(entries) and all(isinstance(entry, str) and entry.startswith(("+", "-")) for entry in entries)


def edit_tool_names(defaults: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Tool names that a list asks for: plain entries replace `defaults`, then `+x` adds and `-x` removes, in order."""
    plain = [entry for entry in entries if not entry.startswith(("+", "-"))]
    names = list(dict.fromkeys(plain if plain or not entries else defaults))
    for entry in entries:
        name = entry[1:]
        if entry.startswith("+") and name not in names:
            names.append(name)
        elif entry.startswith("-") and name in names:
            names.remove(name)
    return names


def migrate_settings(settings: Settings) -> Settings:
    """The settings with the keys of older versions renamed, each only where its new key is absent."""
    migrated = dict(settings)
    for migrate in _MIGRATIONS:
        migrate(migrated)
    return migrated


def _queue_mode(settings: Settings) -> None:
    if "queueMode" in settings:
        settings.setdefault("steeringMode", settings["queueMode"])
        del settings["queueMode"]


def _websockets(settings: Settings) -> None:
    if isinstance(settings.get("websockets"), bool):
        settings.setdefault("transport", "websocket" if settings["websockets"] else "sse")
        del settings["websockets"]


def _skills_object(settings: Settings) -> None:
    skills = settings.get("skills")
    if not isinstance(skills, dict):
        return
    if "enableSkillCommands" in skills:
        settings.setdefault("enableSkillCommands", skills["enableSkillCommands"])
    folders = skills.get("customDirectories")
    if isinstance(folders, list) and folders:
        settings["skills"] = folders
    else:
        del settings["skills"]


def _retry_max_delay(settings: Settings) -> None:
    retry = settings.get("retry")
    if not isinstance(retry, dict) or "maxDelayMs" not in retry:
        return
    provider = retry.get("provider")
    provider = dict(provider) if isinstance(provider, dict) else {}
    provider.setdefault("maxRetryDelayMs", retry["maxDelayMs"])
    settings["retry"] = {key: value for key, value in retry.items() if key != "maxDelayMs"} | {"provider": provider}


_MIGRATIONS: tuple[Callable[[Settings], None], ...] = (_queue_mode, _websockets, _skills_object, _retry_max_delay)
