"""Cooperative cancellation: a signal that tools, streams and processes watch, and the controller that fires it.

A user abort is not a task cancellation. Work that sees the signal returns what it has; nothing surfaces as
`asyncio.CancelledError` in the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pinyon.errors import PinyonError

AbortListener = Callable[[], None]
Result = TypeVar("Result")


class OperationAbortedError(PinyonError):
    """Raised by work that was stopped through its `AbortSignal`."""

    def __init__(self, message: str = "Operation aborted") -> None:
        super().__init__(message)


class AbortSignal:
    """Read side of an abort: ask `aborted`, register listeners, or wait for it. Fires at most once."""

    __slots__ = ("_aborted", "_listeners", "_reason")

    def __init__(self) -> None:
        self._aborted = False
        self._reason: object = None
        self._listeners: list[AbortListener] = []

    @property
    def aborted(self) -> bool:
        """Whether the abort has happened."""
        return self._aborted

    @property
    def reason(self) -> object:
        """What the controller gave as the reason; None before the abort or without one."""
        return self._reason

    def raise_if_aborted(self) -> None:
        """Raise `OperationAbortedError` once the abort has happened."""
        if self._aborted:
            raise OperationAbortedError

    def add_listener(self, listener: AbortListener) -> Callable[[], None]:
        """Call `listener()` at the abort (at once if it already happened); returns a function that removes it.

        Listeners run in the thread and event loop of whoever aborts and must not raise.
        """
        if self._aborted:
            listener()
            return lambda: None
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    async def wait(self) -> None:
        """Return when the abort has happened."""
        if self._aborted:
            return
        fired = asyncio.Event()
        remove = self.add_listener(in_loop(fired.set))
        try:
            await fired.wait()
        finally:
            remove()

    def _fire(self, reason: object) -> None:
        if self._aborted:
            return
        self._aborted = True
        self._reason = reason
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


def in_loop(action: Callable[[], object]) -> AbortListener:
    """A listener that runs `action` in the loop that is running now, also when another thread aborts."""
    loop = asyncio.get_running_loop()

    def listener() -> None:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is loop:
            action()
            return
        # A loop that closed in the meantime has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(action)

    return listener


class AbortController:
    """Write side of an abort: owns one `signal` and fires it."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: object = None) -> None:
        """Fire the signal; later calls change nothing."""
        self.signal._fire(reason)  # noqa: SLF001 - controller and signal are the two halves of one mechanism


async def until_aborted(work: Coroutine[Any, Any, Result], signal: AbortSignal) -> Result:
    """The result of `work`; at the abort `work` is cancelled and `OperationAbortedError` raised at once.

    Cancelling the caller cancels `work` and surfaces as the cancellation that it is.
    """
    if signal.aborted:
        work.close()
        raise OperationAbortedError
    task = asyncio.create_task(work)

    remove = signal.add_listener(in_loop(task.cancel))
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        raise OperationAbortedError from None
    finally:
        remove()
