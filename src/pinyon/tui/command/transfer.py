"""`/export` and `/share`: giving the session to others."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from pinyon._util.abort import AbortController, OperationAbortedError
from pinyon.coding.page_export import export_page, share_session
from pinyon.export import html_file_name
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


async def export(app: PinyonApp, argument: str) -> None:
    """Write the session as a page, or as JSON lines where the name says so."""
    words = shlex.split(argument)
    file = app.session.session_file
    named = words[0] if words else html_file_name(file) if file is not None else None
    target = app.desk_or_fail.path(named) if named is not None else None
    if target is not None and target.suffix == ".jsonl":
        written = app.session.export_to_jsonl(target)
    else:
        written = await asyncio.to_thread(export_page, app.session, app.pi.services, target)
    app.notify_user(f"Written to {str(written)!r}", "info")


async def share(app: PinyonApp, argument: str) -> None:
    """Put the branch into a secret gist; Esc stops it."""
    del argument
    controller = AbortController()

    def tell(step: str) -> None:
        app.notify_user(f"{step} …", "status")

    question = Selector("Sharing this branch as a secret gist", [Choice(None, "Stop")], is_searchable=False)
    work = asyncio.ensure_future(share_session(app.session, app.pi.services, signal=controller.signal, tell=tell))
    stop = asyncio.ensure_future(app.ask(question))
    try:
        await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            controller.abort()
        shared = await work
        app.notify_user(f"Shared: {shared.viewer_url}\nGist: {shared.gist_url}", "info")
    except OperationAbortedError:
        app.notify_user("Nothing was shared.", "status")
    finally:
        controller.abort()
        stop.cancel()
        await asyncio.gather(work, stop, return_exceptions=True)


TRANSFER = (
    SlashCommand(name="share", doc="put this branch into a secret gist, with the command gh", run=share),
    SlashCommand(
        name="export", doc="write this session as a page or as JSON lines", argument_hint="[path]", run=export
    ),
)
