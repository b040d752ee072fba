"""`/tree`: moving to another place of the session, with a summary of what is left behind if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pinyon.resources import setting
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.picker.tree_list import TreeList
from pinyon.tui.picker.tree_rows import TreeView
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.text_editor import TextEditor

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


class SummaryWish(msgspec.Struct, frozen=True):
    """Whether the branch that is left is summarised, and what to mind in it."""

    summarize: bool = False
    instructions: str = ""


async def tree(app: PinyonApp, argument: str) -> None:
    """Show the tree until a place was gone to or the tree was closed."""
    del argument
    if not app.session.session.get_entry_count():
        app.notify_user("This session is empty.", "status")
        return
    view = TreeView(filter=app.desk_or_fail.setting(setting.TREE_FILTER_MODE))
    selected: str | None = None
    while True:
        shown = _tree_list(app, view, selected)
        selected = await app.ask(shown)
        if not isinstance(selected, str):
            return
        if selected == app.session.session.get_leaf_id():
            app.notify_user("The session is at this place already.", "status")
            return
        if await _move_to(app, selected):
            return


def _tree_list(app: PinyonApp, view: TreeView, selected: str | None) -> TreeList:
    return TreeList(
        app.session.session,
        set_label=app.session.set_label,
        copy=lambda text: app.desk_or_fail.outside.copy(text, "The entry was copied"),
        view=view,
        selected=selected,
    )


async def _move_to(app: PinyonApp, entry_id: str) -> bool:
    """Make an entry the place where the session goes on; before a prompt, with its text in the editor.

    False goes back to the tree.
    """
    wish = await _summary_wish(app)
    if wish is None:
        return False
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
        return False
    app.desk_or_fail.show_again()
    if moved.editor_text and not app.editor.buffer.text:
        app.give_back(moved.editor_text)
    return True


async def _summary_wish(app: PinyonApp) -> SummaryWish | None:
    """Ask for it; None goes back to the tree."""
    if app.desk_or_fail.setting(setting.BRANCH_SUMMARY_SKIP_PROMPT):
        return SummaryWish()
    choices = [
        Choice(SummaryWish(), "No summary"),
        Choice(SummaryWish(summarize=True), "Summarise", note="so that the model knows what happened there"),
        Choice("own", "Summarise with instructions of mine…"),
    ]
    answer = await app.ask(Selector("Summarise the branch that is left?", choices, is_searchable=False))
    if answer == "own":
        text = await app.ask(TextEditor("What matters in the summary?"))
        return SummaryWish(summarize=True, instructions=text) if isinstance(text, str) else None
    return answer if isinstance(answer, SummaryWish) else None


TREE = (SlashCommand(name="tree", doc="move to another place of this session", run=tree),)
