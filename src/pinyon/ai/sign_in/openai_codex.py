"""OpenAI Codex: a ChatGPT account through a client of the user's own, in the browser or with a device code."""

from __future__ import annotations

from urllib.parse import urlencode

from pinyon._util.config import APP_NAME
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction, OAuthError, TokenAuth
from pinyon.ai.sign_in.browser import Redirect, authorize, listen
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device import DEFAULT_INTERVAL_S, DeviceCode, interval_of, poll
from pinyon.ai.sign_in.endpoint import Answer, Endpoint
from pinyon.ai.sign_in.method import choose_method
from pinyon.ai.sign_in.pkce import create_pkce, random_token
from pinyon.ai.sign_in.token import claims_of, credential_from_answer

PROVIDER = "openai-codex"
ISSUER = "https://auth.openai.com"
PORT = 1455
SCOPE = "openid profile email offline_access"
ACCOUNT_CLAIM = "https://api.openai.com/auth"
DEVICE_LIFE_S = 900.0
_DOING = "signing in to OpenAI Codex"


class OpenAICodexSignIn:
    """The flow; see the module."""

    name = "OpenAI Codex (ChatGPT plan)"

    def __init__(self, context: SignInContext, issuer: str = ISSUER, port: int = PORT) -> None:
        self._context = context
        self._issuer = issuer
        self._port = port

    def login_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    def renewal_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Sign in in the way that the user chooses."""
        client_id = self._context.client_id(PROVIDER)
        if await choose_method(interaction, self.name) == "device_code":
            return await self._with_device(interaction, client_id)
        return await self._in_browser(interaction, client_id)

    async def _in_browser(self, interaction: LoginInteraction, client_id: str) -> OAuthCredential:
        pkce, state = create_pkce(), random_token()
        place = Redirect(host="localhost", path="/auth/callback", port=self._port, state=state)
        async with listen(self._context, place, required=False) as redirect:
            parameters = {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": redirect.uri,
                "scope": SCOPE,
                "code_challenge": pkce.challenge,
                "code_challenge_method": "S256",
                "state": state,
                "id_token_add_organizations": "true",
                "originator": APP_NAME,
            }
            url = f"{self._issuer}/oauth/authorize?{urlencode(parameters)}"
            query = await authorize(interaction, url, redirect, _DOING)
            credential = await self._exchange(client_id, query["code"], pkce.verifier, redirect.uri)
            if redirect.server:
                redirect.server.finish()
        return credential

    async def _with_device(self, interaction: LoginInteraction, client_id: str) -> OAuthCredential:
        endpoint, accounts = Endpoint(self._context), f"{self._issuer}/api/accounts/deviceauth"
        begun = await endpoint.post_json(f"{accounts}/usercode", {"client_id": client_id})
        begun.require(_DOING)
        device = DeviceCode(
            code=begun.text("device_auth_id"),
            user_code=begun.text("user_code") or begun.text("usercode"),
            url=f"{self._issuer}/codex/device",
            life_s=DEVICE_LIFE_S,
            interval_s=interval_of(begun) or DEFAULT_INTERVAL_S,
        )
        if not device.code or not device.user_code.isprintable() or not device.user_code:
            raise OAuthError(f"{_DOING} failed: the answer holds no device code; try again")
        device.show(interaction)

        async def ask() -> Answer:
            fields = {"device_auth_id": device.code, "user_code": device.user_code}
            return _as_pending(await endpoint.post_json(f"{accounts}/token", fields))

        agreed = await poll(device, ask, self._context.clock, _DOING)
        code, verifier = agreed.text("authorization_code"), agreed.text("code_verifier")
        if not code or not verifier:
            raise OAuthError(f"{_DOING} failed: the answer holds no code; try again")
        return await self._exchange(client_id, code, verifier, f"{self._issuer}/deviceauth/callback")

    async def _exchange(self, client_id: str, code: str, verifier: str, redirect_uri: str) -> OAuthCredential:
        fields = {
            "grant_type": "authorization_code",
            "client_id": client_id,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        return await self._tokens(fields, "")

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """New tokens with the user's client id."""
        client_id = self._context.client_id(PROVIDER)
        fields = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": credential.refresh}
        return await self._tokens(fields, credential.refresh)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The access token, in which requests find the account."""
        return TokenAuth(api_key=credential.access)

    async def _tokens(self, fields: dict[str, str], present_refresh: str) -> OAuthCredential:
        answer = await Endpoint(self._context).post_form(f"{self._issuer}/oauth/token", fields)
        credential = credential_from_answer(
            answer, self._context.clock.now_ms(), _DOING, present_refresh=present_refresh
        )
        account = _account_of(credential.access) or _account_of(answer.text("id_token"))
        if account is not None:
            credential.extra["accountId"] = account
        elif not present_refresh:  # a renewal is never thrown away: the account is stored already
            raise OAuthError(f"{_DOING} failed: the token names no ChatGPT account; check the client's scopes")
        return credential


def _as_pending(answer: Answer) -> Answer:
    """403 and 404 mean here that the user has not entered the code yet."""
    if answer.status in (403, 404):
        answer.data = {"error": "authorization_pending"}
    return answer


def _account_of(token: str) -> str | None:
    claim = claims_of(token).get(ACCOUNT_CLAIM)
    account = claim.get("chatgpt_account_id") if isinstance(claim, dict) else None
    return account if isinstance(account, str) and account else None


def create(context: SignInContext) -> OpenAICodexSignIn:
    """The flow of this provider."""
    return OpenAICodexSignIn(context)
