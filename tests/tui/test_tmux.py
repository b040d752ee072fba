"""A working day in small in a real terminal (tmux) against a fake server."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pinyon.testing import FakeServer, openai_answer
from pinyon.testing.fake_openai import call

if shutil.which("tmux") is None:
    pytest.skip("tmux is not installed", allow_module_level=True)


class Tmux:
    """One terminal of a tmux server of its own."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        self.socket = f"pinyon-{uuid.uuid4().hex[:8]}"
        self.folder = folder
        self.size = ("-x", str(width), "-y", str(height))

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-L", self.socket, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout

    def start(self, *arguments: str) -> None:
        program = " ".join([f"'{sys.executable}'", "-m", "pinyon", *arguments])
        home = f"HOME='{self.folder}' PI_OFFLINE=1"
        shell = f"cd '{self.folder}/project' && {home} {program}; echo ENDED $?; sleep 60"
        self.run("-f", "/dev/null", "new-session", "-d", "-s", "t", *self.size, shell)

    def keys(self, *keys: str) -> None:
        self.run("send-keys", "-t", "t", *keys)

    def screen(self) -> str:
        return self.run("capture-pane", "-p", "-t", "t")

    def until(self, text: str, limit_s: float = 40) -> str:
        began = time.monotonic()
        while True:
            screen = self.screen()
            if text in screen:
                return screen
            assert time.monotonic() - began < limit_s, f"{text!r} is not in\n{screen}"
            time.sleep(0.05)

    def kill(self) -> None:
        self.run("kill-server")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    return tmp_path


def configure(home: Path, server: FakeServer) -> None:
    provider = {
        "baseUrl": f"{server.url}/v1",
        "apiKey": "key",
        "api": "openai-completions",
        "models": [{"id": "fake-model"}],
    }
    config = msgspec.json.encode({"providers": {"fake": provider}})
    (home / ".pi" / "agent" / "models.json").write_bytes(config)


@pytest.fixture(params=[(80, 24), (120, 40), (40, 15)], ids=lambda size: f"{size[0]}x{size[1]}")
def tmux(request: pytest.FixtureRequest, home: Path) -> Iterator[Tmux]:
    terminal = Tmux(home, *request.param)
    yield terminal
    terminal.kill()


def test_a_session_is_made_left_and_opened_again(home: Path, tmux: Tmux) -> None:
    answers = [
        openai_answer("On it.", calls=[call("bash", {"command": "echo from-the-tool"})]),
        openai_answer("All **done** now."),
        openai_answer("Welcome back."),
    ]
    with FakeServer(answers) as server:
        configure(home, server)
        tmux.start("--model", "fake/fake-model")
        tmux.until("fake-model")
        tmux.keys("please do it", "Enter")
        screen = tmux.until("All done now.")
        assert "$ echo from-the-tool" in screen
        tmux.keys("!echo by-hand", "Enter")
        tmux.until("$ echo by-hand")
        tmux.keys("/name night shift", "Enter")
        tmux.until("called 'night shift'")
        tmux.keys("C-d")
        ended = tmux.until("ENDED 0")
        assert "--session" in ended
        tmux.run("kill-session", "-t", "t")
        tmux.start("-c", "--model", "fake/fake-model")
        tmux.until("All done now.")
        tmux.keys("hello again", "Enter")
        tmux.until("Welcome back.")
