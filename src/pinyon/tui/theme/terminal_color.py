"""What a terminal tells of its own colours.

Asked with OSC 10, 11 and 4 (text, background, the sixteen numbered colours), closed with the question for the kind of
terminal (DA1), which every terminal answers last. Mode 2031 tells when light turns to dark.
"""

from __future__ import annotations

import re

import msgspec

from pinyon.tui.theme.color import Color, luminance
from pinyon.tui.theme.color_table import terminal_is_dark

QUESTION = "\x1b]10;?\x07\x1b]11;?\x07" + "".join(f"\x1b]4;{number};?\x07" for number in range(16)) + "\x1b[c"
WATCH_SCHEME, UNWATCH_SCHEME = "\x1b[?2031h", "\x1b[?2031l"
_REPLY = re.compile(r"\](10|11|4;(\d+));rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_LIGHT_FROM = 0.18
"""Luminance from which black text has more contrast than white text."""


class TerminalColors(msgspec.Struct):
    """What is known. `scheme_is_dark` is what the terminal reported without a background."""

    foreground: Color | None = None
    background: Color | None = None
    numbered: dict[int, Color] = {}
    scheme_is_dark: bool | None = None
    colorfgbg: str = ""

    def hear(self, reply: str) -> bool:
        """Take an answer; False for one about something else."""
        match = _REPLY.match(reply)
        if match is None:
            return False
        red, green, blue = (int(part, 16) / int("f" * len(part), 16) for part in match.group(3, 4, 5))
        color = (red, green, blue)
        match match[1]:
            case "10":
                self.foreground = color
            case "11":
                self.background = color
            case _:
                self.numbered = {**self.numbered, int(match[2]): color}
        return True

    @property
    def is_dark(self) -> bool:
        """Dark or light: by the background, else what was reported, else `COLORFGBG`, else dark."""
        if self.background is not None:
            return luminance(self.background) < _LIGHT_FROM
        if self.scheme_is_dark is not None:
            return self.scheme_is_dark
        return terminal_is_dark(self.colorfgbg)
