"""A run as something to loop over: its events in order, no faster than they are taken, and ended with the loop.

The run is a task that belongs to the stream. Once a few events wait unread, the agent waits too, so a slow reader slows
the model down instead of filling memory; an abort opens that gate.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pinyon._util.abort import OperationAbortedError, in_loop
from pinyon.agent.event import AgentStart
from pinyon.coding.event import SessionEvent
from pinyon.coding.event_hub import EventHub

if TYPE_CHECKING:
    from pinyon.coding.run_driver import RunDriver

Result_co = TypeVar("Result_co", covariant=True)

WAITING_EVENTS = 16
"""Events that may wait unread before the agent is held back."""


class SessionStream(Generic[Result_co]):
    """The events of one run: loop over it, once, with `async for`; the run starts with the loop.

    Leaving the loop early aborts the run, and the session's next prompt waits for its end. Where a reference to the
    loop may live on (other interpreters, tracebacks that are kept), `async with session.stream(...) as events:` says
    when it is over. Errors that refuse the run are raised from the loop; a failed answer is a message like any other.
    """

    def __init__(self, events: EventHub, driver: RunDriver, start: Callable[[], Awaitable[Result_co]]) -> None:
        self._feed: _Feed[Result_co] = _Feed(events, driver, start)

    def __aiter__(self) -> AsyncIterator[SessionEvent]:
        return _Events(self._feed)

    async def __aenter__(self) -> SessionStream[Result_co]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def result(self) -> Result_co:
        """What the run gave, when it is over. Without a loop in progress the remaining events are dropped."""
        return await self._feed.result()

    async def aclose(self) -> None:
        """Abort the run if it is in progress and return when it has settled."""
        await self._feed.close()


class _Events(AsyncIterator[SessionEvent]):
    """One loop over a feed. That nothing refers to it any more is how leaving the loop is noticed."""

    def __init__(self, feed: _Feed[Any]) -> None:
        self._feed = feed

    async def __anext__(self) -> SessionEvent:
        event = await self._feed.next()
        if event is None:
            raise StopAsyncIteration
        return event

    def __del__(self) -> None:
        self._feed.leave_from_anywhere()


class _Feed(Generic[Result_co]):
    """The run with the events that nobody has taken yet."""

    def __init__(self, events: EventHub, driver: RunDriver, start: Callable[[], Awaitable[Result_co]]) -> None:
        self._events = events
        self._driver = driver
        self._start = start
        self._waiting: deque[SessionEvent] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._task: asyncio.Task[Result_co] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_drained = False
        self._has_begun = False
        self._unsubscribe: list[Callable[[], None]] = []

    def _open(self) -> asyncio.Task[Result_co]:
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._unsubscribe = [self._events.subscribe(self._hear), self._events.add_gate(self._gate)]
            self._task = asyncio.ensure_future(self._start())
            self._task.add_done_callback(self._ended)
        return self._task

    def _ended(self, task: asyncio.Task[Result_co]) -> None:
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        if not task.cancelled():
            task.exception()  # whoever still reads is told by `next` or `result`
        self._news.set()

    def _hear(self, event: SessionEvent) -> None:
        self._has_begun = self._has_begun or type(event) is AgentStart
        if not self._is_drained:
            self._waiting.append(event)
            self._news.set()

    async def _gate(self) -> None:
        signal = self._driver.abort_signal
        if self._is_drained or signal is None or len(self._waiting) < WAITING_EVENTS:
            return
        remove = signal.add_listener(in_loop(self._room.set))
        try:
            while len(self._waiting) >= WAITING_EVENTS and not signal.aborted:
                self._room.clear()
                await self._room.wait()
        finally:
            remove()

    async def next(self) -> SessionEvent | None:
        """The next event; None at the end."""
        task = self._open()
        while not self._waiting:
            if task.done():
                if not self._is_drained:
                    task.result()
                return None
            self._news.clear()
            try:
                await self._news.wait()
            except asyncio.CancelledError:
                await self.close()
                raise
        event = self._waiting.popleft()
        self._room.set()
        return event

    async def result(self) -> Result_co:
        """The outcome of the run; starts it if need be."""
        task = self._open()
        self._drain()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            await self.close()
            raise
        if task.cancelled():
            raise OperationAbortedError("the run was left before it had begun")
        return task.result()

    async def close(self) -> None:
        """Abort, and wait for the end."""
        task = self._task
        self.leave()
        if task is not None and not task.done():
            await asyncio.wait([task])

    def leave(self) -> None:
        """Abort without waiting; the session's next prompt will."""
        task = self._task
        self._drain()
        if task is None or task.done():
            return
        self._driver.leave_behind(task)
        if self._has_begun:
            self._driver.control.request_abort()
        else:
            task.cancel()

    def leave_from_anywhere(self) -> None:
        """Abort from whatever thread drops the loop."""
        loop = self._loop
        if loop is None or self._task is None or self._task.done():
            return
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_here = False
        if is_here:
            self.leave()
        else:
            with contextlib.suppress(RuntimeError):  # a closed loop runs nothing that could be aborted
                loop.call_soon_threadsafe(self.leave)

    def _drain(self) -> None:
        self._is_drained = True
        self._waiting.clear()
        self._room.set()
