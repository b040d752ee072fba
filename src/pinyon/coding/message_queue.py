"""Messages that wait while the agent works: steering after the current turn, follow-ups when it would stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pinyon.agent.agent import Agent
from pinyon.ai.message import AgentMessage, UserMessage
from pinyon.coding.event import QueueUpdate, SessionEvent

QueueName = Literal["steer", "followUp"]


class MessageQueue:
    """Mirrors the agent's two queues as texts for display, and tells listeners of each change."""

    def __init__(self, agent: Agent, emit: Callable[[SessionEvent], None]) -> None:
        self._agent = agent
        self._emit = emit
        self.steering: list[str] = []
        self.follow_up: list[str] = []

    def __len__(self) -> int:
        return len(self.steering) + len(self.follow_up)

    def add(self, message: AgentMessage, queue: QueueName) -> None:
        """Queue a message behind those that wait already."""
        if isinstance(message, UserMessage):
            texts = self.steering if queue == "steer" else self.follow_up
            texts.append(message.text)
            self._announce()
        if queue == "steer":
            self._agent.steer(message)
        else:
            self._agent.follow_up(message)

    def delivered(self, message: UserMessage) -> None:
        """Take a message off the display when the run takes it up; the first match wins, steering first."""
        for texts in (self.steering, self.follow_up):
            if message.text in texts:
                texts.remove(message.text)
                self._announce()
                return

    def clear(self) -> tuple[list[str], list[str]]:
        """Empty both queues; returns the steering and follow-up texts that waited."""
        waiting = (self.steering, self.follow_up)
        self.steering, self.follow_up = [], []
        self._agent.clear_all_queues()
        self._announce()
        return waiting

    def _announce(self) -> None:
        self._emit(QueueUpdate(steering=list(self.steering), follow_up=list(self.follow_up)))
