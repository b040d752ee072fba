"""xAI: device grant with a client id of the user's own."""

from __future__ import annotations

from pinyon._util.config import APP_NAME
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, TokenAuth
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device_flow import DeviceFlow

PROVIDER = "xai"
ISSUER = "https://auth.x.ai"
SCOPE = "openid profile email offline_access grok-cli:access api:access"
MARGIN_MS = 300_000


class XaiSignIn:
    """The flow; see the module."""

    name = "xAI"

    def __init__(self, context: SignInContext, issuer: str = ISSUER) -> None:
        self._context = context
        self._grant = DeviceFlow(
            context,
            PROVIDER,
            self.name,
            device_url=f"{issuer}/oauth2/device/code",
            token_url=f"{issuer}/oauth2/token",
            extra={"scope": SCOPE, "referrer": APP_NAME},
            margin_ms=MARGIN_MS,
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
        """New tokens; the refresh token may stay the same."""
        return await self._grant.refresh(credential)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The access token as a key."""
        return TokenAuth(api_key=credential.access)


def create(context: SignInContext) -> XaiSignIn:
    """The flow of this provider."""
    return XaiSignIn(context)
