"""What may stand in `models.json`: a checker for each field, and the fields of providers, models and overrides.

A checker yields the faults of a value as paths below it and reasons. Reasons name types and limits, never the value:
it may be a secret. Fields that are not listed here are nobody's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from pinyon._util.json import is_number
from pinyon._util.jsonc import PathStep
from pinyon.ai.model import THINKING_LEVELS

Fault: TypeAlias = "tuple[tuple[PathStep, ...], str]"
Checker: TypeAlias = "Callable[[Any], Iterator[Fault]]"


def faults_in(value: Any, fields: Mapping[str, Checker], required: tuple[str, ...] = ()) -> Iterator[Fault]:
    """The faults of an object with `fields`; unknown fields are ignored."""
    if not isinstance(value, dict):
        yield (), "must be an object"
        return
    for name in required:
        if name not in value:
            yield (name,), "is missing"
    for name, checker in fields.items():
        if name in value:
            for path, reason in checker(value[name]):
                yield (name, *path), reason


def shape(fields: Mapping[str, Checker], required: tuple[str, ...] = ()) -> Checker:
    """A checker for objects with `fields`."""
    return lambda value: faults_in(value, fields, required)


def check_that(is_good: Callable[[Any], bool], reason: str) -> Checker:
    """A checker for values that stand alone."""

    def check(value: Any) -> Iterator[Fault]:
        if not is_good(value):
            yield (), reason

    return check


def mapping_of(checker: Checker) -> Checker:
    """A checker for objects with any keys."""

    def check(value: Any) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield (), "must be an object"
            return
        for key, item in value.items():
            for path, reason in checker(item):
                yield (key, *path), reason

    return check


def list_of(checker: Checker) -> Checker:
    """A checker for arrays."""

    def check(value: Any) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield (), "must be an array"
            return
        for index, item in enumerate(value):
            for path, reason in checker(item):
                yield (index, *path), reason

    return check


def one_of(*values: str) -> Checker:
    """A checker for enumerated texts."""
    return check_that(lambda value: isinstance(value, str) and value in values, f"must be one of {', '.join(values)}")


def optional(checker: Checker) -> Checker:
    """The same, but null stands for absence."""

    def check(value: Any) -> Iterator[Fault]:
        if value is not None:
            yield from checker(value)

    return check


TEXT = check_that(lambda value: isinstance(value, str) and bool(value.strip()), "must be a text that is not empty")
FLAG = check_that(lambda value: isinstance(value, bool), "must be true or false")
NUMBER = check_that(is_number, "must be a number")
POSITIVE = check_that(lambda value: is_number(value) and value >= 1, "must be a positive number")
DURATION = check_that(lambda value: is_number(value) and value > 0, "must be a number above 0")
WHOLE = check_that(
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1, "must be an integer above 0"
)
QUALITY = check_that(
    lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 100,
    "must be an integer from 1 to 100",
)
ANY_TEXT = check_that(lambda value: isinstance(value, str), "must be a text")
OBJECT = check_that(lambda value: isinstance(value, dict), "must be an object")
HEADERS = mapping_of(ANY_TEXT)

_RATES: dict[str, Checker] = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), NUMBER)
_TIER = shape({"inputTokensAbove": NUMBER, **_RATES}, ("inputTokensAbove", *_RATES))
_COST_FIELDS: dict[str, Checker] = {**_RATES, "tiers": list_of(_TIER)}
COST = shape(_COST_FIELDS, tuple(_RATES))
PARTIAL_COST = shape(_COST_FIELDS)

LEVEL_MAP = shape(dict.fromkeys(THINKING_LEVELS, optional(ANY_TEXT)))
SAMPLING_BY_LEVEL = shape(dict.fromkeys(THINKING_LEVELS, OBJECT))
PROMPT_CACHE = shape({"short": DURATION, "long": DURATION})
INPUT = list_of(one_of("text", "image"))
INPUT_LIMITS = shape(
    {
        "maxRequestBytes": WHOLE,
        "images": shape(
            {
                "resize": shape(
                    {"maxWidth": WHOLE, "maxHeight": WHOLE, "maxBytes": WHOLE, "jpegQuality": QUALITY},
                ),
                "maxPerMessage": WHOLE,
                "maxPerRequest": WHOLE,
            }
        ),
    }
)

# fmt: off
_COMPAT_FLAGS = (
    "supportsStore", "supportsDeveloperRole", "supportsReasoningEffort", "supportsUsageInStreaming",
    "supportsFinishReason", "requiresToolResultName", "requiresAssistantAfterToolResult",
    "requiresNonNullAssistantContent", "requiresToolsWithToolHistory", "requiresThinkingAsText",
    "requiresReasoningContentOnAssistantMessages", "supportsThinkingTokenBudget", "zaiToolStream",
    "supportsStrictMode", "supportsOpenAIGrammarTools", "supportsMidConvoSystemMessages",
    "supportsMidConvoToolAdditions", "sendSessionAffinityHeaders", "supportsLongCacheRetention",
    "supportsExplicitPromptCacheMode", "supportsAdditionalTools", "supportsToolSearch", "supportsMidConvoEffort",
    "supportsMaxOutputTokens", "supportsEagerToolInputStreaming", "supportsCacheControlOnTools",
    "supportsTemperature", "forceAdaptiveThinking", "allowEmptySignature", "supportsStrictTools",
    "supportsMidConvoToolChanges", "supportsMessageThreads", "sendImageOptInHeader",
)
# fmt: on
_COMPAT_CHOICES = {
    "maxTokensField": ("max_completion_tokens", "max_tokens"),
    "thinkingFormat": (
        *("openai", "openrouter", "deepseek", "together", "baseten", "zai", "qwen"),
        *("chat-template", "qwen-chat-template", "string-thinking", "ant-ling"),
    ),
    "thinkingTokenBudgetField": ("thinking_token_budget", "thinking_budget", "thinking_budget_tokens"),
    "cacheControlFormat": ("anthropic",),
    "sessionAffinityFormat": ("openai", "openai-nosession", "openrouter"),
    "promptCacheKeyMode": ("auto", "enabled", "disabled"),
    "toolCallFormat": ("native", "json-schema"),
    "imageInput": ("assets", "images", "state-image-urls"),
}
_FALLBACK_MODEL = shape({"provider": TEXT, "model": TEXT, "cost": COST}, ("provider", "model", "cost"))

COMPAT = shape(
    {
        **dict.fromkeys(_COMPAT_FLAGS, optional(FLAG)),
        **{name: optional(one_of(*choices)) for name, choices in _COMPAT_CHOICES.items()},
        **dict.fromkeys(
            ("chatTemplateKwargs", "chatTemplateArgs", "openRouterRouting", "vercelGatewayRouting"), optional(OBJECT)
        ),
        "vllmPriority": optional(NUMBER),
        "allowedFallbackModels": optional(list_of(_FALLBACK_MODEL)),
    }
)

_SHARED: dict[str, Checker] = {
    "name": TEXT,
    "reasoning": FLAG,
    "thinkingLevelMap": LEVEL_MAP,
    "input": INPUT,
    "inputLimits": INPUT_LIMITS,
    "promptCache": PROMPT_CACHE,
    "contextWindow": POSITIVE,
    "maxTokens": POSITIVE,
    "samplingParams": OBJECT,
    "samplingParamsByThinkingLevel": SAMPLING_BY_LEVEL,
    "headers": HEADERS,
    "compat": COMPAT,
}

MODEL_FIELDS: dict[str, Checker] = {"id": TEXT, "api": TEXT, "baseUrl": TEXT, "cost": COST, **_SHARED}
OVERRIDE_FIELDS: dict[str, Checker] = {"cost": PARTIAL_COST, **_SHARED}
PROVIDER_FIELDS: dict[str, Checker] = {
    "name": TEXT,
    "baseUrl": TEXT,
    "apiKey": TEXT,
    "api": TEXT,
    "oauth": one_of("radius"),
    "headers": HEADERS,
    "compat": COMPAT,
    "authHeader": FLAG,
    "models": check_that(lambda value: isinstance(value, list), "must be an array"),
    "modelOverrides": OBJECT,
}
