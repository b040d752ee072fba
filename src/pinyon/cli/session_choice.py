"""Which session a start works on: a new one, the latest, a named one, or one that is kept in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pinyon._util.config import expand_home
from pinyon.cli.args import CliArgs
from pinyon.coding.session_use import take_session
from pinyon.errors import SessionError
from pinyon.resources.settings import SettingsManager
from pinyon.session.local import LocalSessionManager
from pinyon.session.manager import SessionManager, require_session_cwd
from pinyon.session.memory import InMemorySessionManager
from pinyon.session.session import Session


async def choose_session(
    args: CliArgs, cwd: Path, settings: SettingsManager, *, warn: Callable[[str], None]
) -> tuple[SessionManager, Session]:
    """Create or open the session that the flags ask for, and give it the name of `--name`.

    A session that another process writes is refused, copied or only read, as `--if-in-use` says. Raises `SessionError`
    for that, for an argument that names no session, for a file that is none, and for a session whose working directory
    is gone.
    """
    manager: SessionManager
    if args.no_session:
        manager = InMemorySessionManager(cwd=cwd)
        tree = await manager.create_session(id=args.session_id)
    else:
        manager = LocalSessionManager(cwd=cwd, session_dir=session_dir(args, settings))
        tree = await _stored_session(args, manager, warn)
    require_session_cwd(tree, cwd)
    given = tree.get_session_file()
    tree = await take_session(manager, tree, args.if_in_use or "fail")
    if tree.is_read_only:
        warn(f"{str(given)!r} is in use by another process and is open for reading only")
    elif tree.get_session_file() != given:
        warn(f"{str(given)!r} is in use by another process; this goes on in a copy, {str(tree.get_session_file())!r}")
    if args.name is not None:
        tree.append_session_info(args.name.strip())
    return manager, tree


def session_dir(args: CliArgs, settings: SettingsManager) -> Path | None:
    """Where sessions are stored: flag, then `PI_CODING_AGENT_SESSION_DIR`, then setting; None for the default."""
    given = args.session_dir or os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    return expand_home(given).absolute() if given else settings.get_session_dir()


async def _stored_session(args: CliArgs, manager: LocalSessionManager, warn: Callable[[str], None]) -> Session:
    if args.fork is not None:
        return await manager.fork_session(await _existing_session(args.fork, manager), id=args.session_id)
    if args.session is not None:
        return await _named_session(args.session, manager, args.session_cwd)
    if args.continue_session:
        return await manager.continue_recent_session()
    if args.session_id is not None:
        found = await manager.find_by_id(args.session_id)
        if found is not None:
            return await manager.open_session(found)
        if not os.environ.get("PINYON_WEB"):  # there the id was not chosen by a person
            warn(f"there is no session {args.session_id!r} here; a new one gets that id")
        return await manager.create_session(id=args.session_id)
    return await manager.create_session()


async def _named_session(argument: str, manager: LocalSessionManager, cwd_override: str | None) -> Session:
    found = await manager.resolve(argument)
    if found.path is None:
        raise SessionError(f"--session: there is no session {argument!r}; give the id of one, its beginning, or a path")
    if found.kind == "elsewhere":
        raise SessionError(
            f"--session: {argument!r} belongs to the project {found.other_cwd!r}; start there, or copy it "
            f"here with --fork {argument}"
        )
    return await manager.open_session(found.path, cwd_override=cwd_override)


async def _existing_session(argument: str, manager: LocalSessionManager) -> Path:
    """The file that `--fork` copies; any project's will do."""
    found = await manager.resolve(argument)
    if found.path is None or not found.path.exists():
        raise SessionError(f"--fork: there is no session {argument!r}; give the id of one, its beginning, or a path")
    return found.path
