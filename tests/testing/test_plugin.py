"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

ROOT = Path(__file__).resolve().parents[2]


class Outcome:
    """What a pytest run said."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.code = process.returncode
        self.text = process.stdout + process.stderr
        self.tests = {
            name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", self.text, re.MULTILINE)
        }


def run_pytest(folder: Path, test: str, *arguments: str, ini: str = "", env: dict[str, str] | None = None) -> Outcome:
    """Run a test file with this plugin alone."""
    folder.mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "pinyon.testing.plugin", "-p", "no:cacheprovider", "-rA", "-q"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PINYON_"))}
    environment = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})}
    process = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return Outcome(process)


FIXTURES = """
import asyncio, os
from pathlib import Path
from pinyon.testing import faux_tool_call

def test_async(pinyon_agent, pinyon_project):
    async def scene():
        async with pinyon_agent(faux_tool_call("write", {"path": "a.txt", "content": "x"}), "Done.") as session:
            assert (await session.run("go")).text == "Done."
    asyncio.run(scene())
    assert (pinyon_project / "a.txt").read_text() == "x"

def test_sync(pinyon_session, pinyon_model):
    session = pinyon_session("one", tools=["read"])
    assert session.run("go").text == "one"
    assert session.get_active_tool_names() == ["read"]
    assert pinyon_model.state.call_count == 1

def test_home(pinyon_project, tmp_path):
    from pinyon.config import agent_dir
    assert Path.home() == tmp_path / "home"
    assert agent_dir() == tmp_path / "home" / ".pi" / "agent"
    assert list(pinyon_project.iterdir()) == []
"""

REQUESTS = """
import os, subprocess, sys
import pytest
from pinyon.models import Model
from pinyon.sync import SessionOptions, create_coding_session

def model(url):
    return Model(id="m", api="openai-completions", provider="p", name="m", base_url=url,
                 context_window=1000, max_tokens=100)

def ask(url):
    with create_coding_session(SessionOptions(model=model(url), api_key="k", no_tools="all")) as session:
        return session.run("hello")

def test_real():
    result = ask("https://api.example.invalid/v1")
    assert "was refused" in result.error_message
    assert result.totals.turns == 0

def test_local():
    assert ask(os.environ["SERVER"] + "/v1").text == "Hi"

def test_nothing():
    pass

def test_child():
    code = "from pinyon.ai.destination import check_destination; check_destination('https://example.invalid/')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "RequestBlockedError" in result.stderr

def test_permitted(pinyon_allow_requests):
    from pinyon.ai.destination import check_destination
    check_destination("https://example.invalid/")
"""

RECORDED = (
    REQUESTS
    + """
def test_recorded(pinyon_cassette, pinyon_project):
    (pinyon_project / "x").write_text("")
    assert ask(os.environ["SERVER"] + "/v1").text == "Hi"

def test_too_much(pinyon_cassette):
    ask(os.environ["SERVER"] + "/v1")
    if not pinyon_cassette.is_recording:
        ask(os.environ["SERVER"] + "/v1")
"""
)

UNUSED = """
import sys

def test_nothing_of_pinyon_is_imported():
    names = {name for name in sys.modules if name.split(".")[0] in ("pinyon", "msgspec", "textual", "rich", "PIL")}
    assert names == {
        "pinyon", "pinyon._util", "pinyon._util.lazy", "pinyon.testing", "pinyon.testing.plugin"
    }
"""


def test_fixtures_give_agents_on_scripted_models_in_a_scratch_project(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path / "run", FIXTURES)
    assert outcome.tests == {"test_async": "PASSED", "test_sync": "PASSED", "test_home": "PASSED"}, outcome.text


@pytest.mark.parametrize("by", ["ini", "env"])
def test_real_requests_fail_the_test_that_sends_them(by: str, tmp_path: Path) -> None:
    with FakeServer([openai_answer("Hi")]) as server:
        outcome = run_pytest(
            tmp_path / "run",
            REQUESTS,
            ini="pinyon_requests = loopback\n" if by == "ini" else "",
            env={"SERVER": server.url, **({"PINYON_MODEL_REQUESTS": "loopback"} if by == "env" else {})},
        )
    passed = {name for name, word in outcome.tests.items() if word == "PASSED"}
    assert passed == {"test_local", "test_nothing", "test_child", "test_permitted"}, outcome.text
    assert outcome.tests["test_real"] == "ERROR"
    assert "the test sent a request to a real model server: https://api.example.invalid/v1" in outcome.text


def test_one_test_can_forbid_real_requests_for_itself(tmp_path: Path) -> None:
    test = REQUESTS + "\ndef test_mine(pinyon_block_requests):\n    test_real()\n"
    outcome = run_pytest(tmp_path / "run", test, "-k", "mine or permitted")
    assert outcome.tests == {"test_mine": "ERROR", "test_permitted": "PASSED"}, outcome.text


def test_exchanges_are_recorded_once_and_answer_ever_after(tmp_path: Path) -> None:
    folder, key = tmp_path / "run", "sk-this-is-a-real-secret-1"
    only = ("-k", "recorded or too_much")
    ban = "pinyon_requests = loopback\n"
    with FakeServer([openai_answer("Hi")]) as server:
        env = {"SERVER": server.url}
        missing = run_pytest(folder, RECORDED, *only, ini=ban, env=env)
        keys = {**env, "OPENAI_API_KEY": key}
        made = run_pytest(folder, RECORDED, *only, "--pinyon-record=once", ini=ban, env=keys)
    replayed = run_pytest(folder, RECORDED, *only, ini=ban, env=env)
    assert set(missing.tests.values()) == {"ERROR"}
    assert "there is no recording" in missing.text
    assert made.tests == {"test_recorded": "PASSED", "test_too_much": "PASSED"}, made.text
    assert replayed.tests == {"test_recorded": "PASSED", "test_too_much": "ERROR"}, replayed.text
    assert "this is request 2" in replayed.text
    files = sorted((folder / "cassettes").iterdir())
    assert [file.name for file in files] == ["test_it.test_recorded.jsonl", "test_it.test_too_much.jsonl"]
    for file in files:
        text = file.read_text("utf-8")
        assert key not in text
        assert str(tmp_path) not in text


def test_a_run_that_does_not_use_it_imports_nothing(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path / "run", UNUSED)
    assert outcome.code == 0, outcome.text


def test_a_setting_that_means_nothing_is_refused(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path / "run", "", ini="pinyon_requests = none\n")
    assert outcome.code == pytest.ExitCode.USAGE_ERROR
    assert "pinyon_requests is 'none'" in outcome.text


def test_pytest_finds_the_plugin_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"pinyon": "pinyon.testing.plugin"}
