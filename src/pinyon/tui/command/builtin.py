"""All built-in slash commands in the order of the menu."""

from __future__ import annotations

from pinyon.tui.command.account import ACCOUNT
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.command.debug import DEBUG
from pinyon.tui.command.information import INFORMATION
from pinyon.tui.command.open_session import OPENING
from pinyon.tui.command.session_command import SESSION
from pinyon.tui.command.setup import SETUP
from pinyon.tui.command.transfer import TRANSFER
from pinyon.tui.command.tree_command import TREE
from pinyon.tui.command.trust_command import TRUST

_ORDER = [
    "settings",
    "model",
    "tree",
    "thinking",
    "theme",
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
    "config",
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
    groups = (SETUP, ACCOUNT, TRUST, DEBUG, SESSION, OPENING, TREE, TRANSFER, INFORMATION)
    commands = {command.name: command for group in groups for command in group}
    listed = [commands.pop(name) for name in _ORDER if name in commands]
    return [*listed, *commands.values()]
