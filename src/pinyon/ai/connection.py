"""Connections to one origin each, and the pool in which they wait for their next request."""

from __future__ import annotations

import asyncio
from typing import cast

import msgspec

from pinyon._util.loop_local import LoopLocal
from pinyon.ai.byte_feed import ByteFeed
from pinyon.ai.http1 import BodyFraming
from pinyon.ai.transport import TransportError, connection_failure

DEFAULT_PORTS = {"http": 80, "https": 443}

_IDLE_LIFE_S = 30.0
_DRAIN_LIMIT_BYTES = 64 * 1024
_DRAIN_LIMIT_S = 2.0


class Origin(msgspec.Struct, frozen=True):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int

    @property
    def host_header(self) -> str:
        """Host and, where it is not the default, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Connection(asyncio.Protocol):
    """One connection; `feed` carries what it receives."""

    def __init__(self, origin: Origin, pool: Pool) -> None:
        self.origin = origin
        self._pool = pool
        self.transport: asyncio.Transport | None = None
        self.feed = ByteFeed(self.abort, self._pause_reading, self._unsent_bytes)
        self.idle_timer: asyncio.TimerHandle | None = None
        self._drain: _Drain | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected, and secured where it has to be."""
        self.transport = cast("asyncio.Transport", transport)
        self._pool.opened(self)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._drain is not None:
            self._drain.feed(data)
        elif self.idle_timer is not None:
            self.abort()  # nobody asked: the connection is out of step
        else:
            self.feed.feed(data)

    def eof_received(self) -> None:
        """The server sends nothing more; the transport closes itself."""
        self.feed.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._pool.lost(self)
        if self._drain is not None:
            self._drain.cancel()
        self.feed.end(None if exc is None else connection_failure(exc, f"with {self.origin.host_header}"))

    def send(self, data: bytes) -> None:
        """Queue bytes to be sent."""
        if self.transport is not None and not self.feed.is_ended:
            self.transport.write(data)

    def abort(self) -> None:
        """Drop the connection without goodbye."""
        if self.transport is not None:
            self.transport.abort()
        self.feed.end()

    def drain(self, framing: BodyFraming, received: bytes) -> None:
        """Swallow the short rest of a body, then keep the connection; drop it if the rest is long or late."""
        self._drain = _Drain(self, framing)
        if received:
            self._drain.feed(received)

    def rest(self) -> None:
        """Nothing is going on any more: wait in the pool for the next request."""
        self._drain = None
        self.idle_timer = asyncio.get_running_loop().call_later(_IDLE_LIFE_S, self.abort)
        self._pool.put(self)

    def wake(self) -> None:
        """Taken from the pool."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
            self.idle_timer = None

    def _pause_reading(self, is_paused: bool) -> None:
        if self.transport is not None and not self.transport.is_closing():
            if is_paused:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _unsent_bytes(self) -> int:
        return 0 if self.transport is None else self.transport.get_write_buffer_size()


class _Drain:
    """The rest of a body that nobody reads."""

    def __init__(self, connection: Connection, framing: BodyFraming) -> None:
        self._connection = connection
        self._framing = framing
        self._left = _DRAIN_LIMIT_BYTES
        self._timer = asyncio.get_running_loop().call_later(_DRAIN_LIMIT_S, connection.abort)

    def feed(self, data: bytes) -> None:
        self._left -= len(data)
        try:
            self._framing.feed(data)
        except TransportError:
            self._left = -1
        if self._left < 0 or self._framing.has_surplus:
            self.cancel()
            self._connection.abort()
        elif self._framing.is_done:
            self.cancel()
            self._connection.rest()

    def cancel(self) -> None:
        self._timer.cancel()


class Pool:
    """The connections of one event loop, and which of them are idle."""

    def __init__(self) -> None:
        self._all: set[Connection] = set()
        self._idle: dict[Origin, list[Connection]] = {}
        self._is_closed = False

    def opened(self, connection: Connection) -> None:
        """A connection was made."""
        self._all.add(connection)

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        self._all.discard(connection)

    def take(self, origin: Origin) -> Connection | None:
        """The connection to `origin` that was used last, if one is alive."""
        waiting = self._idle.get(origin, [])
        while waiting:
            connection = waiting.pop()
            connection.wake()
            if not connection.feed.is_ended:
                return connection
        return None

    def put(self, connection: Connection) -> None:
        """Keep a connection whose last answer was read to its end."""
        if self._is_closed:
            connection.wake()
            connection.abort()
            return
        waiting = self._idle.setdefault(connection.origin, [])
        waiting[:] = [other for other in waiting if not other.feed.is_ended]
        waiting.append(connection)

    async def close(self) -> None:
        """Drop all connections and keep none from now on."""
        self._is_closed = True
        for connection in tuple(self._all):
            connection.wake()
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the loop finish closing the sockets


POOLS: LoopLocal[Pool] = LoopLocal(Pool, Pool.close)
