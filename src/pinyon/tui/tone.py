"""What the rendering of blocks depends on: width apart, everything that the user can change while they stand there."""

from __future__ import annotations

import msgspec
from rich.style import Style

from pinyon.tui.theme.palette import PLAIN, Palette


class Tone(msgspec.Struct, frozen=True):
    """Palette and display settings. Equal tones give equal rows, so rows are cached by it.

    `pad` is blank columns beside the text, `hyperlinks` whether the terminal takes OSC 8, `expand_hint` the key that
    unfolds, as hints show it, `image_columns` how wide images are drawn, 0 where they are not,
    `as_typed` whether Markdown keeps list markers and backslashes as they were written.
    """

    palette: Palette = PLAIN
    pad: int = 1
    code_indent: str = "  "
    hyperlinks: bool = False
    hide_thinking: bool = False
    expand_hint: str = "Ctrl+O"
    cancel_hint: str = "Esc"
    home: str = ""
    image_columns: int = 0
    as_typed: bool = False

    def style(self, token: str = "", background: str = "", *, bold: bool = False, italic: bool = False) -> Style:
        """The style of a role."""
        return self.palette.style(token, background, bold=bold, italic=italic)
