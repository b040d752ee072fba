"""The colours of the interface: a table of named roles for dark and for light terminals.

The names are those of theme files. An empty value means the terminal's own colour.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from rich.color import Color
from rich.style import Style

from pinyon.tui.color_table import DARK_COLORS, LIGHT_COLORS

_BACKGROUND = re.compile(r"\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_LIGHT_FROM = 0.5


class Palette(msgspec.Struct, frozen=True):
    """A named set of colours. `colors` maps role names to `#rrggbb`, an ANSI number as text, or nothing."""

    name: str
    is_dark: bool
    colors: tuple[tuple[str, str], ...]

    def color(self, token: str) -> str:
        """The value of a role, empty where it is the terminal's own or unknown."""
        return _table(self).get(token, "")

    def style(self, token: str = "", background: str = "", *, bold: bool = False, italic: bool = False) -> Style:
        """The style of text in the colour of `token` on the colour of `background`."""
        return _style(self, token, background, bold, italic)


@lru_cache(maxsize=8)
def _table(palette: Palette) -> dict[str, str]:
    return dict(palette.colors)


@lru_cache(maxsize=1024)
def _style(palette: Palette, token: str, background: str, bold: bool, italic: bool) -> Style:
    return Style(
        color=_color(palette.color(token)) if token else None,
        bgcolor=_color(palette.color(background)) if background else None,
        bold=bold or None,
        italic=italic or None,
    )


def _color(value: str) -> Color | None:
    if not value:
        return None
    return Color.from_ansi(int(value)) if value.isdigit() else Color.parse(value)


DARK = Palette("dark", True, tuple(DARK_COLORS.items()))
LIGHT = Palette("light", False, tuple(LIGHT_COLORS.items()))


def palette_for(setting: str, *, is_dark: bool) -> Palette:
    """The palette that the `theme` setting names; a `light/dark` pair and `system` follow the terminal."""
    name = setting
    if "/" in setting:
        light, _, dark = setting.partition("/")
        name = dark if is_dark else light
    if name == "light":
        return LIGHT
    if name == "dark":
        return DARK
    return DARK if is_dark else LIGHT


def background_is_dark(reply: str) -> bool | None:
    """What a terminal's answer about its background (OSC 11, `rgb:RRRR/GGGG/BBBB`) says; None for other answers."""
    match = _BACKGROUND.match(reply)
    if match is None:
        return None
    red, green, blue = (int(part, 16) / int("f" * len(part), 16) for part in match.groups())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < _LIGHT_FROM
