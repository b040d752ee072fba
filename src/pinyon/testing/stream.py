"""Reading a model stream to its end in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from pinyon.ai.event import AssistantMessageEvent, Done, StreamError
from pinyon.ai.message import AssistantMessage
from pinyon.ai.stream import AssistantMessageEventStream


def collect(stream: AssistantMessageEventStream) -> list[AssistantMessageEvent]:
    """All events of a stream, read in an event loop of its own. Not for use inside a running loop."""

    async def read() -> list[AssistantMessageEvent]:
        return [event async for event in stream]

    return asyncio.run(read())


def final_message(events: Sequence[AssistantMessageEvent]) -> AssistantMessage:
    """The message of the terminal event. Raises `AssertionError` when the last event is none."""
    last = events[-1]
    if isinstance(last, Done):
        return last.message
    assert isinstance(last, StreamError), f"the stream ended with {last!r}"
    return last.error


def event_names(events: Sequence[AssistantMessageEvent]) -> list[str]:
    """The events as texts such as `start`, `text_delta#0`, `done`."""
    names: list[str] = []
    for event in events:
        plain = msgspec.to_builtins(event)
        index = plain.get("contentIndex")
        names.append(plain["type"] if index is None else f"{plain['type']}#{index}")
    return names
