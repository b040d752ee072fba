"""The events of one response that come over a WebSocket."""

from __future__ import annotations

from pinyon._util.ids import uuid7
from pinyon.ai.apis.codex_payload import socket_headers, socket_url
from pinyon.ai.apis.codex_socket import POOLS, Socket, SocketKey, open_socket
from pinyon.ai.apis.codex_transport import Continuation, ServiceCall
from pinyon.ai.apis.responses_event import ResponseEvent, error_code, event_from
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import secrets_of
from pinyon.ai.message import AssistantMessage
from pinyon.ai.wire_value import json_event

SWITCHED = 101
"""The status under which a WebSocket is opened, which callers are told for every answer that comes over one."""

_STALE = "previous_response_not_found"
_TOO_MANY = "websocket_connection_limit_reached"


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
        await self._exchange.answered(SWITCHED, socket.response_headers)
        event = await self._receive()
        while event.type != "error" and not event.type.startswith("response."):
            event = await self._receive()  # news of the service, such as limits, that is no part of an answer
        return event

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
            value = json_event(await self._socket.receive(self._call.options))
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
