"""Colours as numbers: the notations of theme files, perceptual lightness and chroma, and contrast.

Oklab, OKLCH and OKHSL follow Björn Ottosson's papers "A perceptual color space for image processing" and "Okhsv and
Okhsl"; contrast is that of WCAG 2. A `Color` is red, green and blue from 0 to 1 with the sRGB curve; an `Lch` is
lightness 0 to 1, chroma (0 is grey), and hue in turns from 0 to 1.
"""

from __future__ import annotations

import math
import re

Color = tuple[float, float, float]
Lch = tuple[float, float, float]

_FUNCTION = re.compile(r"(oklch|okhsl)\(\s*([-+.\d]+)(%?)(?:deg)?[\s,]+([-+.\d]+)(%?)[\s,]+([-+.\d]+)(%?)(?:deg)?\s*\)")
_STEPS = 24
_K1, _K2 = 0.206, 0.03
_K3 = (1 + _K1) / (1 + _K2)


def parse_color(text: str) -> Color:
    """The colour in `#rgb`, `#rrggbb`, `oklch(L% C H)` or `okhsl(H S% L%)`. Raises `ValueError` for anything else."""
    if text.startswith("#") and len(text) in (4, 7):
        digits = text[1:] if len(text) == 7 else "".join(digit * 2 for digit in text[1:])
        return int(digits[:2], 16) / 255, int(digits[2:4], 16) / 255, int(digits[4:], 16) / 255
    match = _FUNCTION.fullmatch(text)
    if match is None:
        raise ValueError(f"not a colour: {text!r}")
    parts = [float(match[at]) / (100 if match[at + 1] else 1) for at in (2, 4, 6)]
    if match[1] == "oklch":
        return from_lch((min(1.0, max(0.0, parts[0])), max(0.0, parts[1]), parts[2] / 360))
    return from_hsl(parts[0] / 360, min(1.0, max(0.0, parts[1])), min(1.0, max(0.0, parts[2])))


def hex_color(color: Color) -> str:
    """The colour as `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*(round(min(1.0, max(0.0, part)) * 255) for part in color))


def luminance(color: Color) -> float:
    """Relative luminance, 0 black to 1 white."""
    red, green, blue = (_linear(part) for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mixed(one: Color, other: Color, share: float) -> Color:
    """`one` with a share of `other`, from 0 to 1."""
    return (
        one[0] + (other[0] - one[0]) * share,
        one[1] + (other[1] - one[1]) * share,
        one[2] + (other[2] - one[2]) * share,
    )


def to_lch(color: Color) -> Lch:
    """Lightness, chroma and hue."""
    red, green, blue = (_linear(part) for part in color)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    lightness = 0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short
    return lightness, math.hypot(a, b), (math.atan2(b, a) / math.tau) % 1


def from_lch(lch: Lch) -> Color:
    """The colour; chroma that no screen shows is reduced at the same lightness and hue."""
    lightness, chroma, hue = lch
    if not _fits(_rgb(lightness, chroma, hue)):
        chroma = _most_chroma(lightness, hue, chroma)
    red, green, blue = _rgb(lightness, chroma, hue)
    return _curved(red), _curved(green), _curved(blue)


def from_hsl(hue: float, saturation: float, lightness: float) -> Color:
    """The colour of OKHSL values, each from 0 to 1."""
    light = (lightness * lightness + _K1 * lightness) / (_K3 * (lightness + _K2))
    if light <= 0 or light >= 1:
        return (0.0, 0.0, 0.0) if light <= 0 else (1.0, 1.0, 1.0)
    return from_lch((light, _hsl_chroma(hue % 1, saturation, light), hue))


def _hsl_chroma(hue: float, saturation: float, light: float) -> float:
    """Chroma by the three fixed points of OKHSL: hardly any, a middle one, and the most that can be shown."""
    least, middle, most = _chroma_points(hue, light)
    if saturation < 0.8:
        share, first = 1.25 * saturation, 0.8 * least
        return share * first / (1 - (1 - first / middle) * share)
    share, first = (saturation - 0.8) / 0.2, 0.2 * middle * middle * 1.25 * 1.25 / least
    bend = 1 - first / max(1e-9, most - middle)
    return middle + share * first / (1 - bend * share)


def _chroma_points(hue: float, light: float) -> tuple[float, float, float]:
    a, b = math.cos(hue * math.tau), math.sin(hue * math.tau)
    cusp_light, cusp_chroma = _cusp(hue)
    most = _most_chroma(light, hue, 0.5)
    scale = most / min(light * cusp_chroma / cusp_light, (1 - light) * cusp_chroma / (1 - cusp_light))
    low, high = light * _middle_slope(a, b), (1 - light) * _middle_fall(a, b)
    middle = 0.9 * scale * (1 / (1 / low**4 + 1 / high**4)) ** 0.25
    low, high = light * 0.4, (1 - light) * 0.8
    return math.sqrt(1 / (1 / low**2 + 1 / high**2)), middle, most


def _middle_slope(a: float, b: float) -> float:
    inner = -2.13704948 - 10.02301043 * b + a * (-4.24894561 + 5.38770819 * b + 4.69891013 * a)
    return 0.11516993 + 1 / (7.44778970 + 4.15901240 * b + a * (-2.19557347 + 1.75198401 * b + a * inner))


def _middle_fall(a: float, b: float) -> float:
    inner = -0.27087943 + 0.61223990 * b + a * (0.00299215 - 0.45399568 * b - 0.14661872 * a)
    return 0.11239642 + 1 / (1.61320320 - 0.68124379 * b + a * (0.40370612 + 0.90148123 * b + a * inner))


def _cusp(hue: float) -> tuple[float, float]:
    """Lightness and chroma of the most colourful colour of a hue."""
    low, high = 0.0, 1.5
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if min(_rgb(1, middle, hue)) >= 0 else (low, middle)
    light = math.cbrt(1 / max(_rgb(1, low, hue)))
    return light, light * low


def _most_chroma(lightness: float, hue: float, limit: float) -> float:
    low, high = 0.0, limit
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(_rgb(lightness, middle, hue)) else (low, middle)
    return low


def _rgb(lightness: float, chroma: float, hue: float) -> Color:
    """Linear red, green and blue, perhaps outside of what can be shown."""
    a, b = chroma * math.cos(hue * math.tau), chroma * math.sin(hue * math.tau)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )


def _fits(linear: Color) -> bool:
    return all(-1e-4 <= part <= 1 + 1e-4 for part in linear)


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _curved(value: float) -> float:
    value = min(1.0, max(0.0, value))
    return value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
