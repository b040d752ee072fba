"""The real command in a home of its own, with one model behind a fake server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinyon.testing.fake_server import RecordedRequest


class Home:
    """A home directory with an agent folder, a project and the model `fake/m` at `url`."""

    def __init__(self, path: Path, url: str, *, project: str = "project") -> None:
        self.path = path
        self.agent_dir = path / "agent"
        self.project = path / project
        self.agent_dir.mkdir()
        self.project.mkdir()
        model = {"baseUrl": url + "/v1", "api": "openai-completions", "apiKey": "k", "models": [{"id": "m"}]}
        self.write(self.agent_dir / "models.json", {"providers": {"fake": model}})
        self.write(self.agent_dir / "settings.json", {"retry": {"baseDelayMs": 1}})

    def write(self, path: Path, value: Any) -> None:
        """Store a value as JSON."""
        path.write_text(json.dumps(value), encoding="utf-8")

    def start(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        model: str | None = "fake/m",
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start the command with the model; its input is empty unless it is given."""
        base = {"PATH": os.environ["PATH"], "HOME": str(self.path), "PI_CODING_AGENT_DIR": str(self.agent_dir)}
        return subprocess.Popen(
            [sys.executable, "-m", "pinyon", *(["--model", model] if model else []), *arguments],
            cwd=cwd or self.project,
            env={**base, "PI_OFFLINE": "1", **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def run(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        model: str | None = "fake/m",
        typed: bytes | None = None,
    ) -> tuple[int, str, str]:
        """Run the command to its end, `typed` being all of its input: exit code, output and errors."""
        stdin = subprocess.DEVNULL if typed is None else subprocess.PIPE
        with self.start(*arguments, cwd=cwd, env=env, model=model, stdin=stdin) as process:
            output, errors = process.communicate(typed)
        return process.returncode, output.decode(), errors.decode()

    def session_files(self) -> list[Path]:
        """Files in the session folders."""
        return sorted(self.agent_dir.rglob("*.jsonl"))


def texts(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def conversation(request: RecordedRequest) -> list[tuple[str, str]]:
    """Role and text of each message of a request, without the system prompt."""
    messages = [message for message in request.json["messages"] if message["role"] != "system"]
    return [(message["role"], _content(message)) for message in messages]


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
