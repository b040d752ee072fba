"""Messages between extensions, tools and the program around them, by channel name."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

BusHandler = Callable[[Any], "Awaitable[None] | None"]
"""Gets what was emitted; may be async."""

_log = logging.getLogger(__name__)


class EventBus:
    """Delivers data to the handlers of a channel, in the order of their subscription.

    A handler that fails is reported through `on_error(channel, error)`, and the others are still called. What an async
    handler does goes on as a task of the running loop, which the bus keeps until it is done.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, list[BusHandler]] = {}
        self._tasks: set[asyncio.Future[None]] = set()
        self.on_error: Callable[[str, Exception], None] = _log_error

    def emit(self, channel: str, data: Any = None) -> None:
        """Call the handlers of `channel` with `data`. Async handlers need a running event loop."""
        for handler in tuple(self._handlers.get(channel, ())):
            try:
                outcome = handler(data)
                if inspect.isawaitable(outcome):
                    self._follow(channel, outcome)
            except Exception as error:  # noqa: BLE001 - the border between the bus and foreign handlers
                self.on_error(channel, error)

    def _follow(self, channel: str, work: Awaitable[None]) -> None:
        async def watched() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - the same border
                self.on_error(channel, error)

        task = asyncio.ensure_future(watched())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def on(self, channel: str, handler: BusHandler) -> Callable[[], None]:
        """Call `handler(data)` for everything emitted on `channel`; returns what ends it."""
        handlers = self._handlers.setdefault(channel, [])
        handlers.append(handler)

        def unsubscribe() -> None:
            if handler in handlers:
                handlers.remove(handler)

        return unsubscribe

    async def wait_for_handlers(self) -> None:
        """Return when no async handler is at work."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def clear(self) -> None:
        """Forget all handlers."""
        for handlers in self._handlers.values():
            handlers.clear()
        self._handlers.clear()


def create_event_bus() -> EventBus:
    """A bus without handlers."""
    return EventBus()


def _log_error(channel: str, error: Exception) -> None:
    _log.error("a handler of the channel %r raised %r", channel, error, exc_info=error)
