"""The colours of the interface: a table of named roles for dark and for light terminals.

The names are those of theme files. An empty value means the terminal's own colour.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from rich.color import Color
from rich.style import Style


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


def _palette(name: str, *, is_dark: bool, **colors: str) -> Palette:
    return Palette(name, is_dark, tuple(colors.items()))


DARK = _palette(
    "dark",
    is_dark=True,
    accent="#7fb4ca",
    border="#4a5462",
    borderAccent="#7fb4ca",
    borderMuted="#3a424d",
    success="#8fbf7f",
    error="#e07a7a",
    warning="#dcb26a",
    muted="#98a2b0",
    dim="#6c7683",
    text="",
    thinkingText="#8b95a3",
    scrollbarTrack="#2a3038",
    scrollbarThumb="#5b6675",
    searchMatchBg="#5a4a1e",
    searchMatchText="#f3e3b3",
    selectedBg="#2b3440",
    userMessageBg="#252c36",
    userMessageText="",
    customMessageBg="#2b2838",
    customMessageText="",
    customMessageLabel="#b69cd6",
    toolPendingBg="#21262e",
    toolSuccessBg="#1e2724",
    toolErrorBg="#2e2124",
    toolTitle="",
    toolOutput="#a3adba",
    mdHeading="#e0b873",
    mdLink="#7fb4ca",
    mdLinkUrl="#6c7683",
    mdCode="#8fc3b5",
    mdCodeBlock="#c3cbd6",
    mdCodeBlockBorder="#4a5462",
    mdQuote="#98a2b0",
    mdQuoteBorder="#4a5462",
    mdHr="#4a5462",
    mdListBullet="#7fb4ca",
    toolDiffAdded="#8fbf7f",
    toolDiffRemoved="#e07a7a",
    toolDiffContext="#7d8794",
    syntaxComment="#6f8f6a",
    syntaxKeyword="#b69cd6",
    syntaxFunction="#dcb26a",
    syntaxVariable="#9fc7dd",
    syntaxString="#9dc183",
    syntaxNumber="#d69d85",
    syntaxType="#8fc3b5",
    syntaxOperator="#c3cbd6",
    syntaxPunctuation="#98a2b0",
    thinkingOff="#4a5462",
    thinkingMinimal="#5f6d80",
    thinkingLow="#5d87a8",
    thinkingMedium="#7fb4ca",
    thinkingHigh="#b69cd6",
    thinkingXhigh="#d68fb8",
    thinkingMax="#e07a7a",
    bashMode="#8fbf7f",
)
LIGHT = _palette(
    "light",
    is_dark=False,
    accent="#1f6f8b",
    border="#b4bcc6",
    borderAccent="#1f6f8b",
    borderMuted="#d3d8df",
    success="#3d7a33",
    error="#b3362f",
    warning="#8f6400",
    muted="#5c6672",
    dim="#7d8692",
    text="",
    thinkingText="#66707c",
    scrollbarTrack="#e6e9ed",
    scrollbarThumb="#9aa4b0",
    searchMatchBg="#f5e2a4",
    searchMatchText="#3d3000",
    selectedBg="#dde6ee",
    userMessageBg="#e9eef3",
    userMessageText="",
    customMessageBg="#efeaf6",
    customMessageText="",
    customMessageLabel="#6d4a9c",
    toolPendingBg="#f0f2f4",
    toolSuccessBg="#ecf3ec",
    toolErrorBg="#f8eaea",
    toolTitle="",
    toolOutput="#4f5965",
    mdHeading="#8a5a00",
    mdLink="#1f6f8b",
    mdLinkUrl="#7d8692",
    mdCode="#16695a",
    mdCodeBlock="#2f3842",
    mdCodeBlockBorder="#b4bcc6",
    mdQuote="#5c6672",
    mdQuoteBorder="#b4bcc6",
    mdHr="#b4bcc6",
    mdListBullet="#1f6f8b",
    toolDiffAdded="#2f7326",
    toolDiffRemoved="#b3362f",
    toolDiffContext="#6f7985",
    syntaxComment="#5d7d57",
    syntaxKeyword="#6d4a9c",
    syntaxFunction="#8a5a00",
    syntaxVariable="#1a5a80",
    syntaxString="#3d7a33",
    syntaxNumber="#a34f28",
    syntaxType="#16695a",
    syntaxOperator="#2f3842",
    syntaxPunctuation="#5c6672",
    thinkingOff="#b4bcc6",
    thinkingMinimal="#8f9aa8",
    thinkingLow="#4b7fa3",
    thinkingMedium="#1f6f8b",
    thinkingHigh="#6d4a9c",
    thinkingXhigh="#a0427a",
    thinkingMax="#b3362f",
    bashMode="#3d7a33",
)


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


def terminal_is_dark(colorfgbg: str) -> bool:
    """Whether the `COLORFGBG` variable tells of a dark background; unknown counts as dark."""
    background = colorfgbg.rpartition(";")[2]
    return not background.isdigit() or int(background) in (0, 1, 2, 3, 4, 5, 6, 8)
