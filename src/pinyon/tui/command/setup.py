"""Commands that set the program up: model, thinking, settings, reloading, leaving."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from pinyon.ai.model import parse_level
from pinyon.resources import setting
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.command.resource import resource_commands
from pinyon.tui.editor.menu import Completion
from pinyon.tui.keymap import Keymap
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


async def choose_model(app: PinyonApp, argument: str) -> None:
    """Use a model by name, or choose one."""
    models = app.desk_or_fail.models
    wanted = argument.strip().lower()
    exact = [model for model in models.available() if wanted in (model.spec.lower(), model.id.lower())]
    if wanted and len(exact) == 1:
        await models.use(exact[0])
    else:
        await models.choose_model(argument)


async def choose_thinking(app: PinyonApp, argument: str) -> None:
    """Use a thinking level by name, or choose one."""
    models = app.desk_or_fail.models
    if not argument:
        await models.choose_level()
        return
    level = parse_level(argument)
    if level is None:
        app.notify_user(f"There is no thinking level {argument!r}; the levels are {', '.join(_LEVELS)}.", "error")
    else:
        models.set_level(level)


def _levels(typed: str) -> Iterable[Completion]:
    return [Completion(level, level) for level in _LEVELS if level.startswith(typed.lower())]


class _Row(msgspec.Struct, frozen=True):
    """A setting that the list can change: its key, and the values that Enter goes through."""

    item: setting.Setting[Any]
    name: str
    values: tuple[Any, ...]


_ROWS = (
    _Row(setting.COMPACTION_ENABLED, "compact by itself", (True, False)),
    _Row(setting.HIDE_THINKING_BLOCK, "fold thinking", (False, True)),
    _Row(setting.STEERING_MODE, "steering messages a turn", ("one-at-a-time", "all")),
    _Row(setting.FOLLOW_UP_MODE, "follow-ups a turn", ("one-at-a-time", "all")),
    _Row(setting.IMAGES_AUTO_RESIZE, "shrink images", (True, False)),
    _Row(setting.IMAGES_BLOCK_IMAGES, "never send images", (False, True)),
    _Row(setting.EDITOR_PADDING_X, "blank columns in the editor", (0, 1, 2, 3)),
    _Row(setting.OUTPUT_PAD, "blank columns in the transcript", (0, 1)),
    _Row(setting.AUTOCOMPLETE_MAX_VISIBLE, "rows of completions", (3, 5, 7, 10, 15, 20)),
    _Row(setting.DOUBLE_ESCAPE_ACTION, "two Escapes open", ("tree", "fork", "none")),
    _Row(setting.QUIET_STARTUP, "quiet start", (False, "header", True)),
    _Row(setting.FULLSCREEN_EXIT_OUTPUT, "left behind at the end", ("transcript", "resume-hint")),
    _Row(setting.THEME, "theme", ("system", "dark", "light")),
)


async def change_settings(app: PinyonApp, argument: str) -> None:
    """A list of settings; Enter goes to the next value."""
    del argument
    at = 0
    query = ""
    while True:
        desk = app.desk_or_fail
        choices = [
            Choice(number, row.name, note=_shown(desk.setting(row.item)), search=row.item.key, detail=row.item.doc)
            for number, row in enumerate(_ROWS)
        ]
        selector = Selector("Settings", choices, selected=at, query=query)
        chosen = await app.ask(selector)
        if not isinstance(chosen, int):
            return
        at, query = chosen, selector.field.text
        row = _ROWS[chosen]
        current = desk.setting(row.item)
        after = (row.values.index(current) + 1) % len(row.values) if current in row.values else 0
        app.save_setting(row.item.key, row.values[after])
        desk.apply_settings()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


async def reload(app: PinyonApp, argument: str) -> None:
    """Read keys, settings, models, skills, templates and context files anew."""
    del argument
    desk = app.desk_or_fail
    if desk.notice_about_busy():
        return
    app.use_keymap(Keymap.load(app.start_options.agent_dir))
    services = app.pi.services
    await services.reload()
    await services.registry.refresh()
    app.commands.remove_foreign()
    for command in resource_commands(services):
        app.commands.add(command)
    desk.apply_settings()
    app.notify_user("Keys, settings, models and resources were read anew", "status")
    for problem in services.diagnostics:
        app.notify_user(problem.message, problem.severity)


async def leave(app: PinyonApp, argument: str) -> None:
    """Leave the program."""
    del argument
    app.quit()


SETUP = (
    SlashCommand(name="settings", doc="change settings", run=change_settings),
    SlashCommand(name="model", doc="choose the model", argument_hint="[name]", run=choose_model),
    SlashCommand(
        name="thinking",
        doc="choose how much the model thinks",
        argument_hint="[level]",
        run=choose_thinking,
        complete=_levels,
    ),
    SlashCommand(name="reload", doc="read keys, settings and models anew", run=reload),
    SlashCommand(name="quit", doc="leave", run=leave),
)
