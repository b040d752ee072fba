"""Every model that this installation knows, which of them can be used, and how their requests are signed.

Built-in models are read provider by provider when somebody asks; the user's `models.json` and what programs register
are laid over them. Local servers are contacted only through `find_local_models` and by names that begin with theirs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pinyon._util.config import agent_dir
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.catalogue import catalogue_models
from pinyon.ai.config_value import ConfigValues
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.local_server import LOCAL_PROVIDERS, find_models
from pinyon.ai.message import AssistantMessage, Message
from pinyon.ai.model import Model, clamp_level
from pinyon.ai.model_layer import ProviderLayers, build_models
from pinyon.ai.model_lookup import ModelLookup
from pinyon.ai.models_json import ModelsFile, ModelsProblem, ProviderConfig, load_models_file
from pinyon.ai.models_store import ModelsStore, completed
from pinyon.ai.oauth import AccountSignIn
from pinyon.ai.option import StreamOptions
from pinyon.ai.provider import canonical_id, display_name, fill_placeholders, providers
from pinyon.ai.registration import Registration
from pinyon.ai.request_auth import SIGNING_HEADERS, AuthResolver, AuthStatus, NotConfiguredError, RequestAuth
from pinyon.ai.request_header import layer_headers, model_headers, session_header, transformed_headers
from pinyon.ai.stream import AssistantMessageEventStream, StreamFn
from pinyon.ai.transport import Transport
from pinyon.ai.virtual_model import VIRTUAL_API, RouteRequest, VirtualModel, VirtualModels, target_options
from pinyon.errors import ConfigError, PinyonError

if TYPE_CHECKING:
    from pinyon.ai.models_update import ModelsSource, ModelsUpdate

SCRIPTED_API = "faux"
"""Wire API of models that answer from a script inside this process."""


class RequestAuthResult(msgspec.Struct, kw_only=True):
    """What a request to a model needs, or why there is nothing: `ok` says which."""

    ok: bool
    api_key: str | None = None
    headers: dict[str, str | None] = msgspec.field(default_factory=dict)
    base_url: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    error: str | None = None

    def __repr__(self) -> str:
        return f"RequestAuthResult(ok={self.ok}, headers={sorted(self.headers)}, error={self.error!r})"


class ModelRegistry(ModelLookup):
    """Models by provider and id. Make one with `create` or `in_memory`."""

    def __init__(
        self,
        auth_storage: AuthStorage,
        models_path: Path | None = None,
        *,
        values: ConfigValues | None = None,
        transport: Transport | None = None,
        store: ModelsStore | None = None,
    ) -> None:
        self.auth_storage = auth_storage
        self.models_path = models_path
        self.store = store or ModelsStore(None)
        self._transport = transport
        self._file = ModelsFile()
        self._programs: dict[str, Registration] = {}
        self._local: dict[str, list[Model]] = {}
        self._built: dict[str, list[Model]] = {}
        self._layer_problems: dict[str, list[ModelsProblem]] = {}
        self._refresh_errors: dict[str, str] = {}
        self.virtual = VirtualModels()
        self._auth = AuthResolver(auth_storage, self._configs, values)
        self._read_file()

    @classmethod
    def create(cls, auth_storage: AuthStorage, models_path: str | Path | None = None) -> ModelRegistry:
        """The registry of this installation; `models_path` defaults to `models.json` in the agent folder. Newer models
        that were fetched stand in `models-store.json` beside it.
        """
        if models_path is None:
            folder = agent_dir(auth_storage.env)
            models_path = folder / "models.json" if folder else None
        if not models_path:
            return cls(auth_storage)
        path = Path(models_path)
        return cls(auth_storage, path, store=ModelsStore(path.with_name("models-store.json")))

    @classmethod
    def in_memory(cls, auth_storage: AuthStorage) -> ModelRegistry:
        """A registry of built-in and registered models that reads no file."""
        return cls(auth_storage)

    def __repr__(self) -> str:
        return f"ModelRegistry({str(self.models_path)!r})"

    # Reading again

    async def refresh(self) -> None:
        """Read credentials and `models.json` again and ask programs for their present models. Never raises for them:
        see `get_errors`.
        """
        self.auth_storage.reload()
        self._read_file()
        for provider_id, registration in list(self._programs.items()):
            await self._refresh_program(provider_id, registration)

    def _read_file(self) -> None:
        self._file = load_models_file(self.models_path) if self.models_path else ModelsFile()
        self._offer_gateways()
        self._forget()

    def _offer_gateways(self) -> None:
        """Let users sign in to providers of the file that are gateways of the kind of Radius."""
        for provider_id, config in self._file.providers.items():
            if config.oauth == "radius" and config.base_url and provider_id not in self._programs:
                from pinyon.ai.sign_in.radius import RadiusSignIn

                gateway = config.base_url.rstrip("/").removesuffix("/v1")
                flow = RadiusSignIn(self.auth_storage.sign_in, gateway, provider_id=provider_id)
                self.auth_storage.oauth_providers[provider_id] = flow

    def _forget(self, provider_id: str | None = None) -> None:
        for kept in (self._built, self._layer_problems):
            if provider_id is None:
                kept.clear()
            else:
                kept.pop(provider_id, None)

    async def _refresh_program(self, provider_id: str, registration: Registration) -> None:
        if registration.refresh_models is None:
            return
        try:
            listed = registration.refresh_models()
            listed = await listed if inspect.isawaitable(listed) else listed
            self.register_provider(provider_id, {"models": listed})
        except Exception as error:  # noqa: BLE001 - code of an extension; its failure must not hide other providers
            self._refresh_errors[provider_id] = f"provider {provider_id!r} could not list its models: {error}"
        else:
            self._refresh_errors.pop(provider_id, None)

    async def update_models(self, address: str | None, provider_ids: Iterable[str] | None = None) -> ModelsUpdate:
        """Fetch newer models and keep them in `models-store.json`; by default those of the providers that are signed
        in, or of all while none is.

        Providers that list their models themselves are asked with the user's key, all others are looked up at the
        catalogue server at `address`, if there is one. Raises `ConfigError`.
        """
        from pinyon.ai.models_update import catalogue_sources, update_models
        from pinyon.ai.transport import DefaultTransport

        asked = list(provider_ids or filter(self.is_usable, providers())) or list(providers())
        sources = await self._own_sources(asked)
        if address is not None:
            sources = {**catalogue_sources(address, asked), **sources}
        update = await update_models(self.store, sources, self._transport or DefaultTransport())
        self._forget()
        return update

    def lists_models_itself(self, provider_id: str) -> bool:
        """Whether a provider tells an account that is signed in which models it has."""
        from pinyon.ai.own_listing import OWN_LISTINGS

        return provider_id in OWN_LISTINGS and self.is_usable(provider_id)

    async def _own_sources(self, provider_ids: Iterable[str]) -> dict[str, ModelsSource]:
        from pinyon.ai.models_update import ModelsSource
        from pinyon.ai.own_listing import OWN_LISTINGS

        sources: dict[str, ModelsSource] = {}
        for provider_id in filter(self.lists_models_itself, provider_ids):
            auth = await self._auth.resolve(provider_id)
            listing, base = OWN_LISTINGS[provider_id], auth.base_url or providers()[provider_id].base_url
            headers = {name: value for name, value in auth.headers.items() if value is not None}
            if auth.api_key:
                headers["authorization"] = f"Bearer {auth.api_key}"
            sources[provider_id] = ModelsSource(url=base + listing.path, headers=headers, rows=listing.rows)
        return sources

    async def find_local_models(self, provider_ids: Iterable[str] | None = None) -> list[Model]:
        """Ask the servers on this machine for their models, all within a fraction of a second. Never raises."""
        from pinyon.ai.transport import DefaultTransport

        wanted = list(LOCAL_PROVIDERS if provider_ids is None else provider_ids)
        found = await find_models(self._transport or DefaultTransport(), wanted, env=self.auth_storage.env)
        for provider_id in wanted:
            self._local[provider_id] = [model for model in found if model.provider == provider_id]
            self._forget(provider_id)
        return [model for provider_id in wanted for model in self.models_of(provider_id)]

    # What is known

    @property
    def environment(self) -> Mapping[str, str]:
        """Where variables come from."""
        return self.auth_storage.env

    def provider_ids(self) -> list[str]:
        """All provider ids: the table's, then those of the user's file, of programs and of local servers."""
        return list(
            dict.fromkeys(
                (*providers(), *self._file.providers, *self._programs, *self._local, *self.virtual.provider_ids())
            )
        )

    def models_of(self, provider_id: str) -> Sequence[Model]:
        """The models of one provider."""
        provider_id = canonical_id(provider_id)
        built = self._built.get(provider_id)
        if built is None:
            known, doubts = self._known_models(provider_id)
            built, problems = build_models(self._layers(provider_id, known, self._programs.get(provider_id)))
            self._built[provider_id] = built
            self._layer_problems[provider_id] = [*doubts, *problems]
        return self.virtual.over(provider_id, built)

    def is_list_complete(self, provider_id: str) -> bool:
        """Whether a server said itself which models it has, so that an unknown id cannot work."""
        return provider_id in self._local and not self._configs(provider_id)

    def _known_models(self, provider_id: str) -> tuple[list[Model], list[ModelsProblem]]:
        """The package's models with newer ones of the store laid over them, and those of a local server."""
        newer, problems = self.store.models_of(provider_id)
        known = {model.id: model for model in catalogue_models(provider_id)}
        known |= {model.id: completed(model, known.get(model.id)) for model in newer}
        return [*known.values(), *self._local.get(provider_id, ())], problems

    def _layers(self, provider_id: str, known: Sequence[Model], registration: Registration | None) -> ProviderLayers:
        return ProviderLayers(
            id=provider_id,
            built_in=known,
            file=self._file.providers.get(provider_id),
            program=registration.config if registration else None,
            program_lists_models=registration is not None and registration.lists_models,
            modify=self._modifier(provider_id, registration),
        )

    def _modifier(
        self, provider_id: str, registration: Registration | None
    ) -> Callable[[Sequence[Model]], Sequence[Model]] | None:
        modify = registration.modify_models if registration else None
        credential = self.auth_storage.get(provider_id)
        if not isinstance(credential, OAuthCredential):
            return None
        flow: object = self.auth_storage.oauth_providers.get(provider_id)
        if modify is None and isinstance(flow, AccountSignIn):
            modify = flow.account_models
        if modify is None:
            return None
        return lambda models: modify(models, credential)

    def get_errors(self) -> list[str]:
        """What is wrong with `models.json` and with registered providers, for a warning to the user."""
        for provider_id in self._file.providers:
            self.models_of(provider_id)
        layered = [problem for problems in self._layer_problems.values() for problem in problems]
        texts = [problem.message for problem in (*self._file.problems, *self.store.problems(), *layered)]
        return [*texts, *self._refresh_errors.values()]

    def get_error(self) -> str | None:
        """All of `get_errors` in one text, None without any."""
        return "\n\n".join(self.get_errors()) or None

    # Credentials

    def is_usable(self, provider_id: str) -> bool:
        """Whether a provider has credentials, judged without running commands."""
        provider_id = canonical_id(provider_id)
        return self._auth.status(provider_id).configured or self._is_virtual_only(provider_id)

    def _is_virtual_only(self, provider_id: str) -> bool:
        if provider_id not in self.virtual.provider_ids():
            return False
        return all(model.api == VIRTUAL_API for model in self.models_of(provider_id))

    def has_configured_auth(self, model: Model) -> bool:
        """The same for the provider of a model; scripted and virtual models need no credentials."""
        return model.api in (SCRIPTED_API, VIRTUAL_API) or self.is_usable(model.provider)

    def get_provider_auth_status(self, provider_id: str) -> AuthStatus:
        """Whether a provider has credentials and where they come from."""
        return self._auth.status(canonical_id(provider_id))

    def missing_auth_message(self, provider_id: str) -> str:
        """What to do about a provider without credentials."""
        return self._auth.missing_text(canonical_id(provider_id))

    def get_provider_display_name(self, provider_id: str) -> str:
        """The name to show: the file's, a program's, the table's, else the id."""
        own = (config.name for config in reversed(self._configs(canonical_id(provider_id))))
        return next((name for name in own if name), None) or display_name(provider_id)

    def is_using_oauth(self, model: Model) -> bool:
        """Whether requests to a model are signed by a sign-in rather than by a key."""
        provider_id = canonical_id(model.provider)
        if self.auth_storage.runtime_api_key(provider_id):
            return False
        return isinstance(self.auth_storage.get(provider_id), OAuthCredential)

    async def resolve_auth(self, provider_id: str) -> RequestAuth:
        """How requests to a provider are signed now. Raises `NotConfiguredError` or another `AuthError`."""
        return await self._auth.resolve(canonical_id(provider_id))

    async def get_api_key_for_provider(self, provider_id: str) -> str | None:
        """The key that requests to a provider carry, None where they carry none or it is not configured."""
        try:
            return (await self._auth.resolve(canonical_id(provider_id))).api_key
        except PinyonError:
            return None

    async def get_api_key_and_headers(self, model: Model) -> RequestAuthResult:
        """What a request to `model` needs. Never raises for missing or broken credentials."""
        try:
            prepared, options = await self.prepare(model, StreamOptions())
        except PinyonError as error:
            return RequestAuthResult(ok=False, error=str(error))
        return RequestAuthResult(
            ok=True,
            api_key=options.api_key,
            headers=dict(options.headers or {}),
            base_url=prepared.base_url if prepared.base_url != model.base_url else None,
            env=dict(options.env or {}),
        )

    def _configs(self, provider_id: str) -> list[ProviderConfig]:
        registration = self._programs.get(provider_id)
        layers = (registration.config if registration else None, self._file.providers.get(provider_id))
        return [config for config in layers if config is not None]

    # Requests

    async def prepare(self, model: Model, options: StreamOptions) -> tuple[Model, StreamOptions]:
        """Model and options with credentials, headers and address filled in. Raises `AuthError`.

        Headers from low to high: the provider's session header, its credential, the model, the options.
        """
        provider_id = canonical_id(model.provider)
        auth = RequestAuth() if model.api == SCRIPTED_API else await self._credential(provider_id, options)
        look_up = self._auth.look_up(provider_id, options.env)
        configured = model_headers(model.id, self._file.providers.get(provider_id), self._configs(provider_id))
        own = await self._auth.headers_of(configured, look_up, f"model {model.spec!r}")
        headers = layer_headers(
            session_header(provider_id, options), auth.headers, model.headers or None, own, options.headers
        )
        headers = await transformed_headers(headers, options)
        base_url = fill_placeholders(auth.base_url or model.base_url, look_up)
        if base_url != model.base_url:
            model = msgspec.structs.replace(model, base_url=base_url)
        env = {**auth.env, **(options.env or {})}
        changed = {"api_key": auth.api_key, "headers": headers or None, "env": env or None, "transform_headers": None}
        return model, msgspec.structs.replace(options, **changed)

    async def _credential(self, provider_id: str, options: StreamOptions) -> RequestAuth:
        try:
            return await self._auth.resolve(provider_id, api_key=options.api_key, env=options.env)
        except NotConfiguredError:
            if any(value and name.lower() in SIGNING_HEADERS for name, value in (options.headers or {}).items()):
                return RequestAuth(source="option")
            raise

    def stream_fn(self) -> StreamFn:
        """The stream function that signs requests with this registry's credentials."""
        return self.stream

    async def stream(
        self, model: Model, messages: Sequence[Message], options: StreamOptions
    ) -> AssistantMessageEventStream:
        """Ask `model`. Whatever is wrong with its credentials arrives as the stream's `error` event."""
        from pinyon.ai.request import failed_stream, stream

        aborted = options.signal is not None and options.signal.aborted
        try:
            if model.api == VIRTUAL_API:
                model, options = await self._routed(model, messages, options)
            prepared, signed = await self.prepare(model, options)
            registration = self._programs.get(canonical_id(model.provider))
            if registration is not None and registration.serves(prepared):
                return await registration.answer(prepared, list(messages), signed)
            return stream(prepared, messages, signed)
        except PinyonError as error:
            return failed_stream(model, str(error), aborted=aborted)

    async def _routed(
        self, model: Model, messages: Sequence[Message], options: StreamOptions
    ) -> tuple[Model, StreamOptions]:
        level = clamp_level(model, options.reasoning or "off")
        request = RouteRequest(
            model=model, thinking_level=level, reason="direct", messages=messages, signal=options.signal
        )
        target, _ = await self.virtual.choose(request, self)
        return target.model, target_options(model, target, options)

    async def complete(
        self, model: Model, messages: Sequence[Message], options: StreamOptions | None = None
    ) -> AssistantMessage:
        """The whole answer of `model`."""
        return await (await self.stream(model, messages, options or StreamOptions())).result()

    # Programs

    def register_provider(self, provider_id: str, config: Registration | Mapping[str, Any]) -> None:
        """Add a provider or change one; fields that an earlier registration set and this one does not stay.

        Raises `ConfigError` for a description that cannot work, and then nothing has changed.
        """
        provider_id = canonical_id(provider_id)
        merged = Registration.merged(provider_id, self._programs.get(provider_id), config)
        _, problems = build_models(self._layers(provider_id, self._known_models(provider_id)[0], merged))
        if problems and merged.lists_models:
            raise ConfigError("; ".join(problem.message for problem in problems))
        self._programs[provider_id] = merged
        if merged.oauth is not None:
            self.auth_storage.oauth_providers[provider_id] = merged.oauth
        self._forget(provider_id)

    def unregister_provider(self, provider_id: str) -> None:
        """Take a registration back; what it covered is there again."""
        provider_id = canonical_id(provider_id)
        registration = self._programs.pop(provider_id, None)
        if registration is not None and registration.oauth is not None:
            self.auth_storage.oauth_providers.pop(provider_id, None)
        self._refresh_errors.pop(provider_id, None)
        self._forget(provider_id)

    def register_virtual_model(self, virtual: VirtualModel) -> Callable[[], None]:
        """Add a virtual model; returns what takes it back. Raises `ConfigError` for an id that a real model has."""
        return self.virtual.add(virtual, self.models_of(virtual.provider))

    def unregister_virtual_model(self, provider_id: str, model_id: str) -> None:
        """Take a virtual model back."""
        self.virtual.remove(provider_id, model_id)
