"""Answers through a relay that holds the provider's credentials, for clients that must not have them.

The request is `POST <proxy_url>/api/stream` with a bearer token and the JSON object `{model, context, options}`. The
response is lines of `data: <event>` in the form of `pinyon.ai.event` without the answer so far: block starts name the
call, block ends carry at most a signature, and the last event carries usage and reason. The message is rebuilt here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from msgspec import UNSET

from pinyon._util import json as _json
from pinyon.ai.codec import usage_from_wire
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transport import DEFAULT_TRANSPORT, HttpRequest, HttpResponse, Transport, read_body
from pinyon.errors import ProviderError

MAX_ERROR_BYTES = 64 * 1024
_FORWARDED = {
    "temperature": "temperature",
    "sampling_params": "samplingParams",
    "max_tokens": "maxTokens",
    "reasoning": "reasoning",
    "cache_retention": "cacheRetention",
    "session_id": "sessionId",
    "disable_continuation": "disableContinuation",
    "headers": "headers",
    "metadata": "metadata",
    "transport": "transport",
    "thinking_budgets": "thinkingBudgets",
    "max_retry_delay_ms": "maxRetryDelayMs",
}
"""Request options that the relay is told, by their names on the wire."""


def stream_proxy(
    model: Model,
    messages: Sequence[Message],
    options: StreamOptions,
    *,
    proxy_url: str,
    auth_token: str,
    transport: Transport = DEFAULT_TRANSPORT,
) -> AssistantMessageEventStream:
    """Ask `model` through the relay at `proxy_url`; every failure is the stream's one `error` event.

    As a stream function: `functools.partial(stream_proxy, proxy_url=..., auth_token=...)`.
    """
    answer = LiveAnswer(model)
    request = _request(model, messages, options, proxy_url, auth_token)
    return AssistantMessageEventStream(_events(answer, request, transport, auth_token))


def _request(
    model: Model, messages: Sequence[Message], options: StreamOptions, proxy_url: str, auth_token: str
) -> HttpRequest:
    forwarded = {wire: getattr(options, name) for name, wire in _FORWARDED.items()}
    told = {wire: value for wire, value in forwarded.items() if value is not None and value is not False}
    body = {"model": model, "context": {"messages": list(messages)}, "options": told}
    return HttpRequest(
        method="POST",
        url=f"{proxy_url.rstrip('/')}/api/stream",
        headers={"authorization": f"Bearer {auth_token}", "content-type": "application/json"},
        body=_json.encode(body),
        idle_timeout_s=None if options.timeout_ms is None else options.timeout_ms / 1000,
        signal=options.signal,
        env=options.env,
    )


async def _events(
    answer: LiveAnswer, request: HttpRequest, transport: Transport, auth_token: str
) -> AsyncIterator[AssistantMessageEvent]:
    from pinyon.ai.http_error import failure_event

    response: HttpResponse | None = None
    try:
        response = await transport.open(request)
        await _check_status(response)
        reader = _EventReader(answer)
        async for line in _lines(response):
            event = reader.read(line)
            if event is not None:
                yield event
            if reader.is_over:
                return
        yield answer.fail("the relay's stream ended without a final event")
    except Exception as error:  # noqa: BLE001 - whatever fails ends the stream as an event
        yield failure_event(answer, error, request.signal, [auth_token])
    finally:
        if response is not None:
            await response.aclose()


async def _check_status(response: HttpResponse) -> None:
    """Raise `ProviderError` with what a relay said that did not answer: the `error` of its JSON, else its status."""
    if 200 <= response.status < 300:
        return
    body = await read_body(response, MAX_ERROR_BYTES)
    try:
        value = _json.decode(body)
    except _json.JsonError:
        value = None
    told = value.get("error") if isinstance(value, dict) else None
    raise ProviderError(f"{response.status} from the relay: {told}" if told else f"{response.status} from the relay")


async def _lines(response: HttpResponse) -> AsyncIterator[bytes]:
    """The lines of a body, the last one also without its line end."""
    pending = b""
    async for chunk in response:
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            yield line
    yield pending


class _EventReader:
    """Turns lines into events and grows the answer by them."""

    def __init__(self, answer: LiveAnswer) -> None:
        self._answer = answer
        self.is_over = False
        self._handlers: dict[str, Callable[[dict[str, Any]], AssistantMessageEvent]] = {
            "start": lambda _: answer.start(),
            "text_start": lambda _: answer.text_start(),
            "text_delta": lambda event: answer.text_delta(self._index(event, TextContent), event["delta"]),
            "text_end": self._end_text,
            "thinking_start": lambda _: answer.thinking_start(),
            "thinking_delta": lambda event: answer.thinking_delta(self._index(event, ThinkingContent), event["delta"]),
            "thinking_end": self._end_thinking,
            "toolcall_start": lambda event: answer.toolcall_start(event["id"], event["toolName"]),
            "toolcall_delta": lambda event: answer.toolcall_delta(self._index(event, ToolCall), event["delta"]),
            "toolcall_end": self._end_call,
            "done": self._done,
            "error": self._failed,
        }

    def read(self, line: bytes) -> AssistantMessageEvent | None:
        """The event of a line; None for blank lines, comments, and kinds of events that are not known."""
        if not line.startswith(b"data:"):
            return None
        try:
            event = _json.decode(line[5:].strip())
            handler = self._handlers.get(event["type"])
            return None if handler is None else handler(event)
        except (_json.JsonError, LookupError, TypeError, AttributeError) as error:
            raise ProviderError(f"the relay sent an event that cannot be read: {error}") from error

    def _index(self, event: dict[str, Any], kind: type[object]) -> int:
        """The block that an event is about. Raises `ProviderError` where that is no open block of the kind."""
        index: int = event["contentIndex"]
        if not isinstance(self._answer.block(index), kind):
            raise ProviderError(f"the relay sent {event['type']!r} for content block {index}, which is of another kind")
        return index

    def _end_text(self, event: dict[str, Any]) -> AssistantMessageEvent:
        index = self._index(event, TextContent)
        block = self._answer.block(index)
        if isinstance(block, TextContent):
            block.text_signature = event.get("contentSignature") or UNSET
        return self._answer.text_end(index)

    def _end_thinking(self, event: dict[str, Any]) -> AssistantMessageEvent:
        signature = event.get("contentSignature") or UNSET
        return self._answer.thinking_end(self._index(event, ThinkingContent), signature=signature)

    def _end_call(self, event: dict[str, Any]) -> AssistantMessageEvent:
        index = self._index(event, ToolCall)
        block = self._answer.block(index)
        if isinstance(block, ToolCall):
            block.thought_signature = event.get("contentSignature") or UNSET
        return self._answer.toolcall_end(index)

    def _done(self, event: dict[str, Any]) -> AssistantMessageEvent:
        self._take_totals(event)
        return self._answer.done(event["reason"])

    def _failed(self, event: dict[str, Any]) -> AssistantMessageEvent:
        self._take_totals(event)
        return self._answer.fail(event.get("errorMessage") or "", aborted=event["reason"] == "aborted")

    def _take_totals(self, event: dict[str, Any]) -> None:
        self.is_over = True
        target = self._answer.target
        target.usage = usage_from_wire(event.get("usage"))
        target.provider_thinking_level = event.get("providerThinkingLevel") or UNSET
