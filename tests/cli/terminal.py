"""A program on a real terminal (POSIX pseudo-terminals): what it shows is read, keys are typed into it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

LIMIT_S = 60.0

_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes the terminal the one that Ctrl+C of the new session comes from, then becomes the program."""


class Terminal:
    """A process whose three standard streams are one terminal; a context manager that ends it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.master, slave = pty.openpty()
        self.shown = ""
        self._read_up_to = 0
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _TAKE_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
        self._slave = slave

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self._slave)

    def wait_for(self, text: str) -> str:
        """Read until `text` is shown; what was shown up to there since the last call."""
        deadline = time.monotonic() + LIMIT_S
        while (found := self.shown.find(text, self._read_up_to)) < 0:
            if time.monotonic() > deadline or not self._read():
                raise AssertionError(f"{text!r} was not shown; the terminal has:\n{self.shown}")
        begin, self._read_up_to = self._read_up_to, found + len(text)
        return self.shown[begin : self._read_up_to]

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def is_echoing(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)

    def end(self) -> int:
        """Wait for the end of the process; its exit code."""
        code = self.process.wait(LIMIT_S)
        while select.select([self.master], [], [], 0)[0] and self._read():
            pass
        return code

    def _read(self) -> bool:
        if not select.select([self.master], [], [], 0.5)[0]:
            return self.process.poll() is None
        self.shown += os.read(self.master, 65_536).decode("utf-8", "replace")
        return True
