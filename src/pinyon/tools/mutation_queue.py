"""One change of a file at a time: edits, writes and tools of users that touch the same file wait for one another."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec

Result = TypeVar("Result")


class _Place(msgspec.Struct):
    lock: asyncio.Lock
    users: int = 0


_places_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Place]] = WeakKeyDictionary()


async def with_file_mutation_queue(path: str | os.PathLike[str], work: Callable[[], Awaitable[Result]]) -> Result:
    """Run `work()` while no other work of this event loop holds the same file, in the order of the calls.

    Links to one file share one queue; a file that does not exist yet is known by its path. When the caller is
    cancelled, the place is kept until what `work` began has settled, so that the next holder never meets a half-done
    change.
    """
    key = _queue_key(path)
    places = _places_by_loop.setdefault(asyncio.get_running_loop(), {})
    place = places.setdefault(key, _Place(asyncio.Lock()))
    place.users += 1
    try:
        async with place.lock:
            return await _run_to_the_end(work)
    finally:
        place.users -= 1
        if not place.users:
            del places[key]


def _queue_key(path: str | os.PathLike[str]) -> str:
    return os.path.normcase(os.path.realpath(path))


async def _run_to_the_end(work: Callable[[], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        return await work()

    task = asyncio.create_task(run())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _settle(task)
        raise


async def _settle(task: asyncio.Task[Result]) -> None:
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        task.exception()
