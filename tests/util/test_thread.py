"""Blocking calls in daemon threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pinyon._util.thread import in_daemon_thread


def test_the_result_comes_back_to_the_loop() -> None:
    names: list[tuple[str, bool]] = []

    def work() -> int:
        thread = threading.current_thread()
        names.append((thread.name, thread.daemon))
        return 42

    assert asyncio.run(in_daemon_thread(work, "worker")) == 42
    assert names == [("worker", True)]


def test_an_exception_comes_back_to_the_loop() -> None:
    def work() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(in_daemon_thread(work, "worker"))


def test_a_cancelled_caller_leaves_at_once_and_the_loop_may_close_before_the_thread_is_done() -> None:
    release, finished = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(30)
        finished.set()

    async def scenario() -> None:
        task = asyncio.create_task(in_daemon_thread(work, "worker"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert not finished.is_set()
    release.set()
    assert finished.wait(30)
