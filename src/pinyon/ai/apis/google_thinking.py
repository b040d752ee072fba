"""The thinking configuration of a request: a level or a budget, as the model wants it.

Source of levels, budgets and their limits: the vendor's published guide to thinking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinyon.ai.apis.google_model import always_thinks, plain_id, thinks_by_level
from pinyon.ai.estimate import fit_thinking_budget
from pinyon.ai.model import Model, ThinkingLevel, clamp_level, supported_levels
from pinyon.ai.option import StreamOptions
from pinyon.errors import ModelError

_LEVELS = ("minimal", "low", "medium", "high")
_DYNAMIC = -1
"""The budget that leaves the amount to the model."""

_FLASH = {"minimal": 128, "low": 2048, "medium": 8192, "high": 24_576}
_BUDGETS: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("2.5-pro", {"minimal": 128, "low": 2048, "medium": 8192, "high": 32_768}),
    ("2.5-flash-lite", {"minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}),
    ("2.5-flash", _FLASH),
)


def thinking_config(model: Model, options: StreamOptions, max_tokens: int) -> dict[str, Any] | None:
    """The `thinkingConfig` of a request, None for models that do not reason.

    Raises `ModelError` where the model's level map names a level that the API does not have.
    """
    if not model.reasoning:
        return None
    own = (options.extra or {}).get("thinking")
    if isinstance(own, Mapping):
        return _own_config(model, own)
    wanted = options.reasoning or "off"
    level = clamp_level(model, wanted)
    if level == "off":
        return _off(model)
    if wanted == "off":
        return _lowest(model)
    config: dict[str, Any] = {"includeThoughts": True}
    if thinks_by_level(model.id):
        return config | {"thinkingLevel": _level_name(model, level).upper()}
    budget = _budget(model, level, options.thinking_budgets)
    if options.max_tokens is not None and budget > 0:
        budget = fit_thinking_budget(budget, max_tokens)
    return config | {"thinkingBudget": budget}


def _own_config(model: Model, own: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that a caller spelled out in `extra`."""
    if not own.get("enabled"):
        return _off(model) if "off" in supported_levels(model) else _lowest(model)
    config: dict[str, Any] = {"includeThoughts": True}
    budget = own.get("budget_tokens", own.get("budgetTokens"))
    if own.get("level"):
        config["thinkingLevel"] = str(own["level"]).upper()
    elif budget is not None:
        config["thinkingBudget"] = budget
    return config


def _off(model: Model) -> dict[str, Any]:
    level_map = model.thinking_level_map or {}
    word = (level_map.get("off") or "").lower()
    if word in _LEVELS and thinks_by_level(model.id):
        return {"thinkingLevel": word.upper()}
    if always_thinks(model.id):
        return _lowest(model)
    return {"thinkingBudget": 0}


def _lowest(model: Model) -> dict[str, Any]:
    """As little thinking as the model can be asked for, and none of it shown."""
    offered: list[ThinkingLevel] = [level for level in supported_levels(model) if level != "off"]
    level = offered[0] if offered else "low"
    if thinks_by_level(model.id):
        return {"thinkingLevel": _level_name(model, level).upper()}
    return {"thinkingBudget": _budget(model, level, None)}


def _level_name(model: Model, level: ThinkingLevel) -> str:
    """The API's word for a level."""
    level_map = model.thinking_level_map or {}
    word = (level_map.get(level) or level).lower()
    if level_map.get(level) is None and word in ("xhigh", "max"):
        word = "high"
    if word not in _LEVELS:
        raise ModelError(
            f"the thinking level map of model {model.spec!r} gives {word!r} for {level!r}; "
            f"this API takes one of: {', '.join(_LEVELS)}"
        )
    return word


def _budget(model: Model, level: ThinkingLevel, custom: Mapping[str, int] | None) -> int:
    word = _level_name(model, level)
    if custom is not None and word in custom:
        return custom[word]
    name = plain_id(model.id)
    for part, budgets in _BUDGETS:
        if part in name:
            is_vertex_lite = part == "2.5-flash-lite" and model.api == "google-vertex"
            return (_FLASH if is_vertex_lite else budgets)[word]
    return _DYNAMIC
