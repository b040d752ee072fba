"""One answer of Google's `streamGenerateContent`, whoever serves it: the request, and the events of its response.

Options that only these APIs know, in `StreamOptions.extra`: `thinking` (`{"enabled", "budget_tokens"?, "level"?}`) and
`tool_choice` (`auto`, `none`, `any`, or an object that names a function).

Source of the protocol: the vendor's published API reference and its Python SDK's types.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from urllib.parse import quote

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.google_payload import EncodingMemory, build_body
from pinyon.ai.apis.google_stream import AnswerReader
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.event_feed import EventFeed
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import HttpStatusError, failure_event, is_abort, shortened
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.sse import SseEvent
from pinyon.ai.transport import TransportError
from pinyon.ai.wire_value import json_event

_MISSING_SIGNATURE = re.compile(r"missing\b.{0,20}\bthought[ _]?signature", re.IGNORECASE)


class Endpoint(msgspec.Struct, frozen=True):
    """Where a request goes, and all its headers."""

    url: str
    headers: dict[str, str]


Locate = Callable[[Exchange], Awaitable[Endpoint]]
"""Finds the endpoint when the request is about to be sent; tells the exchange the secrets it meets on the way."""


def stream_url(collection_url: str, model_id: str) -> str:
    """The address that streams answers of a model; ids may name the collection themselves."""
    path = model_id if model_id.startswith(("models/", "tunedModels/", "publishers/")) else f"models/{model_id}"
    return f"{collection_url.rstrip('/')}/{quote(path, safe='/@:-._~')}:streamGenerateContent?alt=sse"


async def google_events(
    model: Model,
    messages: Sequence[Message],
    options: StreamOptions,
    answer: LiveAnswer,
    memory: EncodingMemory,
    locate: Locate,
) -> AsyncIterator[AssistantMessageEvent]:
    """The events of one answer."""
    run = _Run(model, messages, options, answer, memory)
    try:
        await run.open(locate)
        yield answer.start()
        while not run.is_over:
            for sse in await run.next_events():
                value = json_event(sse.data)
                if options.on_provider_stream_event is not None:
                    await run.exchange.tell(value)
                for event in run.reader.take(value):
                    yield event
        for event in run.reader.finish_blocks():
            yield event
        yield run.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        for event in answer.end_open_blocks() if is_abort(error, options.signal) else ():
            yield event
        yield failure_event(answer, error, options.signal, run.exchange.secrets)
    finally:
        await run.exchange.aclose()


class _Run:
    """The request, a second one that mends a refusal, and the chunks of the response."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        memory: EncodingMemory,
    ) -> None:
        self.exchange = Exchange(model, options)
        self.reader = AnswerReader(answer, model)
        self.is_over = False
        """Whether the response has ended."""
        self._model = model
        self._messages = messages
        self._options = options
        self._memory = memory
        self._feed = EventFeed()

    async def open(self, locate: Locate) -> None:
        """Send the request, and once more without what the server refused and can do without."""
        if self._options.signal is not None:
            self._options.signal.raise_if_aborted()
        self._messages = without_refused_images(self._messages, self._model)
        body = self._body()
        endpoint = await locate(self.exchange)
        try:
            await self._send(endpoint, body)
        except HttpStatusError as error:
            if not self._mended(error):
                raise
            await self._send(endpoint, self._body())

    def _mended(self, error: HttpStatusError) -> bool:
        """Whether the next body differs in what the server refused."""
        if set_aside_images(self._messages, self._model, error):
            self._messages = without_refused_images(self._messages, self._model)
            return True
        # Calls that another model made in this very turn: the server wants each step to begin with a signed one.
        place, stand_ins = (self._model.base_url, self._model.id), self._memory.stand_ins
        wants_signature = error.status == 400 and _MISSING_SIGNATURE.search(error.body) is not None
        if not wants_signature or place in stand_ins:
            return False
        stand_ins.add(place)
        return True

    def _body(self) -> bytes:
        return _json.encode_clean(build_body(self._model, self._messages, self._options, self._memory))

    async def _send(self, endpoint: Endpoint, body: bytes) -> None:
        try:
            sent = await self.exchange.edited(body)
            await self.exchange.open(endpoint.url, endpoint.headers, sent, unwrap_error=False)
        except HttpStatusError as error:
            raise _plain_error(error) from error

    async def next_events(self) -> list[SseEvent]:
        """What arrives next; sets `is_over` once there is nothing more to read."""
        try:
            chunk = await self.exchange.read()
        except TransportError:
            if not self.reader.finish_reason:
                raise
            chunk = b""  # the answer had ended: nothing that matters is lost
        if chunk:
            return [event for event in self._feed.feed(chunk) if event.data]
        self.is_over = True
        return [event for event in self._feed.finish() if event.data.strip()]

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        self.exchange.check_answered(self.reader.saw_chunk)
        done = self.reader.done()
        self.exchange.release()
        return done


def _plain_error(error: HttpStatusError) -> HttpStatusError:
    """The refusal in the words of the API alone, where it answers in JSON: they name status and reason."""
    try:
        value = _json.decode(error.body)
    except _json.JsonError:
        return error
    is_told = isinstance(value, dict | list) and bool(value)
    return error.told_as(shortened(_json.encode(value).decode())) if is_told else error
