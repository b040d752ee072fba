"""All built-in slash commands in the order of the menu."""

from __future__ import annotations

from pinyon.tui.command.command import SlashCommand
from pinyon.tui.command.information import INFORMATION
from pinyon.tui.command.session_command import SESSION
from pinyon.tui.command.setup import SETUP

_ORDER = [
    "settings",
    "model",
    "tree",
    "thinking",
    "scoped-models",
    "export",
    "import",
    "share",
    "bug",
    "copy",
    "name",
    "session",
    "changelog",
    "hotkeys",
    "help",
    "fork",
    "clone",
    "trust",
    "login",
    "logout",
    "new",
    "compact",
    "resume",
    "reload",
    "quit",
    "debug",
]


def builtin_commands() -> list[SlashCommand]:
    """The commands that exist, in menu order."""
    commands = {command.name: command for command in (*SETUP, *SESSION, *INFORMATION)}
    listed = [commands.pop(name) for name in _ORDER if name in commands]
    return [*listed, *commands.values()]
