"""`/trust` and `/config`: whether the project's own resources count, and which resources are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.resources.trust_question import TrustChoice, trust_question
from pinyon.resources.trust_store import SavedTrust, find_trust_decision, save_trust_decisions
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.command.setup import reload_commands
from pinyon.tui.picker.resource_list import ResourceList
from pinyon.tui.place import home_short
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


async def trust(app: PinyonApp, argument: str) -> None:
    """Decide on this folder, keep that, and let it count at once."""
    del argument
    desk = app.desk_or_fail
    if desk.notice_about_busy():
        return
    services = app.pi.services
    saved = find_trust_decision(desk.cwd, services.agent_dir)
    state = "trusted" if services.settings.is_project_trusted else "not trusted"
    lines = [f"Trust {home_short(desk.cwd)}?", f"It is {state} in this session."]
    if saved is not None:
        word = "trusted" if saved.trusted else "not trusted"
        lines.append(f"Saved: {word}, by {home_short(saved.folder)}")
    question = trust_question(desk.cwd)
    choices = [
        Choice(choice, choice.label, is_current=_is_saved(choice, saved)) for choice in question.choices if choice.saves
    ]
    chosen = await app.ask(Selector("\n".join(lines), choices, is_searchable=False))
    if not isinstance(chosen, TrustChoice):
        return
    save_trust_decisions(services.agent_dir, chosen.saves)
    services.options.session_trust = {**services.options.session_trust, str(question.cwd): chosen.trusted}
    services.settings.set_project_trusted(chosen.trusted)
    await services.reload()
    reload_commands(app)
    desk.apply_settings()
    word = "is trusted; its own resources are used" if chosen.trusted else "is not trusted; its resources are not used"
    app.notify_user(f"{home_short(desk.cwd)} {word} from now on.", "info")


def _is_saved(choice: TrustChoice, saved: SavedTrust | None) -> bool:
    return saved is not None and choice.saves.get(str(saved.folder)) is saved.trusted


async def config(app: PinyonApp, argument: str) -> None:
    """Switch resources on and off."""
    services = app.pi.services
    shown = ResourceList(services, query=argument)
    if not shown.choices:
        app.notify_user(
            "There are no skills, prompt templates, themes or extensions yet; docs/index.md says how to make them.",
            "status",
        )
        return
    await app.ask(shown)
    if shown.has_changed:
        await services.settings.flush()
        await services.reload()
        reload_commands(app)
        app.desk_or_fail.apply_settings()
        app.notify_user("The resources were loaded anew", "status")


TRUST = (
    SlashCommand(name="trust", doc="decide whether this project's own resources are used", run=trust),
    SlashCommand(name="config", doc="switch skills, templates, themes and extensions", run=config),
)
