"""Headers of a request to the Anthropic Messages API: credentials, version, betas, affinity."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pinyon.ai.apis.anthropic_option import AnthropicRequest
from pinyon.ai.copilot import COPILOT_PROVIDER, copilot_headers
from pinyon.ai.exchange import is_signed, missing_key
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.errors import AuthError

API_VERSION = "2023-06-01"

FINE_GRAINED_TOOLS_BETA = "fine-grained-tool-streaming-2025-05-14"
INTERLEAVED_THINKING_BETA = "interleaved-thinking-2025-05-14"
FALLBACK_BETA = "server-side-fallback-2026-07-01"
MID_CONVO_EFFORT_BETAS = ("mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01")
INLINE_TOOLS_BETA = "inline-tools-2026-09-15"
THREADS_BETA = "message-threads-2026-08-12"

_AUTH_HEADERS = ("authorization", "x-api-key", "cf-aig-authorization")
_SUBSCRIPTION_PREFIX = "sk-ant-oat"
_FEDERATION_VARIABLES = (
    "ANTHROPIC_FEDERATION_RULE_ID",
    "ANTHROPIC_ORGANIZATION_ID",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
)


def require_credential(model: Model, options: StreamOptions) -> None:
    """Raise `AuthError` unless a key or a header of the caller's signs the request."""
    if options.api_key and options.api_key.startswith(_SUBSCRIPTION_PREFIX):
        raise AuthError(
            f"the credential of {model.provider!r} is a subscription token that only the vendor's own client may use; "
            f"set an API key (ANTHROPIC_API_KEY) instead"
        )
    if is_signed(model, options, _AUTH_HEADERS):
        return
    if model.provider == "anthropic" and all(_variable(name, options) for name in _FEDERATION_VARIABLES):
        named = ", ".join(_FEDERATION_VARIABLES)
        raise AuthError(f"identity federation ({named}) is not supported; set ANTHROPIC_API_KEY instead")
    raise missing_key(model)


def _variable(name: str, options: StreamOptions) -> str:
    return (options.env or {}).get(name) or os.environ.get(name) or ""


def request_headers(request: AnthropicRequest, messages: Sequence[Message], betas: Sequence[str]) -> dict[str, str]:
    """All headers, lowest layer first: identity, protocol, affinity, the model's, the caller's."""
    model, options = request.model, request.options
    return merge_headers(
        identity_headers(model.provider, options.identity),
        _protocol_headers(model, options, betas),
        _affinity_headers(request),
        copilot_headers(model.provider, messages),
        model.headers or None,
        options.headers,
    )


def _protocol_headers(model: Model, options: StreamOptions, betas: Sequence[str]) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "anthropic-version": API_VERSION,
        "anthropic-dangerous-direct-browser-access": "true",
    }
    if options.api_key:
        if model.provider == COPILOT_PROVIDER:
            headers["Authorization"] = f"Bearer {options.api_key}"
        else:
            headers["x-api-key"] = options.api_key
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return headers


def _affinity_headers(request: AnthropicRequest) -> dict[str, str]:
    session_id = request.cached_session_id
    if not session_id or not request.compat.session_affinity_headers:
        return {}
    name = "x-session-id" if request.compat.session_affinity_format == "openrouter" else "x-session-affinity"
    return {name: session_id}


def betas_of(request: AnthropicRequest, *, has_tools: bool, changes_tools: bool) -> list[str]:
    """The betas that this request needs, without that of threads. A header of model or caller replaces them all."""
    compat, thinking = request.compat, request.thinking
    betas: list[str] = []
    if compat.eager_tool_input is False and has_tools:
        betas.append(FINE_GRAINED_TOOLS_BETA)
    if thinking.mode == "budget" and request.interleaved_thinking:
        betas.append(INTERLEAVED_THINKING_BETA)
    if compat.fallback_models:
        betas.append(FALLBACK_BETA)
    if request.marks_effort:
        betas += MID_CONVO_EFFORT_BETAS
    if changes_tools:
        betas.append(INLINE_TOOLS_BETA)
    return betas
