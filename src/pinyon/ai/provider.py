"""The providers that are known by name: where they are, how they are paid for, and which model they start with.

The table is data (`data/providers.json`, one object for each provider, in the order in which start-up looks for a
usable default model) and is read when it is first asked for. A provider whose wire API this version does not speak is
listed, but offers no models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from pinyon.ai.config_value import Lookup

AuthKind = Literal["api_key", "oauth"]

DATA_FOLDER = Path(__file__).with_name("data")
"""Where the data files of this room are installed."""

FIRST_IN_LISTS = ("radius", "openrouter")
"""Providers that stand before the alphabet where people choose one."""

_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


class Provider(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A provider.

    `apis` are the wire APIs of its models; a model without an API of its own uses the first one. `api_urls` are the
    addresses of APIs that are not at `base_url`.
    `env` names the variables that may hold its key, first one wins; `bearer_env` one that holds a bearer token and
    wins over them. `ambient` lists groups of variables that each mean that the machine itself is signed in. All of
    `requires` and one of `requires_one` must be set beside the key. The key goes into `key_header` where there is one.
    `session_header` carries the session id. `aliases` are former ids.
    """

    id: str
    name: str
    apis: tuple[str, ...]
    base_url: str = ""
    api_urls: dict[str, str] = {}
    env: tuple[str, ...] = ()
    bearer_env: str | None = None
    ambient: tuple[tuple[str, ...], ...] = ()
    requires: tuple[str, ...] = ()
    requires_one: tuple[str, ...] = ()
    auth: tuple[AuthKind, ...] = ("api_key",)
    headers: dict[str, str] = {}
    key_header: str | None = None
    session_header: str | None = None
    default_model: str = ""
    aliases: tuple[str, ...] = ()

    def url_of(self, api: str) -> str:
        """The address at which the provider speaks `api`; empty where the account decides it."""
        return self.api_urls.get(api, self.base_url)

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Every variable that can hold the credential, best first."""
        return (self.bearer_env, *self.env) if self.bearer_env else self.env


@cache
def providers() -> dict[str, Provider]:
    """All known providers by id, in the order in which start-up tries their default models."""
    rows = msgspec.json.decode((DATA_FOLDER / "providers.json").read_bytes(), type=list[Provider])
    return {provider.id: provider for provider in rows}


@cache
def _former_ids() -> dict[str, str]:
    return {alias: provider.id for provider in providers().values() for alias in provider.aliases}


def canonical_id(provider_id: str) -> str:
    """The present id of a provider whose id was changed; other ids unchanged."""
    return _former_ids().get(provider_id, provider_id)


def find_provider(provider_id: str) -> Provider | None:
    """The provider of this id, or of an id that it once had."""
    return providers().get(canonical_id(provider_id))


def display_name(provider_id: str) -> str:
    """The name to show for a provider; its id where none is known."""
    provider = find_provider(provider_id)
    return provider.name if provider is not None else provider_id


def default_models() -> list[tuple[str, str]]:
    """Provider and model id of each provider's default model, in table order."""
    return [(provider.id, provider.default_model) for provider in providers().values() if provider.default_model]


def list_order(provider_id: str, name: str) -> tuple[int, str, str]:
    """Sort key of providers in lists that people read: two go first, the rest by display name."""
    rank = FIRST_IN_LISTS.index(provider_id) if provider_id in FIRST_IN_LISTS else len(FIRST_IN_LISTS)
    return (rank, name.casefold(), provider_id)


def fill_placeholders(url: str, look_up: Lookup) -> str:
    """`url` with `{NAME}` placeholders in capitals replaced by variables; unknown ones stay."""
    if "{" not in url:
        return url
    return _PLACEHOLDER.sub(lambda match: look_up(match[1]) or match[0], url)


def missing_variables(provider: Provider, look_up: Lookup) -> list[str]:
    """Variables that must be set beside the credential and are not."""
    missing = [name for name in provider.requires if not look_up(name)]
    if provider.requires_one and not any(look_up(name) for name in provider.requires_one):
        missing.append(" or ".join(provider.requires_one))
    return missing


def environment_source(provider: Provider, look_up: Lookup) -> str | None:
    """What in the environment signs this machine in: the name of a variable or of several, None for nothing."""
    for name in provider.key_variables:
        if look_up(name):
            return name
    for group in provider.ambient:
        if all(look_up(name) for name in group):
            return "+".join(group)
    return _google_default(look_up) if provider.id == "google-vertex" else None


def _google_default(look_up: Lookup) -> str | None:
    """Application Default Credentials: a credentials file together with project and location."""
    has_project = look_up("GOOGLE_CLOUD_PROJECT") or look_up("GCLOUD_PROJECT")
    if not has_project or not look_up("GOOGLE_CLOUD_LOCATION"):
        return None
    if look_up("GOOGLE_APPLICATION_CREDENTIALS"):
        return "GOOGLE_APPLICATION_CREDENTIALS"
    is_there = any(path.is_file() for path in _google_default_files(look_up))
    return "application default credentials" if is_there else None


def _google_default_files(look_up: Lookup) -> Iterable[Path]:
    name = "application_default_credentials.json"
    if folder := look_up("CLOUDSDK_CONFIG"):
        yield Path(folder) / name
    if os.name == "nt" and (folder := look_up("APPDATA")):
        yield Path(folder) / "gcloud" / name
    if home := look_up("HOME"):
        yield Path(home) / ".config" / "gcloud" / name
