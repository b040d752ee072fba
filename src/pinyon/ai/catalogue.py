"""The models of known providers, read from the package's data when a provider is asked for.

`data/models/<provider>.json` is an object of model ids to descriptors in the form of a `models.json` entry without the
id. `api` defaults to the first API of the provider that this version speaks, `baseUrl` to the provider's address of
that API, `headers` to the provider's. Models whose API it does not speak are not offered. The files, and a manifest of
when and from what they were made, are written by `scripts/build_catalogue.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    usual = main_api(provider)
    models = (model_from_row(provider, usual, model_id, row) for model_id, row in _rows(provider).items())
    return tuple(model for model in models if model.api in spoken)


def main_api(provider: Provider) -> str:
    """The API of models that name none: the provider's first one that this version speaks."""
    spoken = set(api_names())
    return next((api for api in provider.apis if api in spoken), provider.apis[0])


@cache
def generated_at_ms() -> float:
    """When the data files were made, in milliseconds."""
    import datetime as dt

    manifest = msgspec.json.decode((DATA_FOLDER / "manifest.json").read_bytes())
    return dt.datetime.fromisoformat(manifest["generatedAt"]).timestamp() * 1000


def model_from_row(provider: Provider, usual_api: str, model_id: str, row: Mapping[str, Any]) -> Model:
    """The model that a row describes; one without an API has `usual_api`. Raises `msgspec.ValidationError`."""
    api = row.get("api", usual_api)
    defaults: dict[str, Any] = {"name": model_id, "baseUrl": provider.url_of(api)}
    if provider.headers:
        defaults["headers"] = provider.headers
    return msgspec.convert({**defaults, **row, "api": api, "id": model_id, "provider": provider.id}, Model)


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
