"""Measures the interactive mode as a user meets it, in a pseudo-terminal, and prints one table.

    python benchmarks/interactive.py [-n RUNS] [--tokens N]

First paint: from the start of the process to the picture with the editor. Typed: until a text is in it. Session:
until the end of a session of 3,000 messages is on the screen. Echo: median and slowest time from a key to the screen
with that session open, and while an answer streams. Idle: processor time without a key. Streaming: processor time and
memory for an answer in Markdown at 200 pieces a second. With PI_CMD set to a command line that starts the original,
its figures and the ratios stand beside; the programs take turns. The terminal answers what programs ask terminals.
Only the standard library is used.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROWS, COLUMNS = 36, 120
LIMIT_S = 40.0
LAST_WORDS = "the very last words"
EDITOR = "─" * 20
STREAMED = "streamed to the end"
PINYON = [str(Path(sys.executable).with_name("pinyon"))]
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
COLOR = b"rgb:1e1e/1e1e/1e1e"
ANSWERS = (
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[>q", b"\x1bP>|bench 1\x1b\\"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[14t", b"\x1b[4;720;1200t"),
    (b"\x1b[16t", b"\x1b[6;20;10t"),
    (b"\x1b]11;?", b"\x1b]11;" + COLOR + b"\x1b\\"),
    (b"\x1b]10;?", b"\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\"),
)
"""What programs ask terminals, and what this one says."""


class Terminal:
    """A program in a pseudo-terminal of a fixed size."""

    def __init__(self, command: list[str], home: Path, cwd: Path) -> None:
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            environ = dict(os.environ, HOME=str(home), TERM="xterm-256color", PI_OFFLINE="1", COLORTERM="truecolor")
            for name in ("TMUX", "STY", "COLUMNS", "LINES", "NO_COLOR"):
                environ.pop(name, None)
            os.execvpe(command[0], command, environ)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.bytes = 0
        self.text = ""
        self._rest = ""

    def read(self, wait_s: float) -> str | None:
        """The text that is written within some time, without escape sequences; None when nothing came."""
        if not select.select([self.fd], [], [], wait_s)[0]:
            return None
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        self.bytes += len(data)
        for question, answer in ANSWERS:
            if question in data:
                os.write(self.fd, answer)
        raw = self._rest + data.decode("utf-8", "replace")
        cut = raw.rfind("\x1b", max(0, len(raw) - 64))
        whole = cut < 0 or ESCAPES.match(raw, cut) is not None
        raw, self._rest = (raw, "") if whole else (raw[:cut], raw[cut:])
        new = ESCAPES.sub("", raw)
        self.text = self.text[-20_000:] + new
        return new

    def until(self, text: str) -> float | None:
        """Seconds from now until `text` is on the screen; None when it never is."""
        began = time.perf_counter()
        while text not in self.text:
            if time.perf_counter() - began > LIMIT_S:
                return None
            self.read(0.2)
        return time.perf_counter() - began

    def forget(self) -> None:
        """Wait from now on for new text only."""
        self.text = ""

    def settle(self, quiet_s: float = 0.5) -> None:
        """Read until nothing comes any more."""
        began = time.perf_counter()
        while self.read(quiet_s) is not None and time.perf_counter() - began < LIMIT_S:
            pass

    def echo_s(self, key: str) -> float:
        """Seconds from a key to its sign on the screen."""
        began = time.perf_counter()
        os.write(self.fd, key.encode())
        while time.perf_counter() - began < 2.0:
            new = self.read(2.0)
            if new is not None and key in new:
                break
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


@contextlib.contextmanager
def serving(home: Path, tokens: int) -> Iterator[None]:
    """A model server that both programs know from their `models.json`."""
    command = [sys.executable, str(HERE / "model_server.py"), f"paced:{tokens}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}",
        "apiKey": "key",
        "api": "anthropic-messages",
        "models": [{"id": "bench-1", "contextWindow": 1_000_000, "maxTokens": 60_000}],
    }
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"bench": provider}}), encoding="utf-8")
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def measure(command: list[str], home: Path, cwd: Path, session: Path) -> dict[str, float]:
    """The figures of one program."""
    command = [*command, "--model", "bench/bench-1"]
    figures: dict[str, float] = {}
    with running(command, home, cwd) as terminal:
        figures["first paint, ms"] = (terminal.until(EDITOR) or float("nan")) * 1000
        os.write(terminal.fd, b"zq")
        terminal.until("zq")
        figures["typed text shown, ms"] = (time.perf_counter() - terminal.began) * 1000
        terminal.settle()
        figures |= measure_stream(terminal)
    with running([*command, "--session", str(session)], home, cwd) as terminal:
        terminal.until(LAST_WORDS)
        figures["3,000 messages shown, ms"] = (time.perf_counter() - terminal.began) * 1000
        terminal.settle()
        echoes = []
        for key in "ABCDEFGHIJKLMNOP":
            echoes.append(terminal.echo_s(key))
            terminal.settle(0.05)
        figures["key echo, median, ms"] = statistics.median(echoes) * 1000
        figures["key echo, slowest, ms"] = max(echoes) * 1000
        figures["3,000 messages, memory, MB"] = terminal.memory_mb()
        before = terminal.processor_s()
        time.sleep(5)
        terminal.settle(0.01)
        figures["idle processor, % of a core"] = (terminal.processor_s() - before) / 5 * 100
    return figures


def measure_stream(terminal: Terminal) -> dict[str, float]:
    """The figures of one long answer; the text that is in the editor is sent."""
    before, written = terminal.processor_s(), terminal.bytes
    began = time.perf_counter()
    os.write(terminal.fd, b"\r")
    terminal.until("word1")
    echoes = []
    for key in "QXZJVK":
        pause = time.perf_counter() + 0.4
        while time.perf_counter() < pause:
            terminal.read(0.05)
        echoes.append(terminal.echo_s(key))
    terminal.until(STREAMED)
    wall = time.perf_counter() - began
    return {
        "streaming, processor, % of a core": (terminal.processor_s() - before) / wall * 100,
        "streaming, kB written": (terminal.bytes - written) / 1000,
        "streaming, key echo, ms": statistics.median(echoes) * 1000,
        "streamed, memory, MB": terminal.memory_mb(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=3, help="runs of each program")
    parser.add_argument("--tokens", type=int, default=5_000, help="pieces of the long answer")
    args = parser.parse_args()
    commands = {"pinyon": PINYON}
    if original := os.environ.get("PI_CMD"):
        commands["original"] = shlex.split(original)
    with tempfile.TemporaryDirectory() as folder:
        home, cwd = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        cwd.mkdir()
        session = Path(folder, "session.jsonl")
        write_session(session, cwd, 3_000)
        results: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        with serving(home, args.tokens):
            for _ in range(args.n):
                for name, command in commands.items():
                    results[name].append(measure(command, home, cwd, session))
    print_table(results)


def print_table(results: dict[str, list[dict[str, float]]]) -> None:
    """A row for each figure: medians, and the share of the first of the second."""
    print(f"{'':34}" + "".join(f"{name:>12}" for name in results) + ("       ratio" if len(results) > 1 else ""))
    for row in next(iter(results.values()))[0]:
        values = [statistics.median(figures[row] for figures in found) for found in results.values()]
        line = f"{row:34}" + "".join(f"{value:12.1f}" for value in values)
        if len(values) > 1 and values[1]:
            line += f"{values[0] / values[1]:12.2f}"
        print(line)


if __name__ == "__main__":
    main()
