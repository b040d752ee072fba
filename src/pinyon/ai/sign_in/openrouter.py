"""OpenRouter: a key for this program made in the browser (OAuth PKCE of OpenRouter's documentation), no client id.

The key is permanent until the user revokes it; it is stored as a sign-in that never expires.
"""

from __future__ import annotations

from urllib.parse import urlencode

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import NEVER_EXPIRES_MS, LoginInteraction, OAuthError, TokenAuth
from pinyon.ai.sign_in.browser import Redirect, authorize, listen
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.endpoint import Endpoint
from pinyon.ai.sign_in.pkce import create_pkce, random_token
from pinyon.ai.sign_in.token import is_token

SITE = "https://openrouter.ai"
_DOING = "signing in to OpenRouter"


class OpenRouterSignIn:
    """The flow; see the module. `site` is where OpenRouter is."""

    name = "OpenRouter"

    def __init__(self, context: SignInContext, site: str = SITE) -> None:
        self._context = context
        self._site = site

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Open the page and trade its code for a key. The path of the callback is what nobody can guess."""
        pkce = create_pkce()
        async with listen(self._context, Redirect(path=f"/oauth/callback/{random_token()}")) as redirect:
            parameters = {
                "callback_url": redirect.uri,
                "code_challenge": pkce.challenge,
                "code_challenge_method": "S256",
            }
            url = f"{self._site}/auth?{urlencode(parameters)}"
            query = await authorize(interaction, url, redirect, _DOING)
            key = await self._exchange(query["code"], pkce.verifier)
            if redirect.server:
                redirect.server.finish()
        return OAuthCredential(access=key, refresh="", expires=NEVER_EXPIRES_MS)

    async def _exchange(self, code: str, verifier: str) -> str:
        fields = {"code": code, "code_verifier": verifier, "code_challenge_method": "S256"}
        answer = await Endpoint(self._context).post_json(f"{self._site}/api/v1/auth/keys", fields)
        answer.require(_DOING)
        if not is_token(answer.text("key")):
            raise OAuthError(f"{_DOING} failed: the answer holds no key; try again")
        return answer.text("key")

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """Nothing to renew: the key has no end."""
        return credential

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The key as any other key."""
        return TokenAuth(api_key=credential.access)


def create(context: SignInContext) -> OpenRouterSignIn:
    """The flow of this provider."""
    return OpenRouterSignIn(context)
