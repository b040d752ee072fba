"""The sign-in flows against a strict authorisation server: what they send, what they store, how they fail."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.ai.login_user import IN_BROWSER, PROVIDERS, WITH_DEVICE, FakeUser, context_of, flow_of

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import OAuthCredential
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.oauth import NEVER_EXPIRES_MS, LoginCancelledError, OAuthError, login_problem
from pinyon.ai.sign_in.catalogue import SIGN_INS
from pinyon.ai.sign_in.openai import OpenAISignIn
from pinyon.ai.sign_in.openai_codex import OpenAICodexSignIn
from pinyon.errors import AuthError
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_oauth import ACCOUNT_ID, CLIENT_ID, FakeOAuth
from pinyon.testing.fake_server import Reply

HUGE = Reply(headers={"content-type": "application/json"}, body=[b'{"a": "' + b"x" * (2 << 20)])
HTML = Reply(headers={"content-type": "text/html"}, body=[b"<html><body>Service down</body></html>"])
LIES = {
    "HTML": (HTML, "not JSON but text/html"),
    "a list": (Reply.json([1]), "no JSON object"),
    "a huge body": (HUGE, "more than 1024 KiB"),
    "a redirect": (Reply.text("", status=302, headers={"location": "http://127.0.0.1:1/"}), "not followed"),
    "no content": (Reply.text("", status=204), "not JSON"),
    "an empty object": (Reply.json({}), "holds no"),
    "a control character": (Reply.json({"access_token": "a\nb", "key": "a\nb", "token": "a\nb"}), "holds no"),
    "a refusal": (Reply.json({"error": "denied", "error_description": "x\x1b]52;c;y\x07z"}, 400), "denied: xz"),
}
TOKEN_PATHS = {
    "openrouter": "/api/v1/auth/keys",
    "openai": "/oauth/token",
    "openai-codex": "/oauth/token",
    "github-copilot": "/copilot_internal/v2/token",
    "xai": "/oauth2/token",
    "kimi-coding": "/api/oauth/token",
    "meta": "/muse-code/key",
    "radius": "/v1/oauth/token",
}
RENEWABLE = tuple(provider for provider in PROVIDERS if provider != "openrouter")


@pytest.fixture
def fake() -> Iterator[FakeOAuth]:
    with FakeOAuth() as fake:
        yield fake


def sign_in(provider: str, fake: FakeOAuth, user: FakeUser, clock: FakeClock | None = None) -> OAuthCredential:
    return asyncio.run(flow_of(provider, fake, context_of(clock)).login(user))


def fails(provider: str, fake: FakeOAuth, user: FakeUser, clock: FakeClock | None = None) -> str:
    with pytest.raises(OAuthError) as caught:
        sign_in(provider, fake, user, clock)
    return str(caught.value)


@pytest.mark.parametrize("provider", IN_BROWSER)
def test_a_sign_in_in_the_browser_ends_with_tokens_and_a_page_that_says_so(provider: str, fake: FakeOAuth) -> None:
    user = FakeUser(fake)

    async def both() -> tuple[OAuthCredential, tuple[int, str]]:
        credential = await flow_of(provider, fake, context_of()).login(user)
        return credential, await user.page()

    credential, (status, page) = asyncio.run(both())
    assert status == 200
    assert "Signed in" in page
    assert credential.access in fake.secrets
    assert fake.refused == []
    assert credential.access not in page
    pasting = next(prompt for prompt in user.prompts if prompt.type == "manual_code")
    assert pasting.signal is not None
    assert pasting.signal.aborted  # whoever waits for a paste is told that nobody needs it any more


@pytest.mark.parametrize("provider", WITH_DEVICE)
def test_a_sign_in_with_a_code_waits_while_the_user_enters_it(provider: str, fake: FakeOAuth) -> None:
    fake.device_answers.extend(["authorization_pending", "authorization_pending"])
    clock = FakeClock()
    user = FakeUser(fake, method="device_code")
    credential = sign_in(provider, fake, user, clock)
    assert credential.access in fake.secrets
    assert clock.sleeps_s == [5.0, 5.0, 5.0]
    shown = next(notice for notice in user.shown if notice.type == "device_code")
    assert shown.user_code == "ABCD-EFGH"
    assert shown.url is not None
    assert shown.url.startswith(fake.url)


@pytest.mark.parametrize("provider", [name for name in WITH_DEVICE if name != "openai-codex"])
def test_a_server_that_asks_for_slower_requests_gets_them(provider: str, fake: FakeOAuth) -> None:
    fake.device_answers.extend(["slow_down", "authorization_pending", "slow_down"])
    clock = FakeClock()
    sign_in(provider, fake, FakeUser(fake, method="device_code"), clock)
    assert clock.sleeps_s == [5.0, 10.0, 10.0, 15.0]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["access_denied"], "was refused on the other device"),
        (["expired_token"], "the code ran out"),
        (["authorization_pending"] * 400, "the code ran out"),
        (["slow_down"] * 400, "this machine's clock runs right"),
        (["invalid_client"], "invalid_client"),
    ],
)
def test_a_code_that_leads_nowhere_is_told(answers: list[str], told: str, fake: FakeOAuth) -> None:
    fake.device_answers.extend(answers)
    clock = FakeClock()
    assert told in fails("xai", fake, FakeUser(fake, method="device_code"), clock)
    assert sum(clock.sleeps_s) <= 900


def test_a_server_that_is_away_for_a_moment_is_asked_again(fake: FakeOAuth) -> None:
    fake.plan("/oauth2/token", Reply.drop(), Reply.text("busy", status=503), Reply.text("slow", status=429))
    assert sign_in("xai", fake, FakeUser(fake, method="device_code")).access in fake.secrets


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "http://a\x1b]52;c;x\x07", "https://", ""]
)
def test_a_page_that_is_no_web_address_is_never_shown(url: str, fake: FakeOAuth) -> None:
    device = {"device_code": "d", "user_code": "u", "verification_uri": url}
    fake.plan("/oauth2/device/code", Reply.json(device))
    user = FakeUser(fake)
    fails("xai", fake, user)
    assert user.shown == []


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_lies_is_an_error_that_names_it(provider: str, lie: str, fake: FakeOAuth) -> None:
    reply, told = LIES[lie]
    fake.plan(TOKEN_PATHS[provider], reply)
    text = fails(provider, fake, FakeUser(fake, method="browser" if provider in IN_BROWSER else "device_code"))
    assert told in text
    assert text.isprintable()


@pytest.mark.parametrize("provider", IN_BROWSER)
def test_the_browser_is_told_when_the_exchange_fails(provider: str, fake: FakeOAuth) -> None:
    fake.plan(TOKEN_PATHS[provider], Reply.json({"error": "<b>no</b>"}, status=400))
    user = FakeUser(fake)

    async def both() -> tuple[int, str]:
        with pytest.raises(OAuthError):
            await flow_of(provider, fake, context_of()).login(user)
        return await user.page()

    status, page = asyncio.run(both())
    assert status == 400
    assert "Not signed in" in page
    assert "<b>" not in page


@pytest.mark.parametrize("provider", IN_BROWSER)
def test_a_user_who_refuses_in_the_browser_ends_the_sign_in(provider: str, fake: FakeOAuth) -> None:
    fake.consent = False
    assert "the user said no" in fails(provider, fake, FakeUser(fake))


@pytest.mark.parametrize("provider", IN_BROWSER)
def test_the_address_can_be_pasted_from_another_machine(provider: str, fake: FakeOAuth) -> None:
    user = FakeUser(fake, pastes=lambda url: ["", "https://elsewhere.example/", fake.redirect_of(url)])
    assert sign_in(provider, fake, user).access in fake.secrets
    assert [notice.type for notice in user.shown] == ["auth_url", "info", "info"]


@pytest.mark.parametrize("provider", ["openrouter", "openai-codex", "radius"])
def test_a_pasted_code_alone_is_enough_where_it_says_everything(provider: str, fake: FakeOAuth) -> None:
    def code(url: str) -> list[str]:
        return [dict(parse_qsl(urlsplit(fake.redirect_of(url)).query))["code"]]

    assert sign_in(provider, fake, FakeUser(fake, pastes=code)).access in fake.secrets


@pytest.mark.parametrize("provider", ["openai", "openai-codex", "radius"])
def test_an_address_of_another_sign_in_is_not_taken(provider: str, fake: FakeOAuth) -> None:
    def pasted(url: str) -> list[str]:
        right = fake.redirect_of(url)
        state = dict(parse_qsl(urlsplit(right).query))["state"]
        return [right.replace(state, "x" * len(state)), right]

    user = FakeUser(fake, pastes=pasted)
    assert sign_in(provider, fake, user).access in fake.secrets
    assert "another sign-in" in user.shown[1].message


def test_giving_up_ends_the_sign_in_and_frees_the_port(fake: FakeOAuth) -> None:
    class Quitter(FakeUser):
        async def _paste(self, prompt: object) -> str:
            raise LoginCancelledError("login cancelled")

    with pytest.raises(LoginCancelledError):
        sign_in("openai-codex", fake, Quitter(fake, browses=False))
    assert fake.requests_to("/oauth/token") == []


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name not in ("openrouter", "openai")])
def test_a_flow_that_needs_a_client_id_says_how_to_give_one(provider: str, fake: FakeOAuth) -> None:
    flow = flow_of(provider, fake, context_of(configured=False))
    name = f"PINYON_OAUTH_{provider.upper().replace('-', '_')}_CLIENT_ID"
    with pytest.raises(AuthError, match=f"{name}.*oauth.{provider}.clientId"):
        asyncio.run(flow.login(FakeUser(fake)))
    assert name in str(login_problem(flow))
    assert fake.server.requests == []


@pytest.mark.parametrize("provider", ["openrouter", "openai"])
def test_two_providers_need_no_client_id(provider: str, fake: FakeOAuth) -> None:
    flow = flow_of(provider, fake, context_of(configured=False))
    assert login_problem(flow) is None
    assert asyncio.run(flow.login(FakeUser(fake))).access in fake.secrets


def test_the_variable_counts_more_than_the_settings(fake: FakeOAuth) -> None:
    context = context_of(env={"PINYON_OAUTH_XAI_CLIENT_ID": "from-env"})
    with pytest.raises(OAuthError, match="invalid_client"):
        asyncio.run(flow_of("xai", fake, context).login(FakeUser(fake)))
    assert fake.fields_of("/oauth2/device/code")[0]["client_id"] == "from-env"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_flow_names_another_product(provider: str, fake: FakeOAuth) -> None:
    sign_in(provider, fake, FakeUser(fake, method="browser" if provider in IN_BROWSER else "device_code"))
    for request in fake.server.requests:
        assert request.headers["user-agent"].startswith("pinyon/") or "Python-urllib" in request.headers["user-agent"]
        said = " ".join([request.path.partition("?")[2], request.body.decode(), *request.headers.values()]).lower()
        assert [name for name in ("codex_cli", "vscode", "claude", "originator=pi&") if name in said] == []


def test_openrouter_gives_a_key_that_never_ends(fake: FakeOAuth) -> None:
    credential = sign_in("openrouter", fake, FakeUser(fake))
    assert (credential.refresh, credential.expires) == ("", NEVER_EXPIRES_MS)


def test_openai_keeps_the_client_id_that_the_sign_in_issued_and_renews_with_it(fake: FakeOAuth) -> None:
    clock = FakeClock()
    flow = flow_of("openai", fake, context_of(clock))
    credential = asyncio.run(flow.login(FakeUser(fake)))
    assert credential.extra["clientId"].startswith("issued-")
    assert "chatgpt.tokens.use.direct" in credential.extra["scopes"]
    assert credential.expires == clock.now_ms() + 3_600_000 - 180_000
    renewed = asyncio.run(flow.refresh(credential))
    assert renewed.access != credential.access
    assert [fields["client_id"] for fields in fake.fields_of("/oauth/token")] == [credential.extra["clientId"]] * 2
    assert {fields["resource"] for fields in fake.fields_of("/oauth/token")} == {"https://api.openai.com/v1"}


def test_openai_needs_the_scope_that_lets_tokens_be_used(fake: FakeOAuth) -> None:
    fake.scope = "openid profile"
    assert "chatgpt.tokens.use.direct" in fails("openai", fake, FakeUser(fake))


def test_openai_takes_no_tokens_of_another_sign_in(fake: FakeOAuth) -> None:
    fake.scope = "chatgpt.tokens.use.direct"
    fake.plan("/oauth/token", Reply.json({"access_token": "a", "id_token": "x.e30.y", "scope": fake.scope}))
    assert "another sign-in" in fails("openai", fake, FakeUser(fake))


def test_a_taken_port_is_an_error_for_openai_and_leaves_codex_the_paste(fake: FakeOAuth) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OAuthError, match=f"port {port}"):
            asyncio.run(OpenAISignIn(context_of(), fake.url, port).login(FakeUser(fake)))
        user = FakeUser(fake, pastes=lambda url: [fake.redirect_of(url)])
        credential = asyncio.run(OpenAICodexSignIn(context_of(), fake.url, port).login(user))
    assert credential.extra == {"accountId": ACCOUNT_ID}


def test_kimi_is_asked_again_while_it_is_busy_and_signs_with_a_bearer_header(fake: FakeOAuth) -> None:
    flow = flow_of("kimi-coding", fake, context_of())
    credential = asyncio.run(flow.login(FakeUser(fake)))
    fake.plan("/api/oauth/token", Reply.text("", status=500), Reply.drop())
    renewed = asyncio.run(flow.refresh(credential))
    assert flow.token_auth(renewed).headers == {"Authorization": f"Bearer {renewed.access}"}
    fake.plan("/api/oauth/token", *[Reply.text("", status=500)] * 4)
    with pytest.raises(OAuthError, match="500"):
        asyncio.run(flow.refresh(renewed))


@pytest.mark.parametrize("method", ["browser", "device_code"])
def test_radius_keeps_the_scope_that_was_granted(method: str, fake: FakeOAuth) -> None:
    fake.scope = "gateway offline_access"
    credential = sign_in("radius", fake, FakeUser(fake, method=method))
    assert credential.extra == {"scope": "gateway offline_access"}


def test_kimi_goes_to_the_host_that_its_variable_names(fake: FakeOAuth) -> None:
    from pinyon.ai.sign_in.kimi_coding import KimiSignIn

    context = context_of(env={"KIMI_OAUTH_HOST": f"{fake.url}/"})
    assert asyncio.run(KimiSignIn(context).login(FakeUser(fake))).access in fake.secrets


def test_copilot_knows_the_models_of_the_account_and_its_server(fake: FakeOAuth) -> None:
    fake.models = [
        {"id": "open"},
        {"id": "on", "policy": {"state": "enabled"}},
        {"id": "off", "policy": {"state": "disabled"}},
        {"id": "../up", "policy": {"state": "enabled"}},
    ]
    flow = flow_of("github-copilot", fake, context_of())
    credential = asyncio.run(flow.login(FakeUser(fake)))
    assert credential.extra == {"availableModelIds": ["open", "on"]}
    assert credential.refresh in fake.secrets
    fake.plan("/models", Reply.text("down", status=500))
    assert asyncio.run(flow.login(FakeUser(fake))).extra == {}
    sent = fake.requests_to("/copilot_internal/v2/token")[0].headers
    assert sent["editor-version"].startswith("pinyon/")


@pytest.mark.parametrize("typed", ["a b", "x/y", "evil.com#", "-x.com"])
def test_copilot_takes_only_domains(typed: str, fake: FakeOAuth) -> None:
    with pytest.raises(AuthError, match="is no domain"):
        asyncio.run(flow_of("github-copilot", fake, context_of()).login(FakeUser(fake, text=typed)))
    assert fake.server.requests == []


def test_meta_asks_for_a_new_sign_in_when_the_identity_is_refused(fake: FakeOAuth) -> None:
    flow = flow_of("meta", fake, context_of())
    credential = asyncio.run(flow.login(FakeUser(fake)))
    assert asyncio.run(flow.refresh(credential)).refresh == credential.refresh
    fake.plan("/muse-code/key", Reply.json({}, status=401))
    with pytest.raises(OAuthError, match="sign in again"):
        asyncio.run(flow.refresh(credential))


@pytest.mark.parametrize("provider", RENEWABLE)
def test_tokens_are_renewed_and_a_refresh_token_that_stays_is_kept(provider: str, fake: FakeOAuth) -> None:
    fake.keeps_refresh = True
    flow = flow_of(provider, fake, context_of())
    credential = asyncio.run(flow.login(FakeUser(fake, method="device_code")))
    renewed = asyncio.run(flow.refresh(credential))
    assert renewed.access not in ("", credential.access)
    assert renewed.refresh == credential.refresh


@pytest.mark.parametrize("provider", [name for name in RENEWABLE if name not in ("github-copilot", "meta")])
def test_a_refresh_token_is_used_once(provider: str, fake: FakeOAuth) -> None:
    flow = flow_of(provider, fake, context_of())
    credential = asyncio.run(flow.login(FakeUser(fake, method="device_code")))
    assert asyncio.run(flow.refresh(credential)).refresh in fake.valid_refresh_tokens
    with pytest.raises(OAuthError, match="invalid_grant"):
        asyncio.run(flow.refresh(credential))


def test_a_cancelled_sign_in_leaves_nothing_running(fake: FakeOAuth) -> None:
    user = FakeUser(fake, browses=False)

    async def cancelled() -> int:
        task = asyncio.create_task(flow_of("openai-codex", fake, context_of()).login(user))
        await user.is_waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert asyncio.run(cancelled()) == 1


def test_the_client_id_of_the_user_is_the_one_that_is_sent(fake: FakeOAuth) -> None:
    sign_in("radius", fake, FakeUser(fake))
    assert fake.fields_of("/v1/oauth/token")[0]["client_id"] == CLIENT_ID


def test_an_installation_names_itself_alike_at_every_sign_in(fake: FakeOAuth) -> None:
    kept: list[str] = []
    context = context_of()
    context.use(client_ids={}, device_id=None, keep_device_id=kept.append)
    users = [FakeUser(fake), FakeUser(fake)]
    for user in users:
        asyncio.run(flow_of("openai", fake, context).login(user))
    urls = [next(notice.url for notice in user.shown if notice.url) for user in users]
    sent = [dict(parse_qsl(urlsplit(url).query))["ext_agent_host_id"] for url in urls]
    assert sent == [f"urn:uuid:{kept[0]}"] * 2
    assert len(kept) == 1


def test_a_module_that_is_left_out_takes_only_its_provider_along() -> None:
    code = (
        "import sys\n"
        "from pinyon.ai.sign_in import catalogue\n"
        "entry = catalogue.SIGN_INS['xai']\n"
        "catalogue.SIGN_INS['xai'] = catalogue.SignInEntry(module='not_there', ways=entry.ways)\n"
        "from pinyon.ai.auth_storage import AuthStorage\n"
        "flows = AuthStorage.in_memory(env={}).oauth_providers\n"
        "assert 'xai' not in flows and flows.get('xai') is None\n"
        "assert flows['openrouter'].name == 'OpenRouter' and 'meta' in flows\n"
        "assert 'pinyon.ai.sign_in.meta' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("provider", SIGN_INS)
def test_every_flow_of_the_table_is_there_and_says_whether_it_needs_a_client_id(provider: str) -> None:
    storage = AuthStorage.in_memory(env={})
    flow = storage.oauth_providers[provider]
    assert flow.name
    assert (login_problem(flow) is not None) == SIGN_INS[provider].needs_client_id


@pytest.mark.parametrize("name", ["gateway", "radius"])
def test_a_gateway_of_the_users_file_can_be_signed_in_to(name: str, fake: FakeOAuth, tmp_path: Path) -> None:
    entry = {"baseUrl": f"{fake.url}/v1", "api": "openai-completions", "oauth": "radius", "models": [{"id": "m"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {name: entry}}))
    storage = AuthStorage.create(tmp_path / "auth.json", env={})
    storage.sign_in.client_ids = {name: CLIENT_ID}
    storage.sign_in.clock = FakeClock()
    registry = ModelRegistry.create(storage, tmp_path / "models.json")
    asyncio.run(storage.login(name, FakeUser(fake, method="device_code")))
    assert registry.is_usable(name)
    model = registry.find(name, "m")
    assert model is not None
    signed = asyncio.run(registry.get_api_key_and_headers(model))
    assert signed.api_key in fake.secrets


def test_models_that_an_account_does_not_have_are_not_offered(tmp_path: Path) -> None:
    offered = [model.id for model in ModelRegistry.in_memory(AuthStorage.in_memory(env={})).models_of("github-copilot")]
    entry = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1, "availableModelIds": offered[1:3]}
    registry = ModelRegistry.in_memory(AuthStorage.in_memory({"github-copilot": entry}, env={}))
    assert [model.id for model in registry.models_of("github-copilot")] == offered[1:3]
