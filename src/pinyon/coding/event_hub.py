"""Who hears the events of a session: listeners, called in order, and gates that hold the agent back."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from pinyon.coding.event import SessionEvent

SessionListener = Callable[[SessionEvent], None]
Gate = Callable[[], Awaitable[None]]

_log = logging.getLogger(__name__)


class EventHub:
    """Delivers each event to the listeners in the order of their subscription, before anything else happens.

    What a listener causes while it is called is delivered after the present event, so that all hear the same order.
    A listener must not block. One that raises is reported through `on_listener_error` and the others still hear the
    event. A gate is awaited after each event of the agent, so that a slow reader slows the agent down instead of
    filling memory.
    """

    def __init__(self) -> None:
        self._listeners: list[SessionListener] = []
        self._gates: list[Gate] = []
        self._waiting: deque[SessionEvent] = deque()
        self._is_delivering = False
        self.on_listener_error: Callable[[Exception], None] = _log_listener_error

    def subscribe(self, listener: SessionListener) -> Callable[[], None]:
        """Add a listener; returns the function that removes it."""
        self._listeners.append(listener)
        return lambda: _remove(self._listeners, listener)

    def add_gate(self, gate: Gate) -> Callable[[], None]:
        """Add a gate; returns the function that removes it."""
        self._gates.append(gate)
        return lambda: _remove(self._gates, gate)

    def emit(self, event: SessionEvent) -> None:
        """Deliver `event` now, or after the one that is being delivered."""
        if self._is_delivering:
            self._waiting.append(event)
            return
        self._is_delivering = True
        try:
            self._deliver(event)
            while self._waiting:
                self._deliver(self._waiting.popleft())
        finally:
            self._is_delivering = False

    def _deliver(self, event: SessionEvent) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - the border between the session and foreign listeners
                self.on_listener_error(error)

    async def pass_gates(self) -> None:
        """Wait until every gate lets the agent go on."""
        for gate in self._gates:
            await gate()

    def clear(self) -> None:
        """Forget listeners and gates."""
        self._listeners.clear()
        self._gates.clear()


def _remove(items: list[Any], item: object) -> None:
    if item in items:
        items.remove(item)


def _log_listener_error(error: Exception) -> None:
    _log.error("an event listener raised %r", error, exc_info=error)
