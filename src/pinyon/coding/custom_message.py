"""Messages that a program puts into the conversation: at once, with the next prompt, or into the run in progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import UNSET

from pinyon._util.clock import Clock
from pinyon.agent.event import MessageEnd, MessageStart
from pinyon.ai.content import UserBlock
from pinyon.ai.message import AgentMessage, CustomMessage
from pinyon.coding.event import SessionEvent
from pinyon.coding.message_queue import MessageQueue

DeliverAs = Literal["steer", "followUp", "nextTurn"]


class CustomMessages:
    """Holds messages until they can be delivered.

    `store` appends a message to the session, `is_busy` tells whether a run is in progress.
    """

    def __init__(
        self,
        *,
        queue: MessageQueue,
        is_busy: Callable[[], bool],
        store: Callable[[AgentMessage], object],
        emit: Callable[[SessionEvent], None],
        refresh: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._is_busy = is_busy
        self._store = store
        self._emit = emit
        self._refresh = refresh
        self._clock = clock
        self._next_turn: list[CustomMessage] = []
        self._held: list[CustomMessage] = []

    def message(
        self, custom_type: str, content: str | list[UserBlock] | None, display: bool, details: Any = UNSET
    ) -> CustomMessage:
        """A message with the present time; no content becomes an empty list."""
        return CustomMessage(
            custom_type=custom_type,
            content=[] if content is None else content,
            display=display,
            details=details,
            timestamp=self._clock.now_ms(),
        )

    def accept(self, message: CustomMessage, *, trigger_turn: bool | None, deliver_as: DeliverAs | None) -> bool:
        """Take a message; True where it is to start a run now, which is left to the caller."""
        if deliver_as == "nextTurn":
            self._next_turn.append(message)
        elif not self._is_busy():
            if trigger_turn:
                return True
            self._append(message)
        elif trigger_turn is False:
            self._held.append(message)
        else:
            self.wait_in(message, deliver_as)
        return False

    def wait_in(self, message: CustomMessage, deliver_as: DeliverAs | None) -> None:
        """Queue a message that is to start a run, for when the session is free."""
        self._queue.add(message, "followUp" if deliver_as == "followUp" else "steer")

    def take_next_turn(self) -> list[CustomMessage]:
        """The messages that go with the prompt that starts now."""
        waiting, self._next_turn = self._next_turn, []
        return waiting

    def flush(self) -> None:
        """Append what was held back during a turn, in order."""
        while self._held:  # one that cannot be stored stays for the next time
            self._append(self._held[0])
            del self._held[0]

    def _append(self, message: CustomMessage) -> None:
        self._emit(MessageStart(message=message))
        self._emit(MessageEnd(message=message))
        self._store(message)
        self._refresh()
