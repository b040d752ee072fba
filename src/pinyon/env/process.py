"""Runs one command as a process of its own session: its output as it comes, its end, and everything it started.

A command is over when its first process has exited and its output has ended or been quiet for a moment: a child left in
the background may hold the pipes open for ever, and is not waited for. What it still writes is read and dropped, so
that it is not stopped by it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Literal

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon._util.os_text import native_arguments, native_environment, native_text
from pinyon.env.error import ExecutionError, ShellAbortedError, ShellTimeoutError
from pinyon.env.process_end import end_command, kill_command
from pinyon.env.process_table import COMMAND_ID_VARIABLE, CommandRoot
from pinyon.env.process_watch import Watch, WatchedPipe, native_watch

IDLE_S = 0.1
"""How long the output must be quiet after the exit of the shell."""

DRAIN_S = 5.0
"""How long background output is followed after the exit of the shell where no timeout sets the limit."""

_COLLECT_S = 1.0


class ProcessRequest(msgspec.Struct, kw_only=True):
    """A command to run: `env` is its whole environment, `stdin` what it reads (nothing by default).

    `marked` adds the variable by which processes that escape are found. `on_stdout` and `on_stderr` get raw bytes.
    After the exit of the first process the output is followed until it is quiet for `idle_s`, and without a timeout
    for at most `drain_s`.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    on_stdout: Callable[[bytes], None]
    on_stderr: Callable[[bytes], None]
    stdin: bytes = b""
    timeout_seconds: float | None = None
    signal: AbortSignal | None = None
    marked: bool = True
    idle_s: float = IDLE_S
    drain_s: float = DRAIN_S


class ProcessEnd(msgspec.Struct, frozen=True):
    """How a command ended: `exit_code` (128 + n after signal n), and whether the output was still busy then."""

    exit_code: int
    output_busy: bool = False


class LiveCommands:
    """The commands that run now, for a program that has to end them before it ends itself."""

    def __init__(self, outer: LiveCommands | None = None) -> None:
        self._roots: set[CommandRoot] = set()
        self._outer = outer

    def add(self, root: CommandRoot) -> None:
        """A command began; whoever stands outside learns of it too."""
        self._roots.add(root)
        if self._outer is not None:
            self._outer.add(root)

    def discard(self, root: CommandRoot) -> None:
        """A command is over."""
        self._roots.discard(root)
        if self._outer is not None:
            self._outer.discard(root)

    def kill_all(self) -> None:
        """Kill every running command with all its processes; meant for a program about to be ended by a signal."""
        for root in list(self._roots):
            kill_command(root)


LIVE_COMMANDS = LiveCommands()
"""Commands of this process that run now."""


async def run_process(
    request: ProcessRequest, *, watch: Watch | None = None, live: LiveCommands = LIVE_COMMANDS
) -> ProcessEnd:
    """Run a command to its end.

    Raises `ExecutionError` (`spawn_error`, `callback_error`), `ShellTimeoutError` or `ShellAbortedError`; after the
    last three, and after a cancellation, no process of the command is left where the system lets us find it.
    """
    if request.signal is not None and request.signal.aborted:
        raise ShellAbortedError
    run = _Run(request, watch or native_watch())
    live.add(run.root)
    try:
        return await run.finish()
    finally:
        live.discard(run.root)
        run.release()


Ending = Literal["done", "busy", "timeout", "aborted", "callback"]


class _Run:
    """One running command."""

    def __init__(self, request: ProcessRequest, watch: Watch) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = request
        self._ending: asyncio.Future[Ending] = self._loop.create_future()
        self._started = self._loop.time()
        self._exited: float | None = None
        self._failure: Exception | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self._open_pipes = 2
        self._process, self.root, outputs = _spawn(request)
        self._pipes: list[WatchedPipe] = [
            watch.watch_pipe(outputs[0], self._receiver(request.on_stdout), self._pipe_ended),
            watch.watch_pipe(outputs[1], self._receiver(request.on_stderr), self._pipe_ended),
        ]
        self._releases = [watch.watch_exit(self._process, self._on_exit)]
        if request.timeout_seconds is not None and request.timeout_seconds > 0:
            self._releases.append(self._later(request.timeout_seconds, "timeout"))
        if request.signal is not None:
            self._releases.append(request.signal.add_listener(self._on_abort))

    async def finish(self) -> ProcessEnd:
        """Wait for the end, end what has to be ended, and say how it went."""
        try:
            ending = await self._ending
            if ending not in ("done", "busy"):
                await end_command(self.root)
        except BaseException:
            kill_command(self.root)
            raise
        finally:
            self._settle_pipes()
            exit_code = self._collect()
        if ending in ("done", "busy"):
            return ProcessEnd(exit_code, output_busy=ending == "busy")
        raise self._error(ending, exit_code)

    def release(self) -> None:
        """Stop all timers and listeners."""
        for release in self._releases:
            release()
        if self._quiet is not None:
            self._quiet.cancel()

    def _error(self, ending: Ending, exit_code: int) -> ExecutionError:
        if ending == "aborted":
            return ShellAbortedError()
        if ending == "callback":
            error = ExecutionError("callback_error", f"the receiver of the output failed: {self._failure}")
            error.__cause__ = self._failure
            return error
        seconds = self._request.timeout_seconds or 0
        if self._exited is None:
            return ShellTimeoutError(seconds)
        return ShellTimeoutError(seconds, exit_code=exit_code, exited_after_seconds=self._exited - self._started)

    def _settle_pipes(self) -> None:
        left_alone = self._ending.done() and not self._ending.cancelled() and self._ending.result() in ("done", "busy")
        for pipe in self._pipes:
            if left_alone:
                pipe.discard()
            else:
                pipe.close()

    def _collect(self) -> int:
        try:
            code = self._process.wait(_COLLECT_S)
        except subprocess.TimeoutExpired:
            return 128 + 9  # killed, but stuck in the kernel
        return code if code >= 0 else 128 - code

    def _receiver(self, sink: Callable[[bytes], None]) -> Callable[[bytes], None]:
        def receive(data: bytes) -> None:
            if self._failure is not None:
                return
            try:
                sink(data)
            except Exception as error:  # noqa: BLE001 - a listener's failure ends the command and is reported
                self._failure = error
                self._end("callback")
            if self._exited is not None:
                self._wait_for_quiet()

        return receive

    def _pipe_ended(self) -> None:
        self._open_pipes -= 1
        if self._open_pipes == 0 and self._exited is not None:
            self._end("done")

    def _on_exit(self) -> None:
        if self._ending.done():
            return  # it was ended, it did not end
        self._exited = self._loop.time()
        if self._open_pipes == 0:
            self._end("done")
            return
        self._wait_for_quiet()
        if not self._request.timeout_seconds:
            self._releases.append(self._later(self._request.drain_s, "busy"))

    def _on_abort(self) -> None:
        self._loop.call_soon_threadsafe(self._end, "aborted")

    def _wait_for_quiet(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = self._loop.call_later(self._request.idle_s, self._end, "done")

    def _later(self, delay_s: float, ending: Ending) -> Callable[[], None]:
        return self._loop.call_later(delay_s, self._end, ending).cancel

    def _end(self, ending: Ending) -> None:
        if not self._ending.done():
            self._ending.set_result(ending)


def _spawn(request: ProcessRequest) -> tuple[subprocess.Popen[bytes], CommandRoot, tuple[int, int]]:
    command_id, env = _marked(request)
    descriptors: list[int] = []
    try:
        descriptors += os.pipe()
        descriptors += os.pipe()
        with _stdin(request.stdin) as stdin:
            process = subprocess.Popen(
                native_arguments(request.argv),
                cwd=native_text(request.cwd),
                env=native_environment(env),
                stdin=stdin,
                stdout=descriptors[1],
                stderr=descriptors[3],
                start_new_session=True,
                creationflags=_creation_flags(),
            )
    except (OSError, ValueError) as error:
        for descriptor in descriptors:
            os.close(descriptor)
        raise _spawn_error(request, error) from error
    os.close(descriptors[1])
    os.close(descriptors[3])
    return process, CommandRoot(process.pid, command_id), (descriptors[0], descriptors[2])


def _marked(request: ProcessRequest) -> tuple[str, Mapping[str, str]]:
    if not request.marked:
        return "", request.env
    command_id = os.urandom(8).hex()
    outer = request.env.get(COMMAND_ID_VARIABLE)
    return command_id, {**request.env, COMMAND_ID_VARIABLE: f"{outer}:{command_id}" if outer else command_id}


def _stdin(content: bytes) -> AbstractContextManager[IO[bytes] | int]:
    if not content:
        return nullcontext(subprocess.DEVNULL)
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.seek(0)
    return file


def _creation_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return 0


def _spawn_error(request: ProcessRequest, error: OSError | ValueError) -> ExecutionError:
    if not os.path.isdir(native_text(request.cwd)):  # noqa: PTH112 - texts of the caller, not paths of ours
        text = f"cannot run in {request.cwd!r}: no such directory (shell {request.argv[0]!r})"
        return ExecutionError("spawn_error", text)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ExecutionError("spawn_error", f"cannot start {request.argv[0]!r} in {request.cwd!r}: {reason}")
