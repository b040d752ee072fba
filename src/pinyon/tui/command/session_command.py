"""Commands that change the session or copy it: new, named, compacted, forked, cloned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.session import kind
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.picker.entry_line import entry_text, prompt_line
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


async def new_session(app: PinyonApp, argument: str) -> None:
    """Begin a new session."""
    del argument
    await app.pi.new_session()
    app.notify_user("New session", "status")


async def name_session(app: PinyonApp, argument: str) -> None:
    """Name the session, or say its name."""
    if not argument:
        name = app.session.session_name
        app.notify_user(f"This session is called {name!r}." if name else "This session has no name yet.", "status")
        return
    app.session.set_session_name(argument)
    app.notify_user(f"This session is called {app.session.session_name!r} now.", "status")


async def compact(app: PinyonApp, argument: str) -> None:
    """Summarise earlier history."""
    await app.session.compact(argument or None)


async def fork(app: PinyonApp, argument: str) -> None:
    """Go on in a new session from before an earlier prompt."""
    del argument
    prompts = [entry for entry in app.session.session.get_branch() if entry.kind == kind.USER]
    if not prompts:
        app.notify_user("There is no prompt to fork from yet.", "status")
        return
    choices = [
        Choice(entry.id, prompt_line(entry_text(entry)), note=f"{number} of {len(prompts)}")
        for number, entry in enumerate(prompts, 1)
    ]
    chosen = await app.ask(Selector("Fork before which prompt?", choices, selected=len(choices) - 1))
    if isinstance(chosen, str):
        change = await app.pi.fork(chosen)
        app.notify_user("Forked into a new session", "status")
        if change.selected_text:
            app.give_back(change.selected_text)


async def clone(app: PinyonApp, argument: str) -> None:
    """Copy this branch into a new session."""
    del argument
    await app.pi.clone()
    app.notify_user("Copied into a new session", "status")


SESSION = (
    SlashCommand(name="new", doc="begin a new session", run=new_session),
    SlashCommand(name="name", doc="name this session", argument_hint="[name]", run=name_session),
    SlashCommand(name="compact", doc="summarise earlier history", argument_hint="[instructions]", run=compact),
    SlashCommand(name="fork", doc="go on in a new session from an earlier prompt", run=fork),
    SlashCommand(name="clone", doc="copy this branch into a new session", run=clone),
)
