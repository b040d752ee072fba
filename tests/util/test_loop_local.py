"""Values that live as long as their event loop."""

from __future__ import annotations

import asyncio

from pinyon._util.loop_local import LoopLocal


class Resource:
    def __init__(self) -> None:
        self.is_closed = False


async def close(resource: Resource) -> None:
    await asyncio.sleep(0)
    resource.is_closed = True


def test_each_loop_has_one_value_that_is_closed_when_the_loop_shuts_down() -> None:
    local = LoopLocal(Resource, close)

    async def scenario() -> Resource:
        assert local.get() is local.get()
        assert not local.get().is_closed
        return local.get()

    first, second = asyncio.run(scenario()), asyncio.run(scenario())
    assert first is not second
    assert (first.is_closed, second.is_closed) == (True, True)
