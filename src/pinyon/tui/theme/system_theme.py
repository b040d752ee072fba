"""The theme `system`: the hues of the terminal's own colours, each as light or dark as its background needs.

Text has a contrast of at least 4.5 on the background and on every panel; the panels are the background, a little moved.
Where only the background is known the hues are ours; where nothing is, the terminal's numbered colours are used as
they are.
"""

from __future__ import annotations

from pinyon.tui.theme.color import Color, from_lch, hex_color, luminance, mixed, parse_color, to_lch
from pinyon.tui.theme.palette import DARK, LIGHT, PLAIN, Palette
from pinyon.tui.theme.terminal_color import TerminalColors

_TEXT, _CALM, _LINE = 4.6, 6.5, 2.0
_STEPS = 10
_MATCH = "searchMatchBg"
_HUES = {
    "accent": 6, "borderAccent": 6, "mdLink": 6, "mdListBullet": 6, "mdCode": 6, "syntaxType": 6, "syntaxVariable": 4,
    "success": 2, "toolDiffAdded": 2, "syntaxString": 2, "bashMode": 2,
    "error": 1, "toolDiffRemoved": 1, "thinkingMax": 1,
    "warning": 3, "mdHeading": 3, "syntaxFunction": 3, "syntaxNumber": 3,
    "customMessageLabel": 5, "syntaxKeyword": 5, "thinkingHigh": 5, "thinkingXhigh": 13, "thinkingLow": 4,
    "thinkingMedium": 6,
}  # fmt: skip
"""The numbered colour that gives a role its hue."""
_GREYS = {
    "muted": _CALM, "toolOutput": _CALM, "mdQuote": _CALM, "syntaxPunctuation": _CALM, "syntaxOperator": _CALM,
    "dim": _TEXT, "thinkingText": _TEXT, "mdLinkUrl": _TEXT, "toolDiffContext": _TEXT, "syntaxComment": _TEXT,
    "border": _LINE, "borderMuted": 1.5, "mdCodeBlockBorder": _LINE, "mdQuoteBorder": _LINE, "mdHr": _LINE,
    "scrollbarTrack": 1.3, "scrollbarThumb": 3.0, "thinkingOff": _LINE, "thinkingMinimal": 3.0,
}  # fmt: skip
"""Roles without a hue, and how far they stand out."""
_PLAIN_TEXT = ("text", "userMessageText", "customMessageText", "toolTitle", "mdCodeBlock")
_PANELS = {
    "userMessageBg": (None, 0.09), "customMessageBg": (5, 0.09), "toolPendingBg": (None, 0.05),
    "toolSuccessBg": (2, 0.07), "toolErrorBg": (1, 0.12), "selectedBg": (6, 0.14), "searchMatchBg": (3, 0.35),
}  # fmt: skip
"""Panels: the hue that they lean to, and how far they are from the background."""


def system_palette(terminal: TerminalColors) -> Palette:
    """The palette for what is known of the terminal."""
    ground = terminal.background
    if ground is None:
        return PLAIN
    is_dark = terminal.is_dark
    ours = DARK if is_dark else LIGHT
    ink = terminal.foreground or ((0.9, 0.9, 0.9) if is_dark else (0.1, 0.1, 0.1))
    panels = {token: _panel(ground, terminal.numbered.get(hue) if hue is not None else None, ink, share)
              for token, (hue, share) in _PANELS.items()}  # fmt: skip
    grounds = [luminance(ground), *(luminance(panels[token]) for token in panels if token != _MATCH)]
    colors = {token: hex_color(color) for token, color in panels.items()}
    for token in _PLAIN_TEXT:
        is_readable = _least(ink, grounds) >= _TEXT
        colors[token] = "" if is_readable else hex_color(_placed(ink, grounds, _CALM, is_dark=is_dark))
    lightness, chroma, hue = to_lch(ink)
    grey = _placed(from_lch((lightness, min(0.02, chroma), hue)), grounds, _CALM, is_dark=is_dark)
    for token, target in _GREYS.items():
        colors[token] = hex_color(_graded(grey, ground, grounds if target >= _TEXT else grounds[:1], target))
    hues = {number: _placed(color, grounds, _TEXT, is_dark=is_dark) for number, color in terminal.numbered.items()}
    for token, number in _HUES.items():
        own = hues.get(number) or _placed(parse_color(str(ours.color(token))), grounds, _TEXT, is_dark=is_dark)
        colors[token] = hex_color(own)
    colors["searchMatchText"] = hex_color(_placed(ink, [luminance(panels[_MATCH])], _TEXT, is_dark=is_dark))
    return Palette("system", colors, is_dark=is_dark)


def _panel(ground: Color, hue: Color | None, ink: Color, share: float) -> Color:
    """The background moved towards the text, leaning to a hue."""
    return mixed(ground, mixed(ink, hue, 0.7) if hue is not None else ink, share)


def _least(color: Color, grounds: list[float]) -> float:
    """The contrast of a colour on the ground on which it is seen worst; grounds are luminances."""
    own = luminance(color) + 0.05
    return min(max(own, ground + 0.05) / min(own, ground + 0.05) for ground in grounds)


def _placed(color: Color, grounds: list[float], target: float, *, is_dark: bool) -> Color:
    """The colour, moved to lighter or darker no further than it must be to be readable on all grounds."""
    if _least(color, grounds) >= target and (luminance(color) > max(grounds)) == is_dark:
        return color
    lightness, chroma, hue = to_lch(color)
    near, far = lightness, 1.0 if is_dark else 0.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        moved = from_lch((middle, chroma, hue))
        is_enough = (luminance(moved) > max(grounds)) == is_dark and _least(moved, grounds) >= target
        near, far = (near, middle) if is_enough else (middle, far)
    return from_lch((far, chroma, hue))


def _graded(ink: Color, ground: Color, grounds: list[float], target: float) -> Color:
    """The ink, faded into the ground as far as the contrast allows."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _least(mixed(ink, ground, middle), grounds) >= target else (low, middle)
    return mixed(ink, ground, low)
