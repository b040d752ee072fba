"""OpenAI: "Sign in with ChatGPT" for third-party agents, a public client that gets its client id with the sign-in."""

from __future__ import annotations

from urllib.parse import urlencode

from pinyon._util.config import APP_NAME
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, OAuthError, TokenAuth
from pinyon.ai.sign_in.browser import Redirect, authorize, listen
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.endpoint import Endpoint
from pinyon.ai.sign_in.pkce import create_pkce, random_token
from pinyon.ai.sign_in.token import claims_of, credential_from_answer, is_token

ISSUER = "https://auth.openai.com"
RESOURCE = "https://api.openai.com/v1"
FIRST_CLIENT_ID = "dynamic_agent_client"
PORT = 1455
SCOPES = ("openid", "profile", "email", "offline_access", "resource.invoke", "chatgpt.tokens.use.direct")
NEEDED_SCOPE = "chatgpt.tokens.use.direct"
MARGIN_MS = 180_000
_DOING = "signing in to OpenAI"


class OpenAISignIn:
    """The flow; see the module. `port` is the one that OpenAI sends browsers back to."""

    name = "OpenAI (ChatGPT account)"

    def __init__(self, context: SignInContext, issuer: str = ISSUER, port: int = PORT) -> None:
        self._context = context
        self._issuer = issuer
        self._port = port

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Open the page, which issues a client id beside the code, and trade both for tokens."""
        pkce, nonce, state = create_pkce(), random_token(), random_token()
        place = Redirect(path="/auth/callback", port=self._port, state=state, takes_code=False)
        async with listen(self._context, place) as redirect:
            parameters = {
                "client_id": FIRST_CLIENT_ID,
                "agent_name_hint": APP_NAME.capitalize(),
                "ext_agent_host_id": f"urn:uuid:{self._context.ensure_device_id()}",
                "response_type": "code",
                "redirect_uri": redirect.uri,
                "resource": RESOURCE,
                "scope": " ".join(SCOPES),
                "state": state,
                "code_challenge": pkce.challenge,
                "code_challenge_method": "S256",
                "nonce": nonce,
            }
            url = f"{self._issuer}/api/accounts/authorize?{urlencode(parameters)}"
            query = await authorize(interaction, url, redirect, _DOING)
            client_id = query.get("client_id", "")
            if not is_token(client_id):
                raise OAuthError(f"{_DOING} failed: the redirect brought no client id; try again")
            fields = {
                "grant_type": "authorization_code",
                "code": query["code"],
                "redirect_uri": redirect.uri,
                "code_verifier": pkce.verifier,
            }
            credential = await self._tokens(client_id, fields, nonce)
            if redirect.server:
                redirect.server.finish()
        return credential

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """New tokens for the client id that the sign-in issued."""
        client_id = credential.extra.get("clientId")
        if not isinstance(client_id, str) or not client_id:
            raise OAuthError("the stored sign-in holds no 'clientId'")
        fields = {"grant_type": "refresh_token", "refresh_token": credential.refresh}
        return await self._tokens(client_id, fields, None, credential)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The access token as a key."""
        return TokenAuth(api_key=credential.access)

    async def _tokens(
        self, client_id: str, fields: dict[str, str], nonce: str | None, present: OAuthCredential | None = None
    ) -> OAuthCredential:
        answer = await Endpoint(self._context).post_form(
            f"{self._issuer}/oauth/token", {**fields, "client_id": client_id, "resource": RESOURCE}
        )
        credential = credential_from_answer(
            answer,
            self._context.clock.now_ms(),
            _DOING,
            margin_ms=MARGIN_MS,
            present_refresh=present.refresh if present else "",
        )
        if nonce is not None and claims_of(answer.text("id_token")).get("nonce") != nonce:
            raise OAuthError(f"{_DOING} failed: the tokens belong to another sign-in; try again")
        scopes = answer.text("scope").split() or (present.extra.get("scopes") if present else None)
        if present is None and NEEDED_SCOPE not in (scopes or ()):
            raise OAuthError(f"{_DOING} failed: the account did not grant {NEEDED_SCOPE!r}; try again and allow it")
        credential.extra = {"clientId": client_id, **({"scopes": scopes} if scopes else {})}
        return credential


def create(context: SignInContext) -> OpenAISignIn:
    """The flow of this provider."""
    return OpenAISignIn(context)
