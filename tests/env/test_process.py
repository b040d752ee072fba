from __future__ import annotations

import asyncio
import gc
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from pinyon._util.abort import AbortController
from pinyon.env.error import ExecutionError, ShellAbortedError, ShellTimeoutError
from pinyon.env.process import LiveCommands, ProcessEnd, ProcessRequest, run_process
from pinyon.env.process_end import taskkill_command
from pinyon.env.process_table import CommandRoot, ProcessEntry, command_processes, list_processes, parse_ps_line
from pinyon.env.process_watch import PollWatch, ThreadWatch, Watch

Watcher = Callable[[], Watch]
PYTHON = shlex.quote(sys.executable)


@pytest.fixture(params=[PollWatch, ThreadWatch], ids=["poll", "thread"])
def watcher(request: pytest.FixtureRequest) -> Watcher:
    chosen: Watcher = request.param
    return chosen


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Callable[[], list[int]]]:
    """The process ids that a command wrote to the file `pids`; ended by id afterwards."""

    def read() -> list[int]:
        file = tmp_path / "pids"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    yield read
    for pid in read():
        if is_alive(pid):
            os.kill(pid, 9)


class Command:
    """A bash command in a folder, and what it printed."""

    def __init__(self, text: str, folder: Path) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.text = text
        self.folder = folder

    def request(
        self,
        *,
        timeout_seconds: float | None = None,
        controller: AbortController | None = None,
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ProcessRequest:
        return ProcessRequest(
            argv=["/bin/bash", "-c", self.text],
            cwd=str(self.folder),
            env=dict(os.environ),
            on_stdout=on_stdout or self.out.extend,
            on_stderr=self.err.extend,
            timeout_seconds=timeout_seconds,
            signal=controller.signal if controller else None,
        )


def is_alive(pid: int) -> bool:
    return any(entry.pid == pid for entry in list_processes())


async def until(condition: Callable[[], object]) -> None:
    """Wait for at most forty seconds."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise TimeoutError


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def run(request: ProcessRequest, watcher: Watcher = PollWatch) -> ProcessEnd:
    async def work() -> ProcessEnd:
        return await run_process(request, watch=watcher())

    return asyncio.run(work())


def test_output_and_exit_code_arrive(tmp_path: Path, watcher: Watcher) -> None:
    command = Command("echo out; echo err >&2; exit 7", tmp_path)
    assert run(command.request(), watcher) == ProcessEnd(7)
    assert (bytes(command.out), bytes(command.err)) == (b"out\n", b"err\n")


@pytest.mark.parametrize(("number", "expected"), [(9, 137), (15, 143), (11, 139)])
def test_death_by_a_signal_is_128_and_its_number(tmp_path: Path, watcher: Watcher, number: int, expected: int) -> None:
    assert run(Command(f"kill -{number} $$", tmp_path).request(), watcher).exit_code == expected


def test_a_command_leads_a_session_of_its_own(tmp_path: Path, watcher: Watcher) -> None:
    command = Command(f"exec {PYTHON} -c 'import os; print(os.getsid(0) == os.getpid())'", tmp_path)
    run(command.request(), watcher)
    assert command.out == b"True\n"


def test_a_timeout_of_zero_is_none(tmp_path: Path, watcher: Watcher) -> None:
    command = Command("sleep 0.05; echo out", tmp_path)
    assert run(command.request(timeout_seconds=0), watcher) == ProcessEnd(0)
    assert command.out == b"out\n"


def test_nothing_is_started_after_an_abort(tmp_path: Path, watcher: Watcher) -> None:
    controller = AbortController()
    controller.abort()
    with pytest.raises(ShellAbortedError):
        run(Command("true", tmp_path / "missing").request(controller=controller), watcher)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_pipe_that_a_background_child_holds_is_let_go_with_the_loop(
    tmp_path: Path, pids: Callable[[], list[int]]
) -> None:
    gc.collect()
    before = open_descriptors()
    run(Command("sleep 60 & echo $! > pids", tmp_path).request())
    gc.collect()
    assert is_alive(pids()[0])
    assert open_descriptors() == before


def test_standard_input_is_empty_and_there_is_no_terminal(tmp_path: Path, watcher: Watcher) -> None:
    command = Command("cat; echo rc=$?; (: < /dev/tty) 2>/dev/null || echo no-terminal", tmp_path)
    run(command.request(), watcher)
    assert command.out == b"rc=0\nno-terminal\n"


def test_a_large_output_arrives_whole(tmp_path: Path, watcher: Watcher) -> None:
    command = Command("head -c 5000000 /dev/zero", tmp_path)
    run(command.request(), watcher)
    assert len(command.out) == 5_000_000


@pytest.mark.parametrize("tail", ["", " >/dev/null", " 2>/dev/null"])
def test_a_silent_background_child_is_not_waited_for_and_lives_on(
    tmp_path: Path, watcher: Watcher, pids: Callable[[], list[int]], tail: str
) -> None:
    command = Command(f"nohup sleep 30{tail} & echo $! > pids; echo hi", tmp_path)
    assert run(command.request(timeout_seconds=20), watcher) == ProcessEnd(0)
    assert b"hi\n" in command.out
    assert [is_alive(pid) for pid in pids()] == [True]


def test_a_background_child_that_writes_is_followed_until_it_is_quiet(tmp_path: Path, watcher: Watcher) -> None:
    command = Command("(for n in 1 2 3; do sleep 0.03; echo $n; done) & echo first", tmp_path)
    request = command.request()
    request.idle_s = 10
    assert run(request, watcher) == ProcessEnd(0)
    assert command.out == b"first\n1\n2\n3\n"


def test_a_background_child_that_never_stops_writing_is_not_followed_for_ever(
    tmp_path: Path, watcher: Watcher, pids: Callable[[], list[int]]
) -> None:
    command = Command("(while true; do echo tick; sleep 0.01; done) & echo $! > pids; exit 4", tmp_path)
    request = command.request()
    request.idle_s, request.drain_s = 10, 0.3
    assert run(request, watcher) == ProcessEnd(4, output_busy=True)
    assert command.out.startswith(b"tick\n")
    assert is_alive(pids()[0])


def test_output_after_the_end_does_not_stop_its_writer(
    tmp_path: Path, watcher: Watcher, pids: Callable[[], list[int]]
) -> None:
    text = "(sleep 0.3; echo late; echo written > proof; exec sleep 30) & echo $! > pids; echo hi"

    async def work() -> None:
        await run_process(Command(text, tmp_path).request(), watch=watcher())
        await until((tmp_path / "proof").exists)

    asyncio.run(work())
    assert is_alive(pids()[0])


def test_a_timeout_tells_that_the_shell_was_gone_before(tmp_path: Path, watcher: Watcher) -> None:
    text = "(while true; do echo tick; sleep 0.02; done) & exit 3"
    request = Command(text, tmp_path).request(timeout_seconds=1)
    request.idle_s = 10
    with pytest.raises(ShellTimeoutError) as caught:
        run(request, watcher)
    assert caught.value.exit_code == 3
    assert caught.value.exited_after_seconds is not None
    assert 0 <= caught.value.exited_after_seconds < 1


def test_a_timeout_of_a_running_shell_tells_no_exit_code(tmp_path: Path, watcher: Watcher) -> None:
    with pytest.raises(ShellTimeoutError) as caught:
        run(Command("sleep 30", tmp_path).request(timeout_seconds=0.2), watcher)
    assert (caught.value.exit_code, caught.value.exited_after_seconds) == (None, None)


ESCAPES = {
    "child": "sleep 60 & echo $! > pids; wait",
    "grandchild": "bash -c 'sleep 60 & echo $! > pids; wait'",
    "own session": "setsid sleep 60 & echo $! > pids; wait",
    "ignores signals": "trap '' HUP INT QUIT TERM; echo $$ > pids; while :; do sleep 60; done",
    "daemon": "(setsid sh -c 'echo $$ > pids; exec sleep 60' > /dev/null 2>&1 &); sleep 60",
    "stopped": "sleep 60 & kill -STOP $!; echo $! > pids; wait",
}


@pytest.mark.skipif(sys.platform != "linux", reason="escaped processes are found through /proc")
@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize("how", ["timeout", "abort", "cancel"])
def test_no_process_of_a_command_outlives_its_end(
    tmp_path: Path, pids: Callable[[], list[int]], kind: str, how: str
) -> None:
    async def work() -> None:
        controller = AbortController()
        request = Command(ESCAPES[kind], tmp_path).request(controller=controller)
        task = asyncio.create_task(run_process(request))
        await until(pids)
        if how == "cancel":
            task.cancel()
        else:
            controller.abort()
        await task

    async def work_with_timeout() -> None:
        await run_process(Command(ESCAPES[kind], tmp_path).request(timeout_seconds=1))

    expected = {"timeout": ShellTimeoutError, "abort": ShellAbortedError, "cancel": asyncio.CancelledError}[how]
    with pytest.raises(expected):
        asyncio.run(work_with_timeout() if how == "timeout" else work())
    assert pids()
    assert not [pid for pid in pids() if is_alive(pid)]


def test_processes_are_asked_before_they_are_killed(tmp_path: Path) -> None:
    controller = AbortController()
    command = Command("trap 'echo goodbye; exit 0' TERM; echo ready; while true; do sleep 0.02; done", tmp_path)

    def receive(data: bytes) -> None:
        command.out.extend(data)
        controller.abort()

    with pytest.raises(ShellAbortedError):
        run(command.request(controller=controller, on_stdout=receive))
    assert command.out == b"ready\ngoodbye\n"


HEARD = "trap 'echo asked > heard; exit' TERM; echo $$ > pids; "
ASKED = {
    "own session": f"setsid bash -c {shlex.quote(HEARD + 'while :; do sleep 0.02; done')} & wait",
    "stopped": f"bash -c {shlex.quote(HEARD + 'kill -STOP $$; sleep 60')} & wait",
}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("kind", ASKED)
def test_processes_that_left_or_were_stopped_are_asked_too(
    tmp_path: Path, pids: Callable[[], list[int]], kind: str
) -> None:
    def is_ready() -> bool:
        return bool(pids()) and (kind != "stopped" or " T " in Path(f"/proc/{pids()[0]}/stat").read_text())

    async def work() -> None:
        controller = AbortController()
        task = asyncio.create_task(run_process(Command(ASKED[kind], tmp_path).request(controller=controller)))
        await until(is_ready)
        controller.abort()
        await task

    with pytest.raises(ShellAbortedError):
        asyncio.run(work())
    assert (tmp_path / "heard").exists()


def test_a_command_within_a_command_carries_the_ids_of_both(tmp_path: Path) -> None:
    command = Command("echo $PINYON_COMMAND_ID", tmp_path)
    request = msgspec.structs.replace(command.request(), env={**os.environ, "PINYON_COMMAND_ID": "outer"})
    run(request)
    assert re.fullmatch(rb"outer:[0-9a-f]{16}\n", bytes(command.out))


def test_commands_within_commands_are_found_by_the_outer_one(tmp_path: Path, pids: Callable[[], list[int]]) -> None:
    inner = (
        "import asyncio, os\n"
        "from pinyon.env import LocalEnv\n"
        "asyncio.run(LocalEnv().exec('setsid sleep 60 > /dev/null 2>&1 & echo $! > pids; wait'))\n"
    )
    (tmp_path / "inner.py").write_text(inner)

    async def work() -> None:
        controller = AbortController()
        task = asyncio.create_task(run_process(Command(f"{PYTHON} inner.py", tmp_path).request(controller=controller)))
        await until(pids)
        controller.abort()
        await task

    with pytest.raises(ShellAbortedError):
        asyncio.run(work())
    assert not is_alive(pids()[0])


def test_an_abort_may_come_from_another_thread(tmp_path: Path, watcher: Watcher) -> None:
    controller = AbortController()
    threading.Timer(0.1, controller.abort).start()
    with pytest.raises(ShellAbortedError):
        run(Command("sleep 30", tmp_path).request(controller=controller), watcher)


def test_commands_run_in_a_loop_of_another_thread(tmp_path: Path, watcher: Watcher) -> None:
    ends: list[ProcessEnd] = []
    thread = threading.Thread(target=lambda: ends.append(run(Command("exit 5", tmp_path).request(), watcher)))
    thread.start()
    thread.join()
    assert ends == [ProcessEnd(5)]


def test_a_failing_receiver_ends_the_command(tmp_path: Path, watcher: Watcher) -> None:
    def fail(data: bytes) -> None:
        raise ValueError("no room")

    with pytest.raises(ExecutionError, match="no room") as caught:
        run(Command("echo hi; sleep 30", tmp_path).request(on_stdout=fail), watcher)
    assert caught.value.code == "callback_error"
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("argv", "folder", "text"),
    [
        (["/no/such/shell", "-c", "x"], ".", "/no/such/shell"),
        (["/bin/bash", "-c", "x"], "no-such-folder", "no-such-folder"),
        (["/bin/bash", "-c", "nul\0byte"], ".", "/bin/bash"),
        (["/bin/bash", "-c", "x" * 3_000_000], ".", "/bin/bash"),
    ],
)
def test_what_cannot_be_started_is_named(tmp_path: Path, argv: list[str], folder: str, text: str) -> None:
    request = Command("", tmp_path / folder).request()
    request.argv = argv
    with pytest.raises(ExecutionError, match=re.escape(text)) as caught:
        run(request)
    assert caught.value.code == "spawn_error"


def test_input_is_passed_where_there_is_some(tmp_path: Path) -> None:
    command = Command("cat", tmp_path)
    request = command.request()
    request.stdin = b"x" * 200_000
    run(request)
    assert len(command.out) == 200_000


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_no_descriptor_is_left_open(tmp_path: Path, watcher: Watcher) -> None:
    async def work() -> tuple[int, int]:
        await run_process(Command("echo hi", tmp_path).request(), watch=watcher())
        await asyncio.sleep(0.1)
        before = open_descriptors()
        for text, seconds in (("echo hi", None), ("sleep 30", 0.05), ("exit 3", None)):
            try:
                await run_process(Command(text, tmp_path).request(timeout_seconds=seconds), watch=watcher())
            except ShellTimeoutError:
                continue
        await asyncio.sleep(0.2)
        return before, open_descriptors()

    before, after = asyncio.run(work())
    assert after == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_cannot_be_started_leaves_no_descriptor_open(tmp_path: Path) -> None:
    request = msgspec.structs.replace(Command("", tmp_path).request(), argv=[str(tmp_path / "nothing")])

    async def work() -> tuple[int, int]:
        counts = []
        for _ in range(2):
            with pytest.raises(ExecutionError):
                await run_process(request)
            counts.append(open_descriptors())
        return counts[0], counts[1]

    before, after = asyncio.run(work())
    assert after == before


def test_live_commands_can_all_be_killed(tmp_path: Path, pids: Callable[[], list[int]]) -> None:
    outer = LiveCommands()
    live = LiveCommands(outer)

    async def work() -> ProcessEnd:
        command = Command("sleep 60 & echo $! > pids; wait", tmp_path)
        task = asyncio.create_task(run_process(command.request(), live=live))
        await until(pids)
        outer.kill_all()
        return await task

    assert asyncio.run(work()).exit_code == 137
    assert not is_alive(pids()[0])
    live.kill_all()


def entry(pid: int, parent: int = 1, group: int = 0, session: int = 0) -> ProcessEntry:
    return ProcessEntry(pid, parent, group or pid, session or pid, "0")


def test_a_command_is_its_group_its_session_and_their_descendants() -> None:
    entries = [
        entry(10),
        entry(11, parent=10, group=10),
        entry(12, parent=1, group=12, session=10),
        entry(13, parent=12),
        entry(14, parent=13),
        entry(20),
        entry(21, parent=20),
        entry(os.getpid(), parent=10),
    ]
    assert {item.pid for item in command_processes(CommandRoot(10), entries)} == {10, 11, 12, 13, 14}


def test_descendants_are_found_after_the_first_process_is_gone() -> None:
    assert [item.pid for item in command_processes(CommandRoot(10), [entry(11, parent=10)])] == [11]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "  12     1    12 Ss   Mon Nov 30 22:00:00 2026",
            ProcessEntry(12, 1, 12, 12, "Mon Nov 30 22:00:00 2026"),
        ),
        ("  12     1    12 Z    Mon Nov 30 22:00:00 2026", None),
        ("", None),
        ("garbage", None),
    ],
)
def test_the_listing_of_ps_is_understood(line: str, expected: ProcessEntry | None) -> None:
    assert parse_ps_line(line) == expected


@pytest.mark.parametrize(
    ("environ", "program"),
    [
        ({"SystemRoot": "D:\\Win"}, "D:\\Win\\System32\\taskkill.exe"),
        ({"SYSTEMROOT": "D:\\Win"}, "D:\\Win\\System32\\taskkill.exe"),
        ({}, "C:\\Windows\\System32\\taskkill.exe"),
    ],
)
def test_windows_kills_the_whole_tree(environ: dict[str, str], program: str) -> None:
    assert taskkill_command(42, environ) == [program, "/F", "/T", "/PID", "42"]
