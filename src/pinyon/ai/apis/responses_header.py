"""Headers of requests to the Responses API: credentials, affinity, identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.copilot import copilot_headers
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.message import Message


def request_headers(
    request: ResponsesRequest, messages: Sequence[Message], credential: Mapping[str, str]
) -> dict[str, str]:
    """All headers, lowest layer first: identity and protocol, affinity, the model's, the caller's."""
    model, options = request.model, request.options
    return merge_headers(
        identity_headers(model.provider, options.identity),
        {"accept": "application/json", "content-type": "application/json"},
        credential if options.api_key else None,
        _affinity_headers(request),
        copilot_headers(model.provider, messages),
        model.headers or None,
        options.headers,
    )


def _affinity_headers(request: ResponsesRequest) -> dict[str, str]:
    session_id = request.cached_session_id
    if session_id is None or request.flavour == "azure":
        return {}
    names = {
        "openai": ("session-id", "x-client-request-id"),
        "openai-nosession": ("x-client-request-id",),
        "openrouter": ("x-session-id",),
    }[request.compat.session_affinity_format]
    return dict.fromkeys(names, session_id)
