"""Headers of a request from their layers: later ones win whatever their spelling, and None removes what lies below."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from pinyon.ai.models_json import ProviderConfig
from pinyon.ai.option import StreamOptions
from pinyon.ai.provider import find_provider
from pinyon.errors import ProviderError


def layer_headers(*layers: Mapping[str, str | None] | None) -> dict[str, str | None]:
    """Headers of all layers, lowest first. A None stays, so that it removes what wire adapters add themselves."""
    merged: dict[str, tuple[str, str | None]] = {}
    for layer in layers:
        for name, value in (layer or {}).items():
            merged.pop(name.lower(), None)
            merged[name.lower()] = (name, value)
    return dict(merged.values())


def session_header(provider_id: str, options: StreamOptions) -> dict[str, str | None] | None:
    """The header in which a provider wants the session id."""
    known = find_provider(provider_id)
    if known is None or known.session_header is None or not options.session_id:
        return None
    return {known.session_header: options.session_id}


def model_headers(model_id: str, file: ProviderConfig | None, configs: Sequence[ProviderConfig]) -> dict[str, str]:
    """Configured headers of one model, not yet resolved: those of its override in the file, then of its entry in the
    file, then of its entry in a program. `configs` are all configurations of the provider, the most important first.
    """
    override = file.overrides.get(model_id, {}) if file is not None else {}
    merged = layer_headers(override.get("headers"))
    for config in reversed(configs):
        entry = next((entry for entry in config.models if entry.get("id") == model_id), {})
        merged = layer_headers(merged, entry.get("headers"))
    return {name: value for name, value in merged.items() if value is not None}


async def transformed_headers(headers: dict[str, str | None], options: StreamOptions) -> dict[str, str | None]:
    """Headers after the caller's hook, which sees those that are sent; what it removes is suppressed further down."""
    if options.transform_headers is None:
        return headers
    sent = {name: value for name, value in headers.items() if value is not None}
    try:
        changed = options.transform_headers(dict(sent))
        changed = await changed if inspect.isawaitable(changed) else changed
    except Exception as error:
        raise ProviderError(f"the hook that changes request headers failed ({type(error).__name__})") from error
    return layer_headers(dict.fromkeys(headers), changed)
