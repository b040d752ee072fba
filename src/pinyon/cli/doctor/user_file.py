"""The doctor's look at the files of the agent folder: settings, credentials, models, trust, keys, locks."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinyon._util import json as _json
from pinyon._util.lock import STALE_S
from pinyon.cli.doctor.finding import Finding
from pinyon.resources.setting import SETTINGS
from pinyon.resources.settings import SettingsManager

_NO_SETTINGS = frozenset({"lastChangelogVersion", "$schema"})
"""What programs keep in settings files for themselves."""


def look_at_settings(settings: SettingsManager, paths: dict[str, Path]) -> Iterator[Finding]:
    """What is wrong with values and files, and which keys nobody knows."""
    problems = settings.diagnostics
    for problem in problems:
        mend = "correct the file by hand; it is never overwritten while it is broken"
        yield Finding("settings", "broken", problem.message, problem.path, mend)
    known = {setting.path[0] for setting in SETTINGS} | _NO_SETTINGS
    for scope, values in (("user", settings.get_global_settings()), ("project", settings.get_project_settings())):
        path = paths.get(scope)
        if path is None or not path.exists():
            continue
        if not any(problem.path == str(path) for problem in problems):
            yield Finding("settings", "used", f"{scope} settings, {len(values)} keys", str(path))
        unknown = sorted(set(values) - known)
        if unknown:
            message = f"keys that have no meaning here: {', '.join(unknown)}"
            yield Finding(
                "settings", "ignored", message, str(path), "they are kept; remove them if they are typing errors"
            )


def look_at_credentials(path: Path, auth: Any) -> Iterator[Finding]:
    """Whose credentials are stored, never what they are, and who may read the file."""
    for error in auth.drain_errors():
        yield Finding(
            "credentials", "broken", str(error), str(path), "correct the file, or sign in again after moving it"
        )
    if not path.exists():
        return
    listed = [f"{each.provider_id} ({'account' if each.type == 'oauth' else 'key'})" for each in auth.list()]
    if listed:
        yield Finding("credentials", "used", f"stored for {', '.join(sorted(listed))}", str(path))
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name != "nt" and mode & 0o077:
        yield Finding("credentials", "broken", f"others may read it: mode {mode:04o}", str(path), f"chmod 600 {path}")


def look_at_models(path: Path, problems: list[str]) -> Iterator[Finding]:
    """What the user says of models."""
    for problem in problems:
        yield Finding("models", "broken", problem, str(path), "correct the entry; the other models stay usable")
    if path.exists() and not problems:
        yield Finding("models", "used", "own providers and models", str(path))


def look_at_trust(path: Path) -> Iterator[Finding]:
    """The saved decisions about projects."""
    from pinyon.resources.trust_store import TrustStoreError, read_trust_decision

    if not path.exists():
        return
    try:
        read_trust_decision(path.parent, path.parent)
    except TrustStoreError as error:
        yield Finding(
            "trust", "broken", str(error), str(path), "correct or remove the file; nothing is trusted meanwhile"
        )
        return
    yield Finding("trust", "used", "saved decisions about projects", str(path))


def look_at_keys(path: Path) -> Iterator[Finding]:
    """The user's key bindings."""
    from pinyon.tui.binding import BINDINGS, LEGACY_IDS
    from pinyon.tui.keymap import Keymap, parse_overrides

    if not path.exists():
        return
    value, problem = _read_object(path)
    if problem is not None:
        yield Finding(
            "keys", "broken", f"the file is not used: {problem}", str(path), "correct it; the usual keys hold"
        )
        return
    overrides = parse_overrides(value)
    yield Finding("keys", "used", f"{len(overrides)} actions have keys of your own", str(path))
    ignored = [name for name in value if name not in overrides and LEGACY_IDS.get(name) not in overrides]
    unknown = sorted(name for name in ignored if name not in BINDINGS and name not in LEGACY_IDS)
    wrong = sorted(set(ignored) - set(unknown))
    if unknown:
        yield Finding("keys", "ignored", f"no such actions: {', '.join(unknown)}", str(path), "remove or rename them")
    if wrong:
        mend = 'give a key such as "ctrl+k", or a list of keys'
        yield Finding("keys", "broken", f"no keys: {', '.join(wrong)}", str(path), mend)
    for key, actions in Keymap(overrides).conflicts():
        mend = "give all but one of them another key"
        yield Finding("keys", "note", f"{key!r} is given to {', '.join(actions)}", str(path), mend)


def look_at_locks(folders: list[Path]) -> Iterator[Finding]:
    """Locks that a program which died has left behind."""
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.glob("*.lock")):
            if not path.is_dir() or time.time() - path.stat().st_mtime <= STALE_S:
                continue
            if any(path.iterdir()):
                mend = "remove it if no other program is running; it holds files and cannot be taken over"
                yield Finding("locks", "broken", "a lock that nobody renews", str(path), mend)
            else:
                yield Finding("locks", "note", "a lock was left over; the next writer takes it over", str(path))


def look_at_others(agent_dir: Path) -> Iterator[Finding]:
    """Files of pi that have no part here, or not any more."""
    from pinyon.cli.command import RUNNERS

    if (agent_dir / "oauth.json").exists() and not (agent_dir / "auth.json").exists():
        message = "credentials of an old version; the next start moves them to auth.json"
        yield Finding("credentials", "note", message, str(agent_dir / "oauth.json"))
    servers = agent_dir / "mcp.json"
    if servers.exists() and "mcp" not in RUNNERS:
        yield Finding(
            "mcp", "ignored", "MCP servers are not used by this version", str(servers), "nothing to do; it stays"
        )


def _read_object(path: Path) -> tuple[dict[str, Any], str | None]:
    try:
        value = _json.decode(path.read_bytes())
    except OSError as error:
        return {}, error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        return {}, str(error) or "it is nested too deeply"
    return (value, None) if isinstance(value, dict) else ({}, "it must be a JSON object")
