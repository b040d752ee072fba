"""Builds the models of one provider from its layers: built-in ones, the user's file, what a program registered.

From low to high: built-in models, which the file's `baseUrl` and `compat` adjust; the file's own models, which replace
built-in ones of the same id altogether; a program's models, which replace the whole list; overrides. Headers do not
become part of a model: they may hold secrets and are resolved for each request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.api import api_names
from pinyon.ai.model import Model
from pinyon.ai.models_json import ModelsProblem, ProviderConfig
from pinyon.ai.provider import find_provider

_NESTED_COMPAT = ("openRouterRouting", "vercelGatewayRouting", "chatTemplateKwargs", "chatTemplateArgs")


class ProviderLayers(msgspec.Struct, kw_only=True):
    """What is known of a provider. `program` is what a program registered, `file` what `models.json` says, `modify`
    adjusts the models to the account that is signed in.
    """

    id: str
    built_in: Sequence[Model] = ()
    file: ProviderConfig | None = None
    program: ProviderConfig | None = None
    program_lists_models: bool = False
    modify: Callable[[Sequence[Model]], Sequence[Model]] | None = None


def build_models(layers: ProviderLayers) -> tuple[list[Model], list[ModelsProblem]]:
    """The models of a provider in order, and faults that only show when layers meet."""
    problems: list[ModelsProblem] = []
    models = list(layers.built_in)
    if layers.file is not None:
        models = _with_file(layers, models, problems)
    if layers.program is not None:
        models = _with_program(layers, models, problems)
    if layers.modify is not None:
        models = _modified(layers, models, problems)
    if layers.file is not None and layers.file.overrides:
        models = [_overridden(model, layers.file.overrides.get(model.id)) for model in models]
    return models, problems


def _with_file(layers: ProviderLayers, models: list[Model], problems: list[ModelsProblem]) -> list[Model]:
    config = layers.file
    assert config is not None
    adjusted = {model.id: _adjusted(model, config.base_url, config.compat) for model in models}
    for entry in config.models:
        built = _from_entry(layers.id, entry, config, models, problems)
        if built is not None:
            adjusted[built.id] = built
            if built.api not in api_names():
                problems.append(_unknown_api(built, config))
    return list(adjusted.values())


def _unknown_api(model: Model, config: ProviderConfig) -> ModelsProblem:
    place = config.place(model.id) if config.place else f"provider {model.provider!r}"
    reason = f"model {model.id!r} has the api {model.api!r}, which this version does not speak"
    known = ", ".join(api_names())
    return ModelsProblem(f"{place}: {reason}; use one of {known}; the model cannot be used", model.provider)


def _with_program(layers: ProviderLayers, models: list[Model], problems: list[ModelsProblem]) -> list[Model]:
    config = layers.program
    assert config is not None
    if not layers.program_lists_models:
        return [_adjusted(model, config.base_url, {}) for model in models]
    found = (_from_entry(layers.id, entry, config, layers.built_in, problems) for entry in config.models)
    return [model for model in found if model is not None]


def _modified(layers: ProviderLayers, models: list[Model], problems: list[ModelsProblem]) -> list[Model]:
    assert layers.modify is not None
    try:
        return list(layers.modify(models))
    except Exception as error:  # noqa: BLE001 - code of an extension
        reason = f"could not fit its models to the account ({type(error).__name__}: {error})"
        problems.append(ModelsProblem(f"provider {layers.id!r} {reason}", layers.id))
        return models


def _adjusted(model: Model, base_url: str | None, compat: Mapping[str, Any]) -> Model:
    if not base_url and not compat:
        return model
    return msgspec.structs.replace(
        model,
        base_url=base_url or model.base_url,
        compat=merge_compat(model.compat or {}, compat) if compat else model.compat,
    )


def merge_compat(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Compat flags of two layers: the later one wins per flag, routing and template objects per key; null unsets."""
    merged = {**base, **over}
    for name in _NESTED_COMPAT:
        below, above = base.get(name), over.get(name)
        if isinstance(below, dict) and isinstance(above, dict):
            merged[name] = {**below, **above}
    return {name: value for name, value in merged.items() if value is not None}


def _from_entry(
    provider_id: str,
    entry: Mapping[str, Any],
    config: ProviderConfig,
    built_in: Sequence[Model],
    problems: list[ModelsProblem],
) -> Model | None:
    api, base_url = _endpoint(provider_id, entry, config, built_in)
    if not api or (not base_url and config.needs_url):
        missing = "api" if not api else "baseUrl"
        place = config.place(entry["id"]) if config.place else f"provider {provider_id!r}"
        reason = f"model {entry['id']!r} has no {missing}; set it at the model or at its provider"
        problems.append(ModelsProblem(f"{place}: {reason}; this model is ignored", provider_id))
        return None
    fields = {name: value for name, value in entry.items() if name not in ("headers", "type")}
    for limit in ("contextWindow", "maxTokens"):
        if limit in fields:
            fields[limit] = int(fields[limit])
    compat = merge_compat(config.compat, entry.get("compat") or {})
    if compat:
        fields["compat"] = compat
    return _converted({"name": entry["id"], **fields, "provider": provider_id, "api": api, "baseUrl": base_url or ""})


def _converted(plain: dict[str, Any]) -> Model:
    return msgspec.convert(_json.normalise_numbers(plain), Model)


def _endpoint(
    provider_id: str, entry: Mapping[str, Any], config: ProviderConfig, built_in: Sequence[Model]
) -> tuple[str | None, str | None]:
    """API and base URL of an own model: its own, its provider's, else those of the most similar built-in model."""
    api = entry.get("api") or config.api
    twin = _most_similar(entry["id"], api, built_in)
    known = find_provider(provider_id)
    api = api or (twin.api if twin else None) or (known.apis[0] if known else None)
    base_url = entry.get("baseUrl") or config.base_url
    base_url = base_url or (twin.base_url if twin else None) or (known.base_url if known else None)
    return api, base_url


def _most_similar(model_id: str, api: str | None, built_in: Sequence[Model]) -> Model | None:
    def rank(model: Model) -> int:
        if model.id == model_id:
            return 0
        if model.api == api:
            return 1
        return 2 if model.api == "openai-completions" else 3

    return min(built_in, key=rank, default=None)


def _overridden(model: Model, override: Mapping[str, Any] | None) -> Model:
    if not override:
        return model
    plain: dict[str, Any] = msgspec.to_builtins(model)
    for name, value in override.items():
        if name == "headers":
            continue
        plain[name] = _merged(name, plain.get(name), value)
    return _converted(plain)


def _merged(name: str, base: Any, over: Any) -> Any:
    match name:
        case "compat":
            return merge_compat(base or {}, over)
        case "cost" | "thinkingLevelMap" | "promptCache" | "samplingParams":
            return {**(base or {}), **over}
        case "samplingParamsByThinkingLevel":
            return _deep(base or {}, over, depth=1)
        case "inputLimits":
            return _deep(base or {}, over, depth=2)
        case "contextWindow" | "maxTokens":
            return int(over)
        case _:
            return over


def _deep(base: Mapping[str, Any], over: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """`over` laid over `base`; objects up to `depth` levels down are merged, deeper ones replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if depth > 0 and isinstance(below, dict) and isinstance(value, dict):
            merged[key] = _deep(below, value, depth - 1)
        else:
            merged[key] = value
    return merged
