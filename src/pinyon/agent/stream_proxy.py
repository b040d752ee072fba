"""Answers through a relay that holds the provider's credentials, for clients that must not have them.

The request is `POST <proxy_url>/api/stream` with a bearer token and the JSON object `{model, context, options}`. The
response is lines of `data: <event>` as `pinyon.ai.relay_event` reads them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pinyon._util import json as _json
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.exchange import DEFAULT_TIMEOUT_S, timeout_s
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.relay_event import RelayReader
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.transport import (
    DEFAULT_CONNECT_TIMEOUT_S,
    DEFAULT_TRANSPORT,
    HttpRequest,
    HttpResponse,
    Transport,
    read_body,
)
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
    return AssistantMessageEventStream(_events(answer, model, request, transport, auth_token))


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
        body=_json.encode_clean(body),
        connect_timeout_s=timeout_s(options.connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_S),
        idle_timeout_s=timeout_s(options.timeout_ms, DEFAULT_TIMEOUT_S),
        signal=options.signal,
        env=options.env,
    )


async def _events(
    answer: LiveAnswer, model: Model, request: HttpRequest, transport: Transport, auth_token: str
) -> AsyncIterator[AssistantMessageEvent]:
    from pinyon.ai.http_error import failure_event

    response: HttpResponse | None = None
    try:
        response = await transport.open(request)
        await _check_status(response)
        reader = RelayReader(answer, model)
        reader.secrets = [auth_token]
        async for line in _lines(response):
            event = reader.take(reader.decode(line[5:].strip())) if line.startswith(b"data:") else None
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
