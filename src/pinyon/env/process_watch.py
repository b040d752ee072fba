"""How the event loop learns of output and of the end of processes: by polling descriptors, elsewhere by threads.

Neither needs a child watcher, a signal handler or the main thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

BLOCK_BYTES = 65536
"""Most bytes of one read, the size of a pipe."""

_DISCARD_PAUSE_S = 0.05
_LAST_BLOCKS = 64

OnChunk = Callable[[bytes], None]
OnEvent = Callable[[], None]


class WatchedPipe(Protocol):
    """The reading end of a pipe that is being watched."""

    def discard(self) -> None:
        """Read on without telling anybody, so that whoever still writes is not stopped; closes at the end."""
        ...

    def close(self) -> None:
        """Hand over what has arrived and stop."""
        ...


class Watch(Protocol):
    """Tells of output and of the end of processes; all calls come in the loop's thread."""

    def watch_pipe(self, descriptor: int, on_chunk: OnChunk, on_end: OnEvent) -> WatchedPipe:
        """Call `on_chunk` for everything that arrives, then `on_end`. Takes the descriptor over."""
        ...

    def watch_exit(self, process: subprocess.Popen[bytes], on_exit: OnEvent) -> OnEvent:
        """Call `on_exit` once the process has ended; returns what stops the watching."""
        ...


class PollWatch:
    """Pipes and process descriptors polled by the loop itself."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def watch_pipe(self, descriptor: int, on_chunk: OnChunk, on_end: OnEvent) -> WatchedPipe:
        """Call `on_chunk` for everything that arrives, then `on_end`."""
        return _PolledPipe(self._loop, descriptor, on_chunk, on_end)

    def watch_exit(self, process: subprocess.Popen[bytes], on_exit: OnEvent) -> OnEvent:
        """Call `on_exit` once the process has ended; it stays to be collected."""
        descriptor = _open_process(process.pid)
        if descriptor is None:
            return _watch_exit_in_thread(self._loop, process, on_exit)

        def stop() -> None:
            nonlocal descriptor
            if descriptor is not None:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)
                descriptor = None

        def exited() -> None:
            stop()
            on_exit()

        self._loop.add_reader(descriptor, exited)
        return stop


class ThreadWatch:
    """One thread for each pipe and process, for loops that cannot poll descriptors."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def watch_pipe(self, descriptor: int, on_chunk: OnChunk, on_end: OnEvent) -> WatchedPipe:
        """Call `on_chunk` for everything that arrives, then `on_end`."""
        return _ThreadedPipe(self._loop, descriptor, on_chunk, on_end)

    def watch_exit(self, process: subprocess.Popen[bytes], on_exit: OnEvent) -> OnEvent:
        """Call `on_exit` once the process has ended."""
        return _watch_exit_in_thread(self._loop, process, on_exit)


def native_watch() -> Watch:
    """The watch for the running loop."""
    can_poll = sys.platform != "win32" and hasattr(asyncio.get_running_loop(), "add_reader")
    return PollWatch() if can_poll else ThreadWatch()


class _PolledPipe:
    """A pipe read when the loop says that something is there."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, on_chunk: OnChunk, on_end: OnEvent) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_chunk = on_chunk
        self._on_end = on_end
        os.set_blocking(descriptor, False)
        loop.add_reader(descriptor, self._read)

    def discard(self) -> None:
        self._on_chunk = self._slow_down
        self._on_end = _nothing

    def close(self) -> None:
        self._on_end = _nothing
        for _ in range(_LAST_BLOCKS):
            if not self._read():
                break
        self._release()

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, BLOCK_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if data:
            self._on_chunk(data)
            return True
        self._release()
        self._on_end()
        return False

    def _slow_down(self, data: bytes) -> None:
        """Keep a busy writer from keeping us busy: what arrived is dropped, more is looked at later."""
        del data
        self._loop.remove_reader(self._descriptor)
        self._loop.call_later(_DISCARD_PAUSE_S, self._go_on)

    def _go_on(self) -> None:
        if self._descriptor >= 0:
            self._loop.add_reader(self._descriptor, self._read)

    def _release(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        # A discarding pipe belongs to its loop alone; it goes when the loop is closed.
        if self._descriptor >= 0:
            os.close(self._descriptor)


class _ThreadedPipe:
    """A pipe read by a thread of its own, which waits until the loop has taken each block."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int, on_chunk: OnChunk, on_end: OnEvent) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._on_chunk = on_chunk
        self._on_end = on_end
        self._taken = threading.Semaphore(4)
        threading.Thread(target=self._pump, daemon=True, name="pinyon-pipe").start()

    def discard(self) -> None:
        self._on_chunk = _ignore
        self._on_end = _nothing

    def close(self) -> None:
        self.discard()

    def _pump(self) -> None:
        try:
            while data := os.read(self._descriptor, BLOCK_BYTES):
                if self._on_chunk is _ignore:
                    time.sleep(_DISCARD_PAUSE_S)
                    continue
                self._taken.acquire()
                self._loop.call_soon_threadsafe(self._deliver, data)
        except (OSError, RuntimeError):
            pass  # the writer broke off, or the loop is closed and nobody listens any more
        finally:
            os.close(self._descriptor)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def _deliver(self, data: bytes) -> None:
        self._taken.release()
        self._on_chunk(data)

    def _end(self) -> None:
        self._on_end()


def _ignore(data: bytes) -> None:
    """Nobody listens to `data` any more."""


def _nothing() -> None:
    """Nobody waits for the end any more."""


def _open_process(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None  # an old kernel or a sandbox without the call


def _watch_exit_in_thread(
    loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], on_exit: OnEvent
) -> OnEvent:
    stopped = False

    def deliver() -> None:
        if not stopped:
            on_exit()

    def wait() -> None:
        _wait_without_collecting(process)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver)

    def stop() -> None:
        nonlocal stopped
        stopped = True

    threading.Thread(target=wait, daemon=True, name="pinyon-wait").start()
    return stop


def _wait_without_collecting(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "waitid"):
        with contextlib.suppress(ChildProcessError):  # somebody else collected it: it has ended
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return
    process.wait()
