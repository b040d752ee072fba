"""The interactive mode for programs that made their own agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinyon.tui.start import InteractiveStart, StartNotice, StartPrompt

if TYPE_CHECKING:
    from pinyon.ai.content import ImageContent
    from pinyon.coding.pi_agent import PiAgent


class InteractiveMode:
    """Shows `pi` on the terminal of this process; `run` returns when the user leaves, with `pi` disposed.

    `initial_message` with `initial_images` and then `initial_messages` are sent first. `model_fallback_message` and
    `migrated_providers` (whose stored credentials were moved) are told to the user.
    """

    def __init__(
        self,
        pi: PiAgent,
        *,
        migrated_providers: Sequence[str] = (),
        model_fallback_message: str | None = None,
        initial_message: str | None = None,
        initial_images: Sequence[ImageContent] = (),
        initial_messages: Sequence[str] = (),
    ) -> None:
        self._pi = pi
        self._migrated = list(migrated_providers)
        self._fallback = model_fallback_message
        first = [StartPrompt(initial_message or "", initial_images)] if initial_message or initial_images else []
        self._prompts = [*first, *map(StartPrompt, initial_messages)]

    async def run(self) -> int:
        """Show the mode and return the exit code. Needs a terminal."""
        from pinyon.tui.run import show_interactive

        return await show_interactive(
            InteractiveStart(
                create=self._create, prompts=self._first, cwd=self._pi.cwd, agent_dir=self._pi.services.agent_dir
            )
        )

    async def _create(self, say: StartNotice) -> PiAgent:
        if not self._pi.has_session:
            await self._pi.create_agent_session()
        if self._fallback:
            say("warning", self._fallback)
        if self._migrated:
            say("info", f"stored credentials were moved to auth.json: {', '.join(self._migrated)}")
        return self._pi

    async def _first(self) -> list[StartPrompt]:
        return self._prompts
