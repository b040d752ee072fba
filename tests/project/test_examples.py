from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinyon.testing.fake_anthropic import anthropic_answer, text
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run_example(name: str, cwd: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run an example as a user would, in a folder of its own and with an empty home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PI_") and not key.endswith("_KEY")}
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**kept, "HOME": str(cwd), "USERPROFILE": str(cwd), **env},
        check=False,
    )


@pytest.fixture
def agent_dir(tmp_path: Path) -> Iterator[Path]:
    """The agent folder of an example's home, with a model behind a fake server."""
    agent_dir = tmp_path / ".pi" / "agent"
    agent_dir.mkdir(parents=True)
    with FakeServer([anthropic_answer(text("A small program."))]) as server:
        provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "models": [{"id": "m"}]}
        write(agent_dir / "models.json", {"providers": {"local": provider}})
        write(agent_dir / "settings.json", {"defaultProvider": "local", "defaultModel": "m"})
        yield agent_dir


def test_the_embedding_example_prompts_a_real_server_and_shows_events_and_answer(
    tmp_path: Path, agent_dir: Path
) -> None:
    result = run_example("embed.py", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[-1] == "A small program."
    assert (lines[0], lines[-2]) == ("AgentStart", "AgentSettled")
    assert not (agent_dir / "sessions").exists()


COMMAND = (sys.executable, "-m", "pinyon")


@pytest.mark.usefixtures("agent_dir")
def test_the_client_example_drives_a_process(tmp_path: Path) -> None:
    result = run_example("rpc_client.py", tmp_path, *COMMAND)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert (lines[0], lines[-3]) == ("AgentStart", "AgentSettled")
    assert lines[-2:] == ["A small program.", "1 prompt, 1 answer"]


@pytest.mark.usefixtures("agent_dir")
def test_the_client_of_the_standard_library_drives_a_process(tmp_path: Path) -> None:
    result = run_example("rpc_client_stdlib.py", tmp_path, *COMMAND)
    assert (result.returncode, result.stderr) == (0, "")
    said, figures = result.stdout.splitlines()
    assert said == "A small program."
    assert figures.endswith(" tokens, exit code 0")


@pytest.mark.usefixtures("agent_dir")
def test_the_first_example_of_the_sdk_answers_with_the_model_of_the_settings(tmp_path: Path) -> None:
    result = run_example("sdk/01_minimal.py", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("A small program.\n(stop, ")


def test_the_custom_model_example_asks_the_server_that_it_names(tmp_path: Path) -> None:
    with FakeServer([openai_answer("Hello!")]) as server:
        result = run_example("sdk/02_custom_model.py", tmp_path, MY_SERVER=server.url + "/v1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "my-server/my-model\nHello!\n"
    assert server.requests[0].json["model"] == "my-model"


def test_the_example_tests_pass(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pinyon.testing.plugin", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", tmp_path, EXAMPLES / "sdk" / "12_testing.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    assert result.returncode == 0, result.stdout
    assert "4 passed" in result.stdout


def test_every_example_is_listed_and_run() -> None:
    files = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py"))
    page = (EXAMPLES / "README.md").read_text("utf-8")
    source = Path(__file__).read_text("utf-8")
    assert [name for name in files if f"]({name})" not in page] == []
    assert [name for name in files if f'"{name}"' not in source and name != "sdk/12_testing.py"] == []


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("settings_in_memory.py", "1\n['read', 'grep']\n"),
        ("system_prompt.py", "cwd: "),
        ("agent_loop.py", "[add: 5.0]\nFive.\n"),
        ("agent_tool.py", "'enum': ['count', 'skip'], 'default': 'count'}\n{'path': 'agent_tool.py', 'lines': "),
        ("export_page.py", "page.html holds the whole conversation: True\n"),
        ("session_tree.py", "'Use read.']\n4 entries, 3 of them in the copy: ['message', 'message', 'label']\n"),
        ("tool_environment.py", "would run 'make test' in /project"),
        ("sdk/03_tools.py", "weather {'city': 'Ulm', 'days': 2}\nIt stays sunny.\n"),
        ("sdk/04_sessions.py", "Hello 3\nnumbers 3\nIt is 42.\n"),
        ("sdk/05_branching.py", "now: Use a set.\nforked before: How do I store names?\nA set it is.\n"),
        ("sdk/06_settings.py", "You answer in one word.\ncompaction: False\nretries: 1\nYes.\n"),
        ("sdk/07_limits.py", "ended by: turns after 3 turns\nNow I know.\n"),
        (
            "sdk/08_structured_output.py",
            "['Short and clear'])\n2 turns\nit holds no JSON value - I cannot tell.",
        ),
        ("sdk/09_streaming.py", "[ls]\nAn empty folder.\nstop\naborted True\n"),
        ("sdk/10_sync.py", "Hello.\n[ls]\nNothing here.\nUserMessage\nAssistantMessage\n4 answers\n"),
        ("sdk/11_full_control.py", "AssistantMessage You want to buy milk.\n"),
        ("agent_queue.py", "user: Only Python files.\nmodel: Two files.\n-- turn\nuser: Say goodbye.\n"),
    ],
)
def test_an_example_prints_what_it_shows(name: str, shown: str, tmp_path: Path) -> None:
    result = run_example(name, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert shown in result.stdout
