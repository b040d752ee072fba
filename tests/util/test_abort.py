"""Signals and their listeners."""

from __future__ import annotations

import asyncio

import pytest

from pinyon._util.abort import AbortController, OperationAbortedError


def test_an_abort_is_told_once_and_keeps_its_first_reason() -> None:
    controller, heard = AbortController(), list[str]()
    controller.signal.add_listener(lambda: heard.append("a"))
    controller.signal.add_listener(lambda: heard.append("b"))
    assert (controller.signal.aborted, controller.signal.reason, heard) == (False, None, [])
    controller.abort("first")
    controller.abort("second")
    assert (controller.signal.aborted, controller.signal.reason, heard) == (True, "first", ["a", "b"])


def test_a_listener_that_comes_late_is_called_at_once() -> None:
    controller, heard = AbortController(), list[str]()
    controller.abort()
    remove = controller.signal.add_listener(lambda: heard.append("late"))
    remove()
    assert heard == ["late"]


def test_a_removed_listener_hears_nothing_and_may_be_removed_again() -> None:
    controller, heard = AbortController(), list[str]()
    remove = controller.signal.add_listener(lambda: heard.append("removed"))
    controller.signal.add_listener(lambda: heard.append("kept"))
    remove()
    remove()
    controller.abort()
    assert heard == ["kept"]


def test_only_an_aborted_signal_raises() -> None:
    controller = AbortController()
    controller.signal.raise_if_aborted()
    controller.abort()
    with pytest.raises(OperationAbortedError):
        controller.signal.raise_if_aborted()


def test_waiting_ends_with_the_abort_and_at_once_after_it() -> None:
    async def scenario() -> bool:
        controller = AbortController()
        waiting = asyncio.create_task(controller.signal.wait())
        await asyncio.sleep(0)
        waited = not waiting.done()
        controller.abort()
        await waiting
        await controller.signal.wait()
        return waited

    assert asyncio.run(scenario())
