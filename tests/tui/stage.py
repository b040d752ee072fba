"""A stage for tests of the interactive mode: the real application on a scripted model, in a folder of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from pinyon.ai.apis.faux import Pace, Response
from pinyon.coding.pi_agent import PiAgent
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session
from pinyon.testing import FauxProvider
from pinyon.tui.app import PinyonApp
from pinyon.tui.start import InteractiveStart, StartNotice, StartPrompt

SIZE = (100, 32)


class Stage:
    """The running application with its script."""

    def __init__(self, app: PinyonApp, pilot: Pilot[int], faux: FauxProvider) -> None:
        self.app = app
        self.pilot = pilot
        self.faux = faux

    @property
    def screen(self) -> str:
        """What stands on the screen, as text."""
        height = self.app.size.height
        lines = self.app.screen._compositor.render_strips()  # Textual has no public way to the text of the screen
        return "\n".join(strip.text.rstrip() for strip in lines[:height])

    @property
    def transcript(self) -> str:
        """All rows of the transcript, also those that are scrolled away."""
        blocks = self.app.transcript.list
        return "\n".join(row.text.rstrip() for number in range(len(blocks.slots)) for row in blocks.rows(number))

    async def type(self, text: str) -> None:
        """Type a text key by key."""
        names = {" ": "space", "\n": "shift+enter"}
        await self.pilot.press(*(names.get(character, character) for character in text))

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)

    async def say(self, text: str) -> None:
        """Send a prompt and wait for the end of its run."""
        self.app.editing.set_text(text)
        await self.pilot.press("enter")
        await self.settled()

    async def settled(self) -> None:
        """Wait until nothing runs and the screen shows it."""
        await self.until(lambda: self.app.is_ready and self.app.session.is_idle and not self.app.spinner.is_active)
        await self.drawn()

    async def drawn(self) -> None:
        """Wait until all changes are on the screen."""
        await self.pilot.pause()
        self.app.transcript.draw()
        await self.pilot.pause()

    async def until(self, condition: Callable[[], Any], *, limit_s: float = 20) -> None:
        """Wait for a condition."""
        async with asyncio.timeout(limit_s):
            while not condition():
                await self.pilot.pause(0.01)

    async def until_shown(self, text: str) -> None:
        """Wait for a text on the screen."""
        await self.until(lambda: text in self.screen)


@asynccontextmanager
async def stage(
    folder: Path,
    responses: Sequence[Response] = (),
    *,
    size: tuple[int, int] = SIZE,
    settings: dict[str, Any] | None = None,
    session: Session | None = None,
    prompts: Sequence[str] = (),
    pace: Pace | None = None,
    wait: bool = True,
    before_open: Callable[[], Any] | None = None,
) -> AsyncIterator[Stage]:
    """Run the application on `responses`, with the agent folder and the project in `folder`."""
    agent_dir, project = folder / "agent", folder / "project"
    agent_dir.mkdir(exist_ok=True)
    project.mkdir(exist_ok=True)
    faux = FauxProvider(pace=pace or Pace())
    faux.set_responses(responses)

    async def create(say: StartNotice) -> PiAgent:
        if before_open is not None:
            await before_open()
        pi = await PiAgent.create(
            cwd=project,
            agent_dir=agent_dir,
            settings_manager=SettingsManager.in_memory(settings),
            model=faux.get_model(),
            stream_fn=faux,
        )
        await pi.create_agent_session(session=session)
        return pi

    async def start_prompts() -> list[StartPrompt]:
        return [StartPrompt(text) for text in prompts]

    app = PinyonApp(InteractiveStart(create=create, prompts=start_prompts, cwd=project, agent_dir=agent_dir))
    async with app.run_test(size=size) as pilot:
        running = Stage(app, pilot, faux)
        if wait:
            await running.until(lambda: app.is_ready)
            await running.settled()
        yield running
        await app.end_tasks()
        if app.desk is not None:
            await app.desk.pi.dispose()
