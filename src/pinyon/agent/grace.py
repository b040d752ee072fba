"""A bound on work that was asked to stop: after an abort it has a moment to return by itself, then it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

from pinyon._util.abort import AbortSignal

Value = TypeVar("Value")


class AbortGrace:
    """An async context whose body is cancelled `grace_s` seconds after `signal` fired.

    The cancellation stays inside: the context ends normally with `expired` set. Cancellations that come from
    elsewhere pass through.
    """

    __slots__ = ("_before", "_grace_s", "_remove", "_signal", "_timeout", "expired")

    def __init__(self, signal: AbortSignal, grace_s: float) -> None:
        self._signal = signal
        self._grace_s = grace_s
        self._timeout = asyncio.timeout(None)
        self._remove: Callable[[], None] | None = None
        self._before = 0
        self.expired = False

    async def __aenter__(self) -> AbortGrace:
        self._before = _cancel_requests()
        await self._timeout.__aenter__()
        self._remove = self._signal.add_listener(self._start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._remove is not None:
            self._remove()
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            self.expired = True
            return True
        return False

    @property
    def is_cancelled(self) -> bool:
        """Whether this task is being cancelled, by the bound or from elsewhere.

        A `CancelledError` without it comes from the work itself, such as a task that somebody else stopped.
        """
        return _cancel_requests() > self._before

    async def outside(self, work: Awaitable[Value]) -> Value:
        """Wait for something inside the context that the bound does not hold for."""
        if self._timeout.expired():
            return await work
        if self._remove is not None:
            self._remove()
        self._timeout.reschedule(None)
        try:
            return await work
        finally:
            self._remove = self._signal.add_listener(self._start)

    def _start(self) -> None:
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._grace_s)


def _cancel_requests() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
