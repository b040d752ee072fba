"""The colours of the interface by role, ready to draw with.

The names are those of theme files. A value is `#rrggbb`, a number of the terminal's table, `faint` for the terminal's
own colour drawn weaker, or nothing for the terminal's own colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style

from pinyon.tui.theme.color_table import DARK_COLORS, LIGHT_COLORS, PLAIN_COLORS

if TYPE_CHECKING:
    from pinyon.resources.theme import Theme

FAINT = "faint"
_PANELS = ("userMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg")


class Palette:
    """A table of colours. Two palettes are the same only if they are one object, so that what was drawn with one can
    be kept by it; styles are made once.
    """

    def __init__(self, name: str, colors: Mapping[str, str | int], *, is_dark: bool) -> None:
        self.name = name
        self.is_dark = is_dark
        self.colors = dict(colors)
        self.has_panels = any(self.colors.get(token) not in ("", None) for token in _PANELS)
        """Whether blocks stand on backgrounds of their own."""
        self._styles: dict[tuple[str, str, bool, bool], Style] = {}

    def color(self, token: str) -> str | int:
        """The value of a role, empty where it is the terminal's own or unknown."""
        return self.colors.get(token, "")

    def style(self, token: str = "", background: str = "", *, bold: bool = False, italic: bool = False) -> Style:
        """The style of text in the colour of `token` on the colour of `background`."""
        key = (token, background, bold, italic)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._make(*key)
        return style

    def _make(self, token: str, background: str, bold: bool, italic: bool) -> Style:
        value = self.color(token)
        return Style(
            color=_rich_color(value),
            bgcolor=_rich_color(self.color(background)),
            bold=bold or None,
            italic=italic or None,
            dim=True if value == FAINT else None,
        )


def palette_of(theme: Theme, *, is_dark: bool) -> Palette:
    """The palette of a theme; `is_dark` is what the terminal is where the theme does not say."""
    from pinyon.tui.theme.color import hex_color, parse_color

    colors = {
        token: hex_color(parse_color(value)) if isinstance(value, str) and value else value
        for token, value in theme.colors.items()
    }
    return Palette(theme.name, colors, is_dark=is_dark if theme.appearance is None else theme.appearance == "dark")


def _rich_color(value: str | int) -> Color | None:
    if value in ("", FAINT):
        return None
    return Color.from_ansi(value) if isinstance(value, int) else Color.parse(value)


DARK = Palette("dark", DARK_COLORS, is_dark=True)
LIGHT = Palette("light", LIGHT_COLORS, is_dark=False)
PLAIN = Palette("system", PLAIN_COLORS, is_dark=True)
"""The numbered colours of the terminal, for one that tells nothing about itself."""
