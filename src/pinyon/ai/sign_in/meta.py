"""Meta: a device grant names the user, and a key is minted for a day; needs a client id of the user's own."""

from __future__ import annotations

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, OAuthError, TokenAuth
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device_flow import DeviceFlow
from pinyon.ai.sign_in.token import is_token

PROVIDER = "meta"
ISSUER = "https://auth.meta.com"
MINT_URL = "https://api.meta.ai/muse-code/key"
KEY_LIFE_MS = 24 * 3_600_000
_DOING = "signing in to Meta"


class MetaSignIn:
    """The flow; see the module. The stored `refresh` is the identity token that keys are minted with."""

    name = "Meta"

    def __init__(self, context: SignInContext, issuer: str = ISSUER, mint_url: str = MINT_URL) -> None:
        self._context = context
        self._mint_url = mint_url
        self._grant = DeviceFlow(
            context,
            PROVIDER,
            self.name,
            device_url=f"{issuer}/oidc/device/authorization/",
            token_url=f"{issuer}/oidc/device/token/",
        )

    def login_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    def renewal_problem(self) -> str | None:
        """Nothing: renewing needs no client id."""
        return None

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Let the user enter a code, then mint a key."""
        answer = await self._grant.answer_of_login(interaction)
        identity = answer.text("id_token") or answer.text("access_token")
        if not is_token(identity):
            raise OAuthError(f"{_DOING} failed: the answer holds no identity token; try again")
        return await self._minted(identity)

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """A new key for the same identity."""
        return await self._minted(credential.refresh)

    async def _minted(self, identity: str) -> OAuthCredential:
        headers = {"Authorization": f"Bearer {identity}", "x-api-version": "1.0.0"}
        answer = await self._grant.endpoint.post_json(self._mint_url, {}, headers)
        if answer.status in (401, 403):
            raise OAuthError("the sign-in to Meta is no longer valid; sign in again")
        answer.require(_DOING)
        key = answer.text("key") or answer.text("api_key")
        if not is_token(key):
            raise OAuthError(f"{_DOING} failed: the answer holds no key; try again")
        return OAuthCredential(access=key, refresh=identity, expires=self._context.clock.now_ms() + KEY_LIFE_MS)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The key as any other key."""
        return TokenAuth(api_key=credential.access)


def create(context: SignInContext) -> MetaSignIn:
    """The flow of this provider."""
    return MetaSignIn(context)
