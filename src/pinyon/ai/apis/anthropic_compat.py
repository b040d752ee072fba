"""What a server of the Anthropic Messages API understands beyond the plain protocol.

Flags stand in a model's `compat` object under their camelCase names. Where a flag is absent or null the default is the
careful one: servers that are not known to be the vendor's own, or to pass requests on to it, get none of its newer
fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from pinyon.ai.model import Model, ModelCost

VENDOR_HOST = "api.anthropic.com"

_PASSING_HOSTS = (
    VENDOR_HOST,
    "gateway.ai.cloudflare.com",
    "ai-gateway.vercel.sh",
    "openrouter.ai",
    "opencode.ai",
    "githubcopilot.com",
)

MAX_FALLBACK_MODELS = 3


class FallbackModel(msgspec.Struct):
    """A model that may answer in place of the requested one, with its own rates."""

    model: str
    provider: str = ""
    cost: ModelCost = msgspec.field(default_factory=ModelCost)


class AnthropicCompat(msgspec.Struct, kw_only=True, frozen=True):
    """The resolved flags of one model.

    `eager_tool_input` is None where nothing is known: then neither the field nor the beta of older servers is sent.
    """

    eager_tool_input: bool | None = None
    long_cache_retention: bool = False
    session_affinity_headers: bool = False
    session_affinity_format: Literal["openrouter", "plain"] = "plain"
    cache_control_on_tools: bool = True
    temperature: bool = True
    force_adaptive_thinking: bool = False
    allow_empty_signature: bool = False
    strict_tools: bool = False
    mid_convo_effort: bool = False
    mid_convo_system_messages: bool = False
    mid_convo_tool_changes: bool = False
    message_threads: bool = False
    fallback_models: tuple[FallbackModel, ...] = ()


def anthropic_compat(model: Model) -> AnthropicCompat:
    """The flags of `model`: its own where they are set, else the defaults for its server."""
    flags: Mapping[str, Any] = model.compat or {}
    host = urlsplit(model.base_url).hostname or ""
    is_passing = any(host == known or host.endswith(f".{known}") for known in _PASSING_HOSTS)
    is_openrouter = model.provider == "openrouter" or host.endswith("openrouter.ai")

    def flag(name: str, *, default: bool) -> bool:
        value = flags.get(name)
        return value if isinstance(value, bool) else default

    eager = flags.get("supportsEagerToolInputStreaming")
    default_eager = True if host == VENDOR_HOST else None
    affinity_format = flags.get("sessionAffinityFormat") or ("openrouter" if is_openrouter else "plain")
    return AnthropicCompat(
        eager_tool_input=eager if isinstance(eager, bool) else default_eager,
        long_cache_retention=flag("supportsLongCacheRetention", default=is_passing),
        session_affinity_headers=flag("sendSessionAffinityHeaders", default=is_openrouter),
        session_affinity_format="openrouter" if affinity_format == "openrouter" else "plain",
        cache_control_on_tools=flag("supportsCacheControlOnTools", default=True),
        temperature=flag("supportsTemperature", default=True),
        force_adaptive_thinking=flag("forceAdaptiveThinking", default=False),
        allow_empty_signature=flag("allowEmptySignature", default=False),
        strict_tools=flag("supportsStrictTools", default=False),
        mid_convo_effort=flag("supportsMidConvoEffort", default=False),
        mid_convo_system_messages=flag("supportsMidConvoSystemMessages", default=False),
        mid_convo_tool_changes=flag("supportsMidConvoToolChanges", default=False),
        message_threads=flag("supportsMessageThreads", default=VENDOR_HOST in model.base_url),
        fallback_models=_fallback_models(flags.get("allowedFallbackModels")),
    )


def _fallback_models(value: Any) -> tuple[FallbackModel, ...]:
    if not isinstance(value, list):
        return ()
    found: list[FallbackModel] = []
    for item in value:
        try:
            found.append(msgspec.convert(item, FallbackModel))
        except msgspec.ValidationError:
            continue  # an entry that names no model cannot be used; the others can
    return tuple(found[:MAX_FALLBACK_MODELS])
