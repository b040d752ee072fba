"""No code, token, verifier or key of a sign-in is ever shown, logged or stored where it does not belong."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ai.login_user import IN_BROWSER, PROVIDERS, FakeUser, context_of, flow_of
from tests.ai.test_sign_in import TOKEN_PATHS
from tests.cli.command import Home

from pinyon.ai.api import api_names
from pinyon.ai.auth_backend import FileBackend
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import OAuthCredential
from pinyon.errors import AuthError
from pinyon.testing.fake_oauth import FakeOAuth, unsigned_token
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply

FIRST_PATHS = {
    "openai-codex": "/api/accounts/deviceauth/usercode",
    "github-copilot": "/login/device/code",
    "xai": "/oauth2/device/code",
    "kimi-coding": "/api/oauth/device_authorization",
    "meta": "/oidc/device/authorization/",
    "radius": "/v1/oauth/device",
}
MARK = "echo-of-everything"


def said(request: RecordedRequest) -> str:
    return " ".join([MARK, request.body.decode(), *request.headers.values()])


def as_description(request: RecordedRequest) -> Reply:
    return Reply.json({"error": "invalid_grant", "error_description": said(request)}, status=400)


def as_code(request: RecordedRequest) -> Reply:
    return Reply.json({"error": said(request)}, status=400)


def as_nested(request: RecordedRequest) -> Reply:
    return Reply.json({"error": {"message": said(request)}}, status=400)


def as_page(request: RecordedRequest) -> Reply:
    return Reply(status=400, headers={"content-type": f"text/{said(request)}"}, body=[said(request).encode()])


def as_place(request: RecordedRequest) -> Reply:
    return Reply.text("", status=307, headers={"location": f"http://127.0.0.1:1/?{request.body.decode()}"})


ECHOES: list[Callable[[RecordedRequest], Reply]] = [as_description, as_code, as_nested, as_page, as_place]


@pytest.fixture
def fake() -> Iterator[FakeOAuth]:
    with FakeOAuth() as fake:
        yield fake


@pytest.fixture
def everything_shown(
    fake: FakeOAuth, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    caplog.set_level(logging.DEBUG)

    def shown(*more: Any) -> str:
        captured = capfd.readouterr()
        return "\n".join([caplog.text, captured.out, captured.err, *map(str, more)])

    return shown


def leaks(fake: FakeOAuth, text: str) -> list[str]:
    secrets = [secret for secret in fake.secrets if secret]
    assert len(secrets) >= 2  # so that there is something to find
    return [secret for secret in secrets if secret in text]


def method_of(provider: str) -> str:
    return "browser" if provider in IN_BROWSER else "device_code"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_sign_in_that_works_shows_no_secret(
    provider: str, fake: FakeOAuth, everything_shown: Callable[..., str], tmp_path: Path
) -> None:
    user = FakeUser(fake, method=method_of(provider))
    flow = flow_of(provider, fake, context_of())
    storage = AuthStorage(FileBackend(tmp_path / "auth.json"), env={}, oauth_providers={provider: flow})
    credential = asyncio.run(storage.login(provider, user))
    assert isinstance(credential, OAuthCredential)
    token_auth = flow.token_auth(credential)
    text = everything_shown(user.prompts, user.shown, repr(credential), repr(token_auth), repr(flow), repr(storage))
    assert leaks(fake, text) == []


@pytest.mark.parametrize("echo", ECHOES, ids=lambda echo: echo.__name__)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_echoes_what_it_was_sent_leaks_nothing(
    provider: str, echo: Callable[[RecordedRequest], Reply], fake: FakeOAuth, everything_shown: Callable[..., str]
) -> None:
    fake.plan(TOKEN_PATHS[provider], echo)
    user = FakeUser(fake, method=method_of(provider))
    with pytest.raises(AuthError) as caught:
        asyncio.run(flow_of(provider, fake, context_of()).login(user))
    verifiers = [fields.get("code_verifier", "") for fields in fake.fields_of(TOKEN_PATHS[provider])]
    fake.secrets += [verifier for verifier in verifiers if verifier]
    fake.secrets += ["no such secret"] * 2
    text = everything_shown(*traceback.format_exception(caught.value), user.prompts, user.shown)
    assert leaks(fake, text) == []
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("echo", ECHOES, ids=lambda echo: echo.__name__)
@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "openrouter"])
def test_a_renewal_that_fails_leaks_nothing(
    provider: str,
    echo: Callable[[RecordedRequest], Reply],
    fake: FakeOAuth,
    everything_shown: Callable[..., str],
    tmp_path: Path,
) -> None:
    flow = flow_of(provider, fake, context_of())
    storage = AuthStorage(FileBackend(tmp_path / "auth.json"), env={}, oauth_providers={provider: flow})
    asyncio.run(storage.login(provider, FakeUser(fake, method=method_of(provider))))
    stored = storage.get(provider)
    assert isinstance(stored, OAuthCredential)
    stored.expires = 1
    storage.set(provider, stored)
    before = (tmp_path / "auth.json").read_bytes()
    fake.plan(TOKEN_PATHS[provider], echo, echo, echo)
    with pytest.raises(AuthError) as caught:
        asyncio.run(storage.fresh_token(provider))
    assert leaks(fake, everything_shown(*traceback.format_exception(caught.value))) == []
    assert (tmp_path / "auth.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["auth.json"]


@pytest.mark.parametrize("provider", FIRST_PATHS)
def test_what_a_server_says_at_the_first_request_is_cleaned_too(provider: str, fake: FakeOAuth) -> None:
    fake.plan(FIRST_PATHS[provider], as_description)
    with pytest.raises(AuthError) as caught:
        asyncio.run(flow_of(provider, fake, context_of()).login(FakeUser(fake, method="device_code")))
    assert MARK in str(caught.value)


TOKEN = unsigned_token({"https://api.openai.com/auth": {"chatgpt_account_id": "a-1"}, "jti": "canary-0123456789"})
ELSEWHERE = ("faux", "azure-openai-responses", "bedrock-converse-stream", "google-vertex")
"""APIs that reach no server, or none that an address in models.json names."""
APIS = [api for api in api_names() if api not in ELSEWHERE]


def echo_to_client(request: RecordedRequest) -> Reply:
    text = f"{MARK} {' '.join(request.headers.values())}"
    return Reply.json({"error": {"message": text, "type": "invalid_request_error"}}, status=401)


@pytest.mark.parametrize("mode", ["text", "json"])
@pytest.mark.parametrize("api", APIS)
def test_the_token_of_an_account_stands_in_no_output_session_or_export(api: str, mode: str, tmp_path: Path) -> None:
    with FakeServer([echo_to_client]) as server:
        home = Home(tmp_path, server.url)
        models = {"providers": {"xai": {"baseUrl": server.url, "api": api, "models": [{"id": "m"}]}}}
        home.write(home.agent_dir / "models.json", models)
        entry = {"type": "oauth", "access": TOKEN, "refresh": "refresh-canary-1", "expires": 4_000_000_000_000}
        home.write(home.agent_dir / "auth.json", {"xai": entry})
        code, output, errors = home.run("--mode", mode, "-p", f"is {TOKEN} mine", model="xai/m")
        assert code == 1
        assert server.requests, errors
        assert any(TOKEN in value for value in server.requests[0].headers.values())
        told = (output + errors).replace(f"is {TOKEN} mine", "")  # what the user typed is the user's
        assert MARK in told
        assert TOKEN not in told
        (session,) = home.session_files()
        lines = [json.loads(line) for line in session.read_text().splitlines()]
        answers = [line for line in lines if line.get("message", {}).get("role") == "assistant"]
        assert answers
        assert TOKEN not in json.dumps(answers)
        code, _, errors = home.run("--export", str(session), "page.html", model=None)
        assert code == 0, errors
        assert TOKEN not in _data_of((home.project / "page.html").read_text())


def _data_of(page: str) -> str:
    import base64
    import re

    found = re.search(r'application/json">([^<]*)<', page)
    assert found is not None
    return base64.b64decode(found[1]).decode()
