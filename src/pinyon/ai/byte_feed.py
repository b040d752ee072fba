"""Bytes on their way from a connection to the one task that reads them, with idle timeout and abort.

The connection side calls `feed` and `end`; the reading side awaits `read`. While a request is watched, its abort
signal or a gap that is too long ends the feed at once, without a task or a timer per read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pinyon._util.abort import AbortSignal, OperationAbortedError, in_loop
from pinyon.ai.transport import TransportError

_HIGH_WATER_BYTES = 1 << 20


class ByteFeed:
    """A buffer with one writer and one reader on one event loop.

    `stop` tears the connection down; `pause(True)` asks it to deliver no more for now, `pause(False)` to go on.
    `unsent_bytes` tells how much of the request still waits to be sent: while that moves, nothing is idle.
    """

    def __init__(
        self,
        stop: Callable[[], None],
        pause: Callable[[bool], None],
        unsent_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._pause = pause
        self._unsent_bytes = unsent_bytes
        self._last_unsent_bytes = 0
        self._chunks: list[bytes] = []
        self._buffered_bytes = 0
        self._is_paused = False
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._idle_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_activity_s = 0.0
        self._remove_listener: Callable[[], None] | None = None
        self.waiting_for = "data"
        """What a timeout says was missing."""

    @property
    def is_ended(self) -> bool:
        """Whether the connection is gone; what it delivered before can still be read."""
        return self._ended

    @property
    def has_data(self) -> bool:
        """Whether bytes wait to be read."""
        return bool(self._chunks)

    def feed(self, data: bytes) -> None:
        """Deliver bytes to the reader."""
        self._chunks.append(data)
        self._buffered_bytes += len(data)
        self._last_activity_s = self._loop.time()
        if self._buffered_bytes > _HIGH_WATER_BYTES and not self._is_paused:
            self._is_paused = True
            self._pause(True)
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """The connection ended, in good order or with `error`, which the reader gets after the remaining bytes."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._wake()

    async def read(self) -> bytes:
        """All bytes that have arrived, waiting for some; `b""` at the end. Raises what ended the feed."""
        if not self._chunks and not self._ended:
            self._last_activity_s = self._loop.time()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if not self._chunks:
            if self._error is not None:
                raise self._error
            return b""
        return self.take()

    def take(self) -> bytes:
        """All bytes that have arrived, without waiting."""
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks = []
        self._buffered_bytes = 0
        if self._is_paused:
            self._is_paused = False
            self._pause(False)
        return data

    def watch(self, signal: AbortSignal | None, idle_s: float | None) -> None:
        """From now on `signal` or a gap of more than `idle_s` seconds ends the feed."""
        self._idle_s = idle_s
        self._last_activity_s = self._loop.time()
        if idle_s is not None:
            self._timer = self._loop.call_later(idle_s, self._check_idle)
        if signal is not None:
            self._remove_listener = signal.add_listener(in_loop(lambda: self.fail(OperationAbortedError())))

    def unwatch(self) -> None:
        """The request is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._remove_listener is not None:
            self._remove_listener()
            self._remove_listener = None

    def fail(self, error: Exception) -> None:
        """End at once with `error`, dropping what has not been read, and tear the connection down."""
        self._chunks = []
        self._buffered_bytes = 0
        self.unwatch()
        if not self._ended or self._error is None:
            self._ended = True
            self._error = error
        self._wake()
        self._stop()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _check_idle(self) -> None:
        self._timer = None
        if self._idle_s is None or self._ended:
            return
        unsent_bytes = self._unsent_bytes()
        if self._waiter is None or unsent_bytes != self._last_unsent_bytes:
            # The reader is busy elsewhere, or the request is still on its way: that is no silence of the server.
            self._last_unsent_bytes = unsent_bytes
            self._last_activity_s = self._loop.time()
        left_s = self._idle_s - (self._loop.time() - self._last_activity_s)
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._check_idle)
        else:
            self.fail(TransportError(f"Request timed out: no {self.waiting_for} for {self._idle_s:g} s", "timeout"))
