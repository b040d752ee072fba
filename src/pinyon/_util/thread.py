"""Blocking calls in threads that nobody has to wait for: a hanging name server cannot delay the end of the program.

A thread inside a C library that takes itself down at exit (OpenSSL does) is waited for, though not for ever.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")


async def in_daemon_thread(function: Callable[[], Result], name: str, *, exit_wait_s: float = 0.0) -> Result:
    """The result of `function()`, run in a fresh daemon thread called `name`.

    Cancelling the caller abandons the thread; its outcome is then dropped. The end of the program waits for the thread
    up to `exit_wait_s`.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def work() -> None:
        try:
            settle = partial(_succeed, future, function())
        except BaseException as error:  # noqa: BLE001 - handed to the waiting task, whatever it is
            settle = partial(_fail, future, error)
        # A closed loop means that nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle)

    start_daemon(work, name, exit_wait_s=exit_wait_s)
    return await future


def start_daemon(work: Callable[[], None], name: str, *, exit_wait_s: float = 0.0) -> None:
    """Run `work()` in a daemon thread called `name`; the end of the program waits for it up to `exit_wait_s`."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    if exit_wait_s > 0:
        atexit.register(thread.join, exit_wait_s)
    thread.start()


def _succeed(future: asyncio.Future[Result], result: Result) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
