"""Every line is answered once, whatever it holds, and the process ends cleanly in each way that there is."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import Home
from tests.modes.rpc_stress import Stress, speech, volley

from pinyon.testing.fake_server import FakeServer

GROWTH_MB = 8.0
"""More than what 600 lines could leave behind if each left only itself."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with FakeServer([speech(400)]) as server:
        yield Home(tmp_path, server.url)


@pytest.mark.parametrize(
    ("end", "code"),
    [("input", 0), ("SIGTERM", 143), ("SIGHUP", 129), ("output", 1)],
    ids=["eof", "term", "hup", "pipe"],
)
def test_every_line_is_answered_once_while_a_model_speaks(home: Home, end: str, code: int) -> None:
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("needs the signals of POSIX")
    chance = random.Random(end)
    stress = Stress(home)
    with stress.rpc:
        stress.start()
        first, second = volley(400, chance), volley(350, chance, 400)
        stress.fire(first, chance)
        before_mb = stress.memory_mb()
        stress.fire(second, chance)
        assert stress.seen == first.answers + second.answers
        assert stress.events["message_update"] > 0
        assert stress.memory_mb() - before_mb < GROWTH_MB
        leave(stress, end)
        assert stress.end() == code
        assert stress.rpc.process.stderr is not None
        assert stress.rpc.process.stderr.read() == b""
    if end == "input":
        assert stress.seen['"last"'] == 1


def leave(stress: Stress, end: str) -> None:
    """End the process: close its input behind a line without an end, close its output, or send a signal."""
    process = stress.rpc.process
    assert process.stdin is not None
    if end == "input":
        process.stdin.write(b'{"id":"last","type":"get_state"}')
        process.stdin.close()
    elif end == "output":
        stress.leave()
    else:
        process.send_signal(getattr(signal, end))
