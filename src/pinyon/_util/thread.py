"""Blocking calls in threads that nobody has to wait for: a hanging name server cannot delay the end of the program."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_daemon_thread(function: Callable[[], Result], name: str) -> Result:
    """The result of `function()`, run in a fresh daemon thread called `name`.

    Cancelling the caller abandons the thread; its outcome is then dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type] # without an error there is a result
        else:
            future.set_exception(error)

    def work() -> None:
        try:
            outcome: tuple[Result | None, BaseException | None] = (function(), None)
        except BaseException as error:  # noqa: BLE001 - handed to the waiting task, whatever it is
            outcome = (None, error)
        # A closed loop means that nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future
