from __future__ import annotations

import asyncio
import logging

import pytest

from pinyon.extensions import create_event_bus


def test_handlers_of_a_channel_are_called_in_order_until_they_leave() -> None:
    bus = create_event_bus()
    heard: list[object] = []
    leave = bus.on("a", lambda data: heard.append(("first", data)))
    bus.on("a", lambda data: heard.append(("second", data)))
    bus.on("b", lambda data: heard.append(("other", data)))
    bus.emit("a", 1)
    leave()
    leave()
    bus.emit("a", 2)
    bus.emit("nobody")
    assert heard == [("first", 1), ("second", 1), ("second", 2)]
    bus.clear()
    bus.emit("a", 3)
    assert len(heard) == 3


def test_a_handler_that_fails_is_reported_and_the_others_still_hear() -> None:
    bus = create_event_bus()
    heard: list[object] = []
    faults: list[tuple[str, str]] = []
    bus.on_error = lambda channel, error: faults.append((channel, str(error)))

    def fail(data: object) -> None:
        raise LookupError(f"no {data}")

    async def fail_later(data: object) -> None:
        await asyncio.sleep(0)
        raise LookupError(f"later no {data}")

    async def scene() -> None:
        bus.on("a", fail)
        bus.on("a", fail_later)
        bus.on("a", heard.append)
        bus.emit("a", 1)
        await bus.wait_for_handlers()

    asyncio.run(scene())
    assert heard == [1]
    assert faults == [("a", "no 1"), ("a", "later no 1")]


def test_faults_are_logged_where_nobody_asks_for_them(caplog: pytest.LogCaptureFixture) -> None:
    bus = create_event_bus()

    def fail(data: object) -> None:
        raise LookupError("mine")

    bus.on("a", fail)
    with caplog.at_level(logging.ERROR):
        bus.emit("a")
    assert "'a' raised LookupError('mine')" in caplog.text


def test_a_handler_may_leave_while_it_is_called() -> None:
    bus = create_event_bus()
    heard: list[object] = []

    def once(data: object) -> None:
        heard.append(data)
        leave()

    leave = bus.on("a", once)
    bus.on("a", heard.append)
    bus.emit("a", 1)
    bus.emit("a", 2)
    assert heard == [1, 1, 2]
