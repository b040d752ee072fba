"""Whole runs in JSON mode against recordings: events, session file and requests have the recorded shape.

Texts, numbers, ids and times are free; fields, their order in lists, kinds and structural values are not.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pinyon.testing.fake_anthropic import anthropic_answer, text, thinking, tool_use, usage
from pinyon.testing.fake_server import FakeServer, ScriptedReply

RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"
FLAGS = ("--offline", "--no-extensions", "--no-skills", "--no-context-files", "--no-prompt-templates")
STRUCTURAL = {
    "type", "role", "stopReason", "rawStopReason", "toolName", "name", "api", "provider", "model", "modelId", "isError",
    "version", "thinkingLevel", "required", "strict", "stream", "willRetry", "aborted", "command", "path", "cwd",
    "contentIndex", "exit_code", "truncated", "reason", "cancelled",
}  # fmt: skip


class Run(msgspec.Struct):
    """One recorded situation: what the user says and what the model answers."""

    name: str
    arguments: list[str]
    replies: list[ScriptedReply]
    files: dict[str, str] = {}
    stored: str | None = None
    warning: str = ""


RUNS = [
    Run("01-plain", ["Say hello"], [anthropic_answer(text("Hello there."))]),
    Run(
        "03-tool-turn",
        ["Change beta"],
        [
            anthropic_answer(
                thinking("Let me look."),
                text("I will look first."),
                tool_use("read", {"path": "a.txt"}, call_id="toolu_01"),
                tool_use("bash", {"command": "echo hi; exit 3"}, call_id="toolu_02"),
            ),
            anthropic_answer(
                tool_use(
                    "edit", {"path": "a.txt", "edits": [{"oldText": "beta", "newText": "BETA"}]}, call_id="toolu_3"
                )
            ),
            anthropic_answer(text("Done.")),
        ],
        {"a.txt": "alpha\nbeta\ngamma\n"},
    ),
    Run(
        "16-length-stop-with-tool-call",
        ["go"],
        [
            anthropic_answer(
                text("x"),
                tool_use("bash", {}, call_id="toolu_01", raw='{"command": "echo tru'),
                stop_reason="max_tokens",
                counts=usage(output_tokens=8192),
            ),
            anthropic_answer(text("ok")),
        ],
    ),
    Run(
        "20-continue-from-v1",
        ["-c", "continue please"],
        [anthropic_answer(text("continuing"))],
        {"a.txt": "x\n"},
        stored="input-v1.jsonl",
        warning="line 7 is damaged and was skipped\n",
    ),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".pi" / "agent").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


def write_configuration(agent_dir: Path, url: str) -> None:
    model = {
        "reasoning": True,
        "contextWindow": 200_000,
        "maxTokens": 8192,
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        "compat": {"supportsEagerToolInputStreaming": True},
    }
    models = [{"id": name, "name": name, **model} for name in ("fake-1", "fake-2")]
    provider = {"baseUrl": url, "api": "anthropic-messages", "apiKey": "fake-key", "models": models}
    settings = {"defaultProvider": "fake", "defaultModel": "fake-1"}
    (agent_dir / "models.json").write_text(json.dumps({"providers": {"fake": provider}}), encoding="utf-8")
    (agent_dir / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def session_folder(agent_dir: Path, project: Path) -> Path:
    return agent_dir / "sessions" / f"--{str(project).strip('/').replace('/', '-')}--"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_leaves_what_was_recorded(run: Run, home: Path) -> None:
    agent_dir, project, recording = home / ".pi" / "agent", home.parent / "project", RECORDINGS / run.name
    for name, content in run.files.items():
        (project / name).write_text(content, encoding="utf-8")
    if run.stored is not None:
        folder = session_folder(agent_dir, project)
        folder.mkdir(parents=True)
        stored = (recording / run.stored).read_text(encoding="utf-8").replace("/home/user/project", str(project))
        (folder / "2025-11-20T10-00-00-000Z_11111111-2222-4333-8444-555555555555.jsonl").write_text(stored)
    with FakeServer(run.replies) as server:
        write_configuration(agent_dir, server.url)
        arguments = ["-p", "--mode", "json", *FLAGS, "--system-prompt", "GOLDEN-SYSTEM-PROMPT", *run.arguments]
        done = subprocess.run(
            [sys.executable, "-m", "pinyon", *arguments],
            cwd=project,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        bodies = [request.json for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(run.warning)
    assert done.stderr.count("\n") == (1 if run.warning else 0)
    (stored_file,) = (agent_dir / "sessions").rglob("*.jsonl")
    there = str(project)
    assert outline(events(done.stdout), there) == outline(events(read(recording / "events.jsonl")))
    assert outline(lines(read(stored_file)), there) == outline(lines(read(recording / "session-1.jsonl")))
    recorded_bodies = [request["body"] for request in json.loads(read(recording / "requests.json"))]
    assert outline(bodies, there) == outline(recorded_bodies)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def lines(content: str) -> list[Any]:
    return [json.loads(line) for line in content.split("\n") if line]


def events(content: str) -> list[Any]:
    """The events, runs of equal updates as one: how a text is cut into deltas is free."""
    parsed = [event for event in lines(content) if event["type"] != "tool_execution_update"]
    kinds = groupby(parsed, key=lambda event: json.dumps(_update_kind(event)) if _update_kind(event) else id(event))
    merged = [next(group) for _, group in kinds]
    for event in merged:
        if event["type"] == "message_start" and event["message"]["role"] == "assistant":
            event["message"] = {"role": "assistant"}  # how far the answer had come when it was announced is free
        if event["type"] == "message_update":
            del event["usage"]
    return merged


def _update_kind(event: dict[str, Any]) -> Sequence[Any]:
    inner = event.get("assistantMessageEvent")
    return (inner["type"], inner["contentIndex"]) if inner else ()


def outline(value: Any, project: str = "/home/user/project", key: str = "") -> Any:
    """The value with what is free replaced by its kind."""
    match value:
        case dict():
            return {name: outline(item, project, name) for name, item in sorted(value.items()) if name != "description"}
        case list():
            return [outline(item, project, key) for item in value]
        case bool() | None:
            return value
        case str() if key in STRUCTURAL:
            return value.replace(project, "/home/user/project")
        case int() | float() if key in STRUCTURAL:
            return value
        case str():
            return "text"
        case _:
            return "number"
