"""A home, an agent folder and a project below the home, as files, for tests of resources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pinyon.resources.loader import DefaultResourceLoader, LoaderOptions
from pinyon.resources.settings import SettingsManager
from pinyon.resources.theme import FALLBACKS, TOKENS


class Place:
    """Folders of one user; `load` gives a loader that has loaded."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.agent = self.home / ".pi" / "agent"
        self.work = self.home / "work"
        self.project = self.work / "project"
        for folder in (self.agent, self.project):
            folder.mkdir(parents=True)

    def write(self, path: Path | str, text: str = "") -> Path:
        """Write a file below the home."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def skill(self, path: Path | str, name: str, description: str = "what it does", body: str = "Do it.") -> Path:
        """Write a skill."""
        return self.write(path, f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")

    def settings(self, values: dict[str, Any], *, of_project: bool = False) -> None:
        """Write a settings file."""
        folder = self.project / ".pi" if of_project else self.agent
        self.write(folder / "settings.json", json.dumps(values))

    def theme(self, path: Path | str, name: str, **changes: Any) -> Path:
        """Write a theme that leaves out what may be left out."""
        colors = dict.fromkeys((token for token in TOKENS if token not in FALLBACKS), "#123456")
        return self.write(path, json.dumps({"name": name, "colors": colors, **changes}))

    def loader(self, *, trusted: bool = True, options: LoaderOptions | None = None) -> DefaultResourceLoader:
        """A loader that has not loaded yet."""
        settings = SettingsManager.create(self.project, self.agent, project_trusted=trusted)
        return DefaultResourceLoader(
            cwd=self.project, agent_dir=self.agent, settings_manager=settings, options=options, home=self.home
        )

    def load(self, *, trusted: bool = True, options: LoaderOptions | None = None) -> DefaultResourceLoader:
        """A loader that has loaded."""
        loader = self.loader(trusted=trusted, options=options)
        loader.load()
        return loader


def names(loader: DefaultResourceLoader) -> dict[str, list[str]]:
    """The names of what a loader has, by kind."""
    return {
        "skills": [skill.name for skill in loader.get_skills().skills],
        "prompts": [prompt.name for prompt in loader.get_prompts().prompts],
        "themes": [theme.name for theme in loader.get_themes().themes],
    }
