"""Sign-ins that are a plain device grant with a client id of the user's: only addresses and parameters differ."""

from __future__ import annotations

from collections.abc import Mapping

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.oauth import LoginInteraction
from pinyon.ai.sign_in.context import SignInContext
from pinyon.ai.sign_in.device import GRANT, device_code_from, poll
from pinyon.ai.sign_in.endpoint import Answer, Endpoint
from pinyon.ai.sign_in.token import credential_from_answer


class DeviceFlow:
    """The grant of one provider. `extra` goes with the first request; `margin_ms` is taken off every lifetime,
    and with `keeps_scope` the granted scope is stored.
    """

    def __init__(
        self,
        context: SignInContext,
        provider_id: str,
        name: str,
        *,
        device_url: str,
        token_url: str,
        extra: Mapping[str, str] | None = None,
        margin_ms: int = 0,
        keeps_scope: bool = False,
    ) -> None:
        self.context = context
        self.provider_id = provider_id
        self.endpoint = Endpoint(context)
        self._doing = f"signing in to {name}"
        self._device_url = device_url
        self._token_url = token_url
        self._extra = dict(extra or {})
        self._margin_ms = margin_ms
        self._keeps_scope = keeps_scope

    async def answer_of_login(self, interaction: LoginInteraction) -> Answer:
        """Let the user enter a code and return the token answer."""
        client_id = self.context.client_id(self.provider_id)
        begun = await self.endpoint.post_form(self._device_url, {"client_id": client_id, **self._extra})
        device = device_code_from(begun, self._doing)
        device.show(interaction)
        fields = {"client_id": client_id, "device_code": device.code, "grant_type": GRANT}
        return await poll(
            device, lambda: self.endpoint.post_form(self._token_url, fields), self.context.clock, self._doing
        )

    async def login(self, interaction: LoginInteraction) -> OAuthCredential:
        """The tokens of a new sign-in."""
        return self.credential(await self.answer_of_login(interaction))

    async def trade_code(self, code: str, verifier: str, redirect_uri: str) -> OAuthCredential:
        """The tokens for the code of a sign-in in the browser."""
        fields = {
            "grant_type": "authorization_code",
            "client_id": self.context.client_id(self.provider_id),
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        return self.credential(await self.endpoint.post_form(self._token_url, fields))

    async def refresh(self, credential: OAuthCredential, attempts: int = 1) -> OAuthCredential:
        """New tokens. A server that cannot answer for a moment is asked up to `attempts` times."""
        fields = {
            "grant_type": "refresh_token",
            "client_id": self.context.client_id(self.provider_id),
            "refresh_token": credential.refresh,
        }
        answer = await self.endpoint.post_form(self._token_url, fields)
        for attempt in range(1, attempts):
            if not answer.is_transient:
                break
            await self.context.clock.sleep(0.5 * 2 ** (attempt - 1))
            answer = await self.endpoint.post_form(self._token_url, fields)
        return self.credential(answer, credential.refresh)

    def credential(self, answer: Answer, present_refresh: str = "") -> OAuthCredential:
        """The credential of a token answer."""
        credential = credential_from_answer(
            answer, self.context.clock.now_ms(), self._doing, margin_ms=self._margin_ms, present_refresh=present_refresh
        )
        if self._keeps_scope and (scope := answer.text("scope")):
            credential.extra["scope"] = scope
        return credential
