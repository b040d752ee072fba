"""From found files to skills, prompt templates and themes: read, told about, and each name once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pinyon.resources.diagnostic import ResourceDiagnostic, collision_of
from pinyon.resources.file_cache import FileCache
from pinyon.resources.resource_place import FoundResource

if TYPE_CHECKING:
    from pinyon.resources.prompt_template import PromptTemplate
    from pinyon.resources.skill import Skill
    from pinyon.resources.theme import Theme

Reader = Callable[[Path, list[ResourceDiagnostic]], Any]


class LoadedSkills(msgspec.Struct):
    """Skills, each name once, in order of precedence, and what is wrong with others."""

    skills: list[Skill]
    diagnostics: list[ResourceDiagnostic] = []


class LoadedPrompts(msgspec.Struct):
    """Prompt templates, each name once, in order of precedence, and what is wrong with others."""

    prompts: list[PromptTemplate]
    diagnostics: list[ResourceDiagnostic] = []


class LoadedThemes(msgspec.Struct):
    """Themes beside the built-in ones, each name once, in order of precedence, and what is wrong with others."""

    themes: list[Theme]
    diagnostics: list[ResourceDiagnostic] = []


def load_skills(found: Sequence[FoundResource], files: FileCache, told: list[ResourceDiagnostic]) -> LoadedSkills:
    """The skills among the files; `told` is what finding them had to tell."""
    if not found:
        return LoadedSkills([], told)
    from pinyon.resources.skill import load_skill

    return LoadedSkills(*_load("skill", found, load_skill, files, told))


def load_prompts(found: Sequence[FoundResource], files: FileCache, told: list[ResourceDiagnostic]) -> LoadedPrompts:
    """The prompt templates among the files; `told` is what finding them had to tell."""
    if not found:
        return LoadedPrompts([], told)
    from pinyon.resources.prompt_template import load_prompt_template

    return LoadedPrompts(*_load("prompt", found, load_prompt_template, files, told))


def load_themes(found: Sequence[FoundResource], files: FileCache, told: list[ResourceDiagnostic]) -> LoadedThemes:
    """The themes among the files; `told` is what finding them had to tell."""
    if not found:
        return LoadedThemes([], told)
    from pinyon.resources.theme import load_theme

    return LoadedThemes(*_load("theme", found, load_theme, files, told))


def _load(
    kind: Literal["skill", "prompt", "theme"],
    found: Sequence[FoundResource],
    read: Reader,
    files: FileCache,
    told: list[ResourceDiagnostic],
) -> tuple[list[Any], list[ResourceDiagnostic]]:
    winners: dict[str, Any] = {}
    collisions: list[ResourceDiagnostic] = []
    seen: set[tuple[int, int]] = set()
    for each in found:
        identity = _identity(each.path)
        if identity in seen:
            continue  # the same file by another way
        if identity is not None:
            seen.add(identity)
        item = files.load(each.path, read, told)
        if item is None:
            continue
        winner = winners.get(item.name)
        if winner is None:
            winners[item.name] = msgspec.structs.replace(item, source_info=each.source)
        else:
            collisions.append(collision_of(kind, item.name, winner.file_path, item.file_path))
    return list(winners.values()), told + collisions


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - hot
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
