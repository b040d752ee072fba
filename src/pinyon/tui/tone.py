"""What the rendering of blocks depends on: width apart, everything that the user can change while they stand there."""

from __future__ import annotations

import msgspec
from rich.style import Style

from pinyon.tui.palette import DARK, Palette


class Tone(msgspec.Struct, frozen=True):
    """Palette and display settings. Equal tones give equal rows, so rows are cached by it.

    `pad` is blank columns beside the text, `hyperlinks` whether the terminal takes OSC 8, `expand_hint` the key that
    unfolds, as hints show it.
    """

    palette: Palette = DARK
    pad: int = 1
    code_indent: str = "  "
    hyperlinks: bool = False
    hide_thinking: bool = False
    expand_hint: str = "Ctrl+O"
    cancel_hint: str = "Esc"
    home: str = ""

    def style(self, token: str = "", background: str = "", *, bold: bool = False, italic: bool = False) -> Style:
        """The style of a role."""
        return self.palette.style(token, background, bold=bold, italic=italic)
