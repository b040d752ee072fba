"""The processes of this machine and which of them belong to a command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

COMMAND_ID_VARIABLE = "PINYON_COMMAND_ID"
"""Environment variable by which processes of a command are found after they left its session and lost their parents.

Commands within commands append to it, with `:` between, so that the outer one still finds everything.
"""

_PROC = Path("/proc")


class ProcessEntry(msgspec.Struct, frozen=True):
    """One live process; `started` tells two processes apart that had the same `pid` one after the other."""

    pid: int
    parent: int
    group: int
    session: int
    started: str


class CommandRoot(msgspec.Struct, frozen=True):
    """The first process of a command, leader of its own session and group, and the id its environment carries."""

    pid: int
    command_id: str = ""


def list_processes() -> list[ProcessEntry]:
    """Every process that runs here except the finished ones; from `/proc`, elsewhere from `ps`. Never raises."""
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - names are what is needed
    except OSError:
        return _from_ps()
    return [entry for name in names if name.isdigit() and (entry := _from_proc(name))]


def _from_proc(name: str) -> ProcessEntry | None:
    try:
        text = (_PROC / name / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None  # it ended while we looked
    fields = text[text.rfind(")") + 2 :].split()  # the name in parentheses may hold anything
    if fields[0] in "ZX":
        return None
    return ProcessEntry(int(name), int(fields[1]), int(fields[2]), int(fields[3]), fields[19])


def _from_ps() -> list[ProcessEntry]:
    try:
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="], capture_output=True, text=True, check=False, timeout=5
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [entry for line in listing.splitlines() if (entry := parse_ps_line(line))]


def parse_ps_line(line: str) -> ProcessEntry | None:
    """An entry from `pid ppid pgid stat lstart` as ps prints them; None for finished processes and other lines."""
    fields = line.split(None, 4)
    if len(fields) < 5 or not all(field.isdigit() for field in fields[:3]) or fields[3].startswith("Z"):
        return None
    pid, parent, group = (int(field) for field in fields[:3])
    return ProcessEntry(pid, parent, group, group, fields[4].strip())


def command_processes(root: CommandRoot, entries: Iterable[ProcessEntry] | None = None) -> list[ProcessEntry]:
    """The live processes of a command: its session and group, their descendants, and whatever carries its id.

    This process is never among them.
    """
    listed = list(list_processes() if entries is None else entries)
    members = {entry.pid for entry in listed if root.pid in (entry.pid, entry.group, entry.session)}
    members |= {entry.pid for entry in listed if entry.pid not in members and _carries(entry.pid, root.command_id)}
    children: dict[int, list[int]] = {}
    for entry in listed:
        children.setdefault(entry.parent, []).append(entry.pid)
    queue = [root.pid, *members]
    while queue:
        fresh = [pid for pid in children.get(queue.pop(), ()) if pid not in members]
        members.update(fresh)
        queue += fresh
    members.discard(os.getpid())
    return [entry for entry in listed if entry.pid in members]


def _carries(pid: int, command_id: str) -> bool:
    if not command_id:
        return False
    try:
        block = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    start = block.find(f"{COMMAND_ID_VARIABLE}=".encode())
    return start >= 0 and command_id.encode() in block[start:].split(b"\0", 1)[0]
