"""Saved trust decisions: `<agent folder>/trust.json`, an object of real folder paths to true or false.

The file is changed under its lock and replaced as a whole; one that cannot be understood is never overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pinyon._util import json as _json
from pinyon._util.safe_path import read_file
from pinyon.errors import ConfigError

STORE_FILE = "trust.json"
_WRITE_ATTEMPTS = 1500
_WRITE_DELAY_S = 0.01


class TrustStoreError(ConfigError):
    """Raised when the saved trust decisions cannot be read or understood."""


class SavedTrust(msgspec.Struct, frozen=True):
    """A saved decision and the folder that it was saved for."""

    folder: Path
    trusted: bool


def read_trust_decision(cwd: str | Path, agent_dir: Path | None) -> bool | None:
    """The saved decision for the real path of `cwd` or its nearest ancestor that has one; None without any.

    Raises `TrustStoreError` when the file is not readable or not an object of paths to true, false or null.
    """
    found = find_trust_decision(cwd, agent_dir)
    return None if found is None else found.trusted


def find_trust_decision(cwd: str | Path, agent_dir: Path | None) -> SavedTrust | None:
    """Like `read_trust_decision`, with the folder that decides."""
    if agent_dir is None:
        return None
    decisions = _read_store(agent_dir / STORE_FILE)
    folder = _real(cwd)
    for ancestor in (folder, *folder.parents):
        decision = decisions.get(str(ancestor))
        if decision is not None:
            return SavedTrust(ancestor, decision)
    return None


def save_trust_decisions(agent_dir: Path | None, changes: Mapping[str, bool | None]) -> None:
    """Save decisions by folder; None forgets one. Folders that are not named keep theirs.

    Raises `TrustStoreError` where the file is not usable (it stays as it is) or there is no agent folder, `LockError`
    where it stays locked, and `OSError`.
    """
    from pinyon._util.atomic import replace_file
    from pinyon._util.lock import hold_lock

    if agent_dir is None:
        raise TrustStoreError("there is no agent folder to save trust in: set HOME or PI_CODING_AGENT_DIR")
    path = agent_dir / STORE_FILE
    agent_dir.mkdir(parents=True, exist_ok=True)
    with hold_lock(path, attempts=_WRITE_ATTEMPTS, delay_s=_WRITE_DELAY_S) as lock:
        decisions = _read_store(path)
        for folder, decision in changes.items():
            key = str(_real(folder))
            if decision is None:
                decisions.pop(key, None)
            else:
                decisions[key] = decision
        text = _json.encode_pretty(dict(sorted(decisions.items()))) + b"\n"
        replace_file(path, text, before_publish=lock.ensure_held)


def _read_store(path: Path) -> dict[str, bool | None]:
    try:
        data = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise TrustStoreError(
            f"{str(path)!r} cannot be read: {error.strerror or error}; mend or move it. No project is trusted meanwhile"
        ) from error
    try:
        value = _json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except _json.JsonError as error:
        raise _bad_store(path, str(error)) from error
    if not isinstance(value, dict) or not all(item is None or isinstance(item, bool) for item in value.values()):
        raise _bad_store(path, "it must be an object of folder paths to true or false")
    return value


def _bad_store(path: Path, detail: str) -> TrustStoreError:
    return TrustStoreError(f"{str(path)!r} is not usable: {detail}; mend or remove it. No project is trusted meanwhile")


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
