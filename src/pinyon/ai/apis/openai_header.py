"""Headers of a chat-completions request: credentials, affinity, identity."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.apis.openai_payload import CompletionsRequest
from pinyon.ai.copilot import copilot_headers
from pinyon.ai.exchange import missing_key
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions

_AUTH_HEADERS = ("authorization", "cf-aig-authorization")


def require_credential(model: Model, options: StreamOptions) -> None:
    """Raise `AuthError` unless a key or a header of the model's or the caller's signs the request."""
    if options.api_key:
        return
    headers = merge_headers(model.headers or None, options.headers)
    if not any(value for name, value in headers.items() if name.lower() in _AUTH_HEADERS):
        raise missing_key(model)


def request_headers(request: CompletionsRequest, messages: Sequence[Message]) -> dict[str, str]:
    """All headers, lowest layer first: identity and protocol, the model's, affinity, the caller's."""
    model, options = request.model, request.options
    protocol = {"accept": "application/json", "content-type": "application/json"}
    if options.api_key:
        protocol["authorization"] = f"Bearer {options.api_key}"
    return merge_headers(
        identity_headers(model.provider, options.identity),
        protocol,
        model.headers or None,
        copilot_headers(model.provider, messages),
        _affinity_headers(request),
        options.headers,
    )


def _affinity_headers(request: CompletionsRequest) -> dict[str, str]:
    session_id = request.cached_session_id
    if session_id is None or not request.compat.send_session_affinity_headers:
        return {}
    names = {
        "openai": ("session_id", "x-client-request-id", "x-session-affinity"),
        "openai-nosession": ("x-client-request-id", "x-session-affinity"),
        "openrouter": ("x-session-id",),
    }[request.compat.session_affinity_format]
    return dict.fromkeys(names, session_id)
