"""Ending on a signal: the run is aborted, what arrived is stored, and the exit code names the signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any

SIGNAL_EXIT_CODES = {"SIGTERM": 143, "SIGHUP": 129}


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run `work` on a new event loop and return its exit code, or that of the signal that ended it.

    SIGTERM and SIGHUP cancel the work, which cleans up behind itself; a second one ends the process at once. An
    interrupt from the keyboard does the same and gives 130.
    """
    try:
        return asyncio.run(_guarded(work))
    except KeyboardInterrupt:
        return 130


async def _guarded(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def on_signal(code: int) -> None:
        if received:
            os._exit(code)
        received.append(code)
        task.cancel()

    loop = asyncio.get_running_loop()
    for name, code in SIGNAL_EXIT_CODES.items():
        number = getattr(signal, name, None)
        if number is not None:
            _handle(loop, number, on_signal, code)
    try:
        code = await task
    except asyncio.CancelledError:
        if not received:
            raise
        code = received[0]
    return received[0] if received else code


def _handle(loop: asyncio.AbstractEventLoop, number: int, handler: Any, code: int) -> None:
    try:
        loop.add_signal_handler(number, handler, code)
    except (NotImplementedError, RuntimeError):  # Windows loops, and loops outside of the main thread, have none
        return
