"""The one way to standard output in non-interactive modes.

`OutputGuard` keeps the real standard output for the mode alone: what libraries, extensions or child processes print to
file descriptor 1 arrives on standard error instead. `OutputWriter` collects lines and writes them together, without
ever blocking the event loop on a slow reader.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import stat
import sys
from types import TracebackType

HIGH_WATER_BYTES = 1 << 20
"""Waiting output above which `OutputWriter.drain` holds its caller back."""

_RETRY_DELAY_S = 0.01
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_ATOMIC_BYTES = getattr(select, "PIPE_BUF", 512)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


class OutputGuard:
    """While entered, descriptor 1 and `sys.stdout` lead to standard error; `fd` is the real standard output."""

    def __init__(self) -> None:
        self.fd = -1

    def __enter__(self) -> OutputGuard:
        sys.stdout.flush()
        self.fd = os.dup(1)
        os.dup2(2, 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.flush()
        os.dup2(self.fd, 1)
        os.close(self.fd)
        self.fd = -1


class OutputClosedError(OSError):
    """Raised when standard output takes nothing any more."""


class OutputWriter:
    """Writes bytes to a descriptor in the order they were given.

    `write` only collects; what was collected during one turn of the event loop goes out in one piece. A reader that
    takes nothing makes output wait in memory; callers that `drain` are held back above `HIGH_WATER_BYTES`. After the
    reader closed its end or writing failed, `closed` is set and everything further is dropped; `fault` says what went
    wrong, None where the reader just left.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        # A write of up to PIPE_BUF bytes to a pipe that poll calls writable cannot block; files take all at once.
        can_block = os.name == "posix" and not stat.S_ISREG(os.fstat(fd).st_mode)
        self._chunk_bytes = _ATOMIC_BYTES if can_block else 0
        self._poll = select.poll() if can_block else None
        if self._poll is not None:
            self._poll.register(fd, select.POLLOUT)
        self._buffer = bytearray()
        self._scheduled = False
        self._watching = False
        self._room = asyncio.Event()
        self._room.set()
        self.closed = asyncio.Event()
        self.fault: str | None = None

    def write_json(self, line: bytes) -> None:
        """Append a line of JSON; C1 characters in its strings, which terminals obey, are written as escapes."""
        self.write((_C1.sub(_escaped, line) if b"\xc2" in line else line) + b"\n")

    def write(self, data: bytes) -> None:
        """Append `data` to what will be written."""
        if self.closed.is_set():
            return
        self._buffer += data
        if len(self._buffer) > HIGH_WATER_BYTES:
            self._room.clear()
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_now)

    async def drain(self) -> None:
        """Wait until not too much output is waiting. Raises `OutputClosedError` once the output is closed."""
        if not self._room.is_set():
            await self._room.wait()
        if self.closed.is_set():
            raise OutputClosedError(self.fault or "standard output was closed by its reader")

    async def flush(self) -> None:
        """Wait until everything is written (or the output is closed)."""
        while self._buffer and not self.closed.is_set():
            self._flush_now()
            if self._buffer:
                await asyncio.sleep(_RETRY_DELAY_S)

    def _flush_now(self) -> None:
        self._scheduled = False
        try:
            while self._buffer and self._is_writable():
                written = os.write(self._fd, self._buffer[: self._chunk_bytes or len(self._buffer)])
                del self._buffer[:written]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            if not isinstance(error, ConnectionError):
                self.fault = f"Error: standard output cannot be written: {error.strerror}"
            self._close()
            return
        if len(self._buffer) <= HIGH_WATER_BYTES // 2:
            self._room.set()
        self._watch(wanted=bool(self._buffer))

    def tell_fault(self) -> None:
        """Say on standard error why output was lost, if it was not the reader's own wish."""
        if self.fault is not None:
            sys.stderr.write(self.fault + "\n")

    def _is_writable(self) -> bool:
        return self._poll is None or bool(self._poll.poll(0))

    def _watch(self, *, wanted: bool) -> None:
        if wanted == self._watching:
            return
        loop = asyncio.get_running_loop()
        if not wanted:
            loop.remove_writer(self._fd)
        elif self._poll is None:
            loop.call_later(_RETRY_DELAY_S, self._flush_now)
            return
        else:
            loop.add_writer(self._fd, self._flush_now)
        self._watching = wanted

    def _close(self) -> None:
        self._watch(wanted=False)
        self.closed.set()
        self._buffer.clear()
        self._room.set()
