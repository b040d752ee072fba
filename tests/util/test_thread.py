"""Blocking calls in daemon threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
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


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.parametrize(("exit_wait_s", "printed"), [(30.0, "done"), (0.0, "")])
def test_the_end_of_the_program_waits_only_where_that_was_asked_for(exit_wait_s: float, printed: str) -> None:
    code = f"""
import os, time
from pinyon._util.thread import start_daemon
start_daemon(lambda: (time.sleep(0.3), os.write(1, b"done")), "worker", exit_wait_s={exit_wait_s})
"""
    assert _run(code) == printed


def test_certificates_that_are_being_loaded_are_finished_before_the_program_ends() -> None:
    code = """
import atexit
from pinyon.ai import tls
atexit.register(lambda: print(len(tls._ready)))  # runs after what was registered later
tls.warm_up()
"""
    assert _run(code) == "1\n"
