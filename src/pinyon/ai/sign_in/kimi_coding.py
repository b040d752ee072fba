"""Kimi For Coding: device grant with a client id of the user's own."""

from __future__ import annotations

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, TokenAuth
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device_flow import DeviceFlow

PROVIDER = "kimi-coding"
ISSUER = "https://auth.kimi.com"
HOST_VARIABLES = ("KIMI_CODE_OAUTH_HOST", "KIMI_OAUTH_HOST")
ATTEMPTS = 4


class KimiSignIn:
    """The flow; see the module. `issuer` defaults to the variables of Kimi, then to its server."""

    name = "Kimi For Coding"

    def __init__(self, context: SignInContext, issuer: str | None = None) -> None:
        self._context = context
        self._issuer = issuer

    @property
    def _grant(self) -> DeviceFlow:
        named = (self._context.variable(name) for name in HOST_VARIABLES)
        issuer = (self._issuer or next((host for host in named if host), ISSUER)).rstrip("/")
        return DeviceFlow(
            self._context,
            PROVIDER,
            self.name,
            device_url=f"{issuer}/api/oauth/device_authorization",
            token_url=f"{issuer}/api/oauth/token",
        )

    def login_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    def renewal_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Let the user enter a code."""
        return await self._grant.login(interaction)

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """New tokens, asked for again while the server is busy."""
        return await self._grant.refresh(credential, ATTEMPTS)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The access token as a bearer header."""
        return TokenAuth(headers={"Authorization": f"Bearer {credential.access}"})


def create(context: SignInContext) -> KimiSignIn:
    """The flow of this provider."""
    return KimiSignIn(context)
