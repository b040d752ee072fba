"""The `pi-messages` API: a gateway takes transcripts and answers with events in this program's own form.

The request is `POST <base_url>/messages` with `{model, context: {messages}, options}`; the response is server-sent
events as `pinyon.ai.relay_event` reads them. Options that only this API knows, in `StreamOptions.extra`: `debug` (bool)
asks the gateway for details.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import UNSET

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon.ai.event import AssistantMessageEvent, Done, StreamError
from pinyon.ai.exchange import Exchange, is_signed, missing_key
from pinyon.ai.http_error import HttpStatusError, error_text, failure_event, is_abort, shortened
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.live import LiveAnswer
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, DiagnosticError, Message, MessageDiagnostic, ToolResultMessage
from pinyon.ai.model import Model, clamp_level
from pinyon.ai.option import StreamOptions
from pinyon.ai.relay_event import RelayReader
from pinyon.ai.sse import SseDecoder
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transform import transform_messages
from pinyon.errors import ProviderError

_AUTH_HEADERS = ("authorization",)
_ENCODED: MessageMemo[bytes] = MessageMemo()
_HANDED_OVER: MessageMemo[Message] = MessageMemo()


class PiMessages:
    """The wire API; stateless."""

    def stream(self, model: Model, messages: Sequence[Message], options: StreamOptions) -> AssistantMessageEventStream:
        """See `WireApi.stream`."""
        if not is_signed(model, options, _AUTH_HEADERS):
            raise missing_key(model)
        # Whether to ask again is for the gateway and the caller to decide.
        options = msgspec.structs.replace(options, max_retries=0)
        return AssistantMessageEventStream(_events(model, messages, options, LiveAnswer(model)))


API = PiMessages()


async def _events(
    model: Model, messages: Sequence[Message], options: StreamOptions, answer: LiveAnswer
) -> AsyncIterator[AssistantMessageEvent]:
    exchange = Exchange(model, options)
    reader = RelayReader(answer, model)
    try:
        await _open(exchange, model, messages, options)
        reader.secrets = exchange.secrets
        async for event in _read(exchange, reader):
            if isinstance(event, Done | StreamError):
                exchange.release()
            yield event
        if not reader.is_over:
            exchange.check_answered(reader.is_started)
            yield answer.fail("the gateway's stream ended without a final event")
    except Exception as error:  # noqa: BLE001 - hooks are the caller's code; whatever fails ends the stream as an event
        if not is_abort(error, options.signal):
            _note_failure(answer, error, exchange.secrets)
        yield failure_event(answer, error, options.signal, exchange.secrets)
    finally:
        await exchange.aclose()


async def _read(exchange: Exchange, reader: RelayReader) -> AsyncIterator[AssistantMessageEvent]:
    """The events of the response, up to the final one or to its end."""
    decoder, is_read = SseDecoder(), False
    while not is_read:
        chunk = await exchange.read()
        is_read = not chunk
        for sse in decoder.feed(chunk) if chunk else decoder.finish():
            data = reader.decode(sse.data)
            await exchange.tell(data)
            event = reader.take(data)
            if event is not None:
                yield event
            if isinstance(event, Done | StreamError):
                return


async def _open(exchange: Exchange, model: Model, messages: Sequence[Message], options: StreamOptions) -> None:
    url = f"{model.base_url.rstrip('/')}/messages{'?debug=1' if (options.extra or {}).get('debug') else ''}"
    body = await exchange.edited(encode_body(model, messages, options))
    try:
        await exchange.open(url, _headers(model, options), body, unwrap_error=False)
    except HttpStatusError as error:
        raise _RefusalError.of(error) from error


def _headers(model: Model, options: StreamOptions) -> dict[str, str]:
    protocol = {"accept": "text/event-stream", "content-type": "application/json"}
    if options.api_key:
        protocol["authorization"] = f"Bearer {options.api_key}"
    identity = identity_headers(model.provider, options.identity)
    return merge_headers(identity, protocol, model.headers or None, options.headers)


def encode_body(model: Model, messages: Sequence[Message], options: StreamOptions) -> bytes:
    """The JSON of a request. System messages stay where they are: the gateway adapts them to the model behind it."""
    extra = options.extra or {}
    level = None if options.reasoning in (None, "off") else clamp_level(model, options.reasoning)
    told = {
        "temperature": options.temperature,
        "maxTokens": options.max_tokens,
        "reasoning": None if level == "off" else level,
        "cacheRetention": options.cache_retention,
        "sessionId": options.session_id,
        "toolChoice": extra.get("tool_choice", options.tool_choice),
    }
    settings = _json.encode_clean({name: value for name, value in told.items() if value is not None})
    transcript = b",".join(_encoded(message) for message in transform_messages(messages, model, memo=_HANDED_OVER))
    name = _json.encode_clean(model.id)
    return b'{"model":%s,"context":{"messages":[%s]},"options":%s}' % (name, transcript, settings)


def _encoded(message: Message) -> bytes:
    data = _ENCODED.get(message, "pi")
    if data is None:
        data = _json.encode_clean(_for_models(message))
        _ENCODED.put(message, "pi", data)
    return data


def _for_models(message: Message) -> Message:
    """The message without what is meant for programs and screens."""
    if isinstance(message, ToolResultMessage):
        return msgspec.structs.replace(message, details=UNSET, nested_calls=UNSET)
    if isinstance(message, AssistantMessage):
        return msgspec.structs.replace(message, diagnostics=UNSET)
    return message


class _RefusalError(ProviderError):
    """Raised for a response that is no success, with what the gateway says."""

    def __init__(self, text: str, details: dict[str, Any]) -> None:
        super().__init__(text)
        self.details = details

    @classmethod
    def of(cls, error: HttpStatusError) -> ProviderError:
        """The refusal in a response; `error` itself where it is not in the gateway's form."""
        try:
            body = _json.decode(error.body)
        except _json.JsonError:
            return error
        told = body.get("error") if isinstance(body, dict) else None
        if not isinstance(told, dict) or not isinstance(told.get("message"), str):
            return error
        code = told.get("code")
        text = f"{error.status} {_phrase(error.status)}: {told['message']}{f' ({code})' if code else ''}"
        return cls(shortened(text), {"status": error.status, **({"code": code} if code else {})})


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "status"


def _note_failure(answer: LiveAnswer, error: Exception, secrets: list[str]) -> None:
    details = error.details if isinstance(error, _RefusalError) else {}
    if isinstance(error, HttpStatusError):
        details = {"status": error.status}
    if details:
        shown = DiagnosticError(name=type(error).__name__.strip("_"), message=error_text(error, secrets))
        note = MessageDiagnostic("pi_messages_response_failure", now_ms(), error=shown, details=details)
        answer.target.diagnostics = [*(answer.target.diagnostics or []), note]
