"""A WebSocket server that answers as the ChatGPT service does, and access tokens for it.

The answers are those of `fake_responses`. Needs the optional package `websockets`.

::

    with FakeSocketServer([answer(message("hi"))]) as server:
        ...  # a model whose base URL is server.url
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from pinyon.testing.fake_responses import ResponsesAnswer
from pinyon.testing.fake_server import Cut, Delay, Stall

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

_LIMIT_S = 30.0

SocketStep: TypeAlias = dict[str, Any] | Delay | Stall | Cut
SocketReply: TypeAlias = ResponsesAnswer | Sequence[SocketStep]
"""An answer, or its events with what goes wrong in between; `Cut` closes the socket."""


def account_token(account: str, mark: str = "signature") -> str:
    """An access token whose claims name `account`; `mark` is its signature, which nobody checks."""
    claims = {"https://api.openai.com/auth": {"chatgpt_account_id": account}}
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join([*(urlsafe_b64encode(part).decode().rstrip("=") for part in parts), mark])


class SocketFrame(msgspec.Struct):
    """A frame as it arrived; `connection` counts connections from 0."""

    body: dict[str, Any]
    connection: int


class FakeSocketServer:
    """The server; a context manager. Frame k gets reply k, the last reply repeats.

    With `refusal` every connection is refused with that HTTP status.
    """

    def __init__(self, replies: Sequence[SocketReply] = (), *, refusal: int | None = None) -> None:
        self._replies = list(replies)
        self._refusal = refusal
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="fake-socket", daemon=True)
        self._connections = 0
        self.frames: list[SocketFrame] = []
        """What was asked."""
        self.handshakes: list[dict[str, str]] = []
        """Headers of the connections, names in lower case."""
        self.open_count = 0
        """Connections that are open now."""
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL of a model that is served here."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> FakeSocketServer:
        self._thread.start()
        if not self._started.wait(_LIMIT_S):
            raise TimeoutError("the fake socket server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stopping is not None:
            with contextlib.suppress(RuntimeError):  # the loop may end by itself in between
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_LIMIT_S)

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        async with serve(self._talk, "127.0.0.1", 0, process_request=self._admit, max_size=None) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._started.set()
            await self._stopping.wait()
            for connection in list(server.connections):
                connection.transport.abort()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        self.handshakes.append({name.lower(): value for name, value in request.headers.raw_items()})
        return None if self._refusal is None else connection.respond(HTTPStatus(self._refusal), "refused")

    async def _talk(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        number, self._connections = self._connections, self._connections + 1
        self.open_count += 1
        try:
            async for data in connection:
                body = json.loads(data)
                reply = self._replies[min(len(self.frames), len(self._replies) - 1)]
                self.frames.append(SocketFrame(body, number))
                await self._answer(connection, reply, body["model"])
        except ConnectionClosed:
            pass  # the client left: the test sees that on its side
        finally:
            self.open_count -= 1

    async def _answer(self, connection: ServerConnection, reply: SocketReply, model: str) -> None:
        steps: Sequence[SocketStep] = (
            [event for _, event in reply.events(model)] if isinstance(reply, ResponsesAnswer) else reply
        )
        for step in steps:
            if isinstance(step, Delay):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, Stall):
                await connection.wait_closed()
            elif isinstance(step, Cut):
                await connection.close(1011, "cut") if step.politely else connection.transport.abort()
                return
            else:
                await connection.send(json.dumps(step))
