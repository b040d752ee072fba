"""`pinyon auth` without a terminal: arguments, what is printed, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.auth_process import flows

from pinyon.cli.auth_args import USAGES, AuthArgumentError, duration_ms
from pinyon.cli.auth_command import run_auth
from pinyon.testing.fake_oauth import FakeOAuth
from pinyon.testing.fake_server import Reply

FAR = 4_000_000_000_000
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fake() -> Iterator[FakeOAuth]:
    with FakeOAuth() as fake:
        yield fake


@pytest.fixture
def agent_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY", "ANTHROPIC_API_KEY", "CEREBRAS_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    (tmp_path / "agent").mkdir()
    return tmp_path / "agent"


@pytest.fixture
def run(agent_dir: Path, fake: FakeOAuth, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*argv: str, stored: Mapping[str, Any] | None = None) -> tuple[int, str, str]:
        if stored is not None:
            (agent_dir / "auth.json").write_text(json.dumps(stored), encoding="utf-8")
        code = run_auth(argv, flows(fake.url))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def key(text: str) -> dict[str, Any]:
    return {"type": "api_key", "key": text}


def account(fake: FakeOAuth, expires: int = FAR, access: str = "acc-1") -> dict[str, Any]:
    return {"type": "oauth", "access": access, "refresh": fake.issue_refresh_token(), "expires": expires}


@pytest.mark.parametrize("argv", [[], ["help"], ["-h"], ["check", "--help"], ["nonsense", "-h"], ["login", "--help"]])
def test_help_is_printed_wherever_it_is_asked_for(argv: list[str], run: Run) -> None:
    code, output, errors = run(*argv)
    assert (code, errors) == (0, "")
    assert all(f"pinyon auth {command}" in output for command in USAGES)


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["foo"], 1, "unknown auth command 'foo'; the commands are login, logout"),
        (["login"], 1, "pinyon auth login <provider>"),
        (["login", "a", "b"], 1, "pinyon auth login <provider>"),
        (["logout"], 1, "pinyon auth logout <provider>"),
        (["login", "groq", "--api-key", "--no-browser"], 1, "--no-browser is for signing in with an account"),
        (["login", "groq", "--json"], 1, "--json is only for auth check"),
        (["check"], 2, "--provider or --model is needed"),
        (["check", "--json"], 2, "--provider or --model is needed"),
        (["print-api-key"], 1, "--provider or --model is needed"),
        (["check", "x", "--provider", "groq"], 2, "'x' is one word too many"),
        (["check", "@f", "--provider", "groq"], 2, "'@f' is one word too many"),
        (["check", "--provider", "groq", "--api-key", "k"], 2, "--api-key is only for auth login"),
        (["print-api-key", "--provider", "groq", "--api-key", "k"], 1, "--api-key is only for auth login"),
        (["print-api-key", "x", "--provider", "groq"], 1, "'x' is one word too many"),
        (["check", "--foo"], 1, "unknown option '--foo'; usage: pinyon auth check"),
        (["check", "--provider"], 1, "--provider needs a value"),
        (["check", "--provider=groq"], 1, "a value is the next argument"),
        (["print-api-key", "--provider", "groq", "--json"], 1, "--json is only for auth check"),
        (["print-api-key", "--provider", "groq", "--min-expiry", "5m"], 1, "only for auth print-bearer-token"),
        (["print-bearer-token", "--provider", "groq", "--min-expiry", "5x"], 1, "'5x' is no duration"),
        (["print-api-key", "--provider", "zz"], 1, "there is no provider 'zz'"),
        (["print-api-key", "--provider", "groq"], 1, "provider 'groq' is not configured: set GROQ_API_KEY"),
        (["print-bearer-token", "--provider", "xai"], 1, "pinyon auth login xai"),
        (["print-api-key", "--model", "gpt"], 1, "no stored API key"),
        (["login", "nope"], 1, "there is no provider 'nope'\nProviders: amazon-bedrock, "),
        (["login", "groq"], 1, "needs a terminal"),
        (["logout", "nope"], 1, "Stored credentials: none"),
        (["list", "x"], 1, "one word too many"),
    ],
)
def test_wrong_arguments_are_told_with_their_mend(argv: list[str], code: int, told: str, run: Run) -> None:
    exit_code, output, errors = run(*argv)
    assert (exit_code, output) == (code, "")
    assert told in errors
    assert errors.startswith("Error: ")


@pytest.mark.parametrize(
    ("text", "expected"), [("0ms", 0), ("90s", 90_000), ("30m", 1_800_000), ("1h", 3_600_000), ("007s", 7000)]
)
def test_durations_are_read(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "1.5h", "5 m", "5mm", "٣m", "1d", "9" * 20 + "h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(AuthArgumentError, match="is no duration"):
        duration_ms(text)


def test_check_answers_in_one_word_and_in_json(run: Run, fake: FakeOAuth) -> None:
    stored = {"groq": key("gsk-123456789"), "xai": account(fake), "deepseek": key("$NOPE"), "openai": account(fake, 1)}
    assert run("check", "--provider", "groq", stored=stored)[:2] == (0, "ready\n")
    cases: list[tuple[list[str], int, dict[str, Any]]] = [
        (["groq"], 0, {"status": "ready", "provider": "groq", "authType": "api_key"}),
        (
            ["groq", "--credentials"],
            0,
            {"status": "ready", "provider": "groq", "authType": "api_key", "credentials": "gsk-123456789"},
        ),
        (
            ["xai", "--credentials"],
            0,
            {"status": "ready", "provider": "xai", "authType": "oauth", "credentials": "acc-1"},
        ),
        (["openai", "--no-refresh"], 0, {"status": "ready", "provider": "openai", "authType": "oauth"}),
        (["openai"], 2, {"status": "invalid", "provider": "openai", "reason": "invalid_state"}),
        (["zz"], 1, {"status": "not_ready", "provider": "zz", "reason": "provider_not_found"}),
        (["deepseek"], 1, {"status": "not_ready", "provider": "deepseek", "reason": "credentials_not_configured"}),
        (["cerebras"], 1, {"status": "not_ready", "provider": "cerebras", "reason": "credentials_not_configured"}),
    ]
    for words, code, expected in cases:
        exit_code, output, errors = run("check", "--json", "--provider", *words)
        assert (exit_code, json.loads(output), errors) == (code, expected, "")
        assert list(json.loads(output)) == list(expected)


def test_check_prints_the_credential_in_place_of_the_word(run: Run) -> None:
    stored = {"groq": key("gsk-123456789"), "amazon-bedrock": {"type": "api_key", "env": {"AWS_PROFILE": "p"}}}
    assert run("check", "--provider", "groq", "--credentials", stored=stored)[:2] == (0, "gsk-123456789\n")
    code, output, errors = run("check", "--provider", "amazon-bedrock", "--credentials")
    assert (code, output) == (1, "not_ready\n")
    assert "without a secret" in errors


def test_check_says_on_the_side_where_a_credential_comes_from_and_never_shows_it(
    run: Run, fake: FakeOAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEREBRAS_API_KEY", "csk-123456789")
    stored = {"groq": key("gsk-123456789"), "xai": account(fake), "anthropic": account(fake, 1)}
    shown = [run("check", "--provider", name, stored=stored) for name in ("groq", "xai", "cerebras", "anthropic")]
    told = [errors for _, _, errors in shown]
    assert [code for code, _, _ in shown] == [0, 0, 0, 1]
    assert "auth.json" in told[0]
    assert "valid for" in told[1]
    assert "CEREBRAS_API_KEY" in told[2]
    assert "only works in the client that made it" in told[3]
    assert not any(secret in "".join(map(str, shown)) for secret in ("gsk-123456789", "acc-1", "csk-123456789"))


def test_check_by_model_asks_for_the_provider_of_the_model(run: Run) -> None:
    models = {"providers": {"fake": {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "k-1",
              "models": [{"id": "big"}]}}}  # fmt: skip
    code, output, _ = run("check", "--model", "nonsense-model", "--json")
    assert (code, json.loads(output)["reason"]) == (2, "invalid_state")
    Path(__import__("os").environ["PI_CODING_AGENT_DIR"], "models.json").write_text(json.dumps(models))
    code, output, _ = run("check", "--model", "big", "--json")
    assert (code, json.loads(output)) == (0, {"status": "ready", "provider": "fake", "authType": "api_key"})
    assert run("print-api-key", "--provider", "fake")[:2] == (0, "k-1\n")


def test_only_the_secret_is_printed(run: Run, fake: FakeOAuth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEREBRAS_API_KEY", "from-env")
    permanent = {"type": "oauth", "access": "sk-or", "refresh": "", "expires": 2**53 - 1}
    stored = {"groq": key("gsk-123456789"), "xai": account(fake), "openrouter": permanent}
    assert run("print-api-key", "--provider", "groq", stored=stored) == (0, "gsk-123456789\n", "")
    assert run("print-api-key", "--provider", "cerebras") == (0, "from-env\n", "")
    assert run("print-bearer-token", "--provider", "xai") == (0, "acc-1\n", "")
    assert run("print-bearer-token", "--provider", "openrouter") == (0, "sk-or\n", "")
    code, output, errors = run("print-api-key", "--provider", "xai")
    assert (code, output) == (1, "")
    assert "use print-bearer-token" in errors


def test_a_model_alone_stands_for_the_one_provider_with_a_stored_credential(
    run: Run, agent_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEREBRAS_API_KEY", "from-env")

    def provider(*ids: str) -> dict[str, Any]:
        return {"baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "models": [{"id": name} for name in ids]}

    models = {"providers": {"one": provider("big-1", "same"), "two": provider("big-2", "same", "other")}}
    (agent_dir / "models.json").write_text(json.dumps(models))
    stored = {"one": key("key-one"), "two": key("key-two")}
    assert run("print-api-key", "--model", "other", stored=stored)[:2] == (0, "key-two\n")
    assert run("print-api-key", "--model", "BIG-1")[:2] == (0, "key-one\n")
    assert run("print-api-key", "--model", "one/same")[:2] == (0, "key-one\n")
    code, _, errors = run("print-api-key", "--model", "same")
    assert code == 1
    assert "offered by one, two; choose one with --provider" in errors


def test_a_token_that_runs_out_soon_is_renewed_before_it_is_printed(run: Run, fake: FakeOAuth, agent_dir: Path) -> None:
    from pinyon._util.clock import now_ms

    soon = account(fake, now_ms() + 20 * 60_000)
    assert run("print-bearer-token", "--provider", "xai", "--min-expiry", "10m", stored={"xai": soon})[1] == "acc-1\n"
    code, output, errors = run("print-bearer-token", "--provider", "xai")
    assert (code, errors) == (0, "")
    assert output.strip() == json.loads((agent_dir / "auth.json").read_text())["xai"]["access"] != "acc-1"
    code, output, errors = run("print-bearer-token", "--provider", "xai", "--min-expiry", "2h")
    assert (code, output) == (1, "")
    assert "valid for less than 7200 s" in errors


def test_a_renewal_that_fails_tells_no_secret_and_keeps_the_credential(
    run: Run, fake: FakeOAuth, agent_dir: Path
) -> None:
    entry = account(fake, 1)
    echo = Reply.json({"error": "invalid_grant", "error_description": f"bad {entry['refresh']}"}, status=400)
    fake.plan("/oauth2/token", echo, echo)
    for words in (["print-bearer-token"], ["check"]):
        code, output, errors = run(*words, "--provider", "xai", stored={"xai": entry})
        assert code != 0
        assert "invalid_grant" in errors
        assert entry["refresh"] not in output + errors
        assert entry["access"] not in output + errors
        assert json.loads((agent_dir / "auth.json").read_text())["xai"] == entry


def test_signing_out_removes_one_entry_and_says_what_stays(run: Run, agent_dir: Path, fake: FakeOAuth) -> None:
    stored = {"groq": key("k"), "xai": account(fake), "mine": key("m"), "odd": 3}
    assert run("logout", "Groq", stored=stored)[:2] == (
        0,
        "Removed the stored API key of Groq. Variables and models.json stay as they are.\n",
    )
    assert run("logout", "groq")[:2] == (0, "Nothing is stored for Groq. Variables and models.json stay as they are.\n")
    assert "Removed the stored account of xAI" in run("logout", "xai")[1]
    assert run("logout", "mine")[0] == 0
    assert run("logout", "odd")[0] == 0
    assert json.loads((agent_dir / "auth.json").read_text()) == {}
    code, _, errors = run("logout", "nope", stored={"groq": key("k")})
    assert code == 1
    assert "Stored credentials: groq" in errors


def test_the_list_shows_sources_and_validity_and_no_secret(
    run: Run, fake: FakeOAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "pinyon auth login" in run("list")[1]
    monkeypatch.setenv("CEREBRAS_API_KEY", "from-env")
    permanent = {"type": "oauth", "access": "sk-or", "refresh": "", "expires": 2**53 - 1}
    stored = {"groq": key("gsk-1"), "xai": account(fake, 1), "openrouter": permanent, "openai": account(fake)}
    code, output, errors = run("list", stored=stored)
    lines = {line.split()[0]: line for line in output.splitlines()[1:]}
    assert (code, errors, sorted(lines)) == (0, "", ["cerebras", "groq", "openai", "openrouter", "xai"])
    assert "CEREBRAS_API_KEY" in lines["cerebras"]
    assert "expired" in lines["xai"]
    assert "until it is revoked" in lines["openrouter"]
    assert "valid for" in lines["openai"]
    assert not any(secret in output for secret in ("gsk-1", "sk-or", "acc-1", "from-env"))


def test_a_missing_client_id_is_told_with_the_two_places_for_it(
    agent_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}
    (agent_dir / "auth.json").write_text(json.dumps({"openai-codex": entry}))
    assert run_auth(["check", "--provider", "openai-codex"]) == 1
    errors = capsys.readouterr().err
    assert "PINYON_OAUTH_OPENAI_CODEX_CLIENT_ID" in errors
    assert "oauth.openai-codex.clientId" in errors
    (agent_dir / "settings.json").write_text(json.dumps({"oauth": {"openai-codex": {"clientId": "mine"}}}))
    assert run_auth(["check", "--no-refresh", "--provider", "openai-codex"]) == 0


def test_a_broken_store_is_reported_and_left_alone(run: Run, agent_dir: Path) -> None:
    (agent_dir / "auth.json").write_text("{broken")
    code, output, errors = run("logout", "groq")
    assert (code, output) == (1, "")
    assert "auth.json" in errors
    assert (agent_dir / "auth.json").read_text() == "{broken"
