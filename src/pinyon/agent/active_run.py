"""A run in progress, sheltered from the cancellation of whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from pinyon._util.abort import AbortController


class ActiveRun:
    """A run: its abort, and an event for those who wait for its end."""

    def __init__(self) -> None:
        self.controller = AbortController()
        self.is_over = asyncio.Event()

    async def shelter(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work in a task of its own and wait for it.

        When the waiting task is cancelled, the run is aborted and waited for, and then the cancellation is passed on.
        Whoever cancels again cancels the work itself. The task never outlives this call.
        """
        task = asyncio.create_task(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self.controller.abort("cancelled")
            await _end(task)
            raise


async def _end(task: asyncio.Task[None]) -> None:
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
    if not task.cancelled():
        task.exception()  # the caller is told of the cancellation instead
