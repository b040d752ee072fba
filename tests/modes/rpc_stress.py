"""Throws lines at a running RPC process while its model speaks, and counts the answers.

Lines are valid commands, commands that cannot be carried out, broken JSON and bytes that are no text, in chunks that
end anywhere. Each line has to be answered exactly once; answers to questions that nobody asked have none.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.cli.command import Home
from tests.modes.rpc_process import RpcProcess

from pinyon.testing.fake_openai import delta_chunk
from pinyon.testing.fake_server import Delay, Reply, Stall, Step

WAIT_LIMIT_S = 120.0
VALID: tuple[dict[str, Any], ...] = (
    {"type": "get_state"},
    {"type": "get_commands"},
    {"type": "get_available_models"},
    {"type": "get_available_thinking_levels"},
    {"type": "get_last_assistant_text"},
    {"type": "get_session_stats"},
    {"type": "get_fork_messages"},
    {"type": "cycle_model"},
    {"type": "set_thinking_level", "level": "high"},
    {"type": "clear_queue"},
    {"type": "steer", "message": "steer \u2028 \u2029 \x85 é"},
    {"type": "follow_up", "message": "x" * 3000},
    {"type": "abort_bash"},
    {"type": "abort_retry"},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"type": "prompt", "message": "busy"},
    {"type": "prompt"},
    {"type": "steer", "message": 5},
    {"type": "steer", "message": "a", "images": "none"},
    {"type": "get_entries", "since": "nope"},
    {"type": "set_model", "provider": "no", "modelId": "none"},
    {"type": "set_steering_mode", "mode": "maybe"},
    {"type": "fork", "entryId": "nope"},
    {"type": "switch_session", "sessionPath": 7},
    {"type": "set_session_name", "name": " "},
    {"type": "bogus"},
    {"type": None},
    {},
)
BROKEN = (
    b"", b"\r", b"not json", b'{"type":"get_state"', b"[1,2", b"}", b"\xff\xfe\x00", b"\x00" * 40, b'{"a":' * 3000,
    b'{"type":"get_state"}}', b"nul", b"[]", b"null", b'"text"', b"12", b"true", b'{"type":"\xed\xa0\xbd"}',
)  # fmt: skip
SILENT = (
    b'{"type":"extension_ui_response","id":"nobody","value":"x"}',
    b'{"type":"extension_ui_response","id":null}',
    b'{"type":"extension_ui_response"}',
)


class Volley(msgspec.Struct):
    """Lines to send, and how often each id has to come back, as JSON; None counts the answers without one."""

    data: bytes
    answers: Counter[str | None]


def volley(count: int, chance: random.Random, first: int = 0) -> Volley:
    """`count` random lines; ids start at `first`."""
    lines: list[bytes] = []
    answers: Counter[str | None] = Counter()
    for number in range(first, first + count):
        kind = chance.random()
        if kind < 0.7:
            command = chance.choice(VALID if kind < 0.45 else REFUSED)
            identity = chance.choice([number, f"id {number}", [number], {"n": number}])
            lines.append(json.dumps({"id": identity, **command}, ensure_ascii=chance.random() < 0.5).encode())
            answers[_key(identity)] += 1
        elif kind < 0.95:
            lines.append(chance.choice(BROKEN))
            answers[None] += 1
        else:
            lines.append(chance.choice(SILENT))
    ends = (b"\n", b"\r\n")
    return Volley(b"".join(line + chance.choice(ends) for line in lines), answers)


def chunks(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The data in pieces of random size, most of them smaller than a line."""
    at = 0
    while at < len(data):
        size = chance.choice((1, 7, 60, 500, 4096, 70_000))
        yield data[at : at + size]
        at += size


def speech(words: int) -> Reply:
    """A model's answer that goes on for a while and never ends."""
    steps: list[tuple[None, Any] | Step] = []
    for number in range(words):
        steps += [(None, delta_chunk({"content": f"word {number} "})), Delay(0.005)]
    return Reply.sse([*steps, Stall()])


class Stress:
    """One process under fire. `seen` counts the answers by id, None for those without."""

    def __init__(self, home: Home) -> None:
        self.rpc = RpcProcess(home)
        self.seen: Counter[str | None] = Counter()
        self.events: Counter[str] = Counter()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._news = threading.Condition()
        self._leaves = False

    def start(self) -> None:
        """Begin a prompt and read what comes from now on."""
        self.rpc.send({"type": "prompt", "message": "speak"})
        self.rpc.next(type="message_update")
        self._reader.start()

    def _read(self) -> None:
        assert self.rpc.process.stdout is not None
        for raw in self.rpc.process.stdout:
            line = json.loads(raw)
            with self._news:
                if line["type"] == "response":
                    self.seen[_key(line["id"]) if "id" in line else None] += 1
                else:
                    self.events[line["type"]] += 1
                self._news.notify()
            if self._leaves:
                break
        self.rpc.process.stdout.close()

    def leave(self) -> None:
        """Stop reading and close the output of the process, which is made to write once more."""
        assert self.rpc.process.stdin is not None
        self._leaves = True
        self.rpc.send({"type": "get_state"})
        self._reader.join(WAIT_LIMIT_S)
        with contextlib.suppress(BrokenPipeError):
            self.rpc.send({"type": "get_state"})

    def fire(self, lines: Volley, chance: random.Random) -> None:
        """Send lines and wait until as many answers have come."""
        wanted = self.seen.total() + lines.answers.total()
        assert self.rpc.process.stdin is not None
        for chunk in chunks(lines.data, chance):
            self.rpc.process.stdin.write(chunk)
            if chance.random() < 0.2:
                self.rpc.process.stdin.flush()
        self.rpc.process.stdin.flush()
        self.wait_for(lambda: self.seen.total() >= wanted)

    def wait_for(self, is_there: Callable[[], bool]) -> None:
        """Wait for something that lines bring about."""
        with self._news:
            assert self._news.wait_for(is_there, WAIT_LIMIT_S), f"{self.seen.total()} answers"

    def memory_mb(self) -> float:
        """Resident memory of the process; 0 where the system does not tell."""
        status = Path(f"/proc/{self.rpc.process.pid}/status")
        if not status.exists():
            return 0.0
        words = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()
        return int(words[1]) / 1024

    def end(self) -> int:
        """Wait for the process; its exit code."""
        code = self.rpc.process.wait(WAIT_LIMIT_S)
        self._reader.join(WAIT_LIMIT_S)
        return code


def _key(identity: Any) -> str:
    return json.dumps(identity)


def measured(home: Home, count: int, seed: int) -> str:
    """Fire `count` lines in ten volleys; what came back and how memory moved, as text. Raises where lines were lost."""
    chance = random.Random(seed)
    stress = Stress(home)
    wanted: Counter[str | None] = Counter()
    memory: list[float] = []
    began = time.monotonic()
    with stress.rpc:
        stress.start()
        for number in range(10):
            lines = volley(count // 10, chance, number * count)
            stress.fire(lines, chance)
            wanted += lines.answers
            memory.append(stress.memory_mb())
        assert stress.seen == wanted, (stress.seen - wanted, wanted - stress.seen)
        took_s = time.monotonic() - began
        stress.rpc.process.stdin.close()  # type: ignore[union-attr] # it is a pipe
        assert stress.end() == 0
    told = stress.events["message_update"]
    return f"{count} lines in {took_s:.1f} s, {told} deltas meanwhile; memory {memory[0]:.1f} -> {memory[-1]:.1f} MB"
