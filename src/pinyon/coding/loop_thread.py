"""An event loop in a thread of its own, for scripts that want plain calls."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from pinyon._util.abort import OperationAbortedError
from pinyon.errors import AgentBusyError, PinyonError

Result = TypeVar("Result")


class LoopClosedError(PinyonError):
    """Raised when something is asked of an agent that was closed already."""

    def __init__(self) -> None:
        super().__init__("this agent is closed; create another one")


class LoopThread:
    """Runs coroutines in a daemon thread and waits for them. `close` ends it; so does the end of the program."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="pinyon-sync", daemon=True)
        self._last_acts: list[Callable[[], Coroutine[Any, Any, object]]] = []
        self._is_closed = False
        self._thread.start()
        atexit.register(self.close)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(_end_tasks())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def before_close(self, act: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Await `act()` before the loop ends."""
        self._last_acts.append(act)

    @property
    def is_here(self) -> bool:
        """Whether the caller runs in the loop's thread, as listeners and tools do."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`. An interrupt of the caller (Ctrl+C) cancels it, waits for its end and goes on.

        Raises `AgentBusyError` in the loop's own thread, which cannot wait for itself, and `LoopClosedError`.
        """
        if self.is_here:
            work.close()
            raise AgentBusyError("listeners and tools must not wait for the session; use the asynchronous API in them")
        if self._is_closed:
            work.close()
            raise LoopClosedError
        task: asyncio.Task[Result] | None = None
        outcome: Future[Result] = Future()

        def start() -> None:
            nonlocal task
            task = self._loop.create_task(work)
            task.add_done_callback(lambda ended: _settle(outcome, ended))

        def cancel() -> None:
            if task is not None:
                task.cancel()

        self._loop.call_soon_threadsafe(start)
        try:
            return outcome.result()
        except BaseException:
            if not outcome.done():
                self._loop.call_soon_threadsafe(cancel)
                wait([outcome])
            raise

    def call(self, function: Callable[[], Result]) -> Result:
        """The result of a plain function, called in the loop's thread so that it meets nothing half done."""
        if self.is_here:
            return function()

        async def work() -> Result:
            return function()

        return self.run(work())

    def close(self) -> None:
        """End everything in order. Further calls do nothing."""
        if self._is_closed or self.is_here:
            return
        try:
            for act in self._last_acts:
                self.run(act())
        finally:
            self._is_closed = True
            atexit.unregister(self.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


def _settle(outcome: Future[Result], task: asyncio.Task[Result]) -> None:
    if task.cancelled():
        outcome.set_exception(OperationAbortedError("the call was cancelled"))
    elif (error := task.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
