"""An agent on a scripted model and an in-memory session, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pinyon.ai.apis.faux import FauxProvider, Response
from pinyon.ai.message import AgentMessage, SystemMessage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import SessionEvent
from pinyon.coding.pi_agent import PiAgent
from pinyon.resources.settings import SettingsManager
from pinyon.session.memory import InMemorySessionManager

Value = TypeVar("Value")

FAST_RETRY = {"retry": {"baseDelayMs": 1, "maxRetries": 2}}


class Scripted:
    """A session on scripted answers; `events` are what its listeners heard, `requests` what the model was sent."""

    def __init__(self, pi: PiAgent, faux: FauxProvider, requests: list[list[AgentMessage]]) -> None:
        self.pi = pi
        self.faux = faux
        self.requests = requests
        self.events: list[SessionEvent] = []
        self.stopped = asyncio.Event()
        """For tests to hold something until they say so."""
        pi.session.subscribe(self.events.append)

    @property
    def session(self) -> AgentSession:
        return self.pi.session

    def names(self, *without: str) -> list[str]:
        """Types of the events in order, without updates and those named."""
        skipped = {"message_update", "tool_execution_update", *without}
        kinds = (str(type(event).__struct_config__.tag) for event in self.events)
        return [kind for kind in kinds if kind not in skipped]

    def texts_sent(self, request: int) -> list[str]:
        """What a request says, one text a message; prompts and tool declarations left out."""
        return [text_of(message) for message in self.requests[request] if not isinstance(message, SystemMessage)]


def text_of(message: Any) -> str:
    """The text of any message."""
    if isinstance(message.content, str):
        return message.content
    return "".join(getattr(block, "text", "") for block in message.content)


def run_scripted(
    responses: Sequence[Response],
    play: Callable[[Scripted], Awaitable[Value]],
    *,
    cwd: Path,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> Value:
    """Play `play` with a fresh agent whose model gives `responses` in order."""

    async def main() -> Value:
        faux = FauxProvider()
        faux.set_responses(list(responses))
        requests: list[list[AgentMessage]] = []

        def stream(model: Any, messages: Any, request_options: Any) -> Any:
            requests.append(list(messages))
            return faux.stream(model, messages, request_options)

        async with await PiAgent.create(
            **{
                "cwd": cwd,
                "agent_dir": cwd / "agent",
                "session_manager": InMemorySessionManager(cwd=cwd),
                "settings_manager": SettingsManager.in_memory(settings or {}),
                "model": faux.get_model(),
                "stream_fn": stream,
                **options,
            }
        ) as pi:
            await pi.create_agent_session()
            return await play(Scripted(pi, faux, requests))

    return asyncio.run(main())
