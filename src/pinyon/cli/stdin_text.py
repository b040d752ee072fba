"""Text that is piped into the program, without waiting for ever on a pipe that nobody writes to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

HINT_AFTER_S = 2.0
GIVE_UP_AFTER_S = 10.0
"""How long a silent pipe is waited for when a prompt is already there; `PINYON_STDIN_TIMEOUT` changes it."""


def read_piped_text(*, has_prompt: bool, warn: Callable[[str], None], fd: int = 0) -> str:
    """Everything that standard input holds, decoded as UTF-8 and trimmed; empty for a terminal.

    With a prompt in hand, a pipe that stays open and silent is given up after `GIVE_UP_AFTER_S` seconds with a warning;
    once a first byte has arrived it is read to its end. Without a prompt it is read to its end in any case.
    """
    try:
        if os.isatty(fd):
            return ""
    except OSError:
        return ""
    if not _wait_for_input(fd, has_prompt=has_prompt, warn=warn):
        return ""
    chunks: list[bytes] = []
    try:
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    except OSError as error:
        warn(f"standard input could not be read: {error}")
    return b"".join(chunks).decode("utf-8", "replace").removeprefix("\ufeff").strip()


def _wait_for_input(fd: int, *, has_prompt: bool, warn: Callable[[str], None]) -> bool:
    limit_s = _limit_s()
    hint_s = min(HINT_AFTER_S, limit_s)
    if _is_readable(fd, hint_s):
        return True
    warn("waiting for text on standard input; close it or start with `< /dev/null` to go on without")
    if not has_prompt:
        return True
    if _is_readable(fd, limit_s - hint_s):
        return True
    warn(f"nothing arrived on standard input within {limit_s:g} s; going on with the prompt alone")
    return False


def _limit_s() -> float:
    try:
        return max(0.0, float(os.environ.get("PINYON_STDIN_TIMEOUT", GIVE_UP_AFTER_S)))
    except ValueError:
        return GIVE_UP_AFTER_S


def _is_readable(fd: int, timeout_s: float) -> bool:
    if sys.platform == "win32":
        return True  # select works on sockets only there
    import select

    poll = select.poll()
    poll.register(fd, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(max(0, timeout_s) * 1000))
