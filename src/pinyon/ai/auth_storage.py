"""Credentials of providers: stored ones in `auth.json`, keys of this run in memory, and their renewal.

The stored file belongs to the user and to other programs as well. It is read again when it changed, every write is a
locked read-modify-write of one provider's entry, and a file that does not parse is reported and never overwritten: what
was read from it last stays in use.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import os
from collections import ChainMap
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

from pinyon._util import json as _json
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon._util.config import agent_dir
from pinyon.ai.auth_backend import CredentialBackend, FileBackend, MemoryBackend
from pinyon.ai.auth_text import parse_entries, stored_name, with_entry, without_entry
from pinyon.ai.config_value import ConfigValues, Resolution, is_resolvable, layered
from pinyon.ai.credential import (
    ApiKeyCredential,
    Credential,
    CredentialInfo,
    CredentialType,
    OAuthCredential,
    credential_from_wire,
)
from pinyon.ai.oauth import (
    REFRESH_MARGIN_MS,
    LoginInteraction,
    OAuthError,
    OAuthProvider,
    is_plain_key,
    needs_refresh,
)
from pinyon.ai.provider import canonical_id, environment_source, find_provider
from pinyon.ai.renewal import Renewals
from pinyon.ai.sign_in.catalogue import BuiltInSignIns
from pinyon.ai.sign_in.context import SignInContext
from pinyon.errors import AuthError

CredentialChange = Callable[["Credential | None"], "Awaitable[Credential | None] | Credential | None"]
"""Gets the stored credential as it is written and returns the new one, or None to leave it."""

FallbackResolver = Callable[[str], "str | None"]
"""A key for a provider that nothing else has a key for."""

Result = TypeVar("Result")


class AuthStorage:
    """Credentials by provider id. Precedence: a key of this run, then the stored credential.

    `env` is the environment that variables come from, the process's own by default. `oauth_providers` are the sign-in
    flows; by default the built-in ones, which work with what stands in `sign_in`.
    """

    def __init__(
        self,
        backend: CredentialBackend,
        *,
        env: Mapping[str, str] | None = None,
        values: ConfigValues | None = None,
        clock: Clock = SYSTEM_CLOCK,
        oauth_providers: Mapping[str, OAuthProvider] | None = None,
    ) -> None:
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.sign_in = SignInContext(env=env, clock=clock)
        flows = BuiltInSignIns(self.sign_in) if oauth_providers is None else oauth_providers
        # Registered flows cover built-in ones, which are there again when a registration is taken back.
        self.oauth_providers: MutableMapping[str, OAuthProvider] = ChainMap({}, flows)  # type: ignore[arg-type]
        self._backend = backend
        self._renewals = Renewals(backend)
        self._values = values or ConfigValues()
        self._clock = clock
        self._runtime: dict[str, str] = {}
        self._entries: dict[str, Any] = {}
        self._revision: Hashable = _NOT_READ
        self._problem: AuthError | None = None
        self._unreported: list[AuthError] = []
        self._pending: set[asyncio.Task[Any]] = set()
        self._fallback: FallbackResolver | None = None

    @classmethod
    def create(cls, path: str | Path | None = None, *, env: Mapping[str, str] | None = None) -> AuthStorage:
        """The storage in `path`, by default `auth.json` in the agent folder; without a home folder, in memory."""
        if path is None:
            folder = agent_dir(env)
            if folder is None:
                return cls(MemoryBackend(), env=env)
            path = folder / "auth.json"
        return cls(FileBackend(Path(path)), env=env)

    @classmethod
    def in_memory(
        cls, data: Mapping[str, Credential | Mapping[str, Any]] | None = None, *, env: Mapping[str, str] | None = None
    ) -> AuthStorage:
        """A storage without a file; `data` maps provider ids to credentials or to `auth.json` objects."""
        entries = {
            name: dict(item) if isinstance(item, Mapping) else item.to_wire() for name, item in (data or {}).items()
        }
        return cls(MemoryBackend(_json.encode_pretty(entries).decode()), env=env)

    @classmethod
    def from_storage(cls, backend: CredentialBackend, *, env: Mapping[str, str] | None = None) -> AuthStorage:
        """A storage on a backend of your own."""
        return cls(backend, env=env)

    def __repr__(self) -> str:
        return f"AuthStorage({self._backend.name!r})"

    # Keys of this run

    def set_runtime_api_key(self, provider: str, key: str) -> None:
        """Use `key` for `provider` in this process only, before anything stored."""
        self._runtime[canonical_id(provider)] = key

    def remove_runtime_api_key(self, provider: str) -> None:
        """Forget the key of this run."""
        self._runtime.pop(canonical_id(provider), None)

    def runtime_api_key(self, provider: str) -> str | None:
        """The key of this run."""
        return self._runtime.get(canonical_id(provider))

    def set_fallback_resolver(self, resolver: FallbackResolver | None) -> None:
        """Ask `resolver` for keys of providers for which nothing else has one."""
        self._fallback = resolver

    def fallback_api_key(self, provider: str) -> str | None:
        """What the fallback resolver says."""
        return self._fallback(provider) if self._fallback else None

    # Stored credentials

    def reload(self) -> None:
        """Read the store again, whether or not it seems to have changed."""
        self._revision = _NOT_READ
        self._load()

    @property
    def problem(self) -> AuthError | None:
        """Why the store cannot be read at present; credentials read earlier stay in use."""
        self._load()
        return self._problem

    def drain_errors(self) -> list[AuthError]:
        """Problems since the last call, for a warning to the user."""
        self._load()
        errors, self._unreported = self._unreported, []
        return errors

    def get(self, provider: str) -> Credential | None:
        """The stored credential as it is written: a key may still be `$NAME` or `!command`."""
        return credential_from_wire(self._entry(provider))

    def get_all(self) -> dict[str, Credential]:
        """All stored credentials as they are written."""
        self._load()
        found = ((name, credential_from_wire(entry)) for name, entry in self._entries.items())
        return {name: credential for name, credential in found if credential is not None}

    def list(self) -> list[CredentialInfo]:
        """Which providers have a stored credential of which kind; runs no command."""
        return [CredentialInfo(name, credential.type) for name, credential in self.get_all().items()]

    @property
    def name(self) -> str:
        """What to call the store in messages, such as its path."""
        return self._backend.name

    def stored_ids(self) -> builtins.list[str]:
        """The names of all stored entries, those that are no credential included."""
        self._load()
        return [*self._entries]

    def is_stored(self, provider: str) -> bool:
        """Whether there is an entry for `provider`, be it a credential or not."""
        return self._entry(provider) is not None

    def has(self, provider: str) -> bool:
        """Whether a credential is stored for `provider`."""
        return self.get(provider) is not None

    def has_auth(self, provider: str) -> bool:
        """Whether a key can be expected from any source: this run, the store, the environment, the fallback."""
        provider_id = canonical_id(provider)
        stored = self.get(provider_id)
        if provider_id in self._runtime:
            return True
        if stored is not None and (not isinstance(stored, ApiKeyCredential) or self.is_key_expected(stored)):
            return True
        known = find_provider(provider_id)
        if known is not None and environment_source(known, layered(self.env)) is not None:
            return True
        return bool(self.fallback_api_key(provider_id))

    def is_key_expected(self, credential: ApiKeyCredential) -> bool:
        """Whether a stored key can be expected to resolve, judged without running its command."""
        return credential.key is not None and is_resolvable(credential.key, layered(credential.env, self.env))

    def is_expired(self, credential: OAuthCredential) -> bool:
        """Whether a stored sign-in must be renewed before it can be used."""
        return not is_plain_key(credential) and needs_refresh(credential, self._clock.now_ms())

    def set(self, provider: str, credential: Credential) -> None:
        """Store a credential in place of the present one. Blocks for a moment; raises `AuthError`."""
        before = self.get(provider)
        self._backend.update(lambda text: with_entry(text, self._backend.name, provider, credential))
        self._written(provider, before)

    def remove(self, provider: str) -> None:
        """Delete the stored credential and the key of this run. Blocks for a moment; raises `AuthError`."""
        self.remove_runtime_api_key(provider)
        if self._entry(provider) is not None:
            before = self.get(provider)
            self._backend.update(lambda text: without_entry(text, self._backend.name, provider))
            self._written(provider, before)

    logout = remove

    async def read(self, provider: str) -> Credential | None:
        """The stored credential with its key resolved; the key is None where it resolves to nothing."""
        credential = self.get(provider)
        if isinstance(credential, ApiKeyCredential) and credential.key is not None:
            resolution = await self.resolve_key(credential)
            return ApiKeyCredential(key=resolution.value, env=credential.env, extra=credential.extra)
        return credential

    async def resolve_key(self, credential: ApiKeyCredential) -> Resolution:
        """Resolve the key of a stored credential; what its command printed is remembered, failures too."""
        if credential.key is None:
            return Resolution(problem="the stored credential holds no key")
        return await self._values.resolve(credential.key, layered(credential.env, self.env))

    async def modify(self, provider: str, change: CredentialChange) -> Credential | None:
        """Change the stored credential of `provider` under the lock and return what is stored afterwards.

        Raises `AuthError` when the store cannot be read or written; then it is as it was.
        """
        outcome: Credential | None = None
        before: Credential | None = None

        async def rewrite(text: str | None) -> str | None:
            nonlocal outcome, before
            entries = parse_entries(text, self._backend.name)
            outcome = credential_from_wire(entries.get(stored_name(entries, provider)))
            changed = change(outcome)
            if inspect.isawaitable(changed):
                changed = await changed
            if changed is None:
                return None
            before, outcome = outcome, changed
            return with_entry(text, self._backend.name, provider, changed)

        await self._backend.update_async(rewrite)
        self._written(provider, before)
        return outcome

    async def delete(self, provider: str) -> None:
        """Delete the stored credential and the key of this run; raises `AuthError`."""
        self.remove_runtime_api_key(provider)

        async def rewrite(text: str | None) -> str | None:
            return without_entry(text, self._backend.name, provider)

        if self._entry(provider) is not None:
            before = self.get(provider)
            await self._backend.update_async(rewrite)
            self._written(provider, before)

    async def flush(self) -> None:
        """Wait for renewals that are under way; call it before the process ends, or a new token may be lost."""
        while self._pending:
            await asyncio.wait(self._pending)

    # Keys for requests

    async def get_api_key(self, provider: str) -> str | None:
        """The key for `provider`: this run, the store (tokens renewed), the environment, the fallback; None without.

        Raises `OAuthError` when a sign-in cannot be renewed.
        """
        provider_id = canonical_id(provider)
        if key := self._runtime.get(provider_id):
            return key
        stored = self.get(provider_id)
        if isinstance(stored, OAuthCredential):
            return (await self.fresh_token(provider_id)).access
        if stored is not None and (value := (await self.resolve_key(stored)).value):
            return value
        known = find_provider(provider_id)
        look_up = layered(self.env)
        from_env = (look_up(name) for name in known.key_variables) if known else iter(())
        return next((value for value in from_env if value), None) or self.fallback_api_key(provider_id)

    async def fresh_token(self, provider: str, *, min_validity_ms: int = REFRESH_MARGIN_MS) -> OAuthCredential:
        """The stored sign-in with an access token that stays valid for a while, renewed if need be.

        The renewal runs under the lock and looks first whether another process was faster. Once begun it ignores
        cancellation of the caller. Raises `OAuthError`.
        """
        provider_id = canonical_id(provider)
        stored = self.get(provider_id)
        if not isinstance(stored, OAuthCredential):
            raise OAuthError(f"no sign-in is stored for provider {provider_id!r}")
        is_fresh = is_plain_key(stored) or not needs_refresh(stored, self._clock.now_ms(), min_validity_ms)
        if is_fresh and not self._renewals.is_open(provider_id, stored):
            return stored
        flow = self.oauth_providers.get(provider_id)
        if flow is None:
            raise OAuthError(
                f"the sign-in stored for provider {provider_id!r} cannot be renewed by this program; "
                f"store an API key for it instead"
            )
        return await self._uninterrupted(self._renew(provider_id, flow, min_validity_ms))

    async def _renew(self, provider_id: str, flow: OAuthProvider, min_validity_ms: int) -> OAuthCredential:
        async def change(current: Credential | None) -> Credential | None:
            if not isinstance(current, OAuthCredential):
                return None
            recovered = self._renewals.recovered(provider_id, current)
            latest = recovered or current
            if not needs_refresh(latest, self._clock.now_ms(), min_validity_ms):
                return recovered
            return await self._renewals.exchange(provider_id, flow, current, recovered)

        renewed = await self.modify(provider_id, change)
        if not isinstance(renewed, OAuthCredential):
            raise OAuthError(f"the sign-in of provider {provider_id!r} was removed meanwhile; sign in again")
        if min_validity_ms > REFRESH_MARGIN_MS and needs_refresh(renewed, self._clock.now_ms(), min_validity_ms):
            raise OAuthError(
                f"provider {provider_id!r} gave a token that is valid for less than {min_validity_ms // 1000} s"
            )
        return renewed

    def _written(self, provider: str, before: Credential | None) -> None:
        """The store was written; `before` is no longer in it."""
        self._revision = _NOT_READ
        self._renewals.settled(canonical_id(provider), before)

    async def _uninterrupted(self, work: Awaitable[Result]) -> Result:
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._settled)
        return await asyncio.shield(task)

    def _settled(self, task: asyncio.Task[Any]) -> None:
        self._pending.discard(task)
        if not task.cancelled():
            task.exception()  # the caller may be gone; its failure is then nobody's news

    async def login(
        self, provider: str, interaction: LoginInteraction, method: CredentialType | None = None
    ) -> Credential:
        """Sign in to `provider` with its flow (`oauth`) or by asking for a key, and store the credential.

        Without a `method` the flow is used where there is one. Raises `AuthError`.
        """
        provider_id = canonical_id(provider)
        flow = self.oauth_providers.get(provider_id)
        if flow is not None and method != "api_key":
            credential: Credential = await flow.login(interaction)
        elif method == "oauth":
            raise AuthError(f"provider {provider_id!r} has no sign-in here; store an API key for it instead")
        else:
            from pinyon.ai.key_login import ask_for_key

            credential = await ask_for_key(provider_id, interaction, layered(self.env))
        await self._uninterrupted(self.modify(provider_id, lambda _: credential))
        return credential

    # The text of the store

    def _load(self) -> None:
        try:
            revision = self._backend.revision()
            if revision == self._revision:
                return
            self._revision = revision
            self._entries = parse_entries(self._backend.load(), self._backend.name)
            self._problem = None
            self._unreported += self._odd_entries()
        except AuthError as error:
            if self._problem is None or str(self._problem) != str(error):
                self._unreported.append(error)
            self._problem = error

    def _odd_entries(self) -> Iterator[AuthError]:
        for name, entry in self._entries.items():
            if credential_from_wire(entry) is None:
                yield AuthError(
                    f"{self._backend.name!r}: the entry of provider {name!r} is no credential and is ignored; "
                    'an API key is written as {"type": "api_key", "key": "..."}'
                )

    def _entry(self, provider: str) -> Any:
        self._load()
        return self._entries.get(stored_name(self._entries, provider))


class _NotRead:
    """Differs from every revision."""


_NOT_READ = _NotRead()
