"""Prompts that call a skill or a prompt template by `/skill:name` or `/name`, replaced by its text."""

from __future__ import annotations

from collections.abc import Callable

from pinyon.coding.event import ExtensionFailed
from pinyon.errors import ConfigError
from pinyon.resources.loader import ResourceLoader

Expansion = Callable[[str], str]
"""Replaces the call at the beginning of a prompt; any other text comes back as it is."""
Report = Callable[[ExtensionFailed], None]


def expansion_of(loader: ResourceLoader, report: Report) -> Expansion:
    """The expansion with what `loader` has at the moment of the call: skills first, then templates.

    A skill whose file cannot be read any more is reported, and the text stays as it is.
    """

    def expand(text: str) -> str:
        if not text.startswith("/"):
            return text
        return _with_templates(loader, _with_skills(loader, report, text))

    return expand


def _with_skills(loader: ResourceLoader, report: Report, text: str) -> str:
    if not text.startswith("/skill:"):
        return text
    skills = {skill.name: skill for skill in loader.get_skills().skills}
    if not skills:
        return text
    from pinyon.resources.skill import expand_skill_call

    try:
        return expand_skill_call(text, skills)
    except (OSError, ConfigError) as error:
        name = text.removeprefix("/skill:").partition(" ")[0]
        path = skills[name].file_path
        reason = getattr(error, "strerror", None) or str(error)
        problem = f"the skill {name!r} cannot be read from {path!r}: {reason}; restore it, or load the resources again"
        report(ExtensionFailed(extension_path=path, event="skill_expansion", error=problem))
        return text


def _with_templates(loader: ResourceLoader, text: str) -> str:
    templates = {template.name: template for template in loader.get_prompts().prompts}
    if not templates or not text.startswith("/"):
        return text
    from pinyon.resources.prompt_template import expand_prompt_template

    return expand_prompt_template(text, templates)
