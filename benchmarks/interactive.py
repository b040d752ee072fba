"""Measures the interactive mode as a user meets it, in a pseudo-terminal, and prints one table.

    python benchmarks/interactive.py [-n RUNS]

First paint: from the start of the process to the first picture. Ready: until a typed text is on the screen. Session:
until the end of a session of 3,000 messages is on the screen. Echo: median time from a key to the screen with that
session open. Idle: processor time of ten seconds without a key. With PI_CMD set to a command line that starts the
original, its figures stand beside. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import select
import shlex
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

ROWS, COLUMNS = 36, 120
LIMIT_S = 20.0
LAST_WORDS = "the very last words"
PINYON = [str(Path(sys.executable).with_name("pinyon"))]


class Terminal:
    """A program in a pseudo-terminal of a fixed size."""

    def __init__(self, command: list[str], home: Path, cwd: Path) -> None:
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            environ = dict(os.environ, HOME=str(home), TERM="xterm-256color", PI_OFFLINE="1", ANTHROPIC_API_KEY="x")
            os.execvpe(command[0], command, environ)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.seen = b""

    def read(self, wait_s: float) -> bytes:
        """What is written within some time; empty at its end."""
        if not select.select([self.fd], [], [], wait_s)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return b""
        self.seen += data
        return data

    def until(self, text: str) -> float | None:
        """Seconds from now until `text` is written; None when it never is."""
        began = time.perf_counter()
        start = len(self.seen)
        while time.perf_counter() - began < LIMIT_S:
            self.read(0.2)
            if text.encode() in self.seen[max(0, start - len(text)) :] or (start == 0 and text.encode() in self.seen):
                return time.perf_counter() - began
        return None

    def settle(self, quiet_s: float = 0.5) -> None:
        """Read until nothing comes any more."""
        began = time.perf_counter()
        while self.read(quiet_s) and time.perf_counter() - began < LIMIT_S:
            pass

    def echo_s(self, key: str) -> float:
        """Seconds from a key to the first byte on the screen."""
        began = time.perf_counter()
        os.write(self.fd, key.encode())
        self.read(2.0)
        return time.perf_counter() - began

    def processor_s(self) -> float:
        """Processor seconds so far, where the system tells."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return float("nan")

    def memory_mb(self) -> float:
        """Resident megabytes now, where the system tells."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6
        return float("nan")

    def end(self) -> None:
        """End the program at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@contextlib.contextmanager
def running(command: list[str], home: Path, cwd: Path) -> Iterator[Terminal]:
    """A program that ends with the block."""
    terminal = Terminal(command, home, cwd)
    try:
        yield terminal
    finally:
        terminal.end()


def write_session(path: Path, cwd: Path, messages: int) -> None:
    """A session of prompts and answers in Markdown."""
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "bench", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": str(cwd)}
    ]
    parent = None
    usage = {"input": 10, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 20, "cost": {"total": 0}}
    for number in range(messages):
        text = f"## Part {number}\n\nSome *words* with `code`.\n\n- one\n- two\n\n```python\nx = {number}\n```"
        if number == messages - 1:
            text = LAST_WORDS
        message: dict[str, object] = {"role": "user", "content": f"prompt {number}", "timestamp": number}
        if number % 2:
            content = [{"type": "text", "text": text}]
            model = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5"}
            message = {"role": "assistant", "content": content, **model, "usage": usage, "stopReason": "stop"}
            message["timestamp"] = number
        entry_id = f"{number:08x}"
        stamp = "2026-01-01T00:00:00.000Z"
        lines.append({"type": "message", "id": entry_id, "parentId": parent, "timestamp": stamp, "message": message})
        parent = entry_id
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def measure(command: list[str], home: Path, cwd: Path, session: Path, first: str) -> dict[str, float]:
    """The figures of one program."""
    figures: dict[str, float] = {}
    with running(command, home, cwd) as terminal:
        figures["first paint, ms"] = (terminal.until(first) or float("nan")) * 1000
        os.write(terminal.fd, b"zq")
        terminal.until("zq")
        figures["ready, ms"] = (time.perf_counter() - terminal.began) * 1000
    with running([*command, "--session", str(session)], home, cwd) as terminal:
        terminal.until(LAST_WORDS)
        figures["3,000 messages shown, ms"] = (time.perf_counter() - terminal.began) * 1000
        terminal.settle()
        echoes = []
        for key in "abcdefghijklmnop":
            echoes.append(terminal.echo_s(key))
            terminal.settle(0.05)
        figures["key echo, ms"] = statistics.median(echoes) * 1000
        figures["memory, MB"] = terminal.memory_mb()
        before = terminal.processor_s()
        time.sleep(5)
        terminal.settle(0.01)
        figures["idle processor, % of a core"] = (terminal.processor_s() - before) / 5 * 100
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=3, help="runs of each program")
    runs = parser.parse_args().n
    commands = {"pinyon": (PINYON, "Pinyon")}
    if original := os.environ.get("PI_CMD"):
        commands["original"] = (shlex.split(original), os.environ.get("PI_FIRST_TEXT", "pi"))
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        cwd.mkdir()
        session = Path(folder, "session.jsonl")
        write_session(session, cwd, 3_000)
        results = {
            name: [measure(command, home, cwd, session, first) for _ in range(runs)]
            for name, (command, first) in commands.items()
        }
    print(f"{'':30}" + "".join(f"{name:>14}" for name in results))
    for row in next(iter(results.values()))[0]:
        values = (statistics.median(figures[row] for figures in found) for found in results.values())
        print(f"{row:30}" + "".join(f"{value:14.1f}" for value in values))


if __name__ == "__main__":
    main()
