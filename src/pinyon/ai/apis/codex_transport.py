"""How a request reaches the ChatGPT service: over a WebSocket where that works (`codex_stream`), else over HTTP.

A socket that fails before the first event of an answer leaves no trace on the server, so the request goes out again
over HTTP, and so do the later ones of the session. What fails after that ends the answer.
"""

from __future__ import annotations

import msgspec

from pinyon._util import json as _json
from pinyon._util.abort import OperationAbortedError
from pinyon._util.clock import Clock
from pinyon.ai.apis.codex_failure import may_retry, retry_delay_s
from pinyon.ai.apis.codex_payload import body_fields, compressed, http_headers
from pinyon.ai.apis.responses_payload import Payload, joined
from pinyon.ai.apis.responses_source import EventSource, HttpSource
from pinyon.ai.exchange import Exchange
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import pause
from pinyon.ai.session_resource import SessionMemory
from pinyon.errors import ProviderError

_http_only: SessionMemory[bool] = SessionMemory()


class Continuation(msgspec.Struct, frozen=True):
    """What the server holds on a socket: the response that ends it, the items up to there, all other fields."""

    response_id: str
    items: tuple[bytes, ...]
    other_fields: bytes


class ServiceCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request: its payload, where it goes and on whose account."""

    payload: Payload
    url: str
    account: str

    @property
    def options(self) -> StreamOptions:
        """The options of the request."""
        return self.payload.request.options

    def body(self) -> bytes:
        """The whole body."""
        head, tail = body_fields(self.payload)
        return _json.encode_clean(head | {"input": self.payload.input} | tail)

    def continued(self, continuation: Continuation) -> bytes:
        """The body with only the items that the server does not hold yet."""
        head, tail = body_fields(self.payload)
        rest = joined(self.payload.items[len(continuation.items) :])
        previous = {"previous_response_id": continuation.response_id}
        return _json.encode_clean(head | {"input": rest} | tail | previous)

    def other_fields(self) -> bytes:
        """Everything but the input, to compare requests by."""
        return _json.encode_clean(body_fields(self.payload))

    def extends(self, continuation: Continuation) -> bool:
        """Whether the request asks the same and begins with what the server holds."""
        held = continuation.items
        return (
            len(self.payload.items) > len(held)
            and tuple(self.payload.items[: len(held)]) == held
            and continuation.other_fields == self.other_fields()
        )


def wants_socket(options: StreamOptions) -> bool:
    """Whether a WebSocket is to be tried. A transport of the caller's own is never passed by."""
    if options.transport == "sse" or options.http is not None:
        return False
    if options.session_id and _http_only.get(options.session_id):
        return False
    return options.transport in ("websocket", "websocket-cached") or has_websockets()


def avoid_sockets(session_id: str | None) -> None:
    """Use HTTP for the rest of the session."""
    if session_id:
        _http_only.set(session_id, True)


def has_websockets() -> bool:
    """Whether the optional package is installed."""
    from importlib.util import find_spec

    return find_spec("websockets") is not None


async def open_http(call: ServiceCall, exchange: Exchange, clock: Clock) -> EventSource:
    """Send the request over HTTP, again after passing failures as often as the caller allows."""
    options, request = call.options, call.payload.request
    body = await exchange.edited(call.body())
    headers = http_headers(request, call.account)
    # A transport of the caller's own sees what is said.
    small = compressed(call.url, body) if options.http is None else None
    if small is not None:
        body, headers["content-encoding"] = small, "zstd"
    attempt = 0
    while True:
        try:
            await exchange.open(call.url, headers, body, unwrap_error=True)
        except ProviderError as error:
            if attempt >= options.max_retries or not may_retry(error):
                raise
            delay_s = retry_delay_s(error, attempt, options.max_retry_delay_ms, clock)
        else:
            return HttpSource(exchange, is_watched=options.on_provider_stream_event is not None)
        attempt += 1
        if not await pause(delay_s, options.signal, clock):
            raise OperationAbortedError
