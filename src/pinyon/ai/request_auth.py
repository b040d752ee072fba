"""How a request is signed: which credential counts for a provider, and what it adds to the request.

The first source that a provider has decides: a key given with the request, a key of this run, the stored credential,
the key of a program or of the user's file, the environment. A stored key that leads nowhere is passed over; a key in
the file that leads nowhere is an error, and so is a sign-in that cannot be renewed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.config_value import ConfigValues, Lookup, is_command, is_resolvable, layered, missing_names
from pinyon.ai.credential import ApiKeyCredential, Credential, OAuthCredential
from pinyon.ai.key_login import SUBSCRIPTION_PREFIX
from pinyon.ai.local_server import LOCAL_PROVIDERS, local_key_variable
from pinyon.ai.models_json import ProviderConfig
from pinyon.ai.oauth import TokenAuth, is_plain_key, renewal_problem
from pinyon.ai.provider import Provider, environment_source, find_provider, missing_variables
from pinyon.ai.request_header import layer_headers
from pinyon.errors import AuthError

AuthSource = Literal[
    "option", "runtime", "stored", "models_json_key", "models_json_command", "environment", "fallback", "local_server"
]

COMMAND_LIFETIME_S = 60.0
"""How long the output of a `models.json` command is used; short, because it may be a token that runs out."""

SIGNING_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key", "cf-aig-authorization"})
"""Headers that carry a credential, in lower case; a request that has one needs no key."""

_USE_A_KEY = "pass an API key with --api-key or store one in its place"


class NotConfiguredError(AuthError):
    """Raised when a provider has no usable credential; says where one can be put."""


class AuthStatus(msgspec.Struct, frozen=True):
    """Whether a provider can be used, judged without running commands or renewing tokens, and through what.

    `label` is a variable's name or a word for the source; `problem` says what is missing where it is not configured.
    """

    configured: bool
    source: AuthSource | None = None
    label: str | None = None
    problem: str | None = None


class RequestAuth(msgspec.Struct, kw_only=True):
    """What a credential adds to a request. A header of None removes one of that name; `env` overrides variables."""

    api_key: str | None = None
    headers: dict[str, str | None] = msgspec.field(default_factory=dict)
    base_url: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    source: AuthSource | None = None

    def __repr__(self) -> str:
        return f"RequestAuth(source={self.source!r}, headers={sorted(self.headers)}, env={sorted(self.env)})"


class AuthResolver:
    """Answers for each provider whether and how requests are signed. `config_of` gives what the user's file and
    programs say about a provider, in the order in which they count.
    """

    def __init__(
        self,
        storage: AuthStorage,
        config_of: Callable[[str], list[ProviderConfig]],
        values: ConfigValues | None = None,
    ) -> None:
        self._storage = storage
        self._config_of = config_of
        self._values = values or ConfigValues(lifetime_s=COMMAND_LIFETIME_S, keep_failures=False)

    # Without asking anybody

    def status(self, provider_id: str) -> AuthStatus:
        """Whether `provider_id` can be used; runs nothing and never raises."""
        status = self._status(provider_id)
        known = find_provider(provider_id)
        if not status.configured or known is None:
            return status
        missing = self._missing(known, self._look_up(self._storage.get(provider_id)))
        if missing:
            return AuthStatus(False, problem=_set_hint(missing))
        return status

    def _status(self, provider_id: str) -> AuthStatus:
        if self._storage.runtime_api_key(provider_id):
            return AuthStatus(True, "runtime", "--api-key")
        stored = self._storage.get(provider_id)
        if stored is not None:
            problem = self._mismatch(provider_id, stored)
            if problem:
                return AuthStatus(False, problem=problem)
            if self._is_expected(provider_id, stored):
                return AuthStatus(True, "stored", "auth.json")
        return self._configured_status(provider_id, self._look_up(stored))

    def _configured_status(self, provider_id: str, look_up: Lookup) -> AuthStatus:
        key = self._config_key(provider_id)
        if key is not None and is_command(key):
            return AuthStatus(True, "models_json_command", "models.json")
        if key is not None:
            missing = missing_names(key, look_up)
            return AuthStatus(not missing, "models_json_key", "models.json", _set_hint(missing) if missing else None)
        known = find_provider(provider_id)
        variable = environment_source(known, look_up) if known else None
        if variable is not None:
            return AuthStatus(True, "environment", variable)
        if self._is_signed_by_headers(provider_id, look_up):
            return AuthStatus(True, "models_json_key", "models.json")
        if self._storage.fallback_api_key(provider_id):
            return AuthStatus(True, "fallback")
        return AuthStatus(True, "local_server") if provider_id in LOCAL_PROVIDERS else AuthStatus(False)

    def missing_text(self, provider_id: str) -> str:
        """What to do to make a provider usable that is not."""
        problem = self.status(provider_id).problem
        mend = problem or ", or ".join(_ways(provider_id))
        return f"provider {provider_id!r} is not configured: {mend}"

    # For a request

    async def resolve(
        self, provider_id: str, *, api_key: str | None = None, env: Mapping[str, str] | None = None
    ) -> RequestAuth:
        """How a request to `provider_id` is signed. Raises `NotConfiguredError` or another `AuthError`."""
        stored = self._storage.get(provider_id)
        look_up = self._look_up(stored, env)
        auth = await self._credential(provider_id, stored, api_key, look_up)
        known = find_provider(provider_id)
        missing = self._missing(known, look_up) if known else []
        if missing:
            raise NotConfiguredError(f"provider {provider_id!r} is not configured: {_set_hint(missing)}")
        await self._add_config_headers(provider_id, auth, look_up)
        if isinstance(stored, ApiKeyCredential):
            auth.env = dict(stored.env)
        return auth

    async def headers_of(self, headers: Mapping[str, str], look_up: Lookup, owner: str) -> dict[str, str]:
        """Resolve configured headers; `owner` stands in the error when one leads nowhere."""
        return {
            name: await self._values.require(value, look_up, f"header {name!r} of {owner}")
            for name, value in headers.items()
        }

    def look_up(self, provider_id: str, env: Mapping[str, str] | None = None) -> Lookup:
        """Where variables come from for a provider: the request, the stored credential, the process."""
        return self._look_up(self._storage.get(provider_id), env)

    async def _credential(
        self, provider_id: str, stored: Credential | None, api_key: str | None, look_up: Lookup
    ) -> RequestAuth:
        if api_key:
            return _signed(provider_id, api_key, "option")
        if key := self._storage.runtime_api_key(provider_id):
            return _signed(provider_id, key, "runtime")
        if stored is not None and (auth := await self._from_store(provider_id, stored)) is not None:
            return auth
        config_key = self._config_key(provider_id)
        if config_key is not None:
            key = await self._values.require(config_key, look_up, f"API key for provider {provider_id!r}")
            return _signed(provider_id, key, "models_json_command" if is_command(config_key) else "models_json_key")
        return self._from_surroundings(provider_id, look_up)

    async def _from_store(self, provider_id: str, stored: Credential) -> RequestAuth | None:
        problem = self._mismatch(provider_id, stored)
        if problem:
            raise NotConfiguredError(f"provider {provider_id!r} is not configured: {problem}")
        if isinstance(stored, ApiKeyCredential):
            key = (await self._storage.resolve_key(stored)).value if stored.key else None
            if key:
                return _signed(provider_id, key, "stored")
            return RequestAuth(source="stored") if self._is_ambient(provider_id, stored) else None
        token = await self._storage.fresh_token(provider_id)
        flow = self._storage.oauth_providers.get(provider_id)
        signed = flow.token_auth(token) if flow else TokenAuth(api_key=token.access)
        return RequestAuth(
            api_key=signed.api_key, headers=dict(signed.headers), base_url=signed.base_url, source="stored"
        )

    def _from_surroundings(self, provider_id: str, look_up: Lookup) -> RequestAuth:
        known = find_provider(provider_id)
        if known is not None and (auth := _from_environment(known, look_up)) is not None:
            return auth
        if self._is_signed_by_headers(provider_id, look_up):
            return RequestAuth(source="models_json_key")
        if key := self._storage.fallback_api_key(provider_id):
            return _signed(provider_id, key, "fallback")
        if provider_id in LOCAL_PROVIDERS:
            key = look_up(local_key_variable(provider_id)) or "local"  # such servers take any key
            return RequestAuth(api_key=key, source="local_server")
        raise NotConfiguredError(self.missing_text(provider_id))

    async def _add_config_headers(self, provider_id: str, auth: RequestAuth, look_up: Lookup) -> None:
        """Headers of programs and of the file; the file's count more, because it is the user's."""
        for config in self._config_of(provider_id):
            own = await self.headers_of(config.headers, look_up, f"provider {provider_id!r}")
            if config.auth_header and auth.api_key is None:
                raise NotConfiguredError(f"provider {provider_id!r} has 'authHeader' and no API key; give it 'apiKey'")
            bearer = {"Authorization": f"Bearer {auth.api_key}"} if config.auth_header else None
            auth.headers = layer_headers(auth.headers, own, bearer)

    # Judgements

    def _look_up(self, stored: Credential | None, env: Mapping[str, str] | None = None) -> Lookup:
        own = stored.env if isinstance(stored, ApiKeyCredential) else None
        return layered(env, own, self._storage.env)

    def _config_key(self, provider_id: str) -> str | None:
        keys = (config.api_key for config in self._config_of(provider_id))
        return next((key for key in keys if key is not None), None)

    def _is_signed_by_headers(self, provider_id: str, look_up: Lookup) -> bool:
        return any(
            name.lower() in SIGNING_HEADERS and is_resolvable(value, look_up)
            for config in self._config_of(provider_id)
            for name, value in config.headers.items()
        )

    def _mismatch(self, provider_id: str, stored: Credential) -> str | None:
        """Why a stored credential is of a kind that the provider does not take here."""
        known = find_provider(provider_id)
        if isinstance(stored, OAuthCredential):
            if is_plain_key(stored):
                return None
            if (flow := self._storage.oauth_providers.get(provider_id)) is not None:
                problem = renewal_problem(flow) if self._storage.is_expired(stored) else None
                return f"its stored sign-in has run out, and {problem}" if problem else None
            if known is None or "oauth" not in known.auth:
                return f"its stored sign-in only works in the client that made it; {_USE_A_KEY}"
            if self._storage.is_expired(stored):
                return f"its stored sign-in has run out and cannot be renewed here; {_USE_A_KEY}"
            return None
        if known is not None and "api_key" not in known.auth:
            return "it needs a sign-in, and an API key is stored for it"
        return None

    def _is_expected(self, provider_id: str, stored: Credential) -> bool:
        if isinstance(stored, OAuthCredential):
            return True
        return self._storage.is_key_expected(stored) or self._is_ambient(provider_id, stored)

    def _is_ambient(self, provider_id: str, stored: ApiKeyCredential) -> bool:
        """Whether a stored credential without a key says that the machine itself is signed in."""
        known = find_provider(provider_id)
        if known is None or stored.key is not None:
            return False
        return known.id == "amazon-bedrock" or environment_source(known, self._look_up(stored)) is not None

    def _missing(self, known: Provider, look_up: Lookup) -> list[str]:
        if known.requires_one and any(config.base_url for config in self._config_of(known.id)):
            return [name for name in known.requires if not look_up(name)]
        return missing_variables(known, look_up)


def _from_environment(known: Provider, look_up: Lookup) -> RequestAuth | None:
    if known.bearer_env and (token := look_up(known.bearer_env)):
        header: dict[str, str | None] = {"Authorization": f"Bearer {token.strip()}", "x-api-key": None}
        return RequestAuth(headers=header, source="environment")
    for name in known.env:
        if (key := look_up(name)) and not key.startswith(SUBSCRIPTION_PREFIX):
            return _signed(known.id, key.strip(), "environment")
    if any(look_up(name) for name in known.env):
        raise NotConfiguredError(_subscription_text(known.id))
    return RequestAuth(source="environment") if environment_source(known, look_up) else None


def _signed(provider_id: str, key: str, source: AuthSource) -> RequestAuth:
    known = find_provider(provider_id)
    if key.startswith(SUBSCRIPTION_PREFIX) and provider_id == "anthropic":
        raise NotConfiguredError(_subscription_text(provider_id))
    if known is not None and known.key_header:
        header: dict[str, str | None] = {"Authorization": None, "x-api-key": None, known.key_header: f"Bearer {key}"}
        return RequestAuth(headers=header, source=source)
    return RequestAuth(api_key=key, source=source)


def _ways(provider_id: str) -> list[str]:
    known = find_provider(provider_id)
    variables = known.key_variables if known else ()
    keys = [name for name in variables if name.endswith("_API_KEY")] or variables
    ways = [f"set {' or '.join(keys)}"] if keys else []
    if known is not None:
        ways.append(f"run `pinyon auth login {provider_id}`")
    if known is not None and "api_key" not in known.auth:
        return ways
    note = "" if known else " (any text will do for a server that needs none)"
    return [
        *ways,
        "pass --api-key",
        f"store a key for {provider_id!r} in auth.json",
        f"give the provider an 'apiKey' in models.json{note}",
    ]


def _subscription_text(provider_id: str) -> str:
    return (
        f"provider {provider_id!r} is not configured: the key found for it is a subscription token, which works in its "
        "own client only; use an API key"
    )


def _set_hint(names: list[str]) -> str:
    plural = "s" if len(names) > 1 else ""
    return f"set the environment variable{plural} {', '.join(names)}"
