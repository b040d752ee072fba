"""The fields of a chat-completions request that switch thinking, in every spelling that servers have for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat
from pinyon.ai.estimate import fit_thinking_budget, thinking_budget
from pinyon.ai.model import Model, ThinkingLevel


class ThinkingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a reasoning model.

    `level` is one that the model supports, `off` for none. `own_effort` and `off_value` are the provider's own words
    for the level and for off, where it has any. `may_be_off` tells whether it lets thinking be switched off.
    """

    compat: OpenAICompletionsCompat
    level: ThinkingLevel
    own_effort: str | None
    off_value: str | None
    may_be_off: bool
    budget: int

    @property
    def is_on(self) -> bool:
        """Whether the model shall think."""
        return self.level != "off"

    @property
    def effort(self) -> str:
        """The word for the level."""
        return self.own_effort or self.level


def thinking_request(
    model: Model,
    compat: OpenAICompletionsCompat,
    level: ThinkingLevel,
    max_tokens: int,
    budgets: Mapping[str, int] | None = None,
) -> ThinkingRequest:
    """What to ask for `level`, with a budget that leaves room for an answer within `max_tokens` (0: no limit)."""
    level_map = model.thinking_level_map or {}
    budget = thinking_budget(level, budgets)
    return ThinkingRequest(
        compat=compat,
        level=level,
        own_effort=None if level == "off" else level_map.get(level),
        off_value=level_map.get("off"),
        may_be_off=level_map.get("off", "") is not None,
        budget=fit_thinking_budget(budget, max_tokens) if max_tokens else budget,
    )


def thinking_fields(request: ThinkingRequest) -> dict[str, Any]:
    """The fields for the thinking format of the server, then the budget where it takes one."""
    fields = _FORMATS[request.compat.thinking_format](request)
    budget_field = request.compat.budget_field
    if budget_field is not None and request.is_on and request.budget > 0:
        fields[budget_field] = request.budget
    return fields


def _effort_field(request: ThinkingRequest) -> dict[str, Any]:
    """`reasoning_effort` for a level that is on, where the server knows the field."""
    if request.compat.supports_reasoning_effort and request.is_on:
        return {"reasoning_effort": request.effort}
    return {}


def _off_effort_field(request: ThinkingRequest) -> dict[str, Any]:
    """`reasoning_effort` in the provider's own word for off."""
    if request.compat.supports_reasoning_effort and request.off_value is not None:
        return {"reasoning_effort": request.off_value}
    return {}


def _openai(request: ThinkingRequest) -> dict[str, Any]:
    return _effort_field(request) if request.is_on else _off_effort_field(request)


def _openrouter(request: ThinkingRequest) -> dict[str, Any]:
    if request.is_on:
        return {"reasoning": {"effort": request.effort}}
    return {"reasoning": {"effort": request.off_value or "none"}} if request.may_be_off else {}


def _deepseek(request: ThinkingRequest) -> dict[str, Any]:
    if request.is_on:
        return {"thinking": {"type": "enabled"}, **_effort_field(request)}
    return {"thinking": {"type": "disabled"}} if request.may_be_off else {}


def _zai(request: ThinkingRequest) -> dict[str, Any]:
    if request.is_on:
        return {"thinking": {"type": "enabled", "clear_thinking": False}, **_effort_field(request)}
    return {"thinking": {"type": "disabled"}}


def _together(request: ThinkingRequest) -> dict[str, Any]:
    return {"reasoning": {"enabled": request.is_on}, **_effort_field(request)}


def _qwen(request: ThinkingRequest) -> dict[str, Any]:
    return {"enable_thinking": request.is_on, **_effort_field(request)}


def _qwen_chat_template(request: ThinkingRequest) -> dict[str, Any]:
    return {"chat_template_kwargs": {"enable_thinking": request.is_on, "preserve_thinking": True}}


def _chat_template(request: ThinkingRequest) -> dict[str, Any]:
    values = _filled(request.compat.chat_template_kwargs, request)
    return {"chat_template_kwargs": values} if values else {}


def _baseten(request: ThinkingRequest) -> dict[str, Any]:
    values = _filled(request.compat.chat_template_args, request)
    fields: dict[str, Any] = {"chat_template_args": values} if values else {}
    return fields | (_effort_field(request) if request.is_on else _off_effort_field(request))


def _string_thinking(request: ThinkingRequest) -> dict[str, Any]:
    if request.is_on:
        return {"thinking": request.effort}
    return {"thinking": request.off_value or "none"} if request.may_be_off else {}


def _ant_ling(request: ThinkingRequest) -> dict[str, Any]:
    if not request.is_on:
        return _off_effort_field(request)
    # Only words of its own: a level without one is left to the server.
    return {"reasoning": {"effort": request.own_effort}} if request.own_effort is not None else {}


_FORMATS: Mapping[str, Callable[[ThinkingRequest], dict[str, Any]]] = {
    "openai": _openai,
    "openrouter": _openrouter,
    "deepseek": _deepseek,
    "zai": _zai,
    "together": _together,
    "qwen": _qwen,
    "qwen-chat-template": _qwen_chat_template,
    "chat-template": _chat_template,
    "baseten": _baseten,
    "string-thinking": _string_thinking,
    "ant-ling": _ant_ling,
}


def _filled(template: Mapping[str, Any], request: ThinkingRequest) -> dict[str, Any]:
    """`template` with `{"$var": name}` values replaced; what has no value, or goes when thinking is off, is dropped."""
    filled: dict[str, Any] = {}
    for name, value in template.items():
        if not isinstance(value, dict) or "$var" not in value:
            filled[name] = value
            continue
        if value.get("omitWhenOff") is True and not request.is_on:
            continue
        found = _variable(value["$var"], request)
        if found is not None:
            filled[name] = found
    return filled


def _variable(name: Any, request: ThinkingRequest) -> Any:
    if name == "thinking.enabled":
        return request.is_on
    if name == "thinking.effort":
        return request.effort if request.is_on else request.off_value
    if name == "thinking.budget":
        return request.budget if request.is_on else None
    return None
