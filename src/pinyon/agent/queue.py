"""Messages that wait for the agent to take them: first in, first out, one at a time or all together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pinyon.ai.message import AgentMessage

QueueMode = Literal["one-at-a-time", "all"]


class MessageQueue:
    """A queue with a mode; a change of `mode` holds from the next `drain` on."""

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        self.mode: QueueMode = mode
        self._messages: list[AgentMessage] = []

    def __len__(self) -> int:
        return len(self._messages)

    def push(self, message: AgentMessage) -> None:
        """Append a message."""
        self._messages.append(message)

    def peek(self) -> list[AgentMessage]:
        """What the next `drain` would take."""
        return self._messages[: self._portion()]

    def drain(self) -> list[AgentMessage]:
        """Take the oldest message, or all of them, as the mode says; empty when nothing waits."""
        size = self._portion()
        taken, self._messages = self._messages[:size], self._messages[size:]
        return taken

    def clear(self) -> None:
        """Drop everything."""
        self._messages.clear()

    def put_back(self, messages: Iterable[AgentMessage]) -> None:
        """Return messages that were taken to the front."""
        self._messages[:0] = messages

    def _portion(self) -> int:
        return len(self._messages) if self.mode == "all" else 1
