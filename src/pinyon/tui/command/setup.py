"""Commands that set the program up: model, thinking, settings, reloading, leaving."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pinyon.ai.model import parse_level
from pinyon.errors import ConfigError
from pinyon.resources import setting
from pinyon.resources.setting import Setting
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.command.resource import resource_commands
from pinyon.tui.dialog import TextPrompt
from pinyon.tui.editor.menu import Completion
from pinyon.tui.keymap import Keymap
from pinyon.tui.picker.setting_list import SettingList, typed_value
from pinyon.tui.picker.theme_list import PAIR, ThemeList

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


async def choose_scope(app: PinyonApp, argument: str) -> None:
    """Choose and order the models that cycling goes through."""
    del argument
    await app.desk_or_fail.models.choose_scope()


def _levels(typed: str) -> Iterable[Completion]:
    return [Completion(level, level) for level in _LEVELS if level.startswith(typed.lower())]


async def change_settings(app: PinyonApp, argument: str) -> None:
    """Show the settings until the list is closed; each change counts at once and is kept."""
    query, selected = argument, None
    while True:
        desk = app.desk_or_fail
        shown = SettingList(
            read=desk.setting, change=desk.change_setting, source=desk.setting_source, query=query, selected=selected
        )
        chosen = await app.ask(shown)
        if not isinstance(chosen, Setting):
            return
        query, selected = shown.field.text, chosen
        if chosen.key == setting.THEME.key:
            await choose_theme(app, "")
        else:
            await _ask_for_value(app, chosen)


async def _ask_for_value(app: PinyonApp, item: Setting[Any]) -> None:
    """Ask until the value is one that the setting can have."""
    desk = app.desk_or_fail
    current = desk.setting(item)
    text, problem = "" if current is None else str(current), ""
    while True:
        title = f"{item.key}: {item.kind.label}\n{item.doc}" + (f"\n{problem}" if problem else "")
        answer = await app.ask(TextPrompt(title, text=text, placeholder="empty for the default"))
        if not isinstance(answer, str):
            return
        try:
            desk.change_setting(item, typed_value(item, answer))
        except ConfigError as error:
            text, problem = answer, str(error)
        else:
            return


async def choose_theme(app: PinyonApp, argument: str) -> None:
    """Choose a theme, each shown while it is looked at."""
    desk = app.desk_or_fail
    names = app.look.theme_names()
    if argument in names:
        desk.keep_theme(argument)
        return
    current = desk.theme_setting
    try:
        chosen = await app.ask(ThemeList(names, current, show=desk.show_theme))
        if chosen == PAIR:
            chosen = await _choose_pair(app, names, current)
        if isinstance(chosen, str):
            desk.keep_theme(chosen)
    finally:
        desk.show_theme(None)


async def _choose_pair(app: PinyonApp, names: list[str], current: str) -> str | None:
    parts = current.split("/") if "/" in current else ["light", "dark"]
    fixed = [name for name in names if name != "system"]
    chosen = []
    for kind, name in zip(("light", "dark"), parts, strict=False):
        title = f"Theme on {kind} terminals"
        shown = ThemeList(fixed, name, show=app.desk_or_fail.show_theme, title=title, has_pair=False)
        answer = await app.ask(shown)
        if not isinstance(answer, str):
            return None
        chosen.append(answer)
    return "/".join(chosen)


def reload_commands(app: PinyonApp) -> None:
    """Offer the templates and skills that there are now."""
    app.commands.remove_foreign()
    for command in resource_commands(app.pi.services):
        app.commands.add(command)


async def reload(app: PinyonApp, argument: str) -> None:
    """Read keys, settings, models, skills, templates and context files anew."""
    del argument
    desk = app.desk_or_fail
    if desk.notice_about_busy():
        return
    app.use_keymap(Keymap.load(app.start_options.agent_dir))
    services = app.pi.services
    await app.pi.reload()
    reload_commands(app)
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
    SlashCommand(name="theme", doc="choose the colours", argument_hint="[name]", run=choose_theme),
    SlashCommand(name="scoped-models", doc="choose the models to cycle through", run=choose_scope),
    SlashCommand(name="reload", doc="read keys, settings and models anew", run=reload),
    SlashCommand(name="quit", doc="leave", run=leave),
)
