"""How the processes of a command are ended: asked first, then killed, until none is left."""

from __future__ import annotations

import asyncio
import contextlib
import ntpath
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping

from pinyon.env.process_table import CommandRoot, ProcessEntry, command_processes, list_processes

POLITE_S = 0.5
"""How long processes have to end by themselves after they were asked."""

_STEP_S = 0.02
_KILL_ROUNDS = 10


async def end_command(root: CommandRoot, polite_s: float = POLITE_S) -> None:
    """End every process of a command: SIGTERM, up to `polite_s` seconds of patience, then SIGKILL.

    Processes that left the session or the group are found where the system tells of them. A cancellation of the caller
    kills at once.
    """
    try:
        victims = await asyncio.to_thread(command_processes, root)
        _ask(root, victims)
        await _wait_for(root, polite_s)
    finally:
        kill_command(root)


def kill_command(root: CommandRoot) -> None:
    """Kill every process of a command now; repeats while there are some, because they may fork meanwhile."""
    if sys.platform == "win32":
        run_taskkill(root.pid)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "darwin":
            os.killpg(root.pid, signal.SIGSTOP)
        os.killpg(root.pid, signal.SIGKILL)
    for _ in range(_KILL_ROUNDS):
        victims = command_processes(root)
        if not victims:
            return
        for victim in victims:
            _send(victim.pid, signal.SIGKILL)
        time.sleep(0.001)


def _ask(root: CommandRoot, victims: list[ProcessEntry]) -> None:
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            os.kill(root.pid, signal.CTRL_BREAK_EVENT)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(root.pid, signal.SIGTERM)
    for victim in victims:
        if victim.group != root.pid:
            _send(victim.pid, signal.SIGTERM)
    for victim in victims:
        _send(victim.pid, signal.SIGCONT)  # a stopped process hears nothing until it goes on


async def _wait_for(root: CommandRoot, polite_s: float) -> None:
    for _ in range(max(1, round(polite_s / _STEP_S))):
        if not await asyncio.to_thread(_is_running, root):
            return
        await asyncio.sleep(_STEP_S)


def _is_running(root: CommandRoot) -> bool:
    if sys.platform == "win32":
        return False
    return bool(command_processes(root, list_processes()))


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def taskkill_command(pid: int, environ: Mapping[str, str]) -> list[str]:
    """Windows command that kills a process and all its descendants."""
    root = next((value for name, value in environ.items() if name.upper() == "SYSTEMROOT"), "C:\\Windows")
    return [ntpath.join(root, "System32", "taskkill.exe"), "/F", "/T", "/PID", str(pid)]


def run_taskkill(pid: int) -> None:
    """Kill a process and its descendants on Windows."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(taskkill_command(pid, os.environ), capture_output=True, check=False, timeout=5)
