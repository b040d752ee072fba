"""The skills in the known folders of a user and a project, for programs that need no more of the resources."""

from __future__ import annotations

from pathlib import Path

from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.loader import DefaultResourceLoader
from pinyon.resources.named_resource import LoadedSkills
from pinyon.resources.settings import SettingsManager
from pinyon.resources.skill import Skill


def load_skills(cwd: str | Path) -> list[Skill]:
    """The user's skills, from the agent folder and `~/.agents/skills`. Nothing of the project is read."""
    return load_skills_with_trust(cwd, project_trusted=False).skills


def load_skills_with_diagnostics(cwd: str | Path) -> tuple[list[Skill], list[ResourceDiagnostic]]:
    """Like `load_skills`, with what is wrong with files that were found."""
    loaded = load_skills_with_trust(cwd, project_trusted=False)
    return loaded.skills, loaded.diagnostics


def load_skills_with_trust(cwd: str | Path, project_trusted: bool) -> LoadedSkills:
    """The user's skills and, in a trusted project, its own. Entries of settings do not count."""
    settings = SettingsManager.in_memory(project_trusted=project_trusted)
    loader = DefaultResourceLoader(cwd=cwd, settings_manager=settings)
    loader.load()
    return loader.get_skills()
