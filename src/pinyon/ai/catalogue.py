"""The models of known providers, read from the package's data when a provider is asked for.

`data/models/<provider>.json` is an object of model ids to descriptors in the form of a `models.json` entry without the
id. `baseUrl` and `headers` default to the provider's, `api` to the first API of the provider that this version speaks.
Models whose API it does not speak are not offered.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from pinyon.ai.api import api_names
from pinyon.ai.model import Model
from pinyon.ai.provider import DATA_FOLDER, Provider, canonical_id, providers


@cache
def catalogue_models(provider_id: str) -> tuple[Model, ...]:
    """The built-in models of a provider; empty for an unknown one. They are shared: copy before changing one."""
    provider = providers().get(provider_id)
    if provider is None:
        return ()
    spoken = set(api_names())
    base = _defaults(provider, spoken)
    models = (msgspec.convert({"name": key, **base, **row, "id": key}, Model) for key, row in _rows(provider).items())
    return tuple(model for model in models if model.api in spoken)


def _defaults(provider: Provider, spoken: set[str]) -> dict[str, Any]:
    api = next((api for api in provider.apis if api in spoken), provider.apis[0])
    defaults: dict[str, Any] = {"provider": provider.id, "api": api, "baseUrl": provider.base_url}
    if provider.headers:
        defaults["headers"] = provider.headers
    return defaults


def _rows(provider: Provider) -> dict[str, dict[str, Any]]:
    try:
        data = (DATA_FOLDER / "models" / f"{provider.id}.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(data, type=dict[str, dict[str, Any]])


def all_models() -> list[Model]:
    """The built-in models of every provider, in table order."""
    return [model for provider_id in providers() for model in catalogue_models(provider_id)]


def get_model(provider_id: str, model_id: str) -> Model | None:
    """A copy of a built-in model, None for one that is not known."""
    for model in catalogue_models(canonical_id(provider_id)):
        if model.id == model_id:
            return msgspec.structs.replace(model)
    return None
