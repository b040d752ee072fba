"""Hands events to listeners: one event at a time, to one listener after another."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable

from pinyon._util.abort import AbortSignal
from pinyon.agent.event import AgentEvent

AgentListener = Callable[[AgentEvent, AbortSignal], Awaitable[None] | None]
"""Called with each event and the signal of the run; the run goes on when what it returned has settled."""


class EventDelivery:
    """Delivers the events of one run, in order, also when they come from tools that run side by side.

    `reduce` sees each event before the listeners do. As long as no listener is async, a delivery is a plain call that
    returns None; else it returns what is to be awaited.
    """

    def __init__(
        self,
        reduce: Callable[[AgentEvent], None],
        listeners: Callable[[], list[AgentListener]],
        signal: AbortSignal,
    ) -> None:
        self._reduce = reduce
        self._listeners = listeners
        self._signal = signal
        self._is_busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __call__(self, event: AgentEvent) -> Awaitable[None] | None:
        """Deliver `event` after all earlier ones."""
        if not self._is_busy:
            return self._deliver(event)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return self._in_turn(turn, event)

    def _deliver(self, event: AgentEvent) -> Awaitable[None] | None:
        self._reduce(event)
        listeners = self._listeners()
        for index, listener in enumerate(listeners):
            answer = listener(event, self._signal)
            if answer is not None and inspect.isawaitable(answer):
                self._is_busy = True
                return self._finish(answer, listeners[index + 1 :], event)
        return None

    async def _finish(self, answer: Awaitable[None], rest: list[AgentListener], event: AgentEvent) -> None:
        try:
            await answer
            for listener in rest:
                later = listener(event, self._signal)
                if inspect.isawaitable(later):
                    await later
        finally:
            self._release()

    async def _in_turn(self, turn: asyncio.Future[None], event: AgentEvent) -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise
        self._is_busy = False
        delivery = self._deliver(event)
        if delivery is not None:
            await delivery
        else:
            self._release()

    def _release(self) -> None:
        """Let the next event that waits go ahead."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self._is_busy = True
                turn.set_result(None)
                return
        self._is_busy = False
