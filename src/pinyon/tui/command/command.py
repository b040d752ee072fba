"""The table of slash commands: names, what they do, and how they are found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from pinyon.tui.editor.menu import Completion

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

Handler = Callable[["PinyonApp", str], Awaitable[None]]
"""Runs a command with what follows its name, stripped."""


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command. `complete(typed)` proposes arguments. Those of resources and extensions are not `is_builtin`."""

    name: str
    doc: str
    run: Handler | None = None
    argument_hint: str = ""
    complete: Callable[[str], Iterable[Completion]] | None = None
    is_hidden: bool = False
    is_builtin: bool = True


class CommandTable:
    """All commands by name, in the order of the menu."""

    def __init__(self, commands: Iterable[SlashCommand] = ()) -> None:
        self._commands: dict[str, SlashCommand] = {}
        for command in commands:
            self.add(command)

    def add(self, command: SlashCommand) -> None:
        """Add or replace a command; a built-in one is never replaced."""
        present = self._commands.get(command.name)
        if present is None or not present.is_builtin:
            self._commands[command.name] = command

    def remove_foreign(self) -> None:
        """Forget everything that is not built in, before resources are loaded anew."""
        self._commands = {name: command for name, command in self._commands.items() if command.is_builtin}

    def get(self, name: str) -> SlashCommand | None:
        """The command of this name."""
        return self._commands.get(name)

    def listed(self) -> list[SlashCommand]:
        """The commands that menus show."""
        return [command for command in self._commands.values() if not command.is_hidden]

    def match(self, text: str) -> tuple[SlashCommand, str] | None:
        """The command that a message calls, and its argument; None where it calls none that runs here."""
        if not text.startswith("/"):
            return None
        name, _, argument = text[1:].partition(" ")
        command = self._commands.get(name.strip())
        if command is None or command.run is None:
            return None
        return command, argument.strip()
