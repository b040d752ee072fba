"""`/resume` and `/import`: opening another session, and the questions that stand in the way of it.

A session whose folder is gone can go on in the folder of now, itself or as a copy. One that another process writes can
be copied, or only read.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pinyon.coding.session_use import IfInUse
from pinyon.session.error import MissingSessionCwdError, SessionInUseError
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.picker.session_list import SessionList
from pinyon.tui.place import home_short_text
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

Opener = Callable[[Path | None, IfInUse | None], Awaitable[Any]]
"""Opens a session in another folder than its own, if one is given, and for this use where another process has it."""
CwdAnswer = Literal["here", "fork"]


async def resume(app: PinyonApp, argument: str) -> None:
    """Choose a session of this folder, or of any, and open it."""
    current = str(app.session.session_file or "")
    shown = SessionList(app.pi.session_manager, current=current, start=app.start_quietly, query=argument)
    chosen = await app.ask(shown)
    if isinstance(chosen, str) and chosen != current:
        await open_session(app, chosen)


async def open_session(app: PinyonApp, path: str) -> None:
    """Open a stored session; asks where its folder is gone or another process has it."""

    async def switch(cwd: Path | None, use: IfInUse | None) -> Any:
        return await app.pi.switch_session(path, cwd_override=cwd, if_in_use=use)

    await _ask_and_open(app, switch, path)


async def _ask_and_open(app: PinyonApp, switch: Opener, path: str) -> None:
    cwd: Path | None = None
    for _ in range(2):
        try:
            await switch(cwd, None)
            return
        except MissingSessionCwdError as error:
            answer = await ask_for_cwd(app, error)
            if answer is None:
                return
            cwd = app.pi.cwd
            if answer == "fork":
                await _open_copy(app, path, cwd)
                return
        except SessionInUseError as error:
            use = await ask_about_writer(app, error)
            if use == "fork":
                await _open_copy(app, path, cwd)
            elif use == "read-only":
                await switch(cwd, "read-only")
                app.notify_user("Another process writes this session; it is open for reading only here.", "warning")
            return


async def _open_copy(app: PinyonApp, path: str, cwd: Path | None) -> None:
    copy = await app.pi.session_manager.fork_session(path, target_cwd=cwd)
    file = copy.get_session_file()
    copy.close()
    if file is not None:
        await app.pi.switch_session(file)
        app.notify_user("This goes on in a copy of the session.", "status")


async def ask_for_cwd(app: PinyonApp, error: MissingSessionCwdError) -> CwdAnswer | None:
    """Where a session whose folder is gone should go on; None for nowhere."""
    here = home_short_text(error.current_cwd)
    title = f"The folder of this session is gone\n{home_short_text(error.session_cwd)}"
    choices = [
        Choice("here", f"Go on in {here}"),
        Choice("fork", f"Go on in a copy in {here}", note="leaves the session as it is"),
        Choice(None, "Do not open it"),
    ]
    answer: CwdAnswer | None = await app.ask(Selector(title, choices, is_searchable=False))
    return answer


async def ask_about_writer(app: PinyonApp, error: SessionInUseError) -> IfInUse | None:
    """What to do about a session that another process has open; None for nothing."""
    who = "Another process" if error.pid is None else f"The process {error.pid}"
    title = f"{who} is writing this session\nTwo writers would tear it apart."
    choices = [
        Choice("fork", "Go on in a copy"),
        Choice("read-only", "Only read it"),
        Choice(None, "Do not open it"),
    ]
    answer: IfInUse | None = await app.ask(Selector(title, choices, is_searchable=False))
    return answer


async def import_session(app: PinyonApp, argument: str) -> None:
    """Open a copy of a session file."""
    words = shlex.split(argument)
    if not words:
        app.notify_user("Give the path of a session file: /import FILE", "warning")
        return
    path = app.desk_or_fail.path(words[0])
    if not await app.seam.confirm("Import this session?", f"{str(path)!r}, as a copy in your session folder"):
        return

    async def switch(cwd: Path | None, use: IfInUse | None) -> Any:
        del use
        return await app.pi.import_from_jsonl(path, cwd_override=cwd)

    await _ask_and_open(app, switch, str(path))


OPENING = (
    SlashCommand(name="resume", doc="open another session", argument_hint="[words]", run=resume),
    SlashCommand(name="import", doc="open a copy of a session file", argument_hint="<path>", run=import_session),
)
