"""Commands that show something: help, keys, figures of the session, changes of the program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pinyon.tui.binding import SECTIONS
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.dialog import Pager
from pinyon.tui.key import shown_key
from pinyon.tui.quantity import counted, shown_tokens

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp


async def show_help(app: PinyonApp, argument: str) -> None:
    """What can be done here."""
    del argument
    hint = app.keymap.hint
    lines = [
        "Type what you want and press Enter. The model reads, edits and runs things in this folder.",
        "",
        f"- **{hint('app.interrupt')}** stops what runs; **{hint('app.clear')}** clears the editor, twice quits",
        f"- **Enter** while the model works tells it something at once, **{hint('app.message.followUp')}** afterwards",
        f"- **{hint('tui.input.newLine')}** begins a new line",
        "- **@** finds a file, **!** runs a shell command (**!!** without telling the model), **/** runs a command",
        f"- **{hint('app.tools.expand')}** unfolds what tools gave, **{hint('app.thinking.toggle')}** folds thinking",
        f"- **{hint('app.model.select')}** chooses the model, **{hint('app.thinking.cycle')}** how much it thinks",
        f"- **{hint('tui.altScreen.search')}** searches what was said, **{hint('tui.editor.historySearch')}** prompts",
        "",
        "## Commands",
        "",
    ]
    lines += [f"- `/{command.name}` {command.doc}" for command in app.commands.listed()]
    await app.ask(Pager("Help", "\n".join(lines)))


async def show_hotkeys(app: PinyonApp, argument: str) -> None:
    """Every key and what it does."""
    del argument
    parts: list[str] = []
    for section, bindings in SECTIONS.items():
        parts += [f"## {section}", "", "| Key | Does | Id |", "|---|---|---|"]
        for binding in bindings:
            keys = ", ".join(shown_key(key) for key in app.keymap.keys(binding.id)) or "–"
            parts.append(f"| {keys.replace('|', chr(92) + '|')} | {binding.doc} | `{binding.id}` |")
        parts.append("")
    if app.router.shortcuts:
        parts += ["## Extensions", "", *(f"- {shown_key(key)}" for key in app.router.shortcuts)]
    for key, actions in app.keymap.conflicts():
        parts.append(f"\n`keybindings.json` gives {shown_key(key)} to {', '.join(actions)}.")
    await app.ask(Pager("Keys", "\n".join(parts)))


async def show_session(app: PinyonApp, argument: str) -> None:
    """Name, file, messages, tokens and cost of the session."""
    del argument
    stats = app.session.get_session_stats()
    tokens = stats.tokens
    asked = tokens.input + tokens.cache_read + tokens.cache_write
    hit = f", {tokens.cache_read / asked * 100:.0f}% from the cache" if asked and tokens.cache_read else ""
    context = app.session.get_context_usage()
    counts = (
        counted(stats.user_messages, "prompt"),
        counted(stats.assistant_messages, "answer"),
        counted(stats.tool_calls, "tool call"),
        counted(stats.tool_results, "result"),
    )
    used = f"{shown_tokens(asked)} in{hit}, {shown_tokens(tokens.output)} out, {shown_tokens(tokens.total)} in all"
    lines = [
        f"- **Name**: {app.session.session_name or 'none, /name gives one'}",
        f"- **Id**: `{stats.session_id}`",
        f"- **File**: `{stats.session_file or 'kept in memory'}`",
        f"- **Messages**: {', '.join(counts)}",
        f"- **Tokens**: {used}",
        f"- **Cost**: ${stats.cost:.4f}",
    ]
    if context is not None and context.percent is not None:
        full = f"{context.percent:.1f}% of {shown_tokens(context.context_window)} tokens"
        lines.append(f"- **Context**: {full}")
    await app.ask(Pager("Session", "\n".join(lines)))


async def show_changelog(app: PinyonApp, argument: str) -> None:
    """What changed from version to version."""
    del argument
    text = changelog_text()
    if text is None:
        app.notify_user("This installation has no list of changes.", "status")
    else:
        await app.ask(Pager("Changes", text))


def changelog_text() -> str | None:
    """The list of changes of this installation, None where it has none."""
    import pinyon

    package = Path(pinyon.__file__).parent
    for path in (package / "share" / "CHANGELOG.md", package.parent.parent / "CHANGELOG.md"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None


async def copy_answer(app: PinyonApp, argument: str) -> None:
    """Copy the last answer."""
    del argument
    app.desk_or_fail.outside.copy_last()


INFORMATION = (
    SlashCommand(name="help", doc="what can be done here", run=show_help),
    SlashCommand(name="hotkeys", doc="all keys", run=show_hotkeys),
    SlashCommand(name="session", doc="figures of this session", run=show_session),
    SlashCommand(name="changelog", doc="what changed in Pinyon", run=show_changelog),
    SlashCommand(name="copy", doc="copy the last answer", run=copy_answer),
)
