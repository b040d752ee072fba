"""The Converse API of Amazon Bedrock, streamed.

Requests are signed by a bearer token, or by AWS credentials with the extra `bedrock`. The service's own policy of three
attempts holds in place of `max_retries`. HTTP/1.1 is spoken always, so `AWS_BEDROCK_FORCE_HTTP1` changes nothing.

Options that only this API knows, in `StreamOptions.extra`: `region`, `profile`, `bearer_token`, `request_metadata`
(texts by name), `interleaved_thinking` (bool, default true), `thinking_display` (`summarized` or `omitted`) and
`tool_choice` (`auto`, `any`, `none` or `{"type": "tool", "name": ...}`).

Source of the protocol: the vendor's published API reference and the service model of its SDK.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from pinyon._util.clock import now_ms
from pinyon.ai.apis.bedrock_auth import sign
from pinyon.ai.apis.bedrock_error import BedrockError, note_failure, refusal, stream_failure
from pinyon.ai.apis.bedrock_option import BedrockRequest, settle
from pinyon.ai.apis.bedrock_payload import encode_body, request_headers
from pinyon.ai.apis.bedrock_stream import AnswerReader, decode_payload
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.event_stream import EventMessage, EventStreamDecoder
from pinyon.ai.exchange import Exchange
from pinyon.ai.http_error import HttpStatusError, error_text, failure_event, is_abort
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message, MessageDiagnostic
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.refused_image import set_aside_images, without_refused_images
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.strict_limit import StrictLimits, has_preferred_strict, names_strict_limit
from pinyon.ai.transcript import current_tools
from pinyon.errors import ProviderError

RETRIES = 2
"""Repeats after the first attempt, as the vendor's SDKs make them."""

_STRICT_LIMITS = StrictLimits()


class BedrockConverseStream:
    """The wire API; stateless apart from what it remembers about sessions."""

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`. A missing credential is an `error` event: only the credential chain knows of it."""
        options = msgspec.structs.replace(options, max_retries=RETRIES)
        return AssistantMessageEventStream(_events(model, messages, options, LiveAnswer(model)))


API = BedrockConverseStream()


async def _events(
    model: Model, messages: Sequence[Message], options: StreamOptions, answer: LiveAnswer
) -> AsyncIterator[AssistantMessageEvent]:
    exchange = Exchange(model, options)
    run = _Run(model, messages, options, answer, exchange)
    try:
        await run.open()
        while not run.is_over:
            for message in await run.next_messages():
                for event in run.reader.take(message.text(":event-type"), message.payload):
                    yield event
        for event in answer.end_open_blocks():
            yield event
        yield run.finish()
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        if not is_abort(error, options.signal):
            note_failure(answer, error, exchange.response_header("x-amzn-requestid"), run.secrets)
        yield failure_event(answer, error, options.signal, run.secrets)
    finally:
        await exchange.aclose()


class _Run:
    """One answer: the request, what is changed in it after a refusal, and the messages of the response."""

    def __init__(
        self,
        model: Model,
        messages: Sequence[Message],
        options: StreamOptions,
        answer: LiveAnswer,
        exchange: Exchange,
    ) -> None:
        self._model = model
        self._messages = without_refused_images(messages, model)
        self._options = options
        self._answer = answer
        self._exchange = exchange
        self._decoder = EventStreamDecoder()
        self._failure: BedrockError | None = None
        self._prefer_strict = _STRICT_LIMITS.may_prefer_strict(options.session_id)
        self.reader = AnswerReader(answer, model)
        self.is_over = False
        """Whether the response has ended."""
        self.secrets: list[str] = list(exchange.secrets)
        """Credentials of the request, for texts to leave out."""

    async def open(self) -> None:
        """Send the request, again where the server wants it otherwise, until there is a response to read."""
        request = settle(self._model, self._messages, self._options)
        while True:
            try:
                return await self._send(request)
            except HttpStatusError as error:
                failure = refusal(error)
                if not self._mended(error, failure):
                    raise failure from error

    async def _send(self, request: BedrockRequest) -> None:
        body = encode_body(request, self._messages, may_prefer_strict=self._prefer_strict)
        body = await self._exchange.edited(body)
        headers = request_headers(request)
        signature = await sign(self._model, self._options, request.env, request.endpoint, headers, body)
        self.secrets += signature.secrets
        await self._exchange.open(request.endpoint.url, {**headers, **signature.headers}, body, unwrap_error=False)
        self.secrets += self._exchange.secrets

    def _mended(self, error: HttpStatusError, failure: ProviderError) -> bool:
        """Whether the request was changed in answer to a refusal, so that it may be taken now."""
        if self._prefer_strict and _is_strict_limit(failure) and has_preferred_strict(current_tools(self._messages)):
            self._prefer_strict = False
            _STRICT_LIMITS.remember(self._options.session_id)
            kind = "bedrock_strict_tools_fallback"
        elif set_aside_images(self._messages, self._model, error):
            self._messages = without_refused_images(self._messages, self._model)
            kind = "refused_images_fallback"
        else:
            return False
        details = {"error": error_text(failure, [*self.secrets, *self._exchange.secrets])}
        target = self._answer.target
        target.diagnostics = [*(target.diagnostics or []), MessageDiagnostic(kind, now_ms(), details=details)]
        return True

    async def next_messages(self) -> list[EventMessage]:
        """The events that arrive next; sets `is_over` at the end. Raises `BedrockError` where one reports a failure."""
        if self._failure is not None:
            raise self._failure  # what came before it has been told
        chunk = await self._exchange.read()
        if not chunk:
            self.is_over = True
            self._decoder.finish()
            return []
        self._check_kind()
        messages = self._decoder.feed(chunk)
        for index, message in enumerate(messages):
            if message.text(":message-type") in ("exception", "error"):
                self._failure = stream_failure(message, self._exchange.response_header("x-amzn-requestid"))
                return messages[:index]
            if self._options.on_provider_stream_event is not None:
                kind = message.text(":event-type")
                await self._exchange.tell({kind: decode_payload(kind, message.payload)})
        return messages

    def _check_kind(self) -> None:
        """A page of some gateway is reported as what it is, not as a damaged stream."""
        kind = self._exchange.response_header("content-type")
        if kind and "eventstream" not in kind.lower() and "octet-stream" not in kind.lower():
            self._exchange.check_answered(False)

    def finish(self) -> Done:
        """The final event of a complete answer. Raises `ProviderError` where it is none."""
        self._exchange.check_answered(self.reader.is_started)
        done = self.reader.finish()
        self._exchange.release()
        return done


def _is_strict_limit(failure: ProviderError) -> bool:
    return isinstance(failure, BedrockError) and failure.is_validation and names_strict_limit(failure.service_message)
