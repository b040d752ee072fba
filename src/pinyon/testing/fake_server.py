"""A real HTTP/1.1 server on loopback that answers from a script, for tests of everything that speaks to servers.

It runs in a thread of its own, so that synchronous tests, asynchronous tests and other processes can talk to it::

    with FakeServer([Reply.json({"ok": True}), Reply.sse([("message", "hi")])]) as server:
        post(server.url)
    assert server.requests[0].json == {...}

Request k gets reply k; the last reply repeats. A reply's body is a sequence of steps, so that a server can be slow,
stall, cut the answer or garble it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias

import msgspec

_START_LIMIT_S = 30.0
_WAIT_LIMIT_S = 30.0
_GATE_POLL_S = 0.005


class Delay(msgspec.Struct, frozen=True):
    """Send nothing for `seconds`."""

    seconds: float


class Stall(msgspec.Struct, frozen=True):
    """Send nothing more, with the connection open, until the client leaves or the server stops."""


class Cut(msgspec.Struct, frozen=True):
    """End the connection in the middle: by a reset, or `politely` as a server does that has nothing more to say."""

    politely: bool = False


class Gate(msgspec.Struct, frozen=True):
    """Wait until the test sets `event`."""

    event: threading.Event


Step: TypeAlias = bytes | Delay | Stall | Cut | Gate

Framing = Literal["chunked", "length", "close"]


class RecordedRequest(msgspec.Struct):
    """A request as it arrived. Header names are in lower case; `connection` counts connections from 0."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class Reply(msgspec.Struct, kw_only=True):
    """One scripted answer.

    `before` happens before the response head, `body` after it. With `chunked` framing every `bytes` step is one chunk;
    with `length` the length of all bytes is announced, also where a `Cut` comes before the end; with `close` the
    connection ends the body. `raw` replaces the head, to send what is not HTTP.
    """

    status: int = 200
    headers: dict[str, str] = {}
    body: Sequence[Step] = ()
    before: Sequence[Step] = ()
    framing: Framing = "chunked"
    raw: bytes | None = None

    @classmethod
    def json(cls, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
        """A JSON document."""
        all_headers = {"content-type": "application/json", **(headers or {})}
        return cls(status=status, headers=all_headers, body=[json.dumps(value).encode()], framing="length")

    @classmethod
    def text(cls, text: str, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
        """A plain text; empty for a response without a body."""
        body = [text.encode()] if text else []
        return cls(
            status=status, headers={"content-type": "text/plain", **(headers or {})}, body=body, framing="length"
        )

    @classmethod
    def sse(
        cls,
        events: Iterable[tuple[str | None, Any] | Step],
        *,
        piece_bytes: int | None = None,
        headers: dict[str, str] | None = None,
        framing: Framing = "chunked",
    ) -> Reply:
        """An event stream; `piece_bytes` cuts its bytes into pieces of that size, whatever they hold."""
        steps = [event if not isinstance(event, tuple) else encode_sse(*event) for event in events]
        body = steps if piece_bytes is None else _in_pieces(steps, piece_bytes)
        return cls(headers={"content-type": "text/event-stream", **(headers or {})}, body=body, framing=framing)

    @classmethod
    def never(cls) -> Reply:
        """Take the request and never answer."""
        return cls(before=[Stall()])

    @classmethod
    def drop(cls) -> Reply:
        """Reset the connection instead of answering."""
        return cls(before=[Cut()])


def encode_sse(event: str | None, data: Any) -> bytes:
    """One server-sent event; `data` is text, or any other value as JSON. A None event has no name."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    lines = [] if event is None else [f"event: {event}"]
    lines += [f"data: {line}" for line in text.split("\n")]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "surrogatepass")


def _in_pieces(steps: Sequence[Step], piece_bytes: int) -> list[Step]:
    pieces: list[Step] = []
    pending = b""
    for step in steps:
        if isinstance(step, bytes):
            pending += step
            continue
        pieces += [*_cut(pending, piece_bytes), step]
        pending = b""
    return pieces + _cut(pending, piece_bytes)


def _cut(data: bytes, piece_bytes: int) -> list[Step]:
    return [data[start : start + piece_bytes] for start in range(0, len(data), piece_bytes)]


ScriptedReply: TypeAlias = Reply | Callable[[RecordedRequest], Reply]


class FakeServer:
    """The server; a context manager, synchronous or asynchronous. `play` starts a new script at any time."""

    def __init__(self, replies: Sequence[ScriptedReply] = (), tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._lock = threading.Condition()
        self._replies: list[ScriptedReply] = list(replies)
        self._requests: list[RecordedRequest] = []
        self._played = 0
        self._connections = 0
        self._open = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="fake-server", daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`, or https with TLS."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[RecordedRequest]:
        """The requests since the script began."""
        with self._lock:
            return list(self._requests)

    @property
    def connection_count(self) -> int:
        """Connections accepted so far."""
        with self._lock:
            return self._connections

    @property
    def open_connection_count(self) -> int:
        """Connections that are open now."""
        with self._lock:
            return self._open

    def play(self, replies: Sequence[ScriptedReply]) -> None:
        """Start a new script and forget past requests."""
        with self._lock:
            self._replies, self._requests, self._played = list(replies), [], 0

    def wait_for_requests(self, count: int, timeout_s: float = _WAIT_LIMIT_S) -> None:
        """Block until `count` requests have arrived since the script began; raises `TimeoutError`."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self._requests) >= count, timeout_s):
                raise TimeoutError(f"request {count} did not arrive within {timeout_s:g} s")

    def wait_until_idle(self, timeout_s: float = _WAIT_LIMIT_S) -> None:
        """Block until every connection is closed; raises `TimeoutError`."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._open == 0, timeout_s):
                raise TimeoutError(f"{self._open} connections are still open after {timeout_s:g} s")

    def start(self) -> None:
        """Listen on a free port."""
        self._thread.start()
        if not self._started.wait(_START_LIMIT_S):
            raise TimeoutError("the fake server did not start")

    def stop(self) -> None:
        """Drop all connections and end the thread."""
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop may end by itself in between
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_START_LIMIT_S)

    def __enter__(self) -> FakeServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> FakeServer:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _run_thread(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        handlers: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._handle_connection(reader, writer))
            handlers.add(task)
            task.add_done_callback(handlers.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopping.wait()
        server.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._lock:
            number = self._connections
            self._connections += 1
            self._open += 1
        try:
            exchange = _Exchange(reader, writer)
            while (request := await exchange.read_request(number)) is not None:
                if not await exchange.answer(self._take(request)):
                    break
        except (OSError, EOFError, ValueError):
            pass  # the client left or sent no HTTP: the test sees that on its side
        finally:
            writer.transport.abort()
            with self._lock:
                self._open -= 1
                self._lock.notify_all()

    def _take(self, request: RecordedRequest) -> Reply:
        with self._lock:
            self._requests.append(request)
            self._lock.notify_all()
            if not self._replies:
                return Reply.text("the script is empty", status=500)
            reply = self._replies[min(self._played, len(self._replies) - 1)]
            self._played += 1
        return reply if isinstance(reply, Reply) else reply(request)


class _Exchange:
    """Requests and replies on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read_request(self, connection: int) -> RecordedRequest | None:
        """The next request; None when the client has left."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        return RecordedRequest(method, path, headers, await self._read_body(headers), connection)

    async def _read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()
        return body

    async def answer(self, reply: Reply) -> bool:
        """Send the reply; returns whether the connection may go on."""
        for step in reply.before:
            if not isinstance(step, bytes) and not await self._pause(step):
                return False
        self._writer.write(_head(reply) if reply.raw is None else reply.raw)
        for step in reply.body:
            if isinstance(step, bytes):
                self._writer.write(_chunk(step) if reply.framing == "chunked" and reply.raw is None else step)
                await self._writer.drain()
                await asyncio.sleep(0)
            elif not await self._pause(step):
                return False
        return await self._finish(reply)

    async def _finish(self, reply: Reply) -> bool:
        if reply.framing == "chunked" and reply.raw is None:
            self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        if reply.framing == "close" or reply.raw is not None:
            await self._close_politely()
            return False
        return reply.headers.get("connection") != "close"

    async def _pause(self, step: Delay | Stall | Cut | Gate) -> bool:
        if isinstance(step, Delay):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Gate):
            # The event belongs to the test's thread, and a waiting helper thread could not be cancelled.
            while not step.event.is_set():  # noqa: ASYNC110
                await asyncio.sleep(_GATE_POLL_S)
        elif isinstance(step, Stall):
            await self._reader.read()
            return False
        elif step.politely:
            await self._close_politely()
            return False
        else:
            self._reset()
            return False
        return True

    async def _close_politely(self) -> None:
        await self._writer.drain()
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def _reset(self) -> None:
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def _head(reply: Reply) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} Scripted"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    if reply.framing == "chunked":
        lines.append("transfer-encoding: chunked")
    elif reply.framing == "length":
        lines.append(f"content-length: {sum(len(step) for step in reply.body if isinstance(step, bytes))}")
    else:
        lines.append("connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""
