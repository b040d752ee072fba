"""`pinyon auth login` at a real terminal: hidden keys, pages, codes, pasted addresses, and giving up."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pinyon._util.web_page import open_page
from pinyon.ai.oauth import LoginNotice
from pinyon.cli.login_terminal import TerminalLogin
from pinyon.testing.fake_oauth import FakeOAuth
from pinyon.testing.fake_server import Gate

if os.name == "nt":
    pytest.skip("needs pseudo-terminals", allow_module_level=True)

from tests.cli.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
SECRET = "gsk-canary-0123456789"
BROWSER = "import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read()"
Start = Callable[..., "Terminal"]


@pytest.fixture
def fake() -> Iterator[FakeOAuth]:
    with FakeOAuth() as fake:
        yield fake


@pytest.fixture
def start(tmp_path: Path, fake: FakeOAuth) -> Start:
    (tmp_path / "browser.py").write_text(BROWSER)

    def start(*argv: str, has_browser: bool = True) -> Terminal:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PI_CODING_AGENT_DIR": str(tmp_path / "agent")}
        if has_browser:
            env["BROWSER"] = f"{sys.executable} {tmp_path / 'browser.py'} %s"
        return Terminal([sys.executable, "-m", "tests.cli.auth_process", fake.url, *argv], env, ROOT)

    return start


def stored(tmp_path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((tmp_path / "agent" / "auth.json").read_text())
    return value


def test_a_key_is_asked_for_without_showing_it(start: Start, tmp_path: Path) -> None:
    with start("login", "Groq") as terminal:
        terminal.wait_for("API key for Groq: ")
        assert not terminal.is_echoing()
        terminal.type(SECRET + "\r")
        terminal.wait_for("Stored the API key for Groq")
        assert terminal.end() == 0
        assert terminal.is_echoing()
        assert SECRET not in terminal.shown
        assert "auth.json" in terminal.shown
    assert stored(tmp_path) == {"groq": {"type": "api_key", "key": SECRET}}


@pytest.mark.parametrize("key", ["\x03", "\x04"])
@pytest.mark.parametrize("argv", [["groq"], ["openrouter"], ["github-copilot", "--api-key"]])
def test_giving_up_stores_nothing_and_leaves_the_terminal_as_it_was(
    key: str, argv: list[str], start: Start, tmp_path: Path
) -> None:
    with start("login", *argv, has_browser=False) as terminal:
        terminal.wait_for("Address or code: " if argv == ["openrouter"] else "API key for ")
        terminal.type(key)
        terminal.wait_for("cancelled")
        assert terminal.end() == 1
        assert terminal.is_echoing()
        assert "Traceback" not in terminal.shown
    assert not (tmp_path / "agent" / "auth.json").exists()


@pytest.mark.parametrize("provider", ["openrouter", "openai"])
def test_the_browser_opens_and_comes_back(provider: str, start: Start, tmp_path: Path, fake: FakeOAuth) -> None:
    with start("login", provider) as terminal:
        terminal.wait_for("Signed in to")
        assert terminal.end() == 0
        assert not any(secret in terminal.shown for secret in fake.secrets)
    assert stored(tmp_path)[provider]["access"] in fake.secrets


def test_an_address_can_be_pasted_where_no_browser_is(start: Start, tmp_path: Path, fake: FakeOAuth) -> None:
    with start("login", "openai", "--no-browser") as terminal:
        terminal.wait_for("Address: ")
        url = next(word for word in terminal.shown.split() if "/api/accounts/authorize" in word)
        terminal.type("nonsense\r")
        terminal.wait_for("not enough")
        terminal.wait_for("Address: ")
        terminal.type(fake.redirect_of(url) + "\r")
        terminal.wait_for("Signed in to OpenAI")
        assert terminal.end() == 0
    assert stored(tmp_path)["openai"]["access"] in fake.secrets


def test_a_code_is_shown_with_its_page(start: Start, tmp_path: Path, fake: FakeOAuth) -> None:
    with start("login", "xai", has_browser=False) as terminal:
        terminal.wait_for(f"{fake.url}/activate")
        terminal.wait_for("ABCD-EFGH")
        terminal.wait_for("Signed in to xAI")
        assert terminal.end() == 0
    assert stored(tmp_path)["xai"]["refresh"] in fake.valid_refresh_tokens


def test_of_several_ways_the_user_chooses_one(start: Start, tmp_path: Path) -> None:
    with start("login", "openai-codex") as terminal:
        terminal.wait_for("Choose 1-2: ")
        terminal.type("7\r")
        terminal.wait_for("Choose 1-2: ")
        terminal.type("2\r")
        terminal.wait_for("ABCD-EFGH")
        terminal.wait_for("Signed in to")
        assert terminal.end() == 0
    assert stored(tmp_path)["openai-codex"]["accountId"] == "account-1"


def test_without_a_browser_the_other_way_is_taken_unasked(start: Start) -> None:
    with start("login", "openai-codex", "--no-browser") as terminal:
        shown = terminal.wait_for("ABCD-EFGH")
        assert "Choose" not in shown
        terminal.wait_for("Signed in to")
        assert terminal.end() == 0


def test_newer_models_are_fetched_after_a_sign_in_where_the_user_chose_a_server(
    start: Start, tmp_path: Path, fake: FakeOAuth
) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "settings.json").write_text(json.dumps({"modelsUrl": fake.url}))
    with start("login", "openai-codex", "--no-browser") as terminal:
        terminal.wait_for("Signed in to")
        assert terminal.end() == 0
    asked = [request.path for request in fake.server.requests if "openai-codex" in request.path]
    assert asked


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_during_a_renewal_loses_no_token(
    number: int, code: int, tmp_path: Path, fake: FakeOAuth, start: Start
) -> None:
    (tmp_path / "agent").mkdir()
    entry = {"type": "oauth", "access": "old", "refresh": fake.issue_refresh_token(), "expires": 1}
    (tmp_path / "agent" / "auth.json").write_text(json.dumps({"xai": entry}))
    gate = threading.Event()
    fake.hold_token_answers(Gate(gate))
    with start("print-bearer-token", "--provider", "xai") as terminal:
        fake.server.wait_for_requests(1)
        terminal.process.send_signal(number)
        gate.set()
        assert terminal.end() == code
    assert stored(tmp_path)["xai"]["refresh"] in fake.valid_refresh_tokens


def test_control_characters_never_reach_the_terminal() -> None:
    output = io.StringIO()
    login = TerminalLogin(output=output, open_page=lambda url: False)
    login.notify(LoginNotice(type="auth_url", url="https://a.example/\x1b]52;c;eA==\x07?\x9b2J", message="go\x1b[2J"))
    login.notify(LoginNotice(type="device_code", url="https://a.example/", user_code="AB\x07CD", expires_in_s=600))
    assert output.getvalue().replace("\n", "").isprintable()
    assert "valid for 10 minutes" in output.getvalue()


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        ("file:///etc/passwd", {"BROWSER": "true"}, False),
        ("javascript:alert(1)", {"BROWSER": "true"}, False),
        ("https://a.example/\x1b", {"BROWSER": "true"}, False),
        ("https://a.example/", {"BROWSER": "unbalanced 'quote"}, False),
        ("https://a.example/", {"BROWSER": "/no/such/browser"}, True),
        ("https://a.example/", {"BROWSER": "true"}, True),
    ],
)
def test_only_web_pages_are_opened_and_only_where_there_is_a_browser(
    url: str, env: dict[str, str], expected: bool
) -> None:
    assert open_page(url, env) is expected


def test_a_page_is_one_argument_of_the_browser_whatever_it_holds(tmp_path: Path) -> None:
    target = tmp_path / "said"
    script = tmp_path / "browser.py"
    script.write_text(f"import sys; open({str(target)!r} + '.part', 'w').write(repr(sys.argv[1:])); import os;"
                      f"os.rename({str(target)!r} + '.part', {str(target)!r})")  # fmt: skip
    url = "https://a.example/?a=$(touch x)&b=';rm'"
    assert open_page(url, {"BROWSER": f"{sys.executable} {script}"})
    deadline = time.monotonic() + 60
    while not target.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert target.read_text() == repr([url])


@pytest.mark.skipif(sys.platform == "darwin", reason="there is always a browser")
def test_without_a_screen_no_browser_is_looked_for() -> None:
    assert open_page("https://a.example/", {}) is False
