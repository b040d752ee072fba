"""Model requests through an HTTP proxy, by `httpcore2`: forwarding for http, a CONNECT tunnel for https.

One task per response pumps bytes from the library into a feed, so that abort and idle timeout work as they do for
direct connections. The task belongs to the response and ends with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pinyon._util.abort import until_aborted
from pinyon._util.loop_local import LoopLocal
from pinyon.ai.byte_feed import ByteFeed
from pinyon.ai.content_coding import DecodedBody
from pinyon.ai.direct_http import parse_url, request_headers
from pinyon.ai.transport import HttpRequest, TransportError, connection_failure

if TYPE_CHECKING:
    import httpcore2

_IDLE_LIFE_S = 30.0
_DRAIN_LIMIT_S = 2.0


class _Pump:
    """The task that reads one response from the library."""

    def __init__(self, pool: httpcore2.AsyncConnectionPool, request: httpcore2.Request, doing: str) -> None:
        self._pool = pool
        self._request = request
        self._doing = doing
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()
        self.response: httpcore2.Response | None = None
        self.feed = ByteFeed(self._stop, self._pause)
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(self._ended)

    async def _run(self) -> None:
        import httpcore2

        try:
            self.response = await self._pool.handle_async_request(self._request)
            self.feed.feed(b"")  # wakes the reader: the head is there
            await self._copy(self.response)
            self.feed.end()
        except httpcore2.ProxyError as error:
            text = f"the proxy refused {self._doing}: {error}; check the credentials in HTTPS_PROXY or HTTP_PROXY"
            self.feed.end(TransportError(text, "request"))
        except httpcore2.TimeoutException as error:
            self.feed.end(TransportError(f"Request timed out {self._doing}: {type(error).__name__}", "timeout"))
        except httpcore2.RemoteProtocolError as error:
            self.feed.end(TransportError(f"Connection closed {self._doing}: {error}", "connection"))
        except httpcore2.UnsupportedProtocol as error:
            self.feed.end(TransportError(f"cannot use the proxy {self._doing}: {error}", "request"))
        except (httpcore2.NetworkError, OSError) as error:
            self.feed.end(connection_failure(error, self._doing))

    async def _copy(self, response: httpcore2.Response) -> None:
        try:
            async for chunk in response.aiter_stream():
                await self._may_go_on.wait()
                self.feed.feed(chunk)
        finally:
            await response.aclose()

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Whatever nobody foresaw goes to the reader instead of leaving it waiting.
        error = None if task.cancelled() else task.exception()
        self.feed.end(error if isinstance(error, Exception) else None)

    def _stop(self) -> None:
        self.task.cancel()

    def _pause(self, is_paused: bool) -> None:
        if is_paused:
            self._may_go_on.clear()
        else:
            self._may_go_on.set()

    async def aclose(self) -> None:
        """End the task and wait for it."""
        self.feed.unwatch()
        self.task.cancel()
        await asyncio.wait([self.task])


class ProxiedResponse:
    """A response that comes through a proxy."""

    def __init__(self, pump: _Pump, response: httpcore2.Response, first: bytes) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _joined_headers(response.headers)
        self._pump = pump
        self._first = first
        self._body = DecodedBody(self.headers.get("content-encoding", ""), self._read_encoded)
        self._is_released = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if body := await self._body.read():
            return body
        raise StopAsyncIteration

    async def _read_encoded(self) -> bytes:
        data, self._first = self._first, b""
        return data or await self._pump.feed.read()

    def release(self) -> None:
        """See `HttpResponse.release`."""
        if not self._is_released:
            self._is_released = True
            self._pump.feed.unwatch()
            asyncio.get_running_loop().call_later(_DRAIN_LIMIT_S, self._pump.task.cancel)

    async def aclose(self) -> None:
        """See `HttpResponse.aclose`."""
        if not self._is_released:
            self._is_released = True
            await self._pump.aclose()


async def open_proxied(request: HttpRequest, proxy_url: str) -> ProxiedResponse:
    """Send `request` through the proxy at `proxy_url`. Errors as in `Transport.open`."""
    if request.signal is not None:
        request.signal.raise_if_aborted()
    finding = _pool(proxy_url)
    pool = await (finding if request.signal is None else until_aborted(finding, request.signal))
    origin = parse_url(request.url).origin
    pump = _Pump(pool, _library_request(request), f"connecting to {origin.host_header} through the proxy")
    pump.feed.waiting_for = "response headers"
    pump.feed.watch(request.signal, request.idle_timeout_s)
    try:
        first = await pump.feed.read()
        assert pump.response is not None  # the pump either has a response or an error, which `read` raised
        pump.feed.waiting_for = "data from the server"
        return ProxiedResponse(pump, pump.response, first)
    except BaseException:
        await pump.aclose()
        raise


def _library_request(request: HttpRequest) -> httpcore2.Request:
    import httpcore2

    timeouts = {"connect": request.connect_timeout_s, "pool": request.connect_timeout_s}
    target = parse_url(request.url)
    headers = {"Host": target.origin.host_header, **request_headers(request, target.authorization)}
    headers["Content-Length"] = str(len(request.body))
    return httpcore2.Request(
        request.method,
        f"{target.origin.scheme}://{target.origin.host_header}{target.path}",
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        content=request.body,
        extensions={"timeout": timeouts},
    )


def _joined_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _close_pools(pools: dict[str, httpcore2.AsyncConnectionPool]) -> None:
    for pool in pools.values():
        await pool.aclose()


def _no_pools() -> dict[str, httpcore2.AsyncConnectionPool]:
    return {}


_POOLS = LoopLocal(_no_pools, _close_pools)


async def _pool(proxy_url: str) -> httpcore2.AsyncConnectionPool:
    pools = _POOLS.get()
    if proxy_url not in pools:
        pools[proxy_url] = await _new_pool(proxy_url)
    return pools[proxy_url]


async def _new_pool(proxy_url: str) -> httpcore2.AsyncConnectionPool:
    from pinyon.ai.tls import tls_context

    parts = urlsplit(proxy_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        text = f"the proxy must be an http:// or https:// URL, not {parts.scheme!r}; SOCKS proxies are not supported"
        raise TransportError(text, "request")
    import httpcore2

    context = await tls_context()
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username is not None else None
    proxy = httpcore2.Proxy(
        f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}",
        auth=auth,
        ssl_context=context if parts.scheme == "https" else None,
    )
    return httpcore2.AsyncConnectionPool(
        ssl_context=context, proxy=proxy, keepalive_expiry=_IDLE_LIFE_S, max_connections=None
    )
