"""What one request to the Responses API asks for, settled before anything is encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.apis.responses_compat import VENDOR_HOST, Flavour, ResponsesCompat, reaches_vendor, responses_compat
from pinyon.ai.copilot import COPILOT_PROVIDER
from pinyon.ai.estimate import clamp_max_tokens
from pinyon.ai.message import Message
from pinyon.ai.model import THINKING_LEVELS, Model, ThinkingLevel, clamp_level
from pinyon.ai.option import CacheRetention, StreamOptions, resolve_cache_retention

LEAST_OUTPUT_TOKENS = 16
"""The smallest output limit that the API takes."""

BASE_EFFORT = "medium"
"""The effort of requests whose effort is told by items of the conversation."""

_CACHE_KEY_LIMIT = 64  # characters that the API accepts
_PLATFORM_KEY_PREFIX = "sk-"


class ResponsesRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a request that does not stand in the messages.

    `effort` is the provider's word for the thinking level, None where reasoning is not mentioned; `max_tokens` is 0
    where no limit is sent. With `is_subscription` a ChatGPT sign-in pays, which takes fewer fields.
    """

    model: Model
    flavour: Flavour
    compat: ResponsesCompat
    options: StreamOptions
    level: ThinkingLevel
    effort: str | None
    max_tokens: int
    retention: CacheRetention
    is_subscription: bool = False

    @property
    def marks_effort(self) -> bool:
        """Whether the effort is told by items of the conversation."""
        return self.compat.supports_mid_convo_effort and self.effort is not None and not self.is_subscription

    @property
    def cached_session_id(self) -> str | None:
        """The session id, where the caller lets the provider cache for it."""
        return None if self.retention == "none" else self.options.session_id or None

    @property
    def cache_key(self) -> str | None:
        """What requests of one session share in the provider's cache; None where it is not sent."""
        mode = self.compat.prompt_cache_key_mode
        is_wanted = mode == "enabled" or (mode == "auto" and (self.flavour != "openai" or reaches_vendor(self.model)))
        session_id = self.options.session_id if self.flavour == "azure" else self.cached_session_id
        return session_id[:_CACHE_KEY_LIMIT] if session_id and is_wanted else None

    def own_option(self, name: str, default: Any = None) -> Any:
        """An option of this API only."""
        value = (self.options.extra or {}).get(name)
        return default if value is None else value


def settle(model: Model, flavour: Flavour, messages: Sequence[Message], options: StreamOptions) -> ResponsesRequest:
    """Resolve options, flags and limits. Raises `ContextFullError` when there is no room for an answer."""
    compat = responses_compat(model, flavour)
    level = _level(model, options)
    return ResponsesRequest(
        model=model,
        flavour=flavour,
        compat=compat,
        options=options,
        level=level,
        effort=_effort(model, level, options),
        max_tokens=_max_tokens(model, messages, options),
        retention=_retention(flavour, options),
        is_subscription=_is_subscription(model, flavour, options),
    )


def _level(model: Model, options: StreamOptions) -> ThinkingLevel:
    wanted = (options.extra or {}).get("reasoning_effort") or options.reasoning
    if not model.reasoning or wanted not in THINKING_LEVELS or wanted == "off":
        return "off"
    return clamp_level(model, wanted)


def _effort(model: Model, level: ThinkingLevel, options: StreamOptions) -> str | None:
    if not model.reasoning:
        return None
    level_map: Mapping[str, str | None] = model.thinking_level_map or {}
    named = (options.extra or {}).get("reasoning_effort")
    if isinstance(named, str) and named not in THINKING_LEVELS:
        return named
    if level != "off":
        return level_map.get(level) or level
    if model.provider == COPILOT_PROVIDER or level_map.get("off", "") is None:
        return None
    return level_map.get("off") or "none"


def _max_tokens(model: Model, messages: Sequence[Message], options: StreamOptions) -> int:
    wanted = model.max_tokens if options.max_tokens is None else options.max_tokens
    if wanted <= 0:
        return 0
    return max(LEAST_OUTPUT_TOKENS, clamp_max_tokens(model, messages, wanted))


def _retention(flavour: Flavour, options: StreamOptions) -> CacheRetention:
    if flavour == "codex":
        return options.cache_retention or "short"  # the service has one lifetime; the environment chooses none
    return resolve_cache_retention(options)


def _is_subscription(model: Model, flavour: Flavour, options: StreamOptions) -> bool:
    key = options.api_key
    return (
        flavour == "openai"
        and model.provider == "openai"
        and model.base_url == f"https://{VENDOR_HOST}/v1"
        and bool(key)
        and not str(key).startswith(_PLATFORM_KEY_PREFIX)
    )
