"""Commands that change the session: new, named, compacted, forked, moved in its tree, opened, written out."""

from __future__ import annotations

import asyncio
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinyon.resources import setting
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.dialog import TextPrompt
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.session.entry import SessionEntry
    from pinyon.session.listing import SessionInfo
    from pinyon.tui.app import PinyonApp

_AGES = ((60, "now", 0), (3600, "m", 60), (86400, "h", 3600), (604800, "d", 86400), (2_629_800, "w", 604800))
_MONTH_S, _YEAR_S = 2_629_800, 31_557_600
_TREE_CHARS = 300


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


async def resume(app: PinyonApp, argument: str) -> None:
    """Open another session of this folder, or of any."""
    del argument
    infos = await app.pi.session_manager.list_sessions()
    if not infos:
        app.notify_user("There are no stored sessions for this folder.", "status")
        return
    current = str(app.session.session_file or "")
    choices = [session_choice(info, current) for info in infos]
    chosen = await app.ask(Selector("Open a session", choices))
    if isinstance(chosen, str) and chosen != current:
        await app.pi.switch_session(chosen)


def session_choice(info: SessionInfo, current: str) -> Choice:
    """The row of a stored session."""
    title = info.name or info.first_message or "(empty)"
    age = shown_age(time.time() - info.modified_ms / 1000)
    return Choice(
        info.path,
        title,
        note=f"{info.message_count} · {age}",
        is_current=info.path == current,
        search=f"{info.id} {info.all_messages_text[:4000]}",
    )


def shown_age(seconds: float) -> str:
    """`now`, `5m`, `3h`, `2d`, `1w`, `4mo`, `1y`."""
    for limit, unit, size in _AGES:
        if seconds < limit:
            return f"{int(seconds // size)}{unit}" if size else unit
    if seconds < _YEAR_S:
        return f"{int(seconds // _MONTH_S)}mo"
    return f"{int(seconds // _YEAR_S)}y"


async def fork(app: PinyonApp, argument: str) -> None:
    """Go on in a new session from before an earlier prompt."""
    del argument
    prompts = [entry for entry in app.session.session.get_branch() if entry.role == "user"]
    if not prompts:
        app.notify_user("There is no prompt to fork from yet.", "status")
        return
    choices = [
        Choice(entry.id, _one_line(entry), note=f"{number} of {len(prompts)}")
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


async def tree(app: PinyonApp, argument: str) -> None:
    """Move to another place of the session."""
    del argument
    session = app.session.session
    shown = [entry for entry in session.get_entries() if entry.type in ("message", "compaction", "branch_summary")]
    shown = [entry for entry in shown if entry.role != "system"]
    if not shown:
        app.notify_user("This session is empty.", "status")
        return
    branch = {entry.id for entry in session.get_branch()}
    leaf = session.get_leaf_id()
    choices = [
        Choice(
            entry.id,
            f"{'•' if entry.id in branch else ' '} {_role(entry)}: {_one_line(entry)}",
            note=session.get_label(entry.id) or "",
            is_current=entry.id == leaf,
        )
        for entry in shown
    ]
    chosen = await app.ask(Selector("Session tree", choices, selected=len(choices) - 1))
    if isinstance(chosen, str) and chosen != leaf:
        await move_to(app, chosen)


async def move_to(app: PinyonApp, entry_id: str) -> None:
    """Make an entry the place where the session goes on; before a prompt, with its text in the editor.

    What is left behind can be summarised first.
    """
    wish = await _summary_wish(app)
    if wish is None:
        await tree(app, "")
        return
    await app.session.abort()
    if wish.summarize:
        app.spinner.start("branchSummary", "Summarising the branch")
    try:
        moved = await app.session.navigate_tree(
            entry_id, summarize=wish.summarize, custom_instructions=wish.instructions or None
        )
    finally:
        app.spinner.stop("branchSummary")
    if moved.cancelled:
        await tree(app, "")
        return
    app.desk_or_fail.show_again()
    if moved.editor_text and not app.editor.buffer.text:
        app.give_back(moved.editor_text)


class SummaryWish(msgspec.Struct, frozen=True):
    """Whether the branch that is left is summarised, and what to mind in it."""

    summarize: bool = False
    instructions: str = ""


async def _summary_wish(app: PinyonApp) -> SummaryWish | None:
    """Ask for it; None goes back to the tree."""
    if app.desk_or_fail.setting(setting.BRANCH_SUMMARY_SKIP_PROMPT):
        return SummaryWish()
    choices = [
        Choice(SummaryWish(), "No summary"),
        Choice(SummaryWish(summarize=True), "Summarise", note="so that the model knows what happened there"),
        Choice("own", "Summarise with instructions…"),
    ]
    answer = await app.ask(Selector("Summarise the branch that is left?", choices, is_searchable=False))
    if answer == "own":
        text = await app.ask(TextPrompt("What matters in the summary?"))
        return SummaryWish(summarize=True, instructions=text) if isinstance(text, str) else None
    return answer if isinstance(answer, SummaryWish) else None


def _role(entry: SessionEntry) -> str:
    return {"user": "you", "assistant": "model", "toolResult": "tool", "bashExecution": "shell"}.get(
        entry.role, entry.role or entry.type
    )


def _text(entry: SessionEntry) -> str:
    from pinyon.ai.message import BashExecutionMessage
    from pinyon.tui.message_block import text_of

    message = entry.message
    if message is None:
        return str(entry.get("summary") or "")
    if isinstance(message, BashExecutionMessage):
        return message.command
    text = text_of(getattr(message, "content", "")) or str(getattr(message, "error_message", "") or "")
    calls = getattr(message, "tool_calls", [])
    return text or ", ".join(call.name for call in calls) or str(getattr(message, "tool_name", ""))


def _one_line(entry: SessionEntry) -> str:
    return " ".join(_text(entry)[:_TREE_CHARS].split())


async def export(app: PinyonApp, argument: str) -> None:
    """Write the session as a page, or its branch as a session file."""
    from pinyon.coding.page_export import export_page

    words = shlex.split(argument) if argument else []
    target = _path(app, words[0]) if words else None
    if target is not None and target.suffix == ".jsonl":
        written = await asyncio.to_thread(app.session.export_to_jsonl, target)
    else:
        written = await asyncio.to_thread(export_page, app.session, app.pi.services, target)
    app.notify_user(f"Written to {str(written)!r}", "info")


async def share(app: PinyonApp, argument: str) -> None:
    """Put the branch into a secret gist; Esc stops it."""
    del argument
    from pinyon._util.abort import AbortController, OperationAbortedError
    from pinyon.coding.page_export import share_session

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


def _path(app: PinyonApp, text: str) -> Path:
    return app.desk_or_fail.cwd / Path(text).expanduser()


async def import_session(app: PinyonApp, argument: str) -> None:
    """Open a copy of a session file."""
    words = shlex.split(argument)
    if not words:
        app.notify_user("Give the path of a session file: /import FILE", "warning")
        return
    path = _path(app, words[0])
    sure = await app.ask(
        Selector(f"Open a copy of {str(path)!r}?", [Choice(True, "Yes"), Choice(False, "No")], is_searchable=False)
    )
    if sure:
        await app.pi.import_from_jsonl(path)


SESSION = (
    SlashCommand(name="new", doc="begin a new session", run=new_session),
    SlashCommand(name="name", doc="name this session", argument_hint="[name]", run=name_session),
    SlashCommand(name="compact", doc="summarise earlier history", argument_hint="[instructions]", run=compact),
    SlashCommand(name="resume", doc="open another session", run=resume),
    SlashCommand(name="fork", doc="go on in a new session from an earlier prompt", run=fork),
    SlashCommand(name="clone", doc="copy this branch into a new session", run=clone),
    SlashCommand(name="tree", doc="move to another place of this session", run=tree),
    SlashCommand(
        name="export", doc="write this session as a page or as JSON lines", argument_hint="[path]", run=export
    ),
    SlashCommand(name="share", doc="put this branch into a secret gist, with the command gh", run=share),
    SlashCommand(name="import", doc="open a copy of a session file", argument_hint="<path>", run=import_session),
)
