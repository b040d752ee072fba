"""GitHub Copilot: GitHub's device grant with a client id of the user's own, then a short token for Copilot.

The stored `refresh` is the GitHub token, `access` the Copilot token. Requests name this program as the editor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pinyon.ai.copilot import EDITOR_HEADERS
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.model import Model
from pinyon.ai.oauth import LoginInteraction, LoginNotice, LoginPrompt, OAuthError, TokenAuth
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device import GRANT, device_code_from, poll
from pinyon.ai.sign_in.endpoint import Answer, Endpoint
from pinyon.ai.sign_in.token import is_token
from pinyon.errors import AuthError

PROVIDER = "github-copilot"
PUBLIC_DOMAIN = "github.com"
SCOPE = "read:user"
API_VERSION = "2026-06-01"
MARGIN_MS = 300_000
_DOING = "signing in to GitHub Copilot"
_DOMAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d+)?")
_ENDPOINT = re.compile(r"(?:^|;)proxy-ep=proxy\.([A-Za-z0-9.-]+)(?:;|$)")


class CopilotSignIn:
    """The flow; see the module. `origin` takes the place of every server of GitHub, for servers of one's own."""

    name = "GitHub Copilot"

    def __init__(self, context: SignInContext, origin: str | None = None) -> None:
        self._context = context
        self._endpoint = Endpoint(context)
        self._origin = origin

    def login_problem(self) -> str | None:
        """What to do where no client id is configured."""
        return self._context.missing_client(PROVIDER)

    def renewal_problem(self) -> str | None:
        """Nothing: renewing needs no client id."""
        return None

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """Ask for the domain, let the user enter a code, and see which models the account has."""
        client_id = self._context.client_id(PROVIDER)
        message = "GitHub Enterprise domain (blank: github.com)"
        prompt = LoginPrompt(type="text", message=message, placeholder="company.ghe.com")
        enterprise = enterprise_domain(await interaction.prompt(prompt))
        web = self._origin or f"https://{enterprise or PUBLIC_DOMAIN}"
        github_token = await self._github_token(interaction, client_id, web)
        credential = await self._copilot_token(github_token, enterprise)
        interaction.notify(LoginNotice(type="progress", message="Looking up the models of the account"))
        credential.extra |= await self._models(credential)
        return credential

    async def _github_token(self, interaction: LoginInteraction, client_id: str, web: str) -> str:
        begun = await self._endpoint.post_form(f"{web}/login/device/code", {"client_id": client_id, "scope": SCOPE})
        device = device_code_from(begun, _DOING)
        device.show(interaction)
        fields = {"client_id": client_id, "device_code": device.code, "grant_type": GRANT}

        async def ask() -> Answer:
            return await self._endpoint.post_form(f"{web}/login/oauth/access_token", fields)

        token = (await poll(device, ask, self._context.clock, _DOING)).text("access_token")
        if not is_token(token):
            raise OAuthError(f"{_DOING} failed: the answer holds no token; try again")
        return token

    async def _copilot_token(self, github_token: str, enterprise: str | None) -> OAuthCredential:
        api = self._origin or f"https://api.{enterprise or PUBLIC_DOMAIN}"
        headers = {"Authorization": f"Bearer {github_token}", **EDITOR_HEADERS}
        answer = await self._endpoint.get(f"{api}/copilot_internal/v2/token", headers)
        answer.secrets = (*answer.secrets, github_token)
        answer.require(_DOING)
        token, expires_s = answer.text("token"), answer.number("expires_at")
        if not is_token(token) or expires_s is None:
            raise OAuthError(f"{_DOING} failed: the answer holds no Copilot token; try again")
        extra: dict[str, Any] = {"enterpriseUrl": enterprise} if enterprise else {}
        return OAuthCredential(
            access=token, refresh=github_token, expires=round(expires_s * 1000) - MARGIN_MS, extra=extra
        )

    async def _models(self, credential: OAuthCredential) -> dict[str, Any]:
        """`availableModelIds`; nothing where the list cannot be had, so that no model is hidden by a bad moment."""
        base = self._origin or base_url_of(credential) or "https://api.individual.githubcopilot.com"
        headers = {
            "Authorization": f"Bearer {credential.access}",
            "X-GitHub-Api-Version": API_VERSION,
            **EDITOR_HEADERS,
        }
        listed = (await self._endpoint.get(f"{base}/models", headers)).data or {}
        models = [model for model in listed.get("data") or () if isinstance(model, dict) and is_id(model.get("id"))]
        available = [model["id"] for model in models if await self._is_enabled(base, headers, model)]
        return {"availableModelIds": available} if available else {}

    async def _is_enabled(self, base: str, headers: dict[str, str], model: dict[str, Any]) -> bool:
        """Whether the account may use a model; one that nobody decided about yet is enabled."""
        policy = model.get("policy")
        state = policy.get("state") if isinstance(policy, dict) else "enabled"
        if state != "unconfigured" or not _is_catalogued(model["id"]):
            return state == "enabled"
        url = f"{base}/models/{model['id']}/policy"
        answer = await self._endpoint.post_json(url, {"state": "enabled"}, headers)
        return 200 <= answer.status < 300

    async def refresh(self, credential: OAuthCredential) -> OAuthCredential:
        """A new Copilot token for the stored GitHub token."""
        enterprise = credential.extra.get("enterpriseUrl")
        return await self._copilot_token(credential.refresh, enterprise if isinstance(enterprise, str) else None)

    def token_auth(self, credential: OAuthCredential) -> TokenAuth:
        """The Copilot token as a key, for the server that it names."""
        headers: dict[str, str | None] = dict(EDITOR_HEADERS)
        return TokenAuth(api_key=credential.access, headers=headers, base_url=self._origin or base_url_of(credential))

    def account_models(self, models: Sequence[Model], credential: OAuthCredential) -> Sequence[Model]:
        """The models that the account has; all where that is not known."""
        available = credential.extra.get("availableModelIds")
        return [model for model in models if model.id in available] if isinstance(available, list) else models


def enterprise_domain(text: str) -> str | None:
    """The domain in what the user typed, None for GitHub's public one; raises `AuthError` for anything else."""
    domain = text.strip().lower().removeprefix("https://").removeprefix("http://").rstrip("/")
    if not domain or domain == PUBLIC_DOMAIN:
        return None
    if not _DOMAIN.fullmatch(domain):
        raise AuthError(f"{text.strip()!r} is no domain; give it like 'company.ghe.com'")
    return domain


def base_url_of(credential: OAuthCredential) -> str | None:
    """Where requests with a Copilot token go: what the token names, else the enterprise's own server."""
    named = _ENDPOINT.search(credential.access)
    if named:
        return f"https://api.{named[1]}"
    enterprise = credential.extra.get("enterpriseUrl")
    return f"https://copilot-api.{enterprise}" if isinstance(enterprise, str) and enterprise else None


def is_id(value: Any) -> bool:
    """Whether a value can be a model id in an address."""
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value) is not None


def _is_catalogued(model_id: str) -> bool:
    from pinyon.ai.catalogue import catalogue_models

    return any(model.id == model_id for model in catalogue_models(PROVIDER))


def create(context: SignInContext) -> CopilotSignIn:
    """The flow of this provider."""
    return CopilotSignIn(context)
