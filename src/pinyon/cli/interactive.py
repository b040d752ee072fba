"""The start of the interactive mode: questions on the plain terminal, a first picture, and then everything slow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.config import agent_dir
from pinyon._util.safe_path import path_exists
from pinyon.cli.app import start
from pinyon.cli.args import CliArgs
from pinyon.cli.timing import take_times

if TYPE_CHECKING:
    from pinyon.coding.pi_agent import PiAgent


def _settled_trust(args: CliArgs, cwd: Path) -> dict[str, bool]:
    """The question about the project. Most bring nothing that could need it; they do not wait for its imports."""
    if not path_exists(cwd / ".pi") and not any(path_exists(folder / ".agents") for folder in (cwd, *cwd.parents)):
        return {}
    from pinyon.cli.trust_terminal import settle_trust

    return settle_trust(cwd, args.project_trust)


def _settled_session(args: CliArgs, cwd: Path) -> bool:
    """The questions about `--session`, for those who gave it."""
    if args.session is None:
        return True
    from pinyon.cli.session_terminal import settle_session

    return settle_session(args, cwd)


def _is_plain(args: CliArgs, cwd: Path) -> bool:
    """Whether to go line by line: flag, terminal, then setting, which most files do not hold and cost nothing then."""
    if args.tui_mode is not None or os.environ.get("TERM") == "dumb":
        return args.tui_mode == "regular" or os.environ.get("TERM") == "dumb"
    folder = agent_dir()
    try:
        has_setting = folder is not None and b"tuiMode" in (folder / "settings.json").read_bytes()
    except OSError:
        return False
    if not has_setting:
        return False
    from pinyon.resources.setting import TUI_MODE
    from pinyon.resources.settings import SettingsManager

    return SettingsManager.create(cwd, folder, project_trusted=False).get(TUI_MODE) == "regular"


def _session_folder(args: CliArgs, cwd: Path) -> Path:
    """The working directory of the session that is opened; that of the process where a new one begins."""
    if args.session is None or args.no_session or args.session_cwd is not None:
        return cwd
    from pinyon.cli.session_terminal import folder_of_session

    return folder_of_session(args, cwd)


def _rename_old_keys() -> None:
    folder = agent_dir()
    if folder is not None and path_exists(folder / "keybindings.json"):
        from pinyon.cli.app import tell_migration
        from pinyon.cli.migration import rename_keys

        tell_migration(rename_keys(folder), folder)


def run_interactive_mode(args: CliArgs, cwd: Path) -> int:
    """Draw a first picture at once; everything slow happens behind it.

    Questions about the project and the session come before, on the plain terminal.
    """
    from pinyon.tui.first_paint import FirstPaint, paint_first

    if not _settled_session(args, cwd):
        return 0
    is_plain = _is_plain(args, cwd)
    args.session_trust = _settled_trust(args, _session_folder(args, cwd))
    _rename_old_keys()
    first = FirstPaint(None) if is_plain else paint_first(cwd)
    try:
        from pinyon.tui.start import InteractiveStart, StartNotice, StartPrompt

        if is_plain:
            from pinyon.tui.plain import run_plain as run_interactive
        else:
            from pinyon.tui.run import run_interactive
    except BaseException:
        first.undo()
        raise

    async def create(say: StartNotice) -> PiAgent:
        pi = await start(args, cwd, say)
        if times := take_times():
            say("info", times)
        return pi

    async def create_demo() -> tuple[PiAgent, str]:
        from pinyon.cli.demo import open_demo

        return await open_demo()

    async def prompts() -> list[StartPrompt]:
        from pinyon.cli.prompt_input import start_prompts

        found = start_prompts(args.messages, args.files, cwd, piped=lambda _: "")
        first = [StartPrompt(found.first or "", found.images)] if found.first or found.images else []
        return [*first, *(StartPrompt(text) for text in found.others)]

    return run_interactive(
        InteractiveStart(
            create=create,
            prompts=prompts,
            resume=args.resume,
            cwd=cwd,
            agent_dir=agent_dir(),
            is_verbose=args.verbose,
            theme=args.use_theme,
            tui_mode=args.tui_mode,
            create_demo=create_demo,
            early_bytes=first.early_bytes,
            terminal_attributes=first.attributes,
        )
    )
