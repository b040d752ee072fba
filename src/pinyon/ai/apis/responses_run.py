"""One answer over HTTP by the Responses API: what the vendor's adapter and Azure's have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from pinyon.ai.apis.responses_compat import Flavour
from pinyon.ai.apis.responses_failure import provider_error
from pinyon.ai.apis.responses_option import ResponsesRequest, settle
from pinyon.ai.apis.responses_payload import EncodingMemory, Payload, build_payload, encoded_body
from pinyon.ai.apis.responses_source import HttpSource
from pinyon.ai.apis.responses_stream import AnswerReader, TierPolicy, add_diagnostic
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import HttpStatusError, error_text, failure_event
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.stream import AssistantMessageEventStream


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request goes: its address and headers, what the server calls the model, how error texts begin."""

    url: str
    headers: dict[str, str]
    model_name: str
    error_prefix: str


FindEndpoint = Callable[[ResponsesRequest, Sequence[Message]], Endpoint]
"""Resolves where a request goes. Raises `ProviderError` when the configuration does not say."""


class ResponsesApi:
    """A wire API of this family; remembers only how messages were encoded."""

    def __init__(
        self, flavour: Flavour, require_credential: Callable[[Model, StreamOptions], None], endpoint: FindEndpoint
    ) -> None:
        self._flavour: Flavour = flavour
        self._require_credential = require_credential
        self._endpoint = endpoint
        self._memory = EncodingMemory()

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        self._require_credential(model, options)
        run = _Run(model, messages, options, LiveAnswer(model), self._memory)
        return AssistantMessageEventStream(_events(run, self._flavour, self._endpoint))


async def _events(run: _Run, flavour: Flavour, endpoint: FindEndpoint) -> AsyncIterator[AssistantMessageEvent]:
    answer, exchange, options = run.answer, run.exchange, run.options
    try:
        reader = await run.open(flavour, endpoint)
        source = HttpSource(exchange, is_watched=options.on_provider_stream_event is not None)
        yield answer.start()
        while not (source.is_over or reader.is_complete):
            for event in await source.next_events():
                for update in reader.take(event):
                    yield update
        exchange.check_answered(reader.is_started)
        done = reader.finish()
        exchange.release()
        yield done
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        yield failure_event(answer, run.explained(error), options.signal, exchange.secrets)
    finally:
        await exchange.aclose()


class _Run:
    """The request of one answer, and a second one without the images that the server refused."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        memory: EncodingMemory,
    ) -> None:
        self.answer = answer
        self.options = options
        self.exchange = Exchange(model, options)
        self._model = model
        self._messages = messages
        self._memory = memory
        self._error_prefix = ""

    async def open(self, flavour: Flavour, find_endpoint: FindEndpoint) -> AnswerReader:
        """Send the request, and once more without the images that the server refused; gives what reads the answer."""
        self._messages = without_refused_images(self._messages, self._model)
        request = settle(self._model, flavour, self._messages, self.options)
        endpoint = find_endpoint(request, self._messages)
        self._error_prefix = endpoint.error_prefix
        if request.marks_effort:
            self.answer.target.provider_thinking_level = request.effort or ""
        payload = build_payload(request, self._messages, self._memory)
        try:
            await self._send(payload, endpoint)
        except HttpStatusError as error:
            if not set_aside_images(self._messages, self._model, error):
                raise
            self._messages = without_refused_images(self._messages, self._model)
            told = {"error": error_text(error, self.exchange.secrets)}
            add_diagnostic(self.answer, "refused_images_fallback", told)
            payload = build_payload(request, self._messages, self._memory)
            await self._send(payload, endpoint)
        tier = TierPolicy(requested=request.own_option("service_tier"))
        return AnswerReader(self.answer, self._model, endpoint.model_name, payload.grammar_inputs, tier)

    async def _send(self, payload: Payload, endpoint: Endpoint) -> None:
        body = await self.exchange.edited(encoded_body(payload, endpoint.model_name))
        await self.exchange.open(endpoint.url, endpoint.headers, body, unwrap_error=True)

    def explained(self, error: Exception) -> Exception:
        """The error as users are told of it: a refusal with the name of who refused."""
        return provider_error(error, self._error_prefix)
