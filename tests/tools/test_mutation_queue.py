"""Changes of one file wait for one another, changes of different files do not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pinyon.tools import mutation_queue
from pinyon.tools.mutation_queue import with_file_mutation_queue


class Recorder:
    """Works that begin, wait for a gate and end, and the order in which that happened."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.gate = asyncio.Event()

    def work(self, name: str) -> Callable[[], Awaitable[str]]:
        async def run() -> str:
            self.log.append(f"{name} begins")
            await self.gate.wait()
            self.log.append(f"{name} ends")
            return name

        return run


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_works_on_one_file_run_one_after_another_in_call_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        tasks = [asyncio.create_task(with_file_mutation_queue(tmp_path / "x", recorder.work(name))) for name in "abc"]
        await let_others_run()
        assert recorder.log == ["a begins"]
        recorder.gate.set()
        assert await asyncio.gather(*tasks) == ["a", "b", "c"]
        assert recorder.log == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]

    asyncio.run(scenario())


def test_works_on_different_files_run_side_by_side(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        tasks = [asyncio.create_task(with_file_mutation_queue(tmp_path / name, recorder.work(name))) for name in "ab"]
        await let_others_run()
        assert recorder.log == ["a begins", "b begins"]
        recorder.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


@pytest.mark.parametrize("through", ["file link", "folder link", "link to nothing yet"])
def test_a_link_shares_the_queue_of_its_target(tmp_path: Path, through: str) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    if through != "link to nothing yet":
        target.touch()
    alias = tmp_path / "alias"
    alias.symlink_to(target.parent if through == "folder link" else target)
    other = alias / "target" if through == "folder link" else alias

    async def scenario() -> None:
        recorder = Recorder()
        tasks = [
            asyncio.create_task(with_file_mutation_queue(target, recorder.work("a"))),
            asyncio.create_task(with_file_mutation_queue(other, recorder.work("b"))),
        ]
        await let_others_run()
        assert recorder.log == ["a begins"]
        recorder.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())


def test_a_failure_is_raised_and_frees_the_place(tmp_path: Path) -> None:
    async def fail() -> None:
        raise OSError("disk full")

    async def succeed() -> str:
        return "ok"

    async def scenario() -> None:
        with pytest.raises(OSError, match="disk full"):
            await with_file_mutation_queue(tmp_path / "x", fail)
        assert await with_file_mutation_queue(tmp_path / "x", succeed) == "ok"
        assert not mutation_queue._places_by_loop[asyncio.get_running_loop()]

    asyncio.run(scenario())


def test_cancelling_the_holder_keeps_the_place_until_its_work_has_settled(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        first = asyncio.create_task(with_file_mutation_queue(tmp_path / "x", recorder.work("a")))
        second = asyncio.create_task(with_file_mutation_queue(tmp_path / "x", recorder.work("b")))
        await let_others_run()
        for _ in range(2):
            first.cancel()
            await let_others_run()
        assert not first.done()
        assert recorder.log == ["a begins"]
        recorder.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await second == "b"
        assert recorder.log == ["a begins", "a ends", "b begins", "b ends"]

    asyncio.run(scenario())


def test_cancelling_one_that_waits_leaves_the_queue_intact(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        tasks = [asyncio.create_task(with_file_mutation_queue(tmp_path / "x", recorder.work(name))) for name in "abc"]
        await let_others_run()
        tasks[1].cancel()
        recorder.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [results[0], results[2]] == ["a", "c"]
        assert isinstance(results[1], asyncio.CancelledError)
        assert "b begins" not in recorder.log

    asyncio.run(scenario())


def test_an_event_loop_that_ends_during_the_work_raises_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        task = asyncio.create_task(with_file_mutation_queue(tmp_path / "x", recorder.work("a")))
        await let_others_run()
        assert not task.done()

    asyncio.run(scenario())
