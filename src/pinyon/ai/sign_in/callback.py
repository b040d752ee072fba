"""The loopback server to which a browser comes back after a sign-in (RFC 8252 section 7.3).

It takes one request to one path and holds the browser until the flow has ended, so that the page says what happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator
from html import escape
from urllib.parse import parse_qsl, urlsplit

from pinyon.ai.oauth import OAuthError
from pinyon.ai.sign_in.context import SignInContext

LOOPBACK = "127.0.0.1"
HOST_VARIABLE = "PI_OAUTH_CALLBACK_HOST"
REQUEST_TIMEOUT_S = 10.0
OUTCOME_TIMEOUT_S = 60.0
_GRACE_S = 2.0
_MAX_HEADER_LINES = 200

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict"}


class CallbackServer:
    """A listening server; `open_callback_server` makes one. `query` is what the browser brings back."""

    def __init__(self, path: str, state: str | None) -> None:
        self.port = 0
        self._path = path
        self._state = state
        self._query: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._visits: set[asyncio.Task[None]] = set()
        self._answered: asyncio.Task[None] | None = None

    async def query(self) -> dict[str, str]:
        """The parameters of the redirect, once it arrives."""
        return await asyncio.shield(self._query)

    def finish(self, problem: str | None = None) -> None:
        """Tell the waiting browser how the sign-in ended; None is success."""
        if not self._outcome.done():
            self._outcome.set_result(problem)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection; for `asyncio.start_server`."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._visits.add(task)
        task.add_done_callback(self._visits.discard)

    async def drain(self) -> None:
        """Let the browser that brought the answer read its page for a moment, then end every connection."""
        if self._answered is not None:
            await asyncio.wait([self._answered], timeout=_GRACE_S)
        for task in self._visits:
            task.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                target = await _request_target(reader)
            status, problem = await self._answer(*target)
            writer.write(_page(status, problem))
            await writer.drain()
        except (OSError, EOFError, ValueError, TimeoutError):
            pass  # not a browser, or one that left: the sign-in goes on
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, method: str, target: str) -> tuple[int, str | None]:
        """Status and problem for the page."""
        parts = urlsplit(target)
        if parts.path != self._path:
            return 404, "There is nothing here."
        if method != "GET":
            return 405, "Only GET is answered here."
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if self._state is not None and not same_state(query.get("state", ""), self._state):
            return 400, "This answer does not belong to the sign-in that is waiting. Start it again from the terminal."
        if self._query.done():
            return 409, "This sign-in was already answered."
        if not query.get("code") and not query.get("error"):
            return 400, "This answer holds neither a code nor an error."
        self._query.set_result(query)
        self._answered = asyncio.current_task()
        async with asyncio.timeout(OUTCOME_TIMEOUT_S):
            problem = await asyncio.shield(self._outcome)
        return (200 if problem is None else 400), problem


@contextlib.asynccontextmanager
async def open_callback_server(
    context: SignInContext, path: str, *, port: int = 0, state: str | None = None
) -> AsyncIterator[CallbackServer]:
    """Listen for one redirect to `path`; a port of 0 takes a free one. Raises `OSError` where the port is taken.

    When the flow ends with an error, the browser is told; on success call `finish`.
    """
    server = CallbackServer(path, state)
    listener = await asyncio.start_server(server.accept, context.variable(HOST_VARIABLE) or LOOPBACK, port)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    except BaseException:
        server.finish("The sign-in did not succeed; the terminal says why.")
        raise
    finally:
        server.finish("The sign-in ended before this answer arrived.")
        listener.close()
        await server.drain()


def same_state(given: str, expected: str) -> bool:
    """Whether a state is the expected one, told in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def refuse_error(query: dict[str, str], doing: str) -> None:
    """Raise `OAuthError` for a redirect that brings an error instead of a code."""
    if "error" in query:
        from pinyon._util.terminal import strip_terminal_control

        told = strip_terminal_control(query.get("error_description") or query["error"]).replace("\n", " ")
        raise OAuthError(f"{doing} was refused: {told[:300]}")


async def _request_target(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Method and target of a request; raises `ValueError` for what is none."""
    method, target, version = (await reader.readuntil(b"\r\n")).decode("latin-1").split(" ", 2)
    if not version.startswith("HTTP/"):
        raise ValueError("not HTTP")
    for _ in range(_MAX_HEADER_LINES):
        if await reader.readuntil(b"\r\n") == b"\r\n":
            return method, target
    raise ValueError("too many headers")


def _page(status: int, problem: str | None) -> bytes:
    title = "Signed in" if problem is None else "Not signed in"
    text = "You can close this page and go back to the terminal." if problem is None else problem
    body = (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{title}</title><h1>{title}</h1><p>{escape(text)}</p></html>\n"
    ).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
