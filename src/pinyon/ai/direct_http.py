"""The default HTTP client of model requests: HTTP/1.1 over asyncio, plain or TLS, with connections kept for reuse.

It exists because of time: importing and starting a general client costs a third of a whole turn, and one event per
network chunk a multiple of decoding it. It speaks to one origin per connection, sends one request at a time and
streams the answer; proxies are `proxied_http`'s business. Idle connections live 30 s at most and end with their loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import msgspec

from pinyon._util.abort import until_aborted
from pinyon.ai.byte_feed import ByteFeed
from pinyon.ai.connection import DEFAULT_PORTS, POOLS, Connection, Origin
from pinyon.ai.content_coding import DecodedBody
from pinyon.ai.http1 import BodyFraming, ResponseHead, body_framing, decode_head, encode_head, split_head
from pinyon.ai.transport import HttpRequest, TransportError, connection_failure

if TYPE_CHECKING:
    import ssl

_MAX_INTERIM_HEADS = 100
_SAFE_IN_TARGET = "!#$%&'()*+,/:;=?@[]~"


class Target(msgspec.Struct):
    """A parsed URL: origin, request target, and the basic credentials that stood in it."""

    origin: Origin
    path: str
    authorization: str | None


def parse_url(url: str) -> Target:
    """Split an http(s) URL. Raises `TransportError` that names it (without credentials) when it is not one."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = _ascii_host(parts.hostname or "")
    except ValueError as error:
        raise TransportError(f"the URL {_without_credentials(url)!r} is not valid: {error}", "request") from None
    if parts.scheme not in DEFAULT_PORTS or not host:
        shown = _without_credentials(url)
        raise TransportError(f"the URL {shown!r} must begin with http:// or https:// and name a host", "request")
    path = quote(parts.path or "/", safe=_SAFE_IN_TARGET)
    if parts.query:
        path = f"{path}?{quote(parts.query, safe=_SAFE_IN_TARGET)}"
    origin = Origin(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])
    return Target(origin, path, _basic_authorization(parts.username, parts.password))


def _ascii_host(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()


def _without_credentials(url: str) -> str:
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _basic_authorization(username: str | None, password: str | None) -> str | None:
    if username is None:
        return None
    import base64

    return "Basic " + base64.b64encode(f"{unquote(username)}:{unquote(password or '')}".encode()).decode()


class DirectResponse:
    """A response that is read from its connection as it arrives."""

    def __init__(self, connection: Connection, head: ResponseHead, framing: BodyFraming, first: bytes) -> None:
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers
        self._connection = connection
        self._framing = framing
        self._first = first
        self._body = DecodedBody(head.headers.get("content-encoding", ""), self._read_encoded)
        self._keeps_alive = head.keeps_alive
        self._is_released = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if body := await self._body.read():
            return body
        raise StopAsyncIteration

    async def _read_encoded(self) -> bytes:
        framing = self._framing
        while not framing.is_done:
            data, self._first = self._first, b""
            data = data or await self._connection.feed.read()
            if not data:
                framing.end()
            elif body := framing.feed(data):
                return body
        return b""

    def release(self) -> None:
        """See `HttpResponse.release`."""
        if self._is_released:
            return
        connection = self._connection
        if self._framing.is_done or not self._keeps_alive or connection.feed.is_ended:
            self._close()
            return
        self._is_released = True
        connection.feed.unwatch()
        connection.drain(self._framing, self._first + connection.feed.take())

    async def aclose(self) -> None:
        """See `HttpResponse.aclose`."""
        self._close()

    def _close(self) -> None:
        if self._is_released:
            return
        self._is_released = True
        connection, framing = self._connection, self._framing
        connection.feed.unwatch()
        is_clean = framing.is_done and not framing.has_surplus and not connection.feed.has_data
        if is_clean and self._keeps_alive and not connection.feed.is_ended:
            connection.rest()
        else:
            connection.abort()


async def open_direct(request: HttpRequest) -> DirectResponse:
    """Send `request` without a proxy. Errors as in `Transport.open`."""
    if request.signal is not None:
        request.signal.raise_if_aborted()
    target = parse_url(request.url)
    head = _request_head(request, target)
    connection = POOLS.get().take(target.origin)
    if connection is not None:
        response = await _exchange(connection, head, request, may_be_stale=True)
        if response is not None:
            return response
    connection = await _connect(target.origin, request)
    response = await _exchange(connection, head, request, may_be_stale=False)
    assert response is not None
    return response


def request_headers(request: HttpRequest, authorization: str | None = None) -> dict[str, str]:
    """The request's headers with what every request has; `authorization` only where it has none of its own."""
    headers = dict(request.headers)
    names = {name.lower() for name in headers}
    if "accept-encoding" not in names:
        headers["Accept-Encoding"] = "identity"
    if authorization is not None and "authorization" not in names:
        headers["Authorization"] = authorization
    return headers


def _request_head(request: HttpRequest, target: Target) -> bytes:
    headers = request_headers(request, target.authorization)
    return encode_head(request.method, target.path, target.origin.host_header, headers, len(request.body))


async def _exchange(
    connection: Connection, head: bytes, request: HttpRequest, *, may_be_stale: bool
) -> DirectResponse | None:
    """Send and read the response head; None when a kept connection turned out to be dead before any answer."""
    feed = connection.feed
    feed.waiting_for = "response headers"
    feed.watch(request.signal, request.idle_timeout_s)
    try:
        connection.send(head + request.body)
        received = await feed.read() if not may_be_stale else await _first_read(feed)
        if not received and may_be_stale:
            connection.abort()
            feed.unwatch()
            return None
        response_head, rest = await _read_head(feed, received, connection.origin)
        framing = body_framing(request.method, response_head)
        feed.waiting_for = "data from the server"
        return DirectResponse(connection, response_head, framing, rest)
    except BaseException:
        feed.unwatch()
        connection.abort()
        raise


async def _first_read(feed: ByteFeed) -> bytes:
    """What a kept connection answers; nothing where it had died while it was kept."""
    try:
        return await feed.read()
    except TransportError as error:
        if error.kind == "connection":
            return b""
        raise


async def _read_head(feed: ByteFeed, received: bytes, origin: Origin) -> tuple[ResponseHead, bytes]:
    interim_heads = 0
    while interim_heads <= _MAX_INTERIM_HEADS:
        if not received:
            where = origin.host_header
            raise TransportError(f"Connection closed by {where} before it sent a response (ECONNRESET)", "connection")
        split = split_head(received)
        if split is None:
            more = await feed.read()
            received = received + more if more else b""
            continue
        head, received = decode_head(split[0]), split[1]
        if head.status >= 200 or head.status == 101:
            return head, received
        interim_heads += 1
        received = received or await feed.read()
    raise TransportError(f"the server sent more than {_MAX_INTERIM_HEADS} informational responses", "protocol")


async def _connect(origin: Origin, request: HttpRequest) -> Connection:
    work = _open_connection(origin)
    try:
        async with asyncio.timeout(request.connect_timeout_s):
            return await (work if request.signal is None else until_aborted(work, request.signal))
    except TimeoutError:
        where, limit_s = origin.host_header, request.connect_timeout_s
        raise TransportError(f"Request timed out: no connection to {where} within {limit_s:g} s", "timeout") from None
    except OSError as error:
        raise connection_failure(error, f"connecting to {origin.host_header}") from error


async def _open_connection(origin: Origin) -> Connection:
    from pinyon.ai.connect import connected_socket

    pool = POOLS.get()
    context = await _tls_context() if origin.scheme == "https" else None
    sock = await connected_socket(origin.host, origin.port)
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(origin, pool),
            sock=sock,
            ssl=context,
            server_hostname=origin.host if context is not None else None,
        )
    except BaseException:
        sock.close()
        raise
    return connection


async def _tls_context() -> ssl.SSLContext:
    from pinyon.ai.tls import tls_context

    return await tls_context()
