"""The list that switches single resources on and off in the settings of their owner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pinyon.resources import setting
from pinyon.resources.diagnostic import ResourceKind
from pinyon.resources.loader import DefaultResourceLoader
from pinyon.resources.resource_filter import resolve_entry
from pinyon.resources.resource_place import FoundResource
from pinyon.tui.place import home_short
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.coding.services import Services
    from pinyon.resources.setting import Setting

_SETTINGS: dict[str, Setting[list[Any]]] = {
    "extensions": setting.EXTENSIONS,
    "skills": setting.SKILLS,
    "prompts": setting.PROMPTS,
    "themes": setting.THEMES,
}
_SCOPES = {"user": "yours", "project": "the project's", "temporary": "of a flag"}


class ResourceList(Selector):
    """Enter and Space switch the chosen resource; `has_changed` tells that something must be loaded anew."""

    def __init__(self, services: Services, *, query: str = "") -> None:
        self._services = services
        self.has_changed = False
        super().__init__("Resources", self._rows(), query=query)

    def _rows(self) -> list[Choice]:
        loader = self._services.loader
        if not isinstance(loader, DefaultResourceLoader):
            return []
        found = [(kind, item) for kind in get_args(ResourceKind) if kind in _SETTINGS for item in loader.find(kind)]
        return [self._choice(kind, item) for kind, item in found]

    def _choice(self, kind: str, item: FoundResource) -> Choice:
        path = item.path
        name = path.parent.name if path.name == "SKILL.md" else path.stem
        scope = _SCOPES.get(item.source.scope, item.source.scope)
        return Choice(
            (kind, str(path)),
            f"{'[x]' if item.is_enabled else '[ ]'} {name}",
            note=f"{kind.removesuffix('s')} · {scope}",
            role="text" if item.is_enabled else "dim",
            search=f"{kind} {name} {scope}",
            detail=home_short(path),
        )

    def accept(self, choice: Choice) -> None:
        """Switch a resource."""
        kind, text = choice.value
        loader = self._services.loader
        if not isinstance(loader, DefaultResourceLoader):
            return
        found = next((item for item in loader.find(kind) if str(item.path) == text), None)
        if found is not None and found.source.scope in ("user", "project"):
            self._switch(kind, found)
            self.has_changed = True
            self.replace_choices(self._rows())

    def handle(self, key: str, character: str | None) -> None:
        """Space switches, unless something is searched for."""
        if key == "space" and not self.field.text and self.chosen is not None:
            self.accept(self.chosen)
            self.update_rows()
        else:
            super().handle(key, character)

    def _switch(self, kind: str, item: FoundResource) -> None:
        """Write `-path` to switch off and take it out to switch on; `+path` where a pattern would keep it off."""
        services, scope = self._services, item.source.scope
        is_project = scope == "project"
        base = services.cwd / ".pi" if is_project else services.agent_dir or services.cwd
        settings = services.settings
        table = settings.get_project_settings() if is_project else settings.get_global_settings()
        entries = [entry for entry in table.get(kind) or [] if not _names(entry, item.path, base)]
        written = Path(os.path.relpath(_switched_path(item.path), base)).as_posix()
        if item.is_enabled:
            entries.append(f"-{written}")
        services.settings.set(_SETTINGS[kind], entries, scope="project" if is_project else "global")
        loader = services.loader
        if not item.is_enabled and isinstance(loader, DefaultResourceLoader):
            now = next((each for each in loader.find(item_kind(kind)) if each.path == item.path), None)
            if now is not None and not now.is_enabled:
                settings.set(_SETTINGS[kind], [*entries, f"+{written}"], scope="project" if is_project else "global")

    def hints(self) -> str:
        """The keys."""
        hint = self.keymap.hint
        return f"{hint('tui.select.confirm')} or Space switches · {hint('tui.select.cancel')} closes and loads anew"


def item_kind(kind: str) -> ResourceKind:
    """The kind of a settings key."""
    return next(known for known in get_args(ResourceKind) if known == kind)


def _switched_path(path: Path) -> Path:
    return path.parent if path.name == "SKILL.md" else path


def _names(entry: Any, path: Path, base: Path) -> bool:
    """Whether an entry switches exactly this file."""
    if not isinstance(entry, str) or not entry.startswith(("+", "-")):
        return False
    return resolve_entry(entry[1:], base) in (path, _switched_path(path))
