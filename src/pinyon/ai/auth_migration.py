"""Moves credentials from the two places where older versions kept them into `auth.json`, once, when there is none yet.

`oauth.json` held sign-ins and `settings.json` held keys under `apiKeys`. The new file is written first and the old
places are cleared afterwards, so that an interruption at any point loses nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.atomic import replace_file
from pinyon._util.lock import LockError, hold_lock
from pinyon._util.safe_path import read_file
from pinyon.ai.auth_backend import FileBackend
from pinyon.errors import AuthError


class AuthMigration(msgspec.Struct):
    """The providers whose credentials were moved, and what went wrong on the way."""

    providers: list[str] = msgspec.field(default_factory=list)
    problems: list[str] = msgspec.field(default_factory=list)


def migrate_credentials(agent_dir: Path) -> AuthMigration:
    """Move old credentials of `agent_dir` into its `auth.json`, if it has none. Never raises."""
    result = AuthMigration()
    auth_path = agent_dir / "auth.json"
    if auth_path.exists():
        return result
    sign_ins = _read_object(agent_dir / "oauth.json", result)
    settings = AuthMigration()
    keys = _read_object(agent_dir / "settings.json", settings).get("apiKeys")
    entries = _entries(sign_ins, keys if isinstance(keys, dict) else {})
    if not entries:
        return result  # that settings cannot be read is told by whoever uses them; their keys are moved once they can
    result.problems += settings.problems
    if not _store(auth_path, entries, result):
        return result
    result.providers = list(entries)
    if sign_ins:
        _set_aside(agent_dir / "oauth.json", result)
    if isinstance(keys, dict):
        _drop_keys(agent_dir / "settings.json", result)
    return result


def _entries(sign_ins: dict[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    entries: dict[str, Any] = {
        provider: {"type": "oauth", **tokens} for provider, tokens in sign_ins.items() if isinstance(tokens, dict)
    }
    for provider, key in keys.items():
        if isinstance(key, str) and key and provider not in entries:
            entries[provider] = {"type": "api_key", "key": key}
    return entries


def _store(path: Path, entries: dict[str, Any], result: AuthMigration) -> bool:
    """Write the new file unless another process was faster; whether it was written."""
    is_written = False

    def fill(text: str | None) -> str | None:
        nonlocal is_written
        is_written = text is None
        return _json.encode_pretty(entries).decode() if text is None else None

    try:
        FileBackend(path).update(fill)
    except AuthError as error:
        result.problems.append(str(error))
        return False
    return is_written


def _set_aside(path: Path, result: AuthMigration) -> None:
    try:
        path.replace(path.with_name(path.name + ".migrated"))
    except OSError as error:
        result.problems.append(f"cannot rename {str(path)!r}: {error.strerror or error}; it is no longer used")


def _drop_keys(path: Path, result: AuthMigration) -> None:
    try:
        with hold_lock(path) as lock:
            settings = _read_object(path, result)
            if settings.pop("apiKeys", None) is not None:
                replace_file(path, _json.encode_pretty(settings), before_publish=lock.ensure_held)
    except (OSError, LockError) as error:
        result.problems.append(f"cannot remove 'apiKeys' from {str(path)!r}: {error}; remove it by hand")


def _read_object(path: Path, result: AuthMigration) -> dict[str, Any]:
    try:
        value = _json.decode(read_file(path).decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, _json.JsonError):
        result.problems.append(f"{str(path)!r} cannot be read, so credentials in it were not moved to auth.json")
        return {}
    return value if isinstance(value, dict) else {}
