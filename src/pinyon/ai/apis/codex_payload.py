"""Body, address and headers of requests to the ChatGPT service."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from pinyon._util.config import APP_NAME
from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.apis.responses_payload import REASONING_INCLUDE, Payload, limit_fields, reasoning_fields, tool_choice
from pinyon.ai.identity import identity_headers, merge_headers

DEFAULT_BASE_URL = "https://chatgpt.com/backend-api"
HTTP_BETA = "responses=experimental"
SOCKET_BETA = "responses_websockets=2026-02-06"

_PATH = "/codex/responses"
_COMPRESSING_HOST = "chatgpt.com"
_COMPRESSION_LEVEL = 3


def service_url(base_url: str) -> str:
    """Where requests go; a base URL that already holds the path, or its first half, is taken as meant."""
    url = (base_url or DEFAULT_BASE_URL).rstrip("/")
    if url.endswith(_PATH):
        return url
    return f"{url}/responses" if url.endswith("/codex") else f"{url}{_PATH}"


def socket_url(url: str) -> str:
    """The same address for a WebSocket."""
    return "ws" + url.removeprefix("http")


def body_fields(payload: Payload) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the body before and after its input."""
    request = payload.request
    head = {"model": request.model.id, "store": False, "stream": True}
    tail: dict[str, Any] = {"text": {"verbosity": request.own_option("text_verbosity", "low")}}
    tail["include"] = [REASONING_INCLUDE]
    if request.cache_key is not None:
        tail["prompt_cache_key"] = request.cache_key
    tail["tool_choice"] = tool_choice(payload) or "auto"
    tail["parallel_tool_calls"] = True
    tail |= limit_fields(request)
    if payload.tools:
        tail["tools"] = payload.tools
    return head, tail | reasoning_fields(request)


def http_headers(request: ResponsesRequest, account: str) -> dict[str, str]:
    """Headers of a request over HTTP."""
    session_id = request.cached_session_id
    ids = dict.fromkeys(("session-id", "x-client-request-id"), session_id) if session_id else {}
    protocol = {"OpenAI-Beta": HTTP_BETA, "accept": "text/event-stream", "content-type": "application/json"}
    return _headers(request, account, protocol, ids)


def socket_headers(request: ResponsesRequest, account: str, session_id: str) -> dict[str, str]:
    """Headers of a WebSocket's opening."""
    ids = dict.fromkeys(("session-id", "x-client-request-id"), session_id)
    return _headers(request, account, {"OpenAI-Beta": SOCKET_BETA}, ids)


def _headers(request: ResponsesRequest, account: str, *own: dict[str, str]) -> dict[str, str]:
    options, model = request.options, request.model
    return merge_headers(
        identity_headers(model.provider, options.identity),
        {"originator": APP_NAME, "chatgpt-account-id": account, "authorization": f"Bearer {options.api_key}"},
        *own,
        model.headers or None,
        options.headers,
    )


def compressed(url: str, body: bytes) -> bytes | None:
    """`body` in zstd for the service itself, None where it goes out as it is or this Python has no zstd."""
    if urlsplit(url).hostname != _COMPRESSING_HOST:
        return None
    from importlib import import_module

    try:
        zstd: Any = import_module("compression.zstd")
    except ImportError:
        return None
    data: bytes = zstd.compress(body, level=_COMPRESSION_LEVEL)
    return data
