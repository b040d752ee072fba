"""Credentials of providers as `auth.json` holds them: API keys and OAuth tokens.

A credential keeps every field that it was read with, also those that this version does not know, so that nothing is
lost when it is written again. Representations never show secrets.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from pinyon._util import json as _json

CredentialType = Literal["api_key", "oauth"]


class ApiKeyCredential(msgspec.Struct, kw_only=True):
    """A stored API key.

    `key` may be a literal, `$NAME` or `!command`; it is None where the credential only carries `env`, variables that
    override the process environment for this provider. `extra` holds unknown fields.
    """

    key: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def type(self) -> CredentialType:
        """`api_key`."""
        return "api_key"

    def to_wire(self) -> dict[str, Any]:
        """The object for `auth.json`."""
        wire: dict[str, Any] = {"type": "api_key"}
        if self.key is not None:
            wire["key"] = self.key
        if self.env:
            wire["env"] = dict(self.env)
        return wire | self.extra

    def __repr__(self) -> str:
        return f"ApiKeyCredential(key={'***' if self.key else None}, env={sorted(self.env)})"


class OAuthCredential(msgspec.Struct, kw_only=True):
    """Tokens of a sign-in. `expires` is Unix milliseconds; `extra` holds the provider's own fields."""

    access: str
    refresh: str
    expires: int
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def type(self) -> CredentialType:
        """`oauth`."""
        return "oauth"

    def to_wire(self) -> dict[str, Any]:
        """The object for `auth.json`."""
        return {"type": "oauth", "access": self.access, "refresh": self.refresh, "expires": self.expires, **self.extra}

    def __repr__(self) -> str:
        return f"OAuthCredential(expires={self.expires}, extra={sorted(self.extra)})"


Credential: TypeAlias = ApiKeyCredential | OAuthCredential


class CredentialInfo(msgspec.Struct, frozen=True):
    """Which kind of credential is stored for a provider."""

    provider_id: str
    type: CredentialType


def credential_from_wire(value: Any) -> Credential | None:
    """The credential of an `auth.json` entry; None for an entry that is none, which is left as it stands."""
    if not isinstance(value, dict):
        return None
    if value.get("type") == "api_key":
        return _api_key(value)
    if value.get("type") == "oauth":
        return _oauth(value)
    return None


def _api_key(value: dict[str, Any]) -> ApiKeyCredential | None:
    key, env = value.get("key"), value.get("env")
    if key is not None and not isinstance(key, str):
        return None
    known_env = {name: text for name, text in env.items() if isinstance(text, str)} if isinstance(env, dict) else {}
    extra = {name: item for name, item in value.items() if name not in ("type", "key", "env")}
    if isinstance(env, dict) and len(known_env) < len(env):
        extra["env"] = env  # values of other types go back as they were
    return ApiKeyCredential(key=key, env=known_env, extra=extra)


def _oauth(value: dict[str, Any]) -> OAuthCredential | None:
    access, refresh, expires = value.get("access"), value.get("refresh", ""), value.get("expires", 0)
    is_number = isinstance(expires, int | float) and not isinstance(expires, bool)
    if not isinstance(access, str) or not isinstance(refresh, str) or not is_number:
        return None
    extra = {name: item for name, item in value.items() if name not in ("type", "access", "refresh", "expires")}
    stamp = _json.plain_number(expires)
    return OAuthCredential(access=access, refresh=refresh, expires=int(stamp), extra=extra)
