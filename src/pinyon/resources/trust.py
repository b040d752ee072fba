"""Whether a project's own resources may load: what needs trust, what was saved, and the decision without a question.

The nearest ancestor with a saved decision counts (see `trust_store`). Whatever cannot be read or understood means
untrusted.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pinyon._util import config as _config
from pinyon.resources.setting import ProjectTrustDefault
from pinyon.resources.trust_store import TrustStoreError, read_trust_decision

GATED_NAMES: tuple[str, ...] = (
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
    "commands",
)
"""What under `<project>/.pi` is loaded only in a trusted project."""


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


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
