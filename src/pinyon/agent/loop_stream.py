"""A run as an async iterator of its events, for callers that would rather read than be called back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any

from pinyon._util.abort import AbortController, AbortSignal
from pinyon.agent.event import AgentEvent
from pinyon.agent.hook import AgentContext, Emit, LoopConfig
from pinyon.agent.loop import check_can_continue, run_agent_loop, run_agent_loop_continue
from pinyon.ai.message import AgentMessage
from pinyon.ai.stream import StreamFn

Start = Callable[[Emit, AbortSignal], Coroutine[Any, Any, list[AgentMessage]]]


class AgentEventStream:
    """The events of a run in order; `result()` is the list of its new messages.

    The run starts with the first event that is asked for, or with `result()`, and does not wait for its reader. It
    belongs to this object: leaving `async for` early, `aclose()` and the end of `async with` abort a run that still
    goes on.
    """

    def __init__(self, start: Start, signal: AbortSignal | None = None) -> None:
        self._start = start
        self._outer_signal = signal
        self._controller = AbortController()
        self._task: asyncio.Task[list[AgentMessage]] | None = None
        self._events: deque[AgentEvent] = deque()
        self._arrived = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[AgentEvent]:
        task = self._running()
        try:
            while self._events or not task.done():
                while self._events:
                    yield self._events.popleft()
                if not task.done():
                    self._arrived.clear()
                    await self._arrived.wait()
        finally:
            if not task.done():
                await self.aclose()
        await task

    async def result(self) -> list[AgentMessage]:
        """All new messages, when the run is over. Raises what ended it, if anything did."""
        task = self._running()
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Abort a run that still goes on and wait for its end; events that nobody read are dropped."""
        self._controller.abort()
        self._events.clear()
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        if self._task is not None and not self._task.cancelled():
            self._task.exception()  # whoever closes early does not want it, and asyncio must not report it as lost

    async def __aenter__(self) -> AgentEventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _running(self) -> asyncio.Task[list[AgentMessage]]:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(lambda _: self._arrived.set())
        return self._task

    async def _run(self) -> list[AgentMessage]:
        outer = self._outer_signal
        unlink = None if outer is None else outer.add_listener(lambda: self._controller.abort(outer.reason))
        try:
            return await self._start(self._put, self._controller.signal)
        finally:
            if unlink is not None:
                unlink()

    def _put(self, event: AgentEvent) -> None:
        self._events.append(event)
        self._arrived.set()


def agent_loop(
    prompts: Sequence[AgentMessage],
    context: AgentContext,
    config: LoopConfig,
    signal: AbortSignal | None = None,
    stream_fn: StreamFn | None = None,
) -> AgentEventStream:
    """`run_agent_loop` as a stream of events."""

    async def start(emit: Emit, own_signal: AbortSignal) -> list[AgentMessage]:
        return await run_agent_loop(prompts, context, config, emit, own_signal, stream_fn)

    return AgentEventStream(start, signal)


def agent_loop_continue(
    context: AgentContext,
    config: LoopConfig,
    signal: AbortSignal | None = None,
    stream_fn: StreamFn | None = None,
) -> AgentEventStream:
    """`run_agent_loop_continue` as a stream of events. Raises `NothingToContinueError` at once."""
    check_can_continue(context.messages)

    async def start(emit: Emit, own_signal: AbortSignal) -> list[AgentMessage]:
        return await run_agent_loop_continue(context, config, emit, own_signal, stream_fn)

    return AgentEventStream(start, signal)
