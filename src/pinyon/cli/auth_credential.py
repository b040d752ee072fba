"""`pinyon auth print-…`, `check` and `list`: which credential a provider or a model would be used with."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import CredentialType, OAuthCredential
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.oauth import NEVER_EXPIRES_MS, REFRESH_MARGIN_MS, is_plain_key
from pinyon.ai.provider import canonical_id
from pinyon.ai.request_auth import NotConfiguredError
from pinyon.errors import AuthError, ModelError


class CheckResult(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What `auth check` finds, in the shape of its JSON."""

    status: str
    provider: str
    auth_type: CredentialType | None = None
    reason: str | None = None
    credentials: str | None = None

    @property
    def exit_code(self) -> int:
        """0 for ready, 1 for not_ready, 2 for invalid."""
        return {"ready": 0, "not_ready": 1}.get(self.status, 2)


class CredentialDesk:
    """Answers for one registry. `now_ms` is the time that validity is told from. `detail` explains the last check to
    people and holds no secret.
    """

    def __init__(self, registry: ModelRegistry, now_ms: int) -> None:
        self._registry = registry
        self._storage: AuthStorage = registry.auth_storage
        self._now_ms = now_ms
        self.detail = ""

    # Printing

    async def api_key(self, provider: str | None, model: str | None) -> str:
        """The key for a provider or for the one provider of a model that has a stored key; raises `AuthError`."""
        provider_id = self._known(provider) if provider else self._provider_of(model or "", "api_key")
        if isinstance(self._storage.get(provider_id), OAuthCredential):
            raise AuthError(
                f"provider {provider_id!r} is signed in with an account and has no API key; use print-bearer-token"
            )
        key = await self._key_of(provider_id)
        if key is None:
            raise AuthError(f"provider {provider_id!r} is used without an API key here, so there is none to print")
        return key

    async def bearer_token(self, provider: str | None, model: str | None, min_validity_ms: int) -> str:
        """The access token of a sign-in, valid for `min_validity_ms`; raises `AuthError`."""
        provider_id = self._known(provider) if provider else self._provider_of(model or "", "oauth")
        if not isinstance(self._storage.get(provider_id), OAuthCredential):
            raise AuthError(
                f"no account is signed in to provider {provider_id!r}; run `pinyon auth login {provider_id}`"
            )
        return (await self._storage.fresh_token(provider_id, min_validity_ms=min_validity_ms)).access

    async def _key_of(self, provider_id: str) -> str | None:
        resolved = await self._registry.resolve_auth(provider_id)
        return resolved.api_key or await self._storage.get_api_key(provider_id)

    # Checking

    async def check(
        self, provider: str | None, model: str | None, *, with_secret: bool, refresh: bool = True
    ) -> CheckResult:
        """Whether requests to a provider would be signed. Never raises for missing or broken credentials."""
        if provider is not None:
            provider_id = canonical_id(provider)
            if provider_id not in self._registry.provider_ids():
                self.detail = f"there is no provider {provider!r}; `pinyon auth list` shows those that are set up"
                return CheckResult(status="not_ready", provider=provider, reason="provider_not_found")
        else:
            try:
                provider_id = self._registry.resolve(model or "").model.provider
            except ModelError as error:
                self.detail = str(error)
                return CheckResult(status="invalid", provider=model or "", reason="invalid_state")
        try:
            return await self._ready(provider_id, with_secret=with_secret, refresh=refresh)
        except NotConfiguredError as error:
            self.detail = str(error)
            return CheckResult(status="not_ready", provider=provider_id, reason="credentials_not_configured")
        except AuthError as error:
            self.detail = str(error)
            return CheckResult(status="invalid", provider=provider_id, reason="invalid_state")

    async def _ready(self, provider_id: str, *, with_secret: bool, refresh: bool) -> CheckResult:
        stored = self._storage.get(provider_id)
        kind: CredentialType = "api_key"
        if isinstance(stored, OAuthCredential) and self._storage.runtime_api_key(provider_id) is None:
            kind, secret = "oauth", await self._token(provider_id, stored, refresh=refresh)
        else:
            secret = await self._key_of(provider_id)
        if with_secret and secret is None:
            self.detail = f"provider {provider_id!r} is used without a secret that could be printed"
            return CheckResult(status="not_ready", provider=provider_id, reason="credential_not_available")
        self.detail = "  ".join(self.row(provider_id))
        return CheckResult(
            status="ready", provider=provider_id, auth_type=kind, credentials=secret if with_secret else None
        )

    async def _token(self, provider_id: str, stored: OAuthCredential, *, refresh: bool) -> str | None:
        if not refresh:
            return stored.access
        await self._registry.resolve_auth(provider_id)  # also refuses sign-ins that only work elsewhere
        latest = self._storage.get(provider_id)
        return latest.access if isinstance(latest, OAuthCredential) else None

    # Listing

    def rows(self) -> list[tuple[str, ...]]:
        """A line for each provider that has a credential of any kind, working or not."""
        stored = {canonical_id(info.provider_id) for info in self._storage.list()}
        ids = [name for name in self._registry.provider_ids() if name in stored or self._is_set_up(name)]
        return [self.row(provider_id) for provider_id in sorted({*ids, *stored})]

    def _is_set_up(self, provider_id: str) -> bool:
        status = self._registry.get_provider_auth_status(provider_id)
        return status.configured and status.source != "local_server"

    def row(self, provider_id: str) -> tuple[str, ...]:
        """Provider, kind of credential, where it comes from, and whether it can be used."""
        status = self._registry.get_provider_auth_status(provider_id)
        stored = self._storage.get(provider_id)
        is_account = isinstance(stored, OAuthCredential) and status.source in (None, "stored")
        source = status.label or status.source or "auth.json"
        if not status.configured:
            return provider_id, "account" if is_account else "key", source, f"not usable: {status.problem}"
        state = self._validity(stored) if is_account and isinstance(stored, OAuthCredential) else "set"
        return provider_id, "account" if is_account else "key", source, state

    def _validity(self, stored: OAuthCredential) -> str:
        if is_plain_key(stored) or stored.expires >= NEVER_EXPIRES_MS:
            return "valid until it is revoked"
        left_ms = stored.expires - self._now_ms
        if left_ms <= REFRESH_MARGIN_MS:
            return "expired, renewed at the next use"
        return f"valid for {duration_text(left_ms)}"

    # Finding the provider

    def _known(self, provider: str) -> str:
        provider_id = canonical_id(provider)
        if provider_id not in self._registry.provider_ids():
            raise AuthError(f"there is no provider {provider!r}; `pinyon auth list` shows those that are set up")
        return provider_id

    def _provider_of(self, text: str, kind: CredentialType) -> str:
        """The one provider with a stored credential of `kind` that has a model of this name."""
        stored = [canonical_id(info.provider_id) for info in self._storage.list() if info.type == kind]
        found = _matching(text.strip().lower(), ((name, self._names(name)) for name in stored))
        if len(found) > 1:
            raise AuthError(f"{text!r} is offered by {', '.join(sorted(found))}; choose one with --provider")
        if not found:
            what = "API key" if kind == "api_key" else "signed-in account"
            raise AuthError(f"no stored {what} is for a provider that has a model {text!r}; give --provider")
        return found[0]

    def _names(self, provider_id: str) -> list[tuple[str, str]]:
        return [(model.id.lower(), model.name.lower()) for model in self._registry.models_of(provider_id)]


def _matching(text: str, offers: Iterable[tuple[str, list[tuple[str, str]]]]) -> list[str]:
    """Providers that have a model of exactly this id, else those that have one with this text in id or name."""
    exact, partial = [], []
    for provider_id, names in offers:
        wanted = text.removeprefix(f"{provider_id}/")
        if any(wanted == model_id for model_id, _ in names):
            exact.append(provider_id)
        elif any(wanted in model_id or wanted in name for model_id, name in names):
            partial.append(provider_id)
    return exact or partial


def duration_text(milliseconds: int) -> str:
    """A length of time in its largest whole unit."""
    seconds = milliseconds // 1000
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"
