"""Radius and gateways of its kind: browser or device code, with a client id of the user's own."""

from __future__ import annotations

from urllib.parse import urlencode

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, TokenAuth
from pinyon.ai.sign_in.browser import Redirect, authorize, listen
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device_flow import DeviceFlow
from pinyon.ai.sign_in.method import choose_method
from pinyon.ai.sign_in.pkce import create_pkce, random_token

PROVIDER = "radius"
GATEWAY = "https://radius.pi.dev"
GATEWAY_VARIABLE = "PI_RADIUS_GATEWAY"
SCOPE = "gateway offline_access"
PORT = 1456
MARGIN_MS = 60_000


class RadiusSignIn:
    """The flow; see the module. `gateway` defaults to the variable, then to the public gateway."""

    def __init__(
        self, context: SignInContext, gateway: str | None = None, *, provider_id: str = PROVIDER, port: int = PORT
    ) -> None:
        self.name = "Radius" if provider_id == PROVIDER else provider_id
        self._context = context
        self._given = gateway
        self._provider_id = provider_id
        self._port = port

    @property
    def _gateway(self) -> str:
        return (self._given or self._context.variable(GATEWAY_VARIABLE) or GATEWAY).rstrip("/")

    @property
    def _grant(self) -> DeviceFlow:
        return DeviceFlow(
            self._context,
            self._provider_id,
            self.name,
            device_url=f"{self._gateway}/v1/oauth/device",
            token_url=f"{self._gateway}/v1/oauth/token",
            extra={"scope": SCOPE},
            margin_ms=MARGIN_MS,
            keeps_scope=True,
        )

    def login_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(self._provider_id)

    def renewal_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(self._provider_id)

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Sign in in the way that the user chooses."""
        client_id = self._context.client_id(self._provider_id)
        if await choose_method(interaction, self.name) == "device_code":
            return await self._grant.login(interaction)
        return await self._in_browser(interaction, client_id)

    async def _in_browser(self, interaction: LoginInteraction, client_id: str) -> OAuthCredential:
        pkce, state, doing = create_pkce(), random_token(), f"signing in to {self.name}"
        place = Redirect(path="/oauth/callback", port=self._port, state=state)
        async with listen(self._context, place, required=False) as redirect:
            parameters = {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": redirect.uri,
                "scope": SCOPE,
                "code_challenge": pkce.challenge,
                "code_challenge_method": "S256",
                "state": state,
                "handoff": "url",
            }
            url = f"{self._gateway}/v1/oauth?{urlencode(parameters)}"
            query = await authorize(interaction, url, redirect, doing)
            credential = await self._grant.trade_code(query["code"], pkce.verifier, redirect.uri)
            if redirect.server:
                redirect.server.finish()
        return credential

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """New tokens."""
        return await self._grant.refresh(credential)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The access token as a key."""
        return TokenAuth(api_key=credential.access)


def create(context: SignInContext) -> RadiusSignIn:
    """The flow of this provider."""
    return RadiusSignIn(context)
