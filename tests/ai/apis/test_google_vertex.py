"""Vertex AI: where requests go, and access tokens from real credential files against a token server on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from tests.ai.apis.wires import KEY, USER, VERTEX

from pinyon._util.abort import AbortController
from pinyon.ai.apis.google_vertex import GoogleVertex, credential_file
from pinyon.ai.apis.vertex_credential import NEAR_EXPIRY_MS, VertexTokens
from pinyon.ai.apis.vertex_endpoint import VertexPlace, real_key, vertex_place, vertex_url
from pinyon.ai.message import AssistantMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.retry import is_retryable_assistant_error
from pinyon.ai.transport import DefaultTransport, HttpRequest, HttpResponse
from pinyon.errors import AuthError
from pinyon.testing.fake_clock import FakeClock
from pinyon.testing.fake_google import google_answer
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply, ScriptedReply

TEMPLATE = "https://{location}-aiplatform.googleapis.com"
PROJECT = {"GOOGLE_CLOUD_PROJECT": "p-1", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
TOKEN = "ya29.secret-access-token"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("GOOGLE_", "GCLOUD_", "CLOUDSDK_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def place(key: str = "", project: str = "p-1", location: str = "europe-west4", own_url: str = "") -> VertexPlace:
    return VertexPlace(api_key=key, project=project, location=location, own_url=own_url)


TAIL = "publishers/google/models/gemini-3:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("where", "url"),
    [
        (place(), f"https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west4/{TAIL}"),
        (place(location="global"), f"https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/{TAIL}"),
        (place(location="eu"), f"https://aiplatform.eu.rep.googleapis.com/v1/projects/p-1/locations/eu/{TAIL}"),
        (place(key="k"), f"https://aiplatform.googleapis.com/v1/{TAIL}"),
        (place(own_url="https://h"), f"https://h/v1/{TAIL}"),
        (place(own_url="https://h/vertex/"), f"https://h/vertex/v1/{TAIL}"),
        (place(own_url="https://h/v1"), f"https://h/v1/{TAIL}"),
        (place(own_url="https://h/v1beta1/x"), f"https://h/v1beta1/x/{TAIL}"),
        (place(own_url="https://v1.host"), f"https://v1.host/v1/{TAIL}"),
        (place(own_url="https://h/v1/projects/p/locations/l"), f"https://h/v1/projects/p/locations/l/{TAIL}"),
    ],
)
def test_the_address_follows_from_what_is_known(where: VertexPlace, url: str) -> None:
    assert vertex_url(where, "gemini-3") == url


def test_a_model_of_another_publisher_names_it_itself() -> None:
    url = vertex_url(place(key="k"), "publishers/anthropic/models/x")
    assert url.startswith("https://aiplatform.googleapis.com/v1/publishers/anthropic/models/x:")


@pytest.mark.parametrize("text", ["", "<your key>", "gcp-vertex-credentials"])
def test_a_stand_in_for_a_key_is_no_key(text: str) -> None:
    assert real_key(text) == ""
    with pytest.raises(AuthError, match="GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"):
        GoogleVertex().stream(vertex_model(), [USER], StreamOptions(api_key=text))


def vertex_model(**fields: Any) -> Model:
    return msgspec.structs.replace(VERTEX.model(), **({"base_url": TEMPLATE} | fields))


@pytest.mark.parametrize(
    ("env", "extra", "expected"),
    [
        (PROJECT, {}, ("p-1", "europe-west4")),
        ({"GCLOUD_PROJECT": "p-2", "GOOGLE_CLOUD_LOCATION": "us"}, {}, ("p-2", "us")),
        (PROJECT, {"project": "p-3", "location": "global"}, ("p-3", "global")),
        ({}, {}, ("", "")),
    ],
)
def test_project_and_location_come_from_options_and_variables(
    env: dict[str, str], extra: dict[str, str], expected: tuple[str, str]
) -> None:
    found = vertex_place(vertex_model(), StreamOptions(env=env, extra=extra))
    assert (found.project, found.location) == expected


@pytest.mark.parametrize("location", ["evil.test/", "a b", "", "x@y"])
def test_a_location_that_is_none_is_refused(location: str) -> None:
    env = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": location}
    with pytest.raises(AuthError, match="'google-vertex'"):
        GoogleVertex().stream(vertex_model(), [USER], StreamOptions(env=env))


def test_the_credential_file_is_the_named_one_or_the_one_of_a_sign_in(tmp_path: Path) -> None:
    named = StreamOptions(env={"GOOGLE_APPLICATION_CREDENTIALS": "/x/y.json"})
    assert credential_file(named) == Path("/x/y.json")
    assert credential_file(StreamOptions()) is None
    signed_in = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    signed_in.parent.mkdir(parents=True)
    signed_in.write_text("{}")
    assert credential_file(StreamOptions()) == signed_in
    other = tmp_path / "other"
    other.mkdir()
    (other / signed_in.name).write_text("{}")
    assert credential_file(StreamOptions(env={"CLOUDSDK_CONFIG": str(other)})) == other / signed_in.name


# Application default credentials


class Detour:
    """A transport that takes every request to one server, under the path that it had, and keeps the addresses."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self.urls: list[str] = []

    async def open(self, request: HttpRequest) -> HttpResponse:
        self.urls.append(request.url)
        parts = urlsplit(request.url)
        url = f"{self._server.url}{parts.path}{'?' if parts.query else ''}{parts.query}"
        return await DefaultTransport().open(msgspec.structs.replace(request, url=url))


@cache
def private_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()).decode()


def service_account(**fields: Any) -> dict[str, Any]:
    defaults = {
        "type": "service_account",
        "client_email": "robot@p-1.test",
        "private_key_id": "k1",
        "private_key": private_key(),
        "token_uri": "https://token.test/token",
    }
    return defaults | fields


def user_account(**fields: Any) -> dict[str, Any]:
    secrets = {"client_id": "id", "client_secret": "secret-of-client", "refresh_token": "secret-refresh-token"}
    return {"type": "authorized_user", **secrets} | fields


def token_reply(expires_in_s: int = 3600, number: str = "") -> Reply:
    return Reply.json({"access_token": TOKEN + number, "expires_in": expires_in_s, "token_type": "Bearer"})


def routed(token: ScriptedReply, answer: ScriptedReply) -> Callable[[RecordedRequest], Reply]:
    def reply(request: RecordedRequest) -> Reply:
        if "token" in request.path:
            chosen = token
        else:
            chosen = answer if "streamGenerateContent" in request.path else Reply.text("no metadata here", 404)
        return chosen(request) if callable(chosen) else chosen

    return reply


class Signed(msgspec.Struct):
    """What came of requests that were signed with a credential file, and what the server saw."""

    messages: list[AssistantMessage]
    urls: list[str]
    requests: list[RecordedRequest]

    @property
    def error(self) -> str:
        assert self.messages[-1].stop_reason != "stop"
        return str(self.messages[-1].error_message)


def ask(
    file: Path | None,
    token: ScriptedReply | None = None,
    *,
    times: int = 1,
    at_once: bool = False,
    tokens: VertexTokens | None = None,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> Signed:
    """Ask through a server that gives tokens and answers."""
    api = GoogleVertex(tokens)
    named = {} if file is None else {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}

    async def run(server: FakeServer) -> Signed:
        detour = Detour(server)
        given = StreamOptions(env=PROJECT | named | dict(env or {}), http=detour, **options)

        async def once() -> AssistantMessage:
            return await api.stream(vertex_model(), [USER], given).result()

        if at_once:
            messages = list(await asyncio.gather(*(once() for _ in range(times))))
        else:
            messages = [await once() for _ in range(times)]
        return Signed(messages, detour.urls, server.requests)

    with FakeServer([routed(token or token_reply(), google_answer("ok"))]) as server:
        return asyncio.run(run(server))


def written(folder: Path, content: Any) -> Path:
    file = folder / "credentials.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_a_service_account_signs_a_request(tmp_path: Path) -> None:
    signed = ask(written(tmp_path, service_account()))
    assert signed.messages[0].stop_reason == "stop", signed.messages[0].error_message
    assert signed.urls[0] == "https://token.test/token"
    assert signed.urls[1].startswith("https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/")
    form = parse_qs(signed.requests[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert signed.requests[1].headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-goog-api-key" not in signed.requests[1].headers


def test_a_signed_in_user_signs_a_request_and_names_who_pays(tmp_path: Path) -> None:
    signed = ask(written(tmp_path, user_account(quota_project_id="payer")))
    assert signed.messages[0].stop_reason == "stop", signed.messages[0].error_message
    assert parse_qs(signed.requests[0].body.decode())["refresh_token"] == ["secret-refresh-token"]
    assert signed.requests[1].headers["authorization"] == f"Bearer {TOKEN}"
    assert signed.requests[1].headers["x-goog-user-project"] == "payer"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_token_is_fetched_once_for_many_requests(tmp_path: Path, at_once: bool) -> None:
    signed = ask(written(tmp_path, user_account()), times=3, at_once=at_once)
    assert [message.text for message in signed.messages] == ["ok"] * 3
    assert sum("token" in urlsplit(url).path for url in signed.urls) == 1


@pytest.mark.parametrize(("left_ms", "fetched"), [(NEAR_EXPIRY_MS + 60_000, 1), (NEAR_EXPIRY_MS - 60_000, 2)])
def test_a_token_is_renewed_shortly_before_it_runs_out(tmp_path: Path, left_ms: int, fetched: int) -> None:
    tokens = VertexTokens(FakeClock(now_ms=time.time_ns() // 1_000_000 + 3_600_000 - left_ms))
    signed = ask(written(tmp_path, user_account()), times=2, tokens=tokens)
    assert sum("token" in urlsplit(url).path for url in signed.urls) == fetched


def test_another_file_gets_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = VertexTokens()
    file = written(tmp_path, user_account())
    ask(file, tokens=tokens)
    file.write_text(json.dumps(user_account(refresh_token="another-token")))
    os.utime(file, ns=(1, 1))
    signed = ask(file, tokens=tokens)
    assert parse_qs(signed.requests[0].body.decode())["refresh_token"] == ["another-token"]


def test_a_key_or_a_header_needs_no_credential_file() -> None:
    assert ask(None, api_key=KEY).urls[0].startswith("https://aiplatform.googleapis.com/v1/publishers/")
    signed = ask(None, headers={"Authorization": "Bearer mine"})
    assert len(signed.urls) == 1
    assert signed.requests[0].headers["authorization"] == "Bearer mine"


def test_without_any_credential_the_error_says_how_to_get_one() -> None:
    error = ask(None).error
    assert "gcloud auth application-default login" in error
    assert "GOOGLE_APPLICATION_CREDENTIALS" in error


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{broken", "not a JSON object"),
        ("[]", "not a JSON object"),
        ({"type": "magic"}, "unknown type 'magic'"),
        ({"type": "service_account"}, ""),
        ({"type": "authorized_user", "client_id": "x"}, ""),
    ],
)
def test_a_broken_credential_file_is_an_error_that_names_it(tmp_path: Path, content: Any, reason: str) -> None:
    signed = ask(written(tmp_path, content))
    assert "credentials.json' gave no access token" in signed.error
    assert reason in signed.error
    assert not signed.requests


def test_a_missing_credential_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert "missing.json' gave no access token" in ask(tmp_path / "missing.json").error


def test_a_refused_credential_is_an_error_without_secrets(tmp_path: Path) -> None:
    refusal = {"error": "invalid_grant", "error_description": "secret-refresh-token was revoked, secret-of-client"}
    signed = ask(written(tmp_path, user_account()), Reply.json(refusal, 400))
    assert "invalid_grant" in signed.error
    assert "secret-refresh-token" not in signed.error
    assert "secret-of-client" not in signed.error
    assert not is_retryable_assistant_error(signed.messages[0])


def test_the_access_token_does_not_show_where_a_server_echoes_it(tmp_path: Path) -> None:
    file = written(tmp_path, user_account())
    with FakeServer([routed(token_reply(), Reply.text(f"no: {TOKEN}", 403))]) as server:
        options = StreamOptions(env=PROJECT | {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}, http=Detour(server))
        message = asyncio.run(GoogleVertex().stream(vertex_model(), [USER], options).result())
    assert message.stop_reason == "error"
    assert TOKEN not in str(message.error_message)


def test_without_the_library_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.exceptions", None)
    error = ask(written(tmp_path, user_account())).error
    assert "pip install 'pinyon[vertex]'" in error


def test_an_abort_ends_the_wait_for_a_token(tmp_path: Path) -> None:
    file = written(tmp_path, user_account())

    async def run() -> AssistantMessage:
        controller = AbortController()
        async with FakeServer([Reply.never()]) as server:
            options = StreamOptions(
                env=PROJECT | {"GOOGLE_APPLICATION_CREDENTIALS": str(file)},
                http=Detour(server),
                signal=controller.signal,
            )
            asking = asyncio.create_task(GoogleVertex().stream(vertex_model(), [USER], options).result())
            await asyncio.to_thread(server.wait_for_requests, 1)
            controller.abort()
            return await asking

    assert asyncio.run(run()).stop_reason == "aborted"


def test_a_machine_of_the_provider_signs_requests_itself() -> None:

    def metadata(request: RecordedRequest) -> Reply:
        flavour = {"metadata-flavor": "Google"}
        if "/token" in request.path:
            return Reply.json({"access_token": TOKEN, "expires_in": 3600}, headers=flavour)
        if "recursive" in request.path:
            return Reply.json({"email": "robot@p-1.test", "scopes": []}, headers=flavour)
        return Reply.text("p-1", headers=flavour)

    def reply(request: RecordedRequest) -> Reply:
        chosen: ScriptedReply = google_answer("ok") if "streamGenerateContent" in request.path else metadata
        return chosen(request) if callable(chosen) else chosen

    api = GoogleVertex()
    with FakeServer([reply]) as server:
        options = StreamOptions(env=PROJECT, http=Detour(server))
        messages = [asyncio.run(api.stream(vertex_model(), [USER], options).result()) for _ in range(2)]
        requests = server.requests
    assert [message.text for message in messages] == ["ok", "ok"], messages[0].error_message
    assert sum("/token" in request.path for request in requests) == 1
    assert requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
