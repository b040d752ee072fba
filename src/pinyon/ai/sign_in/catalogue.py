"""Which providers have a sign-in flow here. Flows are imported when they are first asked for."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping

from pinyon.ai.oauth import OAuthProvider
from pinyon.ai.sign_in.context import SignInContext

MODULES = {
    "openrouter": "openrouter",
    "openai": "openai",
    "openai-codex": "openai_codex",
    "github-copilot": "github_copilot",
    "xai": "xai",
    "kimi-coding": "kimi_coding",
    "meta": "meta",
    "radius": "radius",
}
"""Provider ids and the modules of their flows, each with a function `create(context)`."""

WITHOUT_CLIENT_ID = ("openrouter", "openai")
"""Providers that let any program sign in, without a registered client id."""


class BuiltInSignIns(Mapping[str, OAuthProvider]):
    """The flows by provider id. A module that is not installed leaves its provider without one."""

    def __init__(self, context: SignInContext) -> None:
        self._context = context
        self._made: dict[str, OAuthProvider] = {}

    def __getitem__(self, provider_id: str) -> OAuthProvider:
        if provider_id not in self._made:
            if provider_id not in self:
                raise KeyError(provider_id)
            module = importlib.import_module(f"{__package__}.{MODULES[provider_id]}")
            self._made[provider_id] = module.create(self._context)
        return self._made[provider_id]

    def __contains__(self, provider_id: object) -> bool:
        module = MODULES.get(provider_id) if isinstance(provider_id, str) else None
        return module is not None and importlib.util.find_spec(f"{__package__}.{module}") is not None

    def __iter__(self) -> Iterator[str]:
        return (provider_id for provider_id in MODULES if provider_id in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
