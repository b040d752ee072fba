"""The seam between wire adapters and the network: open one streaming HTTP request, read bytes, close.

A transport is one method. The default one speaks HTTP/1.1 itself over asyncio and leaves proxies to `httpcore2`, so
that neither that library nor TLS is imported where a request needs neither. `FunctionTransport` answers from a plain
function. Whatever goes wrong on the way is a `TransportError` whose text uses the words that `ai.retry` classifies;
a user abort is `OperationAbortedError`; only a cancellation of the calling task surfaces as `CancelledError`, and it
closes the connection.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar, Literal, Protocol

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.errors import ProviderError

DEFAULT_CONNECT_TIMEOUT_S = 30.0

FailureKind = Literal["timeout", "connection", "protocol", "tls", "request"]


class TransportError(ProviderError):
    """Raised when a request could not be made or its response could not be read to the end.

    `kind` says at which layer; `code` is the system's name of the failure (such as `ECONNREFUSED`) where there is one.
    Failures of kind `timeout`, `connection` and `protocol` may go away when the request is repeated.
    """

    def __init__(self, message: str, kind: FailureKind, code: str | None = None) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.code = code

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in ("timeout", "connection", "protocol")


def connection_failure(error: BaseException, doing: str) -> TransportError:
    """What the system said when a connection failed while `doing` something, in the words of `ai.retry`.

    The deepest cause (at most five levels) is named with its symbolic code.
    """
    cause = error
    for _ in range(5):
        deeper = cause.__cause__ or cause.__context__  # also what a library suppressed: it is the reason all the same
        if deeper is None:
            break
        cause = deeper
    code = _symbolic_code(cause)
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if isinstance(cause, TimeoutError) and code is None:
        return TransportError(f"Request timed out {doing}", "timeout", "ETIMEDOUT")
    if _is_certificate_failure(cause):
        text = f"TLS failure {doing}: {reason}; add the missing authority with SSL_CERT_FILE or NODE_EXTRA_CA_CERTS"
        return TransportError(text, "tls", code)
    named = f"{code}: {reason}" if code else reason
    return TransportError(f"Connection error {doing}: {named}", "connection", code)


def _symbolic_code(error: BaseException) -> str | None:
    import errno
    import socket

    if isinstance(error, socket.gaierror):
        return "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
    if isinstance(error, ConnectionResetError):
        return "ECONNRESET"
    if isinstance(error, BrokenPipeError):
        return "EPIPE"
    is_tls_error = type(error).__name__.startswith("SSL")  # its errno is not the system's
    if isinstance(error, OSError) and isinstance(error.errno, int) and not is_tls_error:
        return errno.errorcode.get(error.errno)
    return None


def _is_certificate_failure(error: BaseException) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"


class HttpRequest(msgspec.Struct, kw_only=True):
    """One request. Timeouts are in seconds, None waits for ever.

    `idle_timeout_s` bounds the wait for the response headers and every gap between body chunks. `env` overrides the
    process environment where proxies are looked up.
    """

    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes = b""
    connect_timeout_s: float | None = DEFAULT_CONNECT_TIMEOUT_S
    idle_timeout_s: float | None = None
    signal: AbortSignal | None = None
    env: Mapping[str, str] | None = None


class HttpResponse(Protocol):
    """A response whose body is still to be read. Header names are in lower case."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers; repeated ones are joined with a comma."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Body chunks as they arrive, decoded from any content encoding, never empty."""
        ...

    def release(self) -> None:
        """The reader has what it needs: keep the connection if the rest of the body is short, else close it."""
        ...

    async def aclose(self) -> None:
        """Give the connection up, at once; one whose body was read to its end is kept for the next request."""
        ...


class Transport(Protocol):
    """Opens HTTP requests. Implementations keep connections per event loop and may be shared by all tasks."""

    async def open(self, request: HttpRequest) -> HttpResponse:
        """Send `request` and return when the response headers are there.

        Raises `TransportError`, or `OperationAbortedError` when the request's signal fires.
        """
        ...


async def read_body(response: HttpResponse, limit_bytes: int) -> bytes:
    """The body up to `limit_bytes`; the rest is not read. Closes the response."""
    received = bytearray()
    try:
        async for chunk in response:
            received += chunk
            if len(received) >= limit_bytes:
                break
    finally:
        await response.aclose()
    return bytes(received[:limit_bytes])


class MemoryResponse:
    """A response made of values; `chunks` may be an async iterable."""

    def __init__(
        self,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        chunks: Iterable[bytes] | AsyncIterator[bytes] = (),
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in (headers or {}).items()}
        self.is_closed = False
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if isinstance(self._chunks, AsyncIterator):
            async for chunk in self._chunks:
                yield chunk
        else:
            for chunk in self._chunks:
                yield chunk

    def release(self) -> None:
        """Nothing to release; counts as closing."""
        self.is_closed = True

    async def aclose(self) -> None:
        """Nothing to release; remembers that it was called."""
        self.is_closed = True


Answer = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]


class FunctionTransport:
    """A transport that answers from a function, sync or async, without a network; for tests and embedders."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[HttpRequest] = []

    async def open(self, request: HttpRequest) -> HttpResponse:
        """Keep the request and return what the function makes of it."""
        if request.signal is not None:
            request.signal.raise_if_aborted()
        self.requests.append(request)
        response = self._answer(request)
        if inspect.isawaitable(response):
            return await response
        return response


class DefaultTransport:
    """Chooses per request: its own HTTP/1.1 client, or `httpcore2` where the environment names a proxy.

    Where the process has a stand-in, that gets every request instead.
    """

    stand_in: ClassVar[Transport | None] = None

    async def open(self, request: HttpRequest) -> HttpResponse:
        """See `Transport.open`. Raises `RequestBlockedError` for a server that the environment does not permit."""
        if DefaultTransport.stand_in is not None:
            return await DefaultTransport.stand_in.open(request)
        return await open_real(request)


async def open_real(request: HttpRequest) -> HttpResponse:
    """Open a request over the network, whatever stands in for it."""
    from pinyon.ai.destination import check_destination

    check_destination(request.url)
    from pinyon.ai.proxy import proxy_for

    proxy_url = proxy_for(request.url, request.env)
    if proxy_url is not None:
        from pinyon.ai.proxied_http import open_proxied

        return await open_proxied(request, proxy_url)
    from pinyon.ai.direct_http import open_direct

    return await open_direct(request)


@contextmanager
def standing_in(transport: Transport) -> Iterator[None]:
    """Send every request of this process that names no transport of its own to `transport`, for recordings."""
    previous, DefaultTransport.stand_in = DefaultTransport.stand_in, transport
    try:
        yield
    finally:
        DefaultTransport.stand_in = previous


DEFAULT_TRANSPORT = DefaultTransport()
