"""How Bedrock requests are signed and where they go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.ai.apis.bedrock import CLAUDE, TOKEN, USER, model, no_aws, stream

from pinyon._util.abort import AbortController
from pinyon.ai.apis.bedrock_region import AwsEnvironment, endpoint_of
from pinyon.ai.option import StreamOptions
from pinyon.errors import ConfigError
from pinyon.testing.fake_bedrock import bedrock_answer, strict_bedrock, text
from pinyon.testing.fake_server import FakeServer, RecordedRequest, Reply
from pinyon.testing.stream import collect, final_message

__all__ = ["no_aws"]

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEYS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}


def signed(
    *, keys: tuple[str, str] = (KEY_ID, SECRET), fields: dict[str, Any] | None = None, **options: Any
) -> tuple[RecordedRequest, str]:
    """The request, and the error text of the answer; the fake service checks the signature."""
    with FakeServer([strict_bedrock(bedrock_answer(text("ok")), keys=keys)]) as server:
        message = final_message(collect(stream(server, [USER], fields, **{"api_key": None, **options})))
        return server.requests[0], message.error_message or ""


@pytest.mark.parametrize("model_id", [CLAUDE, "arn:aws:bedrock:us-east-1:123456789012:inference-profile/a.b:0"])
def test_keys_sign_requests_as_the_service_expects(model_id: str) -> None:
    request, error = signed(env=KEYS, fields={"id": model_id}, headers={"X-Team": "a  b"})
    assert not error
    assert "x-team" in request.headers["authorization"]


def test_a_session_token_is_sent_and_signed() -> None:
    request, error = signed(env={**KEYS, "AWS_SESSION_TOKEN": "the-session-token"})
    assert not error
    assert request.headers["x-amz-security-token"] == "the-session-token"
    assert "x-amz-security-token" in request.headers["authorization"]


def test_wrong_keys_are_refused_and_never_shown() -> None:
    _, error = signed(env={**KEYS, "AWS_SECRET_ACCESS_KEY": "another-secret-key"})
    assert error.startswith("AccessDeniedException")
    assert "another-secret-key" not in error


def test_keys_of_the_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert not signed()[1]


def credentials_file(tmp_path: Path) -> None:
    lines = ["[work]", f"aws_access_key_id = {KEY_ID}", f"aws_secret_access_key = {SECRET}"]
    (tmp_path / "credentials").write_text("\n".join(lines))
    (tmp_path / "config").write_text("[profile work]\nregion = ap-southeast-2\n")


@pytest.mark.parametrize("options", [{"env": {"AWS_PROFILE": "work"}}, {"extra": {"profile": "work"}}])
def test_a_chosen_profile_wins_over_keys_of_the_process(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials_file(tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other-secret")
    request, error = signed(**options)
    assert not error
    assert "/ap-southeast-2/bedrock/" in request.headers["authorization"]


def test_keys_of_the_process_win_over_a_profile_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials_file(tmp_path)
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other-secret")
    assert not signed(keys=("AKIDOTHER", "other-secret"))[1]


def test_a_profile_that_is_not_there_is_named() -> None:
    message = final_message(collect(stream(FakeServer(), [USER], api_key=None, env={"AWS_PROFILE": "nowhere"})))
    assert "nowhere" in str(message.error_message)
    assert "AWS_PROFILE" in str(message.error_message)


def test_without_any_credential_the_error_says_what_to_set() -> None:
    message = final_message(collect(stream(FakeServer(), [USER], api_key=None)))
    assert message.stop_reason == "error"
    for word in ("amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"):
        assert word in str(message.error_message)


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": TOKEN},
        {"api_key": None, "env": {"AWS_BEARER_TOKEN_BEDROCK": TOKEN, **KEYS}},
        {"api_key": "other", "extra": {"bearer_token": TOKEN}},
    ],
)
def test_a_bearer_token_wins_over_signatures(options: dict[str, Any]) -> None:
    with FakeServer([strict_bedrock(bedrock_answer(text("ok")), token=TOKEN)]) as server:
        assert final_message(collect(stream(server, [USER], **options))).stop_reason == "stop"


def test_signing_can_be_left_out_for_gateways() -> None:
    with FakeServer([bedrock_answer(text("ok"))]) as server:
        collect(stream(server, [USER], api_key=None, env={"AWS_BEDROCK_SKIP_AUTH": "1"}))
        assert "authorization" not in server.requests[0].headers


def test_an_abort_while_credentials_are_looked_up_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile slow]\ncredential_process = sleep 3\n")
    controller = AbortController()
    import threading

    threading.Timer(0.3, controller.abort).start()
    options: dict[str, Any] = {"api_key": None, "env": {"AWS_PROFILE": "slow"}, "signal": controller.signal}
    assert final_message(collect(stream(FakeServer([Reply.never()]), [USER], **options))).stop_reason == "aborted"


SCRIPT = """
import sys
sys.modules["botocore"] = None
from tests.ai.apis.bedrock import USER, model
from pinyon.ai.apis.bedrock_converse_stream import API
from pinyon.ai.option import StreamOptions
from pinyon.testing.stream import collect, final_message
print(final_message(collect(API.stream(model(), [USER], StreamOptions(env={env})))).error_message)
"""


@pytest.mark.parametrize("env", [KEYS, {"AWS_PROFILE": "x"}])
def test_without_the_extra_the_error_names_it(env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{env}", repr(env))],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert "pinyon[bedrock]" in done.stdout


def test_a_bearer_token_imports_neither_the_extra_nor_another_api() -> None:
    code = (
        "import sys, pinyon.ai.apis.bedrock_converse_stream\n"
        "bad = [n for n in sys.modules if n.startswith(('botocore', 'pinyon.ai.apis.'))"
        " and not n.startswith('pinyon.ai.apis.bedrock_')]\nprint(bad)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ARN = "arn:aws-cn:bedrock:cn-north-1:123456789012:inference-profile/x"
STANDARD = "https://bedrock-runtime.eu-central-1.amazonaws.com"
FIPS = "https://bedrock-runtime-fips.us-east-2.amazonaws.com"


@pytest.mark.parametrize(
    ("fields", "env", "host", "region"),
    [
        ({}, {}, "bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"),
        ({}, {"AWS_DEFAULT_REGION": "eu-west-3"}, "bedrock-runtime.eu-west-3.amazonaws.com", "eu-west-3"),
        ({}, {"AWS_REGION": "a-1", "AWS_DEFAULT_REGION": "b-1"}, "bedrock-runtime.a-1.amazonaws.com", "a-1"),
        ({"id": ARN}, {"AWS_REGION": "us-west-2"}, "bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ({"base_url": STANDARD}, {}, "bedrock-runtime.eu-central-1.amazonaws.com", "eu-central-1"),
        ({"base_url": STANDARD}, {"AWS_REGION": "us-west-2"}, "bedrock-runtime.us-west-2.amazonaws.com", "us-west-2"),
        ({"base_url": FIPS}, {}, "bedrock-runtime-fips.us-east-2.amazonaws.com", "us-east-2"),
        ({"base_url": FIPS}, {"AWS_REGION": "us-west-2"}, "bedrock-runtime-fips.us-west-2.amazonaws.com", "us-west-2"),
        ({"base_url": "https://gw.example/x/"}, {"AWS_REGION": "us-west-2"}, "gw.example/x", "us-west-2"),
        ({}, {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://vpce.example"}, "vpce.example", "us-east-1"),
        ({}, {"AWS_USE_FIPS_ENDPOINT": "true"}, "bedrock-runtime-fips.us-east-1.amazonaws.com", "us-east-1"),
    ],
)
def test_region_and_host(fields: dict[str, Any], env: dict[str, str], host: str, region: str) -> None:
    target = model(**{"base_url": "", **fields})
    endpoint = endpoint_of(target, AwsEnvironment(StreamOptions(env=env)))
    assert endpoint.region == region
    assert endpoint.url.startswith(f"https://{host}/model/")


def test_the_region_of_an_option_and_of_a_profile(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nregion = r-1\n[profile work]\nregion = r-2\n")
    target = model(base_url=STANDARD)
    for options, region in (
        (StreamOptions(extra={"region": "r-9"}, env={"AWS_REGION": "r-8"}), "r-9"),
        (StreamOptions(env={"AWS_PROFILE": "work"}), "r-2"),
        (StreamOptions(env={"AWS_PROFILE": "default"}), "r-1"),
        (StreamOptions(env={"AWS_PROFILE": "none"}), "eu-central-1"),
    ):
        assert endpoint_of(target, AwsEnvironment(options)).region == region


@pytest.mark.parametrize("region", ["evil.example/", "a b", "UP"])
def test_a_region_that_is_none_is_refused(region: str) -> None:
    with pytest.raises(ConfigError, match="AWS region"):
        endpoint_of(model(base_url=""), AwsEnvironment(StreamOptions(env={"AWS_REGION": region})))


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("region = outside\n")
    with pytest.raises(ConfigError, match="config"):
        endpoint_of(model(base_url=""), AwsEnvironment(StreamOptions(env={"AWS_PROFILE": "x"})))
