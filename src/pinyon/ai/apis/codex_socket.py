"""WebSockets to the ChatGPT service, kept between the requests of a session.

A socket serves one request at a time. It lives at most 45 minutes and rests at most five; a second request of the same
session gets a socket of its own for the time being. Needs the optional package `websockets`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pinyon._util.abort import OperationAbortedError, until_aborted
from pinyon._util.loop_local import LoopLocal
from pinyon.ai.apis.codex_transport import Continuation
from pinyon.ai.destination import check_destination
from pinyon.ai.exchange import DEFAULT_TIMEOUT_S, timeout_s
from pinyon.ai.option import StreamOptions
from pinyon.ai.session_resource import register_cleaner
from pinyon.ai.transport import DefaultTransport, TransportError, connection_failure

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

IDLE_LIFE_S = 300.0
MAX_AGE_S = 2700.0
DEFAULT_CONNECT_TIMEOUT_MS = 15_000


class SocketKey(msgspec.Struct, frozen=True):
    """Whose socket it is and where it leads."""

    session_id: str
    account: str
    url: str


class Socket:
    """One open WebSocket. `key` is None for one that is not kept."""

    def __init__(self, connection: ClientConnection, key: SocketKey | None) -> None:
        self._connection = connection
        self.key = key
        self.opened_s = asyncio.get_running_loop().time()
        self.is_busy = True
        self.continuation: Continuation | None = None
        self.idle_timer: asyncio.TimerHandle | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the socket is open and young enough for another request."""
        age_s = asyncio.get_running_loop().time() - self.opened_s
        return self._connection.close_code is None and age_s < MAX_AGE_S

    @property
    def response_headers(self) -> dict[str, str]:
        """What the server answered to the opening, names in lower case."""
        response = self._connection.response
        return {} if response is None else {name.lower(): value for name, value in response.headers.raw_items()}

    async def send(self, frame: bytes) -> None:
        """Send one text frame. Raises `TransportError`."""
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(frame.decode())
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def receive(self, options: StreamOptions) -> bytes:
        """The next message. Raises `TransportError` or `OperationAbortedError`."""
        from websockets.exceptions import ConnectionClosed

        limit_s = timeout_s(options.timeout_ms, DEFAULT_TIMEOUT_S)
        remove = self._abort_with(options)
        try:
            async with asyncio.timeout(limit_s):
                data = await self._connection.recv(decode=False)
        except TimeoutError:
            raise TransportError(f"WebSocket error: timed out, nothing came for {limit_s:g} s", "timeout") from None
        except ConnectionClosed as error:
            if options.signal is not None and options.signal.aborted:
                raise OperationAbortedError from None
            raise _closed(error) from error
        finally:
            remove()
        return data

    def _abort_with(self, options: StreamOptions) -> Callable[[], None]:
        """Drop the socket at an abort, whichever thread it comes from."""
        if options.signal is None:
            return lambda: None
        loop = asyncio.get_running_loop()

        def drop() -> None:
            loop.call_soon_threadsafe(self.abort)

        return options.signal.add_listener(drop)

    def abort(self) -> None:
        """Drop the connection without goodbye."""
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        self._connection.transport.abort()


class SocketPool:
    """The kept sockets of one event loop."""

    def __init__(self) -> None:
        self._kept: dict[SocketKey, Socket] = {}
        self._all: set[Socket] = set()

    @property
    def sockets(self) -> list[Socket]:
        """All open sockets."""
        return list(self._all)

    def take(self, key: SocketKey) -> Socket | None:
        """The idle socket of a session; None where there is none that can be used."""
        socket = self._kept.get(key)
        if socket is None or socket.is_busy:
            return None
        if not socket.is_usable:
            self.drop(socket)
            return None
        if socket.idle_timer is not None:
            socket.idle_timer.cancel()
        socket.is_busy = True
        return socket

    def add(self, socket: Socket) -> None:
        """Know a new socket, and keep it unless the session has one already."""
        self._all.add(socket)
        if socket.key is not None and socket.key not in self._kept:
            self._kept[socket.key] = socket
        else:
            socket.key = None

    def release(self, socket: Socket) -> None:
        """A request is over: the socket waits for the next one, or is closed where it is not kept."""
        if socket.key is None or not socket.is_usable:
            self.drop(socket)
            return
        socket.is_busy = False
        socket.idle_timer = asyncio.get_running_loop().call_later(IDLE_LIFE_S, self.drop, socket)

    def drop(self, socket: Socket) -> None:
        """Close a socket and forget it."""
        self._all.discard(socket)
        if socket.key is not None and self._kept.get(socket.key) is socket:
            del self._kept[socket.key]
        socket.abort()

    def drop_session(self, session_id: str | None) -> None:
        """Close the sockets of one session, or all that are kept."""
        for key, socket in list(self._kept.items()):
            if session_id is None or key.session_id == session_id:
                self.drop(socket)

    async def close(self) -> None:
        """Close everything."""
        for socket in list(self._all):
            self.drop(socket)
        await asyncio.sleep(0)  # lets the loop finish closing the sockets


POOLS: LoopLocal[SocketPool] = LoopLocal(SocketPool, SocketPool.close)


def _forget(session_id: str | None) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return  # the loop that the sockets belonged to has closed them
    POOLS.get().drop_session(session_id)


register_cleaner(_forget)


async def open_socket(key: SocketKey | None, url: str, headers: Mapping[str, str], options: StreamOptions) -> Socket:
    """Connect. Raises `TransportError` (also where `websockets` is not installed) or `OperationAbortedError`."""
    if DefaultTransport.stand_in is not None:
        raise TransportError("WebSocket error: what stands in for the network speaks HTTP only", "request")
    check_destination("http" + url.removeprefix("ws"))
    work = _connect(url, headers, options)
    try:
        connection = await (work if options.signal is None else until_aborted(work, options.signal))
    except OSError as error:
        failure = connection_failure(error, f"opening a WebSocket to {url}")
        raise TransportError(f"WebSocket error: {failure}", failure.kind, failure.code) from error
    socket = Socket(connection, key)
    POOLS.get().add(socket)
    return socket


async def _connect(url: str, headers: Mapping[str, str], options: StreamOptions) -> ClientConnection:
    try:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException
    except ImportError as error:
        text = "WebSocket error: the package 'websockets' is missing; install 'pinyon[websocket]'"
        raise TransportError(text, "request") from error
    from pinyon.ai.proxy import proxy_for

    more: dict[str, Any] = {}
    if url.startswith("wss:"):
        from pinyon.ai.tls import tls_context

        more["ssl"] = await tls_context()
    try:
        return await connect(
            url,
            additional_headers=dict(headers),
            user_agent_header=None,
            compression=None,
            max_size=None,
            open_timeout=timeout_s(options.websocket_connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS / 1000),
            proxy=proxy_for("http" + url.removeprefix("ws"), options.env),
            **more,
        )
    except (WebSocketException, ImportError) as error:  # some proxies need further packages
        raise TransportError(f"WebSocket error: {error}", "protocol") from error


def _closed(error: Any) -> TransportError:
    frame = error.rcvd or error.sent
    code, reason = (frame.code, frame.reason) if frame is not None else (1006, "")
    return TransportError(f"WebSocket closed {code}" + (f": {reason}" if reason else ""), "connection")
