"""From what people write to a model of a registry: names, parts, scopes, defaults, what a session recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from pinyon.ai.local_server import LOCAL_PROVIDERS, local_server_silence, named_local_provider
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.provider import canonical_id, default_models, find_provider
from pinyon.ai.resolver import (
    ResolvedModel,
    ScopeDiagnostic,
    ScopedModel,
    UnknownModelError,
    initial_model,
    provider_prefix,
    resolve_cli_model,
    resolve_scope,
    restored_model,
)


class ModelLookup(ABC):
    """Questions about texts that a registry answers, on top of what it knows of models and credentials."""

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Where variables come from."""

    @abstractmethod
    def provider_ids(self) -> list[str]:
        """All provider ids."""

    @abstractmethod
    def models_of(self, provider_id: str) -> Sequence[Model]:
        """The models of one provider."""

    @abstractmethod
    def is_usable(self, provider_id: str) -> bool:
        """Whether a provider has credentials, judged without running commands."""

    @abstractmethod
    def is_list_complete(self, provider_id: str) -> bool:
        """Whether a server said itself which models it has, so that an unknown id cannot work."""

    @abstractmethod
    async def find_local_models(self, provider_ids: Iterable[str] | None = None) -> list[Model]:
        """Ask the servers on this machine for their models."""

    def get_all(self) -> list[Model]:
        """All models, usable or not."""
        return [model for provider_id in self.provider_ids() for model in self.models_of(provider_id)]

    def get_available(self) -> list[Model]:
        """The models whose provider has credentials; runs no command and asks no server."""
        usable = [provider_id for provider_id in self.provider_ids() if self.is_usable(provider_id)]
        return [model for provider_id in usable for model in self.models_of(provider_id)]

    def find(self, provider_id: str, model_id: str) -> Model | None:
        """The model of a provider with exactly that id."""
        return next((model for model in self.models_of(provider_id) if model.id == model_id), None)

    async def resolve_cli(
        self,
        text: str,
        *,
        provider: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        has_inline_key: bool = False,
    ) -> ResolvedModel:
        """The model of `--model` and the flags beside it; a local server that it names is asked first.

        Raises `UnknownModelError` or `AmbiguousModelError`.
        """
        local = named_local_provider(f"{provider.strip()}/" if provider else text)
        if local is not None and self._exact(text, provider) is None:
            await self.find_local_models([local])
        return self.resolve(text, provider=provider, thinking_level=thinking_level, has_inline_key=has_inline_key)

    def resolve(
        self,
        text: str,
        *,
        provider: str | None = None,
        thinking_level: ThinkingLevel | None = None,
        has_inline_key: bool = False,
    ) -> ResolvedModel:
        """The same among the models that are known by now."""
        provider = canonical_id(provider.strip()) if provider else None
        self._refuse_silent_provider(provider or provider_prefix(text.strip(), self.provider_ids()), text)
        exact = None if has_inline_key else self._exact(text, provider)
        if exact is not None:
            return ResolvedModel(model=exact, thinking_level=thinking_level)
        found = resolve_cli_model(
            text,
            self.get_all(),
            usable=self.is_usable,
            defaults=self._default_id,
            provider=provider,
            thinking_level=thinking_level,
            has_inline_key=has_inline_key,
        )
        if self.is_list_complete(found.model.provider) and self.find(found.model.provider, found.model.id) is None:
            offered = ", ".join(model.id for model in self.models_of(found.model.provider)[:20])
            raise UnknownModelError(
                f"the local server {found.model.provider!r} offers no model {found.model.id!r}; it has {offered}"
            )
        return found

    def _refuse_silent_provider(self, provider_id: str | None, text: str) -> None:
        """Raise `UnknownModelError` for a provider that is known and offers no model, with the reason."""
        if provider_id is None or self.models_of(provider_id):
            return
        if provider_id in LOCAL_PROVIDERS:
            raise UnknownModelError(f"{local_server_silence(provider_id, self.environment)}")
        known = find_provider(provider_id)
        if known is not None and not any(model.id == text for model in self.get_all()):
            raise UnknownModelError(
                f"the models of provider {provider_id!r} need the wire API {known.apis[0]!r}, which this version does "
                "not speak; describe models with another 'api' for it in models.json"
            )

    def _exact(self, text: str, provider: str | None) -> Model | None:
        """The model that a full `provider/id` of a usable provider names, found without reading other providers."""
        text = text.strip()
        owner = canonical_id(provider.strip()) if provider else provider_prefix(text, self.provider_ids())
        if owner is None or not self.is_usable(owner):
            return None
        wanted = text if provider else text[len(owner) + 1 :]
        return self.find(owner, wanted)

    def _default_id(self, provider_id: str) -> str | None:
        known = find_provider(provider_id)
        return known.default_model if known else None

    def resolve_scope(self, patterns: Sequence[str]) -> tuple[list[ScopedModel], list[ScopeDiagnostic]]:
        """The usable models that scope patterns name, and remarks on the patterns."""
        return resolve_scope(patterns, self.get_available(), usable=self.is_usable)

    async def find_scope(self, patterns: Sequence[str]) -> tuple[list[ScopedModel], list[ScopeDiagnostic]]:
        """The same; local servers that patterns name are asked first."""
        local = {named_local_provider(pattern) for pattern in patterns} - {None}
        if local:
            await self.find_local_models(name for name in LOCAL_PROVIDERS if name in local)
        return self.resolve_scope(patterns)

    async def first_model(self, *, provider: str | None = None, model_id: str | None = None) -> ScopedModel | None:
        """`initial_model` without a scope; a local server that the settings name is asked first."""
        if provider in LOCAL_PROVIDERS and model_id and self.find(provider, model_id) is None:
            await self.find_local_models([provider])
        return self.initial_model(provider=provider, model_id=model_id)

    def initial_model(
        self, *, provider: str | None = None, model_id: str | None = None, scoped: Sequence[ScopedModel] = ()
    ) -> ScopedModel | None:
        """The model of a new session: the settings' default (`provider`, `model_id`) or the first scoped one, else the
        default model of the first usable provider, else any usable model.
        """
        if not scoped and provider and model_id:
            provider = canonical_id(provider)
            model = self.find(provider, model_id) if self.is_usable(provider) else None
            if model is not None:
                return ScopedModel(model)
        return initial_model(
            self.get_available(),
            usable=self.is_usable,
            default=(canonical_id(provider) if provider else None, model_id),
            provider_defaults=default_models(),
            scoped=scoped,
        )

    async def restored_model(self, provider: str, model_id: str) -> tuple[Model | None, str | None]:
        """The model that a session recorded, or None and why it cannot be used; asks the local server it names."""
        provider = canonical_id(provider)
        if provider in LOCAL_PROVIDERS and self.find(provider, model_id) is None:
            await self.find_local_models([provider])
        return restored_model(self.models_of(provider), provider, model_id, usable=self.is_usable)
