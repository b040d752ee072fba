"""The seam of sign-in flows: what a provider's flow gives, what it asks the user, and when its tokens are renewed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.model import Model
from pinyon.errors import AuthError

REFRESH_MARGIN_MS = 300_000
"""Tokens with less time left than this are renewed before they are used."""

REFRESH_TIMEOUT_S = 15.0
"""How long a renewal may take."""

NEVER_EXPIRES_MS = 2**53 - 1
"""`expires` of a token that is valid until it is revoked."""


class OAuthError(AuthError):
    """Raised when tokens of a sign-in cannot be renewed or used; the stored credential is kept."""


class LoginCancelledError(AuthError):
    """Raised when the user gave a sign-in up."""


class SelectOption(msgspec.Struct, frozen=True):
    """One choice of a `select` prompt."""

    value: str
    label: str


class LoginPrompt(msgspec.Struct, kw_only=True, frozen=True):
    """A question to the user. A `secret` is not shown while it is typed; `manual_code` may be given up by `signal`."""

    type: Literal["text", "secret", "select", "manual_code"]
    message: str
    placeholder: str | None = None
    options: tuple[SelectOption, ...] = ()
    signal: AbortSignal | None = None


class LoginNotice(msgspec.Struct, kw_only=True, frozen=True):
    """Something to show: a text, a page to open, a code to enter there, or progress."""

    type: Literal["info", "auth_url", "device_code", "progress"]
    message: str = ""
    url: str | None = None
    user_code: str | None = None
    expires_in_s: int | None = None


class LoginInteraction(Protocol):
    """How a flow talks to the user."""

    async def prompt(self, prompt: LoginPrompt) -> str:
        """The user's answer; raises `LoginCancelledError` when there is none."""
        ...

    def notify(self, notice: LoginNotice) -> None:
        """Show something and go on."""
        ...


class TokenAuth(msgspec.Struct, kw_only=True):
    """How a request carries a token."""

    api_key: str | None = None
    headers: dict[str, str | None] = msgspec.field(default_factory=dict)
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"TokenAuth(api_key={'***' if self.api_key else None}, headers={sorted(self.headers)})"


class OAuthProvider(Protocol):
    """The sign-in flow of one provider."""

    @property
    def name(self) -> str:
        """What to call the account, such as the service's name."""
        ...

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Sign the user in; raises `AuthError`."""
        ...

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """New tokens; raises `AuthError`. Not interrupted once it has begun."""
        ...

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """How requests carry the access token."""
        ...


@runtime_checkable
class LimitedSignIn(Protocol):
    """A flow that may lack something, such as a client id that the user must configure."""

    def login_problem(self) -> str | None:
        """What to do before the flow can sign in; None where it can."""
        ...

    def renewal_problem(self) -> str | None:
        """What to do before the flow can renew tokens; None where it can."""
        ...


@runtime_checkable
class AccountSignIn(Protocol):
    """A flow whose accounts do not all have the same models."""

    def account_models(self, models: Sequence[Model], credential: OAuthCredential) -> Sequence[Model]:
        """The models that the account of a credential has."""
        ...


OAuthProviders: TypeAlias = Mapping[str, OAuthProvider]


def needs_refresh(credential: OAuthCredential, now_ms: int, min_validity_ms: int = REFRESH_MARGIN_MS) -> bool:
    """Whether the access token should be renewed before it is used for `min_validity_ms`."""
    return now_ms + max(min_validity_ms, REFRESH_MARGIN_MS) >= credential.expires


def is_plain_key(credential: OAuthCredential) -> bool:
    """Whether the sign-in produced a permanent key, which needs no flow to be used."""
    return not credential.refresh and credential.expires >= NEVER_EXPIRES_MS


def login_problem(flow: OAuthProvider) -> str | None:
    """What to do before `flow` can sign in; None where it can."""
    return flow.login_problem() if isinstance(flow, LimitedSignIn) else None


def renewal_problem(flow: OAuthProvider) -> str | None:
    """What to do before `flow` can renew tokens; None where it can."""
    return flow.renewal_problem() if isinstance(flow, LimitedSignIn) else None
