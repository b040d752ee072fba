"""Whether a project's own resources may load: what needs trust, what was saved, and the decision without a question.

Decisions are saved in `<agent folder>/trust.json`: an object of real folder paths to true or false. The nearest
ancestor with a decision counts. Whatever cannot be read or understood means untrusted.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pinyon._util import config as _config
from pinyon._util import json as _json
from pinyon.errors import ConfigError
from pinyon.resources.setting import ProjectTrustDefault

GATED_NAMES: tuple[str, ...] = (
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
"""What under `<project>/.pi` is loaded only in a trusted project."""


class TrustStoreError(ConfigError):
    """Raised when the saved trust decisions cannot be read or understood."""


class TrustDecision(msgspec.Struct, frozen=True):
    """The answer, what it rests on, and what went wrong on the way.

    `needs_question` tells that nothing decided and a person could be asked; until then the project is untrusted.
    """

    trusted: bool
    reason: str
    needs_question: bool = False
    problem: str | None = None


def has_gated_resources(cwd: str | Path, *, home: Path | None = None) -> bool:
    """Whether the project brings something that needs trust: see `GATED_NAMES`, or `.agents/skills` in `cwd` or one of
    its ancestors other than the home folder (`home`, default: the user's).
    """
    folder = _real(cwd)
    config_dir = folder / _config.CONFIG_DIR_NAME
    if any(os.path.lexists(config_dir / name) for name in GATED_NAMES):
        return True
    own_home = home or _config.home_dir()
    shared = None if own_home is None else _real(own_home)
    return any(
        os.path.lexists(ancestor / ".agents" / "skills") for ancestor in (folder, *folder.parents) if ancestor != shared
    )


def read_trust_decision(cwd: str | Path, agent_dir: Path | None) -> bool | None:
    """The saved decision for the real path of `cwd` or its nearest ancestor that has one; None without any.

    Raises `TrustStoreError` when the file is not readable or not an object of paths to true, false or null.
    """
    if agent_dir is None:
        return None
    decisions = _read_store(agent_dir / "trust.json")
    folder = _real(cwd)
    for ancestor in (folder, *folder.parents):
        decision = decisions.get(str(ancestor))
        if decision is not None:
            return decision
    return None


def decide_project_trust(
    cwd: str | Path,
    agent_dir: Path | None,
    *,
    override: bool | None = None,
    default: ProjectTrustDefault = "ask",
    home: Path | None = None,
) -> TrustDecision:
    """Decide without asking anybody: `override` (a flag), the saved decision, no gated resources, then `default`."""
    if override is not None:
        return TrustDecision(override, "flag")
    try:
        saved = read_trust_decision(cwd, agent_dir)
    except TrustStoreError as error:
        return TrustDecision(trusted=False, reason="unreadable", problem=str(error))
    if saved is not None:
        return TrustDecision(saved, "saved")
    if not has_gated_resources(cwd, home=home):
        return TrustDecision(trusted=True, reason="nothing gated")
    if default == "ask":
        return TrustDecision(trusted=False, reason="undecided", needs_question=True)
    return TrustDecision(default == "always", "default")


def _read_store(path: Path) -> dict[str, bool | None]:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise TrustStoreError(
            f"{str(path)!r} cannot be read: {error.strerror or error}; mend its permissions"
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
