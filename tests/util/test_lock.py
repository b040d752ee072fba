"""The directory lock that programs sharing a file keep to."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVarTuple

import pytest

from pinyon._util.lock import (
    Lock,
    LockError,
    LockLostError,
    _identity,
    _take_over,
    hold_lock,
    hold_lock_async,
    lock_directory,
)


def age(directory: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(directory, (then, then))


def test_a_held_lock_is_a_directory_beside_the_real_file(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    link = tmp_path / "link.json"
    link.symlink_to(real)
    with hold_lock(link) as lock:
        assert lock.directory == tmp_path / "real.json.lock"
        assert lock.directory.is_dir()
    assert not lock.directory.exists()


def test_a_file_that_does_not_exist_yet_can_be_locked(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "new.json"):
        assert (tmp_path / "new.json.lock").is_dir()


def test_a_taken_lock_is_refused_after_the_attempts_and_the_error_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lock_directory(path).mkdir()
    with pytest.raises(LockError, match=r"a\.json\.lock"), hold_lock(path, attempts=2, delay_s=0.001):
        pytest.fail("entered a taken lock")
    assert lock_directory(path).is_dir()


def test_a_taken_lock_is_refused_to_a_task_after_its_wait(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lock_directory(path).mkdir()

    async def enter() -> None:
        async with hold_lock_async(path, wait_s=0.03):
            pytest.fail("entered a taken lock")

    with pytest.raises(LockError, match="in use by another process"):
        asyncio.run(enter())


def test_a_stale_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lock_directory(path).mkdir()
    age(lock_directory(path), 11)
    with hold_lock(path) as lock:
        assert lock.is_held()
    assert not lock_directory(path).exists()


def test_a_task_takes_over_only_locks_older_than_its_own_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lock_directory(path).mkdir()
    age(lock_directory(path), 11)

    async def enter(stale_s: float) -> bool:
        async with hold_lock_async(path, stale_s=stale_s, wait_s=0):
            return True

    with pytest.raises(LockError):
        asyncio.run(enter(30))
    assert asyncio.run(enter(10))


def test_a_waiting_task_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    async def run() -> list[str]:
        order: list[str] = []

        async def work(name: str, hold_s: float) -> None:
            async with hold_lock_async(path):
                order.append(f"{name} in")
                await asyncio.sleep(hold_s)
                order.append(f"{name} out")

        async with asyncio.TaskGroup() as group:
            group.create_task(work("a", 0.05))
            group.create_task(work("b", 0))
        return order

    assert asyncio.run(run()) == ["a in", "a out", "b in", "b out"]


def test_a_holder_renews_its_lock_while_it_works(tmp_path: Path) -> None:
    path = tmp_path / "a.json"

    async def run() -> None:
        async with hold_lock_async(path, stale_s=0.02) as lock:
            first = lock.directory.stat().st_mtime_ns
            async with asyncio.timeout(30):
                while lock.directory.stat().st_mtime_ns == first:  # noqa: ASYNC110 - a file has no event
                    await asyncio.sleep(0.01)
            assert lock.is_held()

    asyncio.run(run())


Given = TypeVarTuple("Given")


class NotingLoop(asyncio.SelectorEventLoop):
    """An event loop that notes for how long somebody wants to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[float] = []

    def call_later(
        self, delay: float, callback: Callable[[*Given], object], *args: *Given, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.delays.append(delay)
        return super().call_later(delay, callback, *args, context=context)


def test_a_lock_is_renewed_twice_before_it_counts_as_stale_and_not_longer_than_it_is_held(tmp_path: Path) -> None:
    async def run() -> set[asyncio.Task[Any]]:
        async with hold_lock_async(tmp_path / "a.json", stale_s=8):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {task for task in (asyncio.current_task(),) if task is not None}

    loop = NotingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        assert runner.run(run()) == set()
    assert loop.delays == [4.0]


def test_a_lock_that_was_renewed_after_it_looked_stale_stays(tmp_path: Path) -> None:
    directory = lock_directory(tmp_path / "a.json")
    directory.mkdir()
    age(directory, 60)
    seen = _identity(directory)
    assert seen is not None
    os.utime(directory)
    assert not _take_over(directory, seen)
    assert directory.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_only_the_holder_may_enter_the_lock(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        with hold_lock(tmp_path / "a.json") as lock:
            assert lock.directory.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(old)


def test_a_displaced_holder_notices_before_it_writes_and_leaves_the_new_lock_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with hold_lock(path) as lock:
        lock.directory.rmdir()
        lock.directory.mkdir()
        age(lock.directory, 1)
        assert not lock.is_held()
        with pytest.raises(LockLostError, match="was not written"):
            lock.ensure_held()
    assert lock_directory(path).is_dir()


def test_a_lock_that_vanished_is_lost(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "a.json") as lock:
        lock.directory.rmdir()
        with pytest.raises(LockLostError):
            lock.ensure_held()


def test_ensuring_a_lock_renews_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lock_directory(path).mkdir()
    age(lock_directory(path), 5)
    lock = Lock(path, lock_directory(path))
    lock.ensure_held()
    assert time.time() - lock.directory.stat().st_mtime < 4
    assert lock.is_held()
    lock.release()


def test_a_lock_whose_folder_has_content_is_reported_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    directory = lock_directory(path)
    directory.mkdir()
    (directory / "keep").write_text("x")
    age(directory, 60)
    with pytest.raises(LockError, match="by hand"), hold_lock(path):
        pytest.fail("entered")
    assert (directory / "keep").exists()


def test_a_folder_that_cannot_hold_a_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LockError, match=r"file/a\.json\.lock"), hold_lock(tmp_path / "file" / "a.json"):
        pytest.fail("entered")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs folder permissions that bind this user")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        with pytest.raises(LockError, match="make its folder writable"), hold_lock(folder / "a.json"):
            pytest.fail("entered")
    finally:
        folder.chmod(0o700)


COUNT = """
import sys
from pathlib import Path
from pinyon._util.atomic import replace_file
from pinyon._util.lock import hold_lock
path = Path(sys.argv[1])
for _ in range(25):
    with hold_lock(path, attempts=2000, delay_s=0.002) as lock:
        number = int(path.read_text())
        replace_file(path, str(number + 1).encode(), before_publish=lock.ensure_held)
"""


def test_processes_that_keep_to_the_lock_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert path.read_text() == "75"
    assert [entry.name for entry in tmp_path.iterdir()] == ["number"]


HOLD = """
import sys, time
from pathlib import Path
from pinyon._util.lock import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_taken_over_once_it_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.kill()
    process.wait()
    process.stdout.close()
    with pytest.raises(LockError), hold_lock(path, attempts=1):
        pytest.fail("a fresh lock must be waited for")
    age(lock_directory(path), 20)
    with hold_lock(path):
        pass
    assert not lock_directory(path).exists()
