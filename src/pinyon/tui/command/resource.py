"""Menu entries for prompt templates and skills. The session itself replaces their calls by their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.resources.setting import ENABLE_SKILL_COMMANDS
from pinyon.tui.command.command import SlashCommand

if TYPE_CHECKING:
    from pinyon.coding.services import Services


def resource_commands(services: Services) -> list[SlashCommand]:
    """Templates, then skills unless the settings leave those out of the menu."""
    resources = services.resources
    commands = [
        SlashCommand(
            name=template.name,
            doc=template.description,
            argument_hint=template.argument_hint or "",
            is_builtin=False,
        )
        for template in resources.prompts
    ]
    if services.settings.get(ENABLE_SKILL_COMMANDS):
        commands += (
            SlashCommand(name=f"skill:{skill.name}", doc=skill.description, is_builtin=False)
            for skill in resources.skills
        )
    return commands
