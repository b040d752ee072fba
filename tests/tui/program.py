"""The program as a real process in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

PINYON = [sys.executable, "-m", "pinyon"]
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")


class Program:
    """The program in a pseudo-terminal of its own session."""

    def __init__(
        self, home: Path, *arguments: str, size: tuple[int, int] = (80, 24), environ: dict[str, str] | None = None
    ) -> None:
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.resize(*size)
        given = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY") and key != "TMUX"}
        given |= {"HOME": str(home), "TERM": "xterm-256color", "PI_OFFLINE": "1", **(environ or {})}
        self.process = subprocess.Popen(
            [*PINYON, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=home,
            env=given,
            start_new_session=True,
        )
        self.seen = b""

    @property
    def text(self) -> str:
        """All that was written, without escape sequences."""
        return ESCAPES.sub("", self.seen.decode("utf-8", "replace"))

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal larger or smaller."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def until(self, text: str, limit_s: float = 40) -> None:
        began = time.monotonic()
        while text not in self.text:
            assert time.monotonic() - began < limit_s, self.seen[-500:]
            self.read(0.2)

    def read(self, wait_s: float) -> None:
        if select.select([self.master], [], [], wait_s)[0]:
            try:
                self.seen += os.read(self.master, 1 << 16)
            except OSError:
                return

    def end(self, limit_s: float = 30) -> int:
        began = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - began < limit_s, "the program did not end"
            self.read(0.05)
        self.read(0.1)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            try:
                os.close(fd)
            except OSError:
                continue
