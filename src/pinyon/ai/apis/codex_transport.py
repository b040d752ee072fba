"""How a request reaches the ChatGPT service: over a WebSocket where that works, else over HTTP.

A socket that fails before the first event of an answer leaves no trace on the server, so the request goes out again
over HTTP, and so do the later ones of the session. What fails after that ends the answer.
"""

from __future__ import annotations

import msgspec

from pinyon._util import json as _json
from pinyon._util.abort import OperationAbortedError
from pinyon._util.clock import Clock
from pinyon._util.ids import uuid7
from pinyon.ai.apis.codex_failure import may_retry, retry_delay_s
from pinyon.ai.apis.codex_payload import body_fields, compressed, http_headers, socket_headers, socket_url
from pinyon.ai.apis.codex_socket import POOLS, Continuation, Socket, SocketKey, has_websockets, open_socket
from pinyon.ai.apis.responses_event import ResponseEvent, error_code, event_from, parse_event
from pinyon.ai.apis.responses_payload import Payload, joined
from pinyon.ai.apis.responses_source import EventSource, HttpSource
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import secrets_of
from pinyon.ai.message import AssistantMessage
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import pause
from pinyon.ai.session_resource import SessionMemory
from pinyon.errors import ProviderError

_STALE = "previous_response_not_found"
_TOO_MANY = "websocket_connection_limit_reached"

_http_only: SessionMemory[bool] = SessionMemory()


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


async def open_http(call: ServiceCall, exchange: Exchange, clock: Clock) -> EventSource:
    """Send the request over HTTP, again after passing failures as often as the caller allows."""
    options, request = call.options, call.payload.request
    body = await exchange.edited(call.body())
    headers = http_headers(request, call.account)
    small = compressed(call.url, body)
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


async def open_over_socket(call: ServiceCall, exchange: Exchange) -> SocketSource:
    """Send the request over a WebSocket and wait for the first event.

    Raises `TransportError` where there is none, so that the request can still go out otherwise.
    """
    source = SocketSource(call, exchange)
    try:
        await source.open()
    except BaseException:
        source.give_up()
        raise
    return source


class SocketSource:
    """The events of one response that come over a WebSocket."""

    def __init__(self, call: ServiceCall, exchange: Exchange) -> None:
        self._call = call
        self._exchange = exchange
        self._socket: Socket | None = None
        self._is_own_body = True
        self._waiting: list[ResponseEvent] = []
        self.is_over = False

    async def open(self) -> None:
        """Send the request; once more on a new socket where the server has forgotten the conversation or is full."""
        whole = self._call.body()
        body = await self._exchange.edited(whole)
        self._is_own_body = body == whole
        first = await self._first_event(body)
        if first.type == "error" and error_code(first) in (_STALE, _TOO_MANY):
            self.give_up()
            first = await self._first_event(body)
        self._waiting = [first]

    async def _first_event(self, body: bytes) -> ResponseEvent:
        socket = await self._take_socket()
        held, socket.continuation = socket.continuation, None
        if held is not None and self._is_own_body and self._continues and self._call.extends(held):
            body = self._call.continued(held)
        await socket.send(b'{"type":"response.create",' + body[1:])
        return await self._receive()

    @property
    def _continues(self) -> bool:
        options = self._call.options
        return options.transport in ("auto", "websocket-cached") and not options.disable_continuation

    async def _take_socket(self) -> Socket:
        call, options = self._call, self._call.options
        session_id = call.payload.request.cached_session_id
        key = SocketKey(session_id, call.account, call.url) if session_id else None
        kept = POOLS.get().take(key) if key is not None else None
        if kept is None:
            headers = socket_headers(call.payload.request, call.account, session_id or uuid7())
            self._exchange.secrets = secrets_of(headers, options.api_key)
            kept = await open_socket(key, socket_url(call.url), headers, options)
        self._socket = kept
        return kept

    async def next_events(self) -> list[ResponseEvent]:
        """See `EventSource.next_events`."""
        if self._waiting:
            events, self._waiting = self._waiting, []
            return events
        return [await self._receive()]

    async def _receive(self) -> ResponseEvent:
        assert self._socket is not None
        while True:
            value = parse_event(await self._socket.receive(self._call.options))
            await self._exchange.tell(value)
            event = event_from(value)
            if event is not None:
                return event

    def finish(self, message: AssistantMessage) -> None:
        """The answer is whole: remember what the server holds now, and let the socket rest."""
        socket, self._socket = self._socket, None
        if socket is None:
            return
        reply = self._call.payload.reply_items(message)
        if self._is_own_body and message.response_id and reply:
            items = (*self._call.payload.items, *reply)
            socket.continuation = Continuation(message.response_id, items, self._call.other_fields())
        POOLS.get().release(socket)

    def give_up(self) -> None:
        """Drop the socket of an answer that did not come to its end."""
        socket, self._socket = self._socket, None
        if socket is not None:
            POOLS.get().drop(socket)
