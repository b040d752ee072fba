"""The questions about `--session` on the plain terminal, before the interactive mode takes the screen.

A session of another project may be copied into this one; where the folder of a session is gone, somebody has to say
where it goes on. Without a terminal neither is asked: both are errors then.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from pinyon._util.config import agent_dir
from pinyon.cli.args import CliArgs
from pinyon.cli.session_choice import session_dir
from pinyon.cli.terminal_choice import choose_on_terminal
from pinyon.resources.settings import SettingsManager
from pinyon.session.header import SessionHeader
from pinyon.session.loader import read_session_header
from pinyon.session.local import LocalSessionManager
from pinyon.session.lookup import SessionLookup


def settle_session(args: CliArgs, cwd: Path) -> bool:
    """Ask what the session of `--session` leaves open and note the answers in `args`; False where it is called off."""
    if args.session is None or args.no_session:
        return True
    settings = SettingsManager.create(cwd, agent_dir(), project_trusted=False)
    manager = LocalSessionManager(cwd=cwd, session_dir=session_dir(args, settings))
    found = asyncio.run(manager.resolve(args.session))
    if found.kind == "elsewhere":
        return _settle_project(args, found)
    gone = _lost_folder(found.path)
    return gone is None or _settle_folder(args, cwd, gone)


def folder_of_session(args: CliArgs, cwd: Path) -> Path:
    """The working directory that the session of `--session` names; `cwd` where none can be read."""
    settings = SettingsManager.create(cwd, agent_dir(), project_trusted=False)
    manager = LocalSessionManager(cwd=cwd, session_dir=session_dir(args, settings))
    found = asyncio.run(manager.resolve(args.session or ""))
    header = _header(found.path)
    return Path(header.cwd) if header is not None and header.cwd else cwd


def _settle_project(args: CliArgs, found: SessionLookup) -> bool:
    question = [f"The session {found.argument!r} belongs to another project, {found.other_cwd!r}."]
    if choose_on_terminal(question, ["copy it into this project and go on there"], "leave") is None:
        return False
    args.session, args.fork = None, str(found.path)
    return True


def _settle_folder(args: CliArgs, cwd: Path, gone: str) -> bool:
    question = [f"The session worked in {gone!r}, which does not exist any more."]
    answers = [f"go on in {str(cwd)!r}", "copy it into a new session here and go on there"]
    choice = choose_on_terminal(question, answers, "leave")
    if choice == 0:
        args.session_cwd = str(cwd)
    elif choice == 1:
        args.session, args.fork = None, args.session
    return choice is not None


def _lost_folder(path: Path | None) -> str | None:
    """The working directory that a session file names and that is gone."""
    header = _header(path)
    return header.cwd if header is not None and header.cwd and not Path(header.cwd).is_dir() else None


def _header(path: Path | None) -> SessionHeader | None:
    try:
        return read_session_header(path) if path is not None and path.is_file() else None
    except OSError:
        return None  # opening it tells why
