"""The first picture, drawn with plain escape sequences before any library of the screen is imported.

It looks like the first frame of the real screen, which takes its place without a flash. From here on the terminal is
quiet and in raw mode: what is typed stays in its buffer until the real screen reads it.
"""

from __future__ import annotations

import os
import sys

from pinyon._version import __version__
from pinyon.tui.theme.color_table import PLAIN_COLORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_HINTS = (
    ("Esc", "stops"),
    ("Ctrl+C twice", "quits"),
    ("/", "commands"),
    ("@", "files"),
    ("!", "shell"),
    ("Ctrl+O", "unfolds output"),
)
_PLACEHOLDER = "Ask, or / for commands"
_MIN_ROWS = 8


class FirstPaint:
    """The picture and the state that the terminal had before it."""

    def __init__(self, attributes: list[Any] | None, early_bytes: int = 0) -> None:
        self.early_bytes = early_bytes
        """How much was typed before, which is the first that is read; Enter is a line feed in it."""
        self.attributes = attributes
        """Terminal attributes to go back to; None where nothing was changed."""

    def undo(self) -> None:
        """Give the terminal back, as when the real screen could not be shown."""
        if self.attributes is None:
            return
        import termios

        sys.stdout.write("\x1b[?1049l\x1b[?25h")
        sys.stdout.flush()
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self.attributes)


def paint_first(cwd: Path) -> FirstPaint:
    """Draw the picture where the terminal can; elsewhere do nothing."""
    if os.name == "nt" or os.environ.get("TERM", "dumb") == "dumb":
        return FirstPaint(None)
    import termios

    try:
        attributes = termios.tcgetattr(sys.stdin.fileno())
        raw = termios.tcgetattr(sys.stdin.fileno())
        raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, raw)
        early_bytes = _waiting_bytes(sys.stdin.fileno())
        size = os.get_terminal_size(sys.stdout.fileno())
    except (termios.error, OSError):
        return FirstPaint(None)
    sys.stdout.write("\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J" + picture(size.columns, size.lines, _short(cwd)))
    sys.stdout.flush()
    return FirstPaint(attributes, early_bytes)


def _waiting_bytes(descriptor: int) -> int:
    """How much can be read at once (`FIONREAD`, tty_ioctl(4))."""
    import fcntl
    import termios

    count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0")
    return int.from_bytes(count, sys.byteorder)


def picture(width: int, height: int, place: str) -> str:
    """The escape sequences that draw the frame in a screen of this size."""
    if height < _MIN_ROWS or width < 40:
        return ""
    accent, dim, muted = (_color(PLAIN_COLORS[role]) for role in ("accent", "dim", "muted"))
    border = _color(PLAIN_COLORS["thinkingOff"])
    reset = "\x1b[0m"
    hints = "  ".join(f"{muted}{key}{dim} {doc}" for key, doc in _HINTS)
    is_wide = sum(len(key) + len(doc) + 3 for key, doc in _HINTS) + 4 < width
    lines = {
        2: f" {accent}▟▙ \x1b[1mPinyon{reset}{dim} v{__version__}{reset}",
        3: f" {accent}▜▛ {hints}{reset}" if is_wide else f" {accent}▜▛{reset}",
        height - 4: f"{border}{'─' * width}{reset}",
        height - 3: f"{accent}› {reset}\x1b[7m {reset}{dim}{_PLACEHOLDER[: width - 4]}{reset}",
        height - 2: f"{border}{'─' * width}{reset}",
        height - 1: f" {dim}{place[: width - 2]}{reset}",
    }
    if os.environ.get("NO_COLOR"):
        lines = {2: f" ▟▙ Pinyon v{__version__}"}
    return "".join(f"\x1b[{row};1H{text}" for row, text in lines.items())


def _color(value: str | int) -> str:
    """Numbered colours and weaker text, which suit every background until the terminal has told of its own."""
    return f"\x1b[0;{30 + value}m" if isinstance(value, int) else "\x1b[0;2m" if value == "faint" else "\x1b[0m"


def _short(cwd: Path) -> str:
    text, home = str(cwd), os.path.expanduser("~")  # noqa: PTH111 - pathlib is not imported yet
    shown = "~" + text[len(home) :] if text == home or text.startswith(home + os.sep) else text
    return "".join(character for character in shown if character.isprintable())
