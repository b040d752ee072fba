from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinyon.testing.fake_anthropic import anthropic_answer, text
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
        ("agent_queue.py", "user: Only Python files.\nmodel: Two files.\n-- turn\nuser: Say goodbye.\n"),
    ],
)
def test_an_example_prints_what_it_shows(name: str, shown: str, tmp_path: Path) -> None:
    result = run_example(name, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert shown in result.stdout
