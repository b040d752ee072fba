"""Options of one model request."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.transport import Transport as HttpTransport

CacheRetention = Literal["none", "short", "long"]
Transport = Literal["auto", "sse", "websocket", "websocket-cached"]
MaybeAwaitable = Any

PayloadHook = Callable[[dict[str, Any], Model], "Awaitable[dict[str, Any] | None] | dict[str, Any] | None"]
"""Sees the request body before it is sent; a returned object replaces it."""


class ResponseInfo(msgspec.Struct):
    """Status and headers of a response, before its body is read."""

    status: int
    headers: dict[str, str]


ResponseHook = Callable[[ResponseInfo, Model], "Awaitable[None] | None"]
ProviderEventHook = Callable[[Any, Model], "Awaitable[None] | None"]
HeadersHook = Callable[[dict[str, str]], "Awaitable[dict[str, str]] | dict[str, str]"]


class Attribution(msgspec.Struct):
    """How the calling program names itself to providers that show it to their users."""

    name: str
    url: str
    categories: list[str] | None = None


class Identity(msgspec.Struct, omit_defaults=True):
    """User agent and attribution of requests; `user_agent` is `detailed`, `short` or a text of its own."""

    user_agent: str = "detailed"
    version: str | None = None
    attribution: Attribution | None = None


class StreamOptions(msgspec.Struct, kw_only=True):
    """Everything that a caller may ask of a request; None means the provider's or model's default.

    `timeout_ms` bounds the wait for response headers and each gap between body chunks. `headers` values of None remove
    a default header of that name. `env` overrides the process environment for this request. `max_retries` counts
    repeats of the HTTP request before a stream has started.
    """

    signal: AbortSignal | None = None
    api_key: str | None = None
    env: Mapping[str, str] | None = None
    headers: Mapping[str, str | None] | None = None
    identity: Identity | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    sampling_params: Mapping[str, Any] | None = None
    cache_retention: CacheRetention | None = None
    session_id: str | None = None
    disable_continuation: bool = False
    transport: Transport | None = None
    timeout_ms: int | None = None
    connect_timeout_ms: int | None = None
    websocket_connect_timeout_ms: int | None = None
    max_retries: int = 0
    max_retry_delay_ms: int = 60_000
    metadata: Mapping[str, Any] | None = None
    on_payload: PayloadHook | None = None
    on_response: ResponseHook | None = None
    on_provider_stream_event: ProviderEventHook | None = None
    transform_headers: HeadersHook | None = None
    reasoning: ThinkingLevel | None = None
    thinking_budgets: Mapping[str, int] | None = None
    tool_choice: str | Mapping[str, Any] | None = None
    deferred: bool | Mapping[str, Any] | None = None
    http: HttpTransport | None = None
    """Where the request goes out; None means the default transport."""
    extra: Mapping[str, Any] | None = None
    """Options that only one wire API understands, by their snake_case names (each API lists its own)."""


def resolve_cache_retention(options: StreamOptions) -> CacheRetention:
    """The cache retention of a request: as asked for, else `long` where `PI_CACHE_RETENTION` says so, else `short`."""
    if options.cache_retention is not None:
        return options.cache_retention
    wanted = (options.env or {}).get("PI_CACHE_RETENTION") or os.environ.get("PI_CACHE_RETENTION")
    return "long" if wanted == "long" else "short"
