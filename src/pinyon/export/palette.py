"""Colours of an exported page, as CSS custom properties for light and for dark surroundings."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

LIGHT: Mapping[str, str] = {
    "page": "#f6f6f3",
    "card": "#ffffff",
    "info": "#fbf6e3",
    "user": "#eceff6",
    "text": "#24262b",
    "muted": "#6a6e78",
    "faint": "#a4a8b0",
    "line": "#dfe0dd",
    "accent": "#1c6e8c",
    "good": "#2b7a3d",
    "bad": "#b3261e",
    "warn": "#8a6100",
    "mark": "#ffe58a",
    "added": "#e2f4e4",
    "removed": "#fbe4e2",
    "code": "#f1f1ee",
    "keyword": "#8b2f8f",
    "string": "#276b36",
    "number": "#a0480f",
    "comment": "#7b7f88",
    "name": "#1b5f9e",
}
"""Every colour of the page by the name of its custom property, on a light ground."""

DARK: Mapping[str, str] = {
    "page": "#17181b",
    "card": "#1f2125",
    "info": "#2b281c",
    "user": "#2a2e38",
    "text": "#dcdee3",
    "muted": "#989da8",
    "faint": "#6a6f7a",
    "line": "#34373d",
    "accent": "#6cb6d4",
    "good": "#83c092",
    "bad": "#f0857d",
    "warn": "#dcb25c",
    "mark": "#6a5710",
    "added": "#1f3325",
    "removed": "#40262a",
    "code": "#26282d",
    "keyword": "#d3a0dd",
    "string": "#a3c98d",
    "number": "#e3a67c",
    "comment": "#7c828d",
    "name": "#86b7e6",
}
"""The same names on a dark ground."""

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_LIGHT_FROM = 0.5


class PagePalette(msgspec.Struct, frozen=True, kw_only=True):
    """The grounds that a theme asks for, as `#rrggbb`; None is derived from `user_message`, or the page's own.

    `page`, `card` and `info` are the three values of a theme's `export` section.
    """

    user_message: str | None = None
    page: str | None = None
    card: str | None = None
    info: str | None = None


def page_colors(palette: PagePalette | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The custom properties for light and for dark surroundings.

    A theme speaks for the surroundings that its own ground belongs to; the others keep the page's colours. Values that
    are no hexadecimal colours are passed over.
    """
    grounds = _grounds(palette) if palette is not None else {}
    ground = _channels(grounds.get("card") or grounds.get("page"))
    if ground is None:
        return LIGHT, DARK
    if _luminance(ground) > _LIGHT_FROM:
        return {**LIGHT, **grounds}, DARK
    return LIGHT, {**DARK, **grounds}


def _grounds(palette: PagePalette) -> dict[str, str]:
    derived = _derived(palette.user_message)
    asked = {"page": palette.page, "card": palette.card, "info": palette.info}
    return {**derived, **{name: value for name, value in asked.items() if value and _channels(value) is not None}}


def _derived(user_message: str | None) -> dict[str, str]:
    base = _channels(user_message)
    if base is None:
        return {}
    if _luminance(base) > _LIGHT_FROM:
        page, card, info = _scaled(base, 0.96), base, _shifted(base, (10, 5, -20))
    else:
        page, card, info = _scaled(base, 0.7), _scaled(base, 0.85), _shifted(base, (20, 15, 0))
    return {"page": _hex(page), "card": _hex(card), "info": _hex(info)}


Channels = tuple[int, int, int]


def _channels(color: str | None) -> Channels | None:
    if color is None or not _HEX.fullmatch(color):
        return None
    digits = color[1:] if len(color) == 7 else "".join(digit * 2 for digit in color[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _luminance(channels: Channels) -> float:
    """Relative luminance, 0 to 1, as WCAG 2 defines it."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in _parts(channels)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(channels: Channels) -> tuple[float, float, float]:
    return channels[0] / 255, channels[1] / 255, channels[2] / 255


def _scaled(channels: Channels, factor: float) -> Channels:
    return _clamped(channels[0] * factor, channels[1] * factor, channels[2] * factor)


def _shifted(channels: Channels, by: Channels) -> Channels:
    return _clamped(channels[0] + by[0], channels[1] + by[1], channels[2] + by[2])


def _clamped(red: float, green: float, blue: float) -> Channels:
    return _byte(red), _byte(green), _byte(blue)


def _byte(value: float) -> int:
    return max(0, min(255, round(value)))


def _hex(channels: Channels) -> str:
    return "#{:02x}{:02x}{:02x}".format(*channels)
