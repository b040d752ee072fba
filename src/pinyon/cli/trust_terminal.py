"""The question about a project on the plain terminal, before the interactive mode takes the screen."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pinyon._util.config import agent_dir
from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.terminal_choice import choose_on_terminal
from pinyon.resources.trust import decide_project_trust, has_gated_resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pinyon.resources.trust_question import TrustChoice, TrustQuestion


def settle_trust(cwd: Path, override: bool | None) -> dict[str, bool]:
    """Ask about `cwd` if nothing else decides; returns what holds for this process, by real path.

    Nothing is asked of a project that brings nothing, or that a flag, a saved decision or the settings settle.
    """
    if override is not None or not has_gated_resources(cwd):
        return {}
    from pinyon.resources.settings import SettingsManager

    folder = agent_dir()
    default = SettingsManager.create(cwd, folder, project_trusted=False).get_default_project_trust()
    if not decide_project_trust(cwd, folder, default=default).needs_question:
        return {}
    from pinyon.resources.trust_question import ProjectTrust

    decision = asyncio.run(ProjectTrust(folder, default=default, ask=ask_on_terminal).decide(cwd))
    if decision.problem:
        sys.stderr.write(strip_terminal_control(f"Warning: {decision.problem}") + "\n")
    return {str(cwd.resolve()): decision.trusted}


async def ask_on_terminal(question: TrustQuestion) -> TrustChoice | None:
    """Show the answers with numbers and read one; an empty line or the end of the input leaves it open."""
    lines = [
        f"{str(question.cwd)!r} brings settings, skills, prompts, themes or extensions of its own.",
        "They can change what Pinyon does, and extensions run as you. Use them?",
    ]
    chosen = choose_on_terminal(lines, [choice.label for choice in question.choices], "go on without them")
    return None if chosen is None else question.choices[chosen]
