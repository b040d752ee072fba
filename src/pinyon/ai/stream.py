"""The stream of one answer: an async iterator of events whose `result()` is the final message.

A stream pulls: the request starts with the first event that is asked for. After a stream was returned nothing raises;
failures arrive as the one terminal `error` event.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from typing import Protocol, TypeAlias

from pinyon.ai.event import AssistantMessageEvent, Done, StreamError
from pinyon.ai.message import AssistantMessage, Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.errors import ProviderError


class AssistantMessageEventStream:
    """Events of one answer in order: `start`, updates, then exactly one `done` or `error`."""

    def __init__(self, events: AsyncIterator[AssistantMessageEvent]) -> None:
        self._events = events
        self._result: AssistantMessage | None = None

    def __aiter__(self) -> AsyncIterator[AssistantMessageEvent]:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        if self._result is not None:
            raise StopAsyncIteration
        event = await self._events.__anext__()
        if type(event) is Done:
            self._result = event.message
        elif type(event) is StreamError:
            self._result = event.error
        return event

    async def result(self) -> AssistantMessage:
        """The final message; reads the rest of the stream if nobody did. Raises `ProviderError` if it never ended."""
        async for _ in self:
            pass
        if self._result is None:
            raise ProviderError("the model stream ended without a final event")
        return self._result

    async def aclose(self) -> None:
        """Stop reading and release the connection."""
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await close()


class PushedEvents:
    """An event source that code pushes into, for streams that are not written as a generator.

    Wrap it: `AssistantMessageEventStream(PushedEvents())`. Pushes after a terminal event are ignored.
    """

    def __init__(self) -> None:
        self._queue: deque[AssistantMessageEvent] = deque()
        self._ready = asyncio.Event()
        self._ended = False

    def push(self, event: AssistantMessageEvent) -> None:
        """Append an event."""
        if self._ended:
            return
        self._queue.append(event)
        self._ended = isinstance(event, Done | StreamError)
        self._ready.set()

    def end(self) -> None:
        """Close the iterator even without a terminal event."""
        self._ended = True
        self._ready.set()

    def __aiter__(self) -> AsyncIterator[AssistantMessageEvent]:
        return self

    async def __anext__(self) -> AssistantMessageEvent:
        while not self._queue:
            if self._ended:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        return self._queue.popleft()


class StreamFn(Protocol):
    """The seam between the agent and models: starts a request and returns its stream.

    Must not raise for request failures; they arrive as an `error` event. May return an awaitable of the stream.
    """

    def __call__(
        self, model: Model, messages: list[Message], options: StreamOptions
    ) -> AssistantMessageEventStream | Awaitable[AssistantMessageEventStream]:
        """Request an answer of `model` to `messages` (prompt and tools stand in system messages)."""
        ...


StreamResult: TypeAlias = AssistantMessageEventStream | Awaitable[AssistantMessageEventStream]
