"""Model descriptors: what a model is, costs and can do."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model should think before it answers."""

THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

InputKind = Literal["text", "image"]


class CostTier(msgspec.Struct, rename="camel"):
    """Rates that hold for a whole request with more input tokens than `input_tokens_above`."""

    input_tokens_above: int | float
    input: int | float
    output: int | float
    cache_read: int | float
    cache_write: int | float


class ModelCost(msgspec.Struct, rename="camel"):
    """Rates in US dollars for one million tokens."""

    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    tiers: list[CostTier] | UnsetType = UNSET


class ImageResize(msgspec.Struct, rename="camel"):
    """Largest image a model takes: pixels, and bytes of its base64 text."""

    max_width: int | UnsetType = UNSET
    max_height: int | UnsetType = UNSET
    max_bytes: int | UnsetType = UNSET
    jpeg_quality: int | UnsetType = UNSET


class ImageLimits(msgspec.Struct, rename="camel"):
    """Limits on the images of a request."""

    resize: ImageResize | UnsetType = UNSET
    max_per_message: int | UnsetType = UNSET
    max_per_request: int | UnsetType = UNSET


class InputLimits(msgspec.Struct, rename="camel"):
    """Limits on what a request may hold."""

    max_request_bytes: int | UnsetType = UNSET
    images: ImageLimits | UnsetType = UNSET


class PromptCache(msgspec.Struct):
    """Lifetimes of the provider's prompt cache in seconds."""

    short: int | float | UnsetType = UNSET
    long: int | float | UnsetType = UNSET


class Model(msgspec.Struct, rename="camel", kw_only=True):
    """A chat model of one provider.

    `compat` holds the flags of the wire API (see `ai.compat` beside each API); unknown flags are kept and ignored.
    Token counts and limits are in tokens. Two models are the same when provider and id are.
    """

    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool = False
    input: list[InputKind] = msgspec.field(default_factory=lambda: ["text"])
    cost: ModelCost = msgspec.field(default_factory=ModelCost)
    context_window: int = 128_000
    max_tokens: int = 16_384
    thinking_level_map: dict[str, str | None] | UnsetType = UNSET
    prompt_cache: PromptCache | UnsetType = UNSET
    sampling_params: dict[str, Any] | UnsetType = UNSET
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] | UnsetType = UNSET
    input_limits: InputLimits | UnsetType = UNSET
    headers: dict[str, str] | UnsetType = UNSET
    compat: dict[str, Any] | UnsetType = UNSET
    type: Literal["chat"] | UnsetType = UNSET

    @property
    def key(self) -> tuple[str, str]:
        """Identity: provider and id."""
        return (self.provider, self.id)

    @property
    def spec(self) -> str:
        """`provider/id`, as users write it."""
        return f"{self.provider}/{self.id}"


def parse_level(text: str) -> ThinkingLevel | None:
    """The level that `text` names in any case, None where it names none."""
    return next((level for level in THINKING_LEVELS if level == text.lower()), None)


def supported_levels(model: Model) -> list[ThinkingLevel]:
    """The thinking levels that the model offers, lowest first; `["off"]` for one that does not reason."""
    if not model.reasoning:
        return ["off"]
    return [level for level in THINKING_LEVELS if _is_supported(model, level)]


def _is_supported(model: Model, level: ThinkingLevel) -> bool:
    level_map = model.thinking_level_map or {}
    if level in level_map:
        return level_map[level] is not None
    return level not in ("xhigh", "max")


def clamp_level(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """`level` if the model supports it, else the next one above, else the nearest below."""
    supported = supported_levels(model)
    if level in supported or not supported:
        return level if supported else "off"
    wanted = THINKING_LEVELS.index(level)
    above = [other for other in supported if THINKING_LEVELS.index(other) > wanted]
    return above[0] if above else supported[-1]
