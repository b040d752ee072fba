"""The Responses API of the ChatGPT service, which a ChatGPT plan pays for.

The credential is an access token of the plan; its claims name the account. Answers come over HTTP, or over a WebSocket
where the optional package `websockets` is installed and `StreamOptions.transport` does not say `sse`; with `auto` or
`websocket-cached` a request that extends the one before sends only what is new.

Options that only this API knows, in `StreamOptions.extra`: those of the vendor's Responses API and `text_verbosity`
(`low`, `medium` or `high`). Requests name this program and no other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.ai.apis.codex_account import account_id
from pinyon.ai.apis.codex_failure import event_limit, explained
from pinyon.ai.apis.codex_payload import service_url
from pinyon.ai.apis.codex_transport import (
    ServiceCall,
    avoid_sockets,
    open_http,
    wants_socket,
)
from pinyon.ai.apis.responses_event import ResponseEvent
from pinyon.ai.apis.responses_option import settle
from pinyon.ai.apis.responses_payload import EncodingMemory, build_payload
from pinyon.ai.apis.responses_source import EventSource
from pinyon.ai.apis.responses_stream import AnswerReader, TierPolicy, add_diagnostic
from pinyon.ai.event import AssistantMessageEvent, UpdateEvent
from pinyon.ai.exchange import Exchange, missing_key
from pinyon.ai.http_error import HttpStatusError, error_text, failure_event
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import AssistantMessage, Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transport import TransportError

if TYPE_CHECKING:
    from pinyon.ai.apis.codex_stream import SocketSource

_PRIORITY = frozenset({"priority"})


class CodexResponses:
    """The wire API; remembers how messages were encoded, and the sockets of sessions."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._memory = EncodingMemory()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        if not options.api_key:
            raise missing_key(model)
        run = _Run(model, messages, options, LiveAnswer(model), self._memory, self._clock)
        return AssistantMessageEventStream(_events(run))


API = CodexResponses()


async def _events(run: _Run) -> AsyncIterator[AssistantMessageEvent]:
    answer = run.answer
    try:
        source = await run.open()
        reader = run.reader
        yield answer.start()
        while not (source.is_over or reader.is_complete):
            for event in await source.next_events():
                for update in run.updates(event):
                    yield update
        run.exchange.check_answered(reader.is_started)
        done = reader.finish()
        run.release(done.message)
        yield done
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        yield failure_event(answer, explained(error, run.clock), run.options.signal, run.exchange.secrets)
    finally:
        await run.aclose()


class _Run:
    """The request of one answer, over whichever transport takes it."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        memory: EncodingMemory,
        clock: Clock,
    ) -> None:
        self.answer = answer
        self.options = options
        self.clock = clock
        # Repeating a request is decided here, not by the exchange.
        self.exchange = Exchange(model, msgspec.structs.replace(options, max_retries=0))
        self._model = model
        self._messages = messages
        self._memory = memory
        self._socket: SocketSource | None = None

    async def open(self) -> EventSource:
        """Send the request, and once more without the images that the service refused."""
        self._messages = without_refused_images(self._messages, self._model)
        call = self._call()
        if wants_socket(self.options):
            from pinyon.ai.apis.codex_stream import open_over_socket  # most requests go over HTTP

            try:
                self._socket = await open_over_socket(call, self.exchange)
            except TransportError as error:
                self._note_fallback(error)
            else:
                return self._socket
        try:
            return await open_http(call, self.exchange, self.clock)
        except HttpStatusError as error:
            if not set_aside_images(self._messages, self._model, error):
                raise
            told = {"error": error_text(error, self.exchange.secrets)}
            add_diagnostic(self.answer, "refused_images_fallback", told)
        self._messages = without_refused_images(self._messages, self._model)
        return await open_http(self._call(), self.exchange, self.clock)

    def _call(self) -> ServiceCall:
        request = settle(self._model, "codex", self._messages, self.options)
        if request.marks_effort:
            self.answer.target.provider_thinking_level = request.effort or ""
        account = account_id(self.options.api_key or "")
        payload = build_payload(request, self._messages, self._memory)
        tier = TierPolicy(requested=request.own_option("service_tier"), names=_PRIORITY, keeps_requested=True)
        self.reader = AnswerReader(self.answer, self._model, self._model.id, payload.grammar_inputs, tier)
        return ServiceCall(payload=payload, url=service_url(self._model.base_url), account=account)

    def _note_fallback(self, error: TransportError) -> None:
        avoid_sockets(self.options.session_id)
        details = {
            "from": "websocket",
            "to": "sse",
            "transport": self.options.transport or "auto",
            "error": error_text(error, self.exchange.secrets),
        }
        add_diagnostic(self.answer, "provider_transport_failure", details)

    def updates(self, event: ResponseEvent) -> Iterable[UpdateEvent]:
        """The updates of one event. Raises `ProviderError` for a failure that the service reports."""
        limit = event_limit(event, self.clock)
        if limit is not None:
            raise limit
        return self.reader.take(event)

    def release(self, message: AssistantMessage) -> None:
        """The answer is whole: its connection may serve another request."""
        if self._socket is not None:
            self._socket.finish(message)
        self.exchange.release()

    async def aclose(self) -> None:
        """Give up whatever is still open."""
        if self._socket is not None:
            self._socket.give_up()
        await self.exchange.aclose()
