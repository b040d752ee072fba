"""The one question about a project: whether its own settings, skills and extensions may be used.

Whoever can talk to a person gives an `AskTrust`; without one, an undecided project is not trusted. Extensions of the
user may decide before anybody is asked, through a `TrustHandler`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pinyon.errors import ConfigError
from pinyon.resources.setting import ProjectTrustDefault
from pinyon.resources.trust import TrustDecision, decide_project_trust, has_gated_resources
from pinyon.resources.trust_store import save_trust_decisions

TrustAnswer = Literal["trust", "trust_parent", "trust_once", "refuse", "refuse_once"]


class TrustChoice(msgspec.Struct, frozen=True):
    """An answer that a person can give: what it says, whether the project counts, and what is saved for which folder
    (None forgets a folder's decision).
    """

    answer: TrustAnswer
    label: str
    trusted: bool
    saves: Mapping[str, bool | None] = {}


class TrustQuestion(msgspec.Struct, frozen=True):
    """The folder that is asked about, by its real path, and the answers in the order in which they are offered."""

    cwd: Path
    choices: tuple[TrustChoice, ...]


class TrustVerdict(msgspec.Struct, frozen=True):
    """What a handler says about a project; `remember` saves a yes or no."""

    trusted: Literal["yes", "no", "undecided"]
    remember: bool = False


AskTrust = Callable[[TrustQuestion], Awaitable[TrustChoice | None]]
"""Asks a person; None (Escape, end of input) leaves the project untrusted and saves nothing."""
TrustHandler = Callable[[Path], Awaitable[TrustVerdict | None]]
"""Decides in the place of a person; the first yes or no counts."""


def trust_question(cwd: str | Path) -> TrustQuestion:
    """The question about a folder. The root of a file system has no parent to trust."""
    folder = Path(os.path.realpath(cwd))
    parent = folder.parent
    choices = [TrustChoice("trust", "Trust this folder", trusted=True, saves={str(folder): True})]
    if parent != folder:
        saves = {str(parent): True, str(folder): None}
        label = f"Trust everything in {str(parent)!r}"
        choices.append(TrustChoice("trust_parent", label, trusted=True, saves=saves))
    choices += (
        TrustChoice("trust_once", "Trust it for this session", trusted=True),
        TrustChoice("refuse", "Do not trust this folder", trusted=False, saves={str(folder): False}),
        TrustChoice("refuse_once", "Do not trust it for this session", trusted=False),
    )
    return TrustQuestion(folder, tuple(choices))


class ProjectTrust:
    """Decides on folders for one process, each once. `override` is a flag of the command line and settles all."""

    def __init__(
        self,
        agent_dir: Path | None,
        *,
        override: bool | None = None,
        default: ProjectTrustDefault = "ask",
        handlers: Sequence[TrustHandler] = (),
        ask: AskTrust | None = None,
        home: Path | None = None,
    ) -> None:
        self._agent_dir = agent_dir
        self._override = override
        self._default = default
        self._handlers = handlers
        self._ask = ask
        self._home = home
        self._decided: dict[str, TrustDecision] = {}

    async def decide(self, cwd: str | Path) -> TrustDecision:
        """The decision on a folder: flag, nothing to trust, handlers, saved, default, question, no."""
        folder = os.path.realpath(cwd)  # noqa: ASYNC240 - a few stat calls
        known = self._decided.get(folder)
        if known is None:
            known = self._decided[folder] = await self._decide(Path(folder))
        return known

    async def _decide(self, folder: Path) -> TrustDecision:
        decision = decide_project_trust(
            folder, self._agent_dir, override=self._override, default=self._default, home=self._home
        )
        if decision.reason == "flag" or not has_gated_resources(folder, home=self._home):
            return decision
        for handler in self._handlers:
            verdict = await handler(folder)
            if verdict is not None and verdict.trusted != "undecided":
                trusted = verdict.trusted == "yes"
                return self._settled(trusted, "extension", {str(folder): trusted} if verdict.remember else {})
        if not decision.needs_question or self._ask is None:
            return decision
        choice = await self._ask(trust_question(folder))
        if choice is None:
            return TrustDecision(trusted=False, reason="answer")
        return self._settled(choice.trusted, "answer", choice.saves)

    def _settled(self, trusted: bool, reason: str, saves: Mapping[str, bool | None]) -> TrustDecision:
        problem = None
        if saves:
            try:
                save_trust_decisions(self._agent_dir, saves)
            except (ConfigError, OSError) as error:
                problem = f"the decision counts for this session, but it was not saved: {error}"
        return TrustDecision(trusted, reason, problem=problem)
