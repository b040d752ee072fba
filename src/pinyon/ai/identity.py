"""How requests name their sender: the user agent, and attribution for providers that show it to their users.

The name is always ours or the embedding program's; no request poses as another product.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache

from pinyon._util.config import APP_NAME
from pinyon._version import __version__
from pinyon.ai.option import Attribution, Identity


def user_agent(identity: Identity | None = None) -> str:
    """The user agent: `detailed` names version, platform, runtime and architecture, `short` only the product."""
    identity = identity or Identity()
    if identity.user_agent == "short":
        return APP_NAME
    if identity.user_agent != "detailed":
        return identity.user_agent
    return f"{APP_NAME}/{identity.version or __version__} ({_platform()})"


@lru_cache(maxsize=1)
def _platform() -> str:
    version = sys.version_info
    runtime = f"{sys.implementation.name}/{version.major}.{version.minor}.{version.micro}"
    return f"{sys.platform}; {runtime}; {_machine()}"


def _machine() -> str:
    if hasattr(os, "uname"):
        return os.uname().machine
    import platform

    return platform.machine().lower() or "unknown"


def identity_headers(provider: str, identity: Identity | None = None) -> dict[str, str]:
    """User agent and, where the caller attributes its requests, the headers that this provider reads it from."""
    headers = {"User-Agent": user_agent(identity)}
    attribution = identity.attribution if identity is not None else None
    return headers | attribution_headers(provider, attribution) if attribution is not None else headers


def attribution_headers(provider: str, attribution: Attribution) -> dict[str, str]:
    """The attribution headers of `provider`; none for providers that know no such thing."""
    if provider == "openrouter":
        headers = {"HTTP-Referer": attribution.url, "X-OpenRouter-Title": attribution.name}
        if attribution.categories:
            headers["X-OpenRouter-Categories"] = ",".join(attribution.categories)
        return headers
    if provider == "nvidia":
        return {"X-BILLING-INVOKE-ORIGIN": attribution.name[:1].upper() + attribution.name[1:]}
    if provider in ("opencode", "opencode-go"):
        return {"x-opencode-client": attribution.name}
    return {}


def merge_headers(*layers: Mapping[str, str | None] | None) -> dict[str, str]:
    """Header layers, lowest first: names match in any case, later spelling and value win, None removes."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        for name, value in (layer or {}).items():
            key = name.lower()
            merged.pop(key, None)
            if value is not None:
                merged[key] = (name, value)
    return dict(merged.values())
