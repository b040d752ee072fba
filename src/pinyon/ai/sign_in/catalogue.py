"""Which providers have a sign-in flow here. Flows are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from pinyon.ai.oauth import OAuthProvider
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.method import Method


class SignInEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Where a provider's flow is (a module with a function `create(context)`), how users sign in, and whether they need
    an OAuth client id of their own.
    """

    module: str
    ways: tuple[Method, ...]
    needs_client_id: bool = True


SIGN_INS = {
    "openrouter": SignInEntry(module="openrouter", ways=("browser",), needs_client_id=False),
    "openai": SignInEntry(module="openai", ways=("browser",), needs_client_id=False),
    "openai-codex": SignInEntry(module="openai_codex", ways=("browser", "device_code")),
    "github-copilot": SignInEntry(module="github_copilot", ways=("device_code",)),
    "xai": SignInEntry(module="xai", ways=("device_code",)),
    "kimi-coding": SignInEntry(module="kimi_coding", ways=("device_code",)),
    "meta": SignInEntry(module="meta", ways=("device_code",)),
    "radius": SignInEntry(module="radius", ways=("browser", "device_code")),
}
"""The flows by provider id."""


class BuiltInSignIns(Mapping[str, OAuthProvider]):
    """The flows by provider id. A module that is not installed leaves its provider without one."""

    def __init__(self, context: SignInContext) -> None:
        self._context = context
        self._made: dict[str, OAuthProvider] = {}

    def __getitem__(self, provider_id: str) -> OAuthProvider:
        if provider_id not in self._made:
            if provider_id not in self:
                raise KeyError(provider_id)
            from importlib import import_module

            module = import_module(f"{__package__}.{SIGN_INS[provider_id].module}")
            self._made[provider_id] = module.create(self._context)
        return self._made[provider_id]

    def __contains__(self, provider_id: object) -> bool:
        entry = SIGN_INS.get(provider_id) if isinstance(provider_id, str) else None
        if entry is None:
            return False
        from importlib.util import find_spec

        return find_spec(f"{__package__}.{entry.module}") is not None

    def __iter__(self) -> Iterator[str]:
        return (provider_id for provider_id in SIGN_INS if provider_id in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
