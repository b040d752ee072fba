"""Reading settings and resources again for a session that goes on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted
from tests.resources.place import Place

from pinyon.agent.define_tool import define_tool
from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.ai.message import AssistantMessage, SystemMessage
from pinyon.coding.hooks import SessionHooks, SessionStart, ShutdownReason
from pinyon.coding.services import ResourceOptions
from pinyon.errors import AgentBusyError
from pinyon.resources.settings import SettingsManager


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def play(place: Place, body: Any, answers: list[Any] | None = None, **options: Any) -> None:
    run_scripted(
        answers or [faux_assistant_message("a"), faux_assistant_message("b")],
        body,
        cwd=place.project,
        agent_dir=place.agent,
        settings_manager=SettingsManager.create(place.project, place.agent),
        resource_options=ResourceOptions(trust_override=False),
        **options,
    )


def test_a_session_goes_on_with_new_settings_tools_and_context_files(place: Place) -> None:
    async def body(scripted: Scripted) -> None:
        session = scripted.session
        session.set_active_tools_by_name(["read", "bash"])
        await session.prompt("one")
        place.settings({"defaultTools": ["read", "bash", "edit", "grep"], "steeringMode": "all"})
        place.write(place.agent / "AGENTS.md", "Speak like a sailor.")
        await scripted.pi.reload()
        assert scripted.session is session
        assert session.get_active_tool_names() == ["read", "bash", "grep"]
        assert session.steering_mode == "all"
        await session.prompt("two")
        patch = [message for message in scripted.requests[1] if isinstance(message, SystemMessage)][-1]
        assert [tool.name for tool in patch.tools_added or ()] == ["grep"]
        assert "sailor" in str(patch.sections)
        assert scripted.texts_sent(1) == ["one", "a", "two"]

    play(place, body)


def test_a_tool_that_took_the_place_of_a_built_in_one_keeps_it(place: Place) -> None:
    @define_tool
    async def read(path: str) -> str:
        """Read in another way."""
        return path

    async def body(scripted: Scripted) -> None:
        await scripted.pi.reload()
        found = scripted.session.get_tool_definition("read")
        assert found is not None
        assert found.description == "Read in another way."

    play(place, body, custom_tools=[read])


def test_hooks_hear_of_a_reload_in_order(place: Place) -> None:
    heard: list[str] = []

    class Hearing(SessionHooks):
        async def shutdown(self, reason: ShutdownReason, target_session_file: str | None) -> None:
            heard.append(f"shutdown {reason}")

        async def session_started(self, start: SessionStart) -> None:
            heard.append(f"start {start.reason}")

    async def body(scripted: Scripted) -> None:
        await scripted.pi.reload()

    play(place, body, hooks=Hearing())
    assert heard == ["start startup", "shutdown reload", "start reload", "shutdown quit"]


def test_a_working_session_is_not_reloaded(place: Place) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def answer(*request: Any) -> AssistantMessage:
        asked.set()
        await go.wait()
        return faux_assistant_message("late")

    async def body(scripted: Scripted) -> None:
        run = asyncio.create_task(scripted.session.prompt("one"))
        await asked.wait()
        with pytest.raises(AgentBusyError, match="reloading"):
            await scripted.pi.reload()
        go.set()
        await run

    play(place, body, [answer])
