"""The clipboard of the desktop: programs that read and write it, and the terminal where there are none."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

_WRITERS = (
    ("pbcopy",),
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "-ib"),
    ("termux-clipboard-set",),
    ("clip.exe",),
)
_READERS = (
    ("pbpaste",),
    ("wl-paste", "-n"),
    ("xclip", "-selection", "clipboard", "-o"),
    ("xsel", "-ob"),
    ("termux-clipboard-get",),
)
_IMAGE_READERS = (
    ("wl-paste", "-t", "image/png"),
    ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"),
    ("pngpaste", "-"),
)
_LIMIT_S = 3.0
_MAX_IMAGE_BYTES = 32 * 1024 * 1024
OSC52_LIMIT = 100_000
"""Longest base64 text that is sent to a terminal."""
_PNG = b"\x89PNG\r\n\x1a\n"


async def copy_text(text: str) -> bool:
    """Give a text to the first clipboard program that takes it."""
    for command in _usable(_WRITERS):
        if await _run(command, text.encode("utf-8", "replace")) is not None:
            return True
    return False


async def read_text() -> str:
    """The text in the clipboard, empty where there is none or nothing can read it."""
    for command in _usable(_READERS):
        data = await _run(command, None)
        if data:
            return data.decode("utf-8", "replace")
    return ""


async def read_image() -> bytes | None:
    """The PNG image in the clipboard."""
    for command in _usable(_IMAGE_READERS):
        data = await _run(command, None)
        if data and data.startswith(_PNG) and len(data) <= _MAX_IMAGE_BYTES:
            return data
    return None


def wants_terminal_copy(environ: Mapping[str, str]) -> bool:
    """Whether the terminal itself should be asked, because the desktop is elsewhere."""
    flag = environ.get("PI_CLIPBOARD_OSC52")
    return flag == "1" or any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "MOSH_CONNECTION"))


def _usable(commands: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [command for command in commands if shutil.which(command[0]) and _has_display(command[0])]


def _has_display(program: str) -> bool:
    if sys.platform != "linux":
        return True
    if program.startswith("wl-"):
        return bool(os.environ.get("WAYLAND_DISPLAY"))
    if program in ("xclip", "xsel"):
        return bool(os.environ.get("DISPLAY"))
    return True


async def _run(command: Sequence[str], data: bytes | None) -> bytes | None:
    """The output of a program that ended well in time."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE if data is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE if data is None else asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(data), _LIMIT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return (output or b"") if process.returncode == 0 else None
