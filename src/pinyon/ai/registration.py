"""Providers that programs and extensions register while they run."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.message import Message
from pinyon.ai.model import Model
from pinyon.ai.models_json import ProviderConfig
from pinyon.ai.oauth import OAuthProvider
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream, StreamFn
from pinyon.errors import ConfigError, ProviderError

ModelsSource = Callable[[], Any]
"""Gives the present models of a provider as a list, or an awaitable of one."""

ModifyModels = Callable[[Sequence[Model], OAuthCredential], Sequence[Model]]
"""Adjusts a provider's models to the account that is signed in."""

_NOT_IN_FILES = ("models", "stream", "streamSimple", "oauth", "refreshModels", "modifyModels")
_SNAKE = re.compile(r"_([a-z])")


class Registration(msgspec.Struct, kw_only=True):
    """A registered provider.

    `lists_models` says that its models replace all others of the provider. `stream` answers requests to models of its
    `api`; without it the wire API of that name does. `refresh_models` gives the present models when they are asked for.
    """

    config: ProviderConfig
    lists_models: bool = False
    stream_fn: StreamFn | None = None
    oauth: OAuthProvider | None = None
    refresh_models: ModelsSource | None = None
    modify_models: ModifyModels | None = None

    def serves(self, model: Model) -> bool:
        """Whether this registration answers requests to `model` itself."""
        return self.stream_fn is not None and model.api == self.config.api

    async def answer(
        self, model: Model, messages: list[Message], options: StreamOptions
    ) -> AssistantMessageEventStream:
        """The answer of the registered stream function; raises `ProviderError` when that raises."""
        assert self.stream_fn is not None
        try:
            answer = self.stream_fn(model, messages, options)
            return await answer if isinstance(answer, Awaitable) else answer
        except Exception as error:
            raise ProviderError(f"the stream function of provider {self.config.id!r} failed: {error}") from error

    @classmethod
    def merged(
        cls, provider_id: str, earlier: Registration | None, config: Registration | Mapping[str, Any]
    ) -> Registration:
        """`config` laid over an earlier registration: values that it does not give stay. Raises `ConfigError`."""
        if isinstance(config, Registration):
            return config
        fields = {_camel(name): value for name, value in config.items() if value is not None}
        _check(provider_id, fields)
        base = earlier or cls(config=ProviderConfig(id=provider_id))
        merged = msgspec.structs.replace(
            base,
            config=_merged_config(base.config, fields),
            lists_models=base.lists_models or "models" in fields,
            stream_fn=fields.get("stream") or fields.get("streamSimple") or base.stream_fn,
            oauth=fields.get("oauth") or base.oauth,
            refresh_models=fields.get("refreshModels") or base.refresh_models,
            modify_models=fields.get("modifyModels") or base.modify_models,
        )
        if merged.stream_fn is not None and not merged.config.api:
            raise ConfigError(f"provider {provider_id!r}: a stream function needs 'api', the name that its models use")
        merged.config.needs_url = merged.stream_fn is None
        return merged


def _camel(name: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), name)


def _merged_config(base: ProviderConfig, fields: Mapping[str, Any]) -> ProviderConfig:
    models = [_wire(model) for model in fields["models"]] if "models" in fields else base.models
    return msgspec.structs.replace(
        base,
        name=fields.get("name", base.name),
        base_url=fields.get("baseUrl", base.base_url),
        api_key=fields.get("apiKey", base.api_key),
        api=fields.get("api", base.api),
        headers=fields.get("headers", base.headers),
        auth_header=fields.get("authHeader", base.auth_header),
        models=[model for model in models if model.get("type", "chat") == "chat"],
    )


def _wire(model: Any) -> dict[str, Any]:
    if isinstance(model, Model):
        return {name: value for name, value in msgspec.to_builtins(model).items() if name != "provider"}
    return {_camel(name): value for name, value in model.items() if value is not None}


def _check(provider_id: str, fields: Mapping[str, Any]) -> None:
    from pinyon.ai.models_schema import MODEL_FIELDS, PROVIDER_FIELDS, faults_in

    if not provider_id.strip():
        raise ConfigError("a provider needs an id that is not empty")
    own = {name: checker for name, checker in PROVIDER_FIELDS.items() if name not in _NOT_IN_FILES}
    faults = [(path, reason) for path, reason in faults_in(dict(fields), own)]
    listed = fields.get("models", [])
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        faults.append((("models",), "must be a list"))
        listed = []
    for index, model in enumerate(listed):
        if not isinstance(model, Model | Mapping):
            faults.append((("models", index), "must be a Model or an object"))
            continue
        faults += [
            (("models", index, *path), reason) for path, reason in faults_in(_wire(model), MODEL_FIELDS, ("id",))
        ]
    if faults:
        lines = "; ".join(f"{'.'.join(str(step) for step in path)} {reason}" for path, reason in faults)
        raise ConfigError(f"provider {provider_id!r} cannot be registered: {lines}")
