"""Values that belong to one event loop each and are cleaned up when that loop shuts down."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LoopLocal(Generic[Value]):
    """One value per running event loop, made when it is first asked for.

    `close(value)` is awaited by the loop's own shutdown (`asyncio.run` and every runner that calls
    `loop.shutdown_asyncgens`), so that connections do not outlive it.
    """

    def __init__(self, create: Callable[[], Value], close: Callable[[Value], Awaitable[None]]) -> None:
        self._create = create
        self._close = close
        self._values: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Value, AsyncGenerator[None, None]]] = (
            weakref.WeakKeyDictionary()
        )

    def get(self) -> Value:
        """The value of the running loop."""
        loop = asyncio.get_running_loop()
        entry = self._values.get(loop)
        if entry is None:
            value = self._create()
            entry = (value, self._keep(loop, value))
            self._values[loop] = entry
            _start(entry[1])
        return entry[0]

    async def _keep(self, loop: asyncio.AbstractEventLoop, value: Value) -> AsyncGenerator[None, None]:
        # A started generator is the one thing that every loop closes on its way out.
        try:
            yield
        finally:
            self._values.pop(loop, None)
            await self._close(value)


def _start(generator: AsyncGenerator[None, None]) -> None:
    try:
        generator.__anext__().__await__().send(None)
    except StopIteration:
        return
    raise RuntimeError("the keeper must reach its yield without waiting")
