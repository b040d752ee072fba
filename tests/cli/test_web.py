"""`pinyon web`: who may come in, and the interactive mode in a real browser."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.browser import Page, needs_browser, open_browser

from pinyon.cli.demo import PROGRAM, PROMPT, TEST
from pinyon.cli.web_command import parse_web_args, program_command, run_web
from pinyon.errors import ConfigError

PINYON = [sys.executable, "-m", "pinyon"]


@contextmanager
def served(home: Path, *arguments: str) -> Iterator[str]:
    """The address of a running server."""
    project = home / "project"
    project.mkdir(exist_ok=True)
    environ = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    environ |= {"HOME": str(home), "PI_OFFLINE": "1"}
    process = subprocess.Popen(
        [*PINYON, "web", "--no-open", *arguments], cwd=project, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line, line
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def status(url: str, **headers: str) -> int:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_only_who_has_the_token_and_comes_from_the_page_gets_in(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        base, token = url.split("?token=")
        host = base.removeprefix("http://").rstrip("/")
        cookie = f"pinyon_token={token}"
        assert status(base, Cookie=cookie) == 200
        assert status(base) == 403
        assert status(base, Cookie="pinyon_token=guess") == 403
        assert status(f"{base}?token={token}x") == 403
        assert status(base, Cookie=cookie, Host=f"evil.example:{host.partition(':')[2]}") == 403
        assert status(base, Cookie=cookie, Origin="http://evil.example") == 403
        assert status(f"{base}ws", Cookie=cookie, Origin="http://evil.example") == 403
        assert status(f"{base}static/js/textual.js") == 403
        assert status(f"{base}static/js/textual.js", Cookie=cookie) == 200


LISTEN = """
window.seen = '';
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', async (event) => {
      if (typeof event.data === 'string') return;
      const text = new TextDecoder().decode(await new Response(event.data).arrayBuffer());
      window.seen += text.replace(/\\x1b\\[[0-?]*[ -\\/]*[@-~]/g, '');
    });
  }
};
"""
"""Keeps what the page gets for its terminal, which draws on a canvas."""


def until_seen(page: Page, wanted: str) -> None:
    page.wait_for(f"window.seen.includes({wanted!r})", timeout_s=60)


def press(page: Page, key: str, code: int, modifiers: int = 0) -> None:
    fields = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
    page.call("Input.dispatchKeyEvent", type="rawKeyDown", **fields)
    page.call("Input.dispatchKeyEvent", type="keyUp", **fields)


@needs_browser
def test_a_browser_shows_a_prompt_a_tool_row_and_a_selector_and_goes_on_after_a_reload(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shop.py").write_text(PROGRAM, encoding="utf-8")
    (project / "test_shop.py").write_text(TEST, encoding="utf-8")
    with served(tmp_path, "--model", "demo/scripted") as url, open_browser() as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        page.resize(1000, 700)
        page.open(url)
        until_seen(page, "0.0%/128k")
        assert "token" not in page.evaluate("location.href + document.cookie")
        page.evaluate("document.querySelector('textarea').focus()")
        page.write(PROMPT)
        until_seen(page, "show that the test passes")
        press(page, "Enter", 13)
        until_seen(page, "edit shop.py")
        until_seen(page, "both tests pass")
        press(page, "l", 76, modifiers=2)
        until_seen(page, "Sign in to another provider")
        press(page, "Escape", 27)
        page.evaluate("window.seen = ''")
        page.resize(640, 480)
        until_seen(page, "scripted")
        page.open(url.partition("?")[0])
        until_seen(page, "both tests pass")
        assert [problem for problem in page.problems if "WebGL" not in problem] == []
    assert "// 100" in (project / "shop.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "x"], "--port needs a number"),
        (["--port", "70000"], "--port needs a number"),
        (["-p"], "leave out -p"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_web_args(arguments)


def test_every_connection_goes_on_with_one_session_unless_another_was_named() -> None:
    assert "--session-id web-1" in program_command(["--model", "x"], "web-1")
    assert "web-1" not in program_command(["--session", "abc"], "web-1")


def test_help_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_web(["--help"]) == 0
    assert "--no-open" in capsys.readouterr().out
