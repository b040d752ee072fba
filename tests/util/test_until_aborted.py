"""Work that ends with its abort signal."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError, until_aborted


async def forever(log: list[str]) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        log.append("ended")
    return "never"


async def at_once() -> str:
    return "done"


def test_work_that_ends_first_gives_its_result() -> None:
    assert asyncio.run(until_aborted(at_once(), AbortController().signal)) == "done"


def test_an_abort_ends_the_work_and_raises_at_once() -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        controller = AbortController()
        task = asyncio.create_task(until_aborted(forever(log), controller.signal))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        controller.abort()
        with pytest.raises(OperationAbortedError):
            await task
        return log

    assert asyncio.run(scenario()) == ["ended"]


def test_nothing_starts_after_an_abort() -> None:
    controller = AbortController()
    controller.abort()
    log: list[str] = []
    with pytest.raises(OperationAbortedError):
        asyncio.run(until_aborted(forever(log), controller.signal))
    assert log == []


def test_cancelling_the_caller_stays_a_cancellation() -> None:
    async def scenario() -> list[str]:
        log: list[str] = []
        task = asyncio.create_task(until_aborted(forever(log), AbortController().signal))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return log

    assert asyncio.run(scenario()) == ["ended"]


def test_a_failure_of_the_work_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(until_aborted(fail(), AbortController().signal))


@pytest.mark.parametrize("way", ["until_aborted", "wait"])
def test_an_abort_from_another_thread_wakes_who_waits(way: str) -> None:
    controller = AbortController()

    async def run() -> None:
        threading.Timer(0.05, controller.abort).start()
        async with asyncio.timeout(30):
            if way == "wait":
                await controller.signal.wait()
                return
            with pytest.raises(OperationAbortedError):
                await until_aborted(asyncio.sleep(60), controller.signal)

    asyncio.run(run())
