"""Themes: JSON files with a colour for each role of the interface. They are checked here and resolved where they are
drawn.

A colour is `#rgb`, `#rrggbb`, `oklch(L% C H)`, `okhsl(H S% L%)`, a number of the 256-colour table, the name of a
variable in `vars`, or an empty text for the terminal's own colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from pinyon._util import json as _json
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.source_info import SourceInfo
from pinyon.resources.text_file import read_text_file

BACKGROUNDS: tuple[str, ...] = (
    "selectedBg", "searchMatchBg", "userMessageBg", "customMessageBg", "toolPendingBg", "toolSuccessBg", "toolErrorBg",
)  # fmt: skip
FOREGROUNDS: tuple[str, ...] = (
    "accent", "border", "borderAccent", "borderMuted", "success", "error", "warning", "muted", "dim", "text",
    "thinkingText", "scrollbarTrack", "scrollbarThumb", "searchMatchText", "userMessageText", "customMessageText",
    "customMessageLabel", "toolTitle", "toolOutput", "mdHeading", "mdLink", "mdLinkUrl", "mdCode", "mdCodeBlock",
    "mdCodeBlockBorder", "mdQuote", "mdQuoteBorder", "mdHr", "mdListBullet", "toolDiffAdded", "toolDiffRemoved",
    "toolDiffContext", "syntaxComment", "syntaxKeyword", "syntaxFunction", "syntaxVariable", "syntaxString",
    "syntaxNumber", "syntaxType", "syntaxOperator", "syntaxPunctuation", "thinkingOff", "thinkingMinimal",
    "thinkingLow", "thinkingMedium", "thinkingHigh", "thinkingXhigh", "thinkingMax", "bashMode",
)  # fmt: skip
TOKENS: tuple[str, ...] = (*FOREGROUNDS, *BACKGROUNDS)
FALLBACKS: dict[str, str] = {
    "scrollbarTrack": "muted",
    "scrollbarThumb": "text",
    "searchMatchBg": "selectedBg",
    "searchMatchText": "text",
    "thinkingMax": "thinkingXhigh",
}
"""Tokens that a theme may leave out, and the token whose colour they take."""

BUILTIN_THEMES: tuple[str, ...] = ("system", "dark", "light")

_KEYS = ("$schema", "name", "appearance", "vars", "colors", "export")
_EXPORT_KEYS = ("pageBg", "cardBg", "infoBg")
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_FUNCTION = re.compile(r"(?:oklch|okhsl)\(\s*[-+.\d]+%?(?:deg)?(?:[\s,]+[-+.\d]+%?(?:deg)?){2}\s*\)")
_MAX_COLOR = 255

ThemeColor = str | int


class Theme(msgspec.Struct, kw_only=True, frozen=True):
    """A checked theme. `colors` holds every token, fallbacks filled in, as a colour or an empty text; variables are
    replaced.
    """

    name: str
    colors: dict[str, ThemeColor]
    appearance: Literal["dark", "light"] | None = None
    export: dict[str, ThemeColor] = {}
    file_path: str | None = None
    source_info: SourceInfo | None = None


class ThemeError(ValueError):
    """Raised for an object that is not a theme; `problems` says everything that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def parse_theme(value: Any) -> Theme:
    """The theme of a decoded file. Raises `ThemeError`."""
    problems = list(_shape_problems(value))
    if problems:
        raise ThemeError(problems)
    variables: dict[str, ThemeColor] = value.get("vars", {})
    resolved: dict[str, dict[str, ThemeColor]] = {"colors": {}, "export": {}}
    for group, colors in resolved.items():
        for key, color in value.get(group, {}).items():
            try:
                colors[key] = _without_variable(color, variables)
            except ValueError as error:
                problems.append(f"{group}.{key} {error}")
    if problems:
        raise ThemeError(problems)
    colors = resolved["colors"]
    filled = {token: colors[token] if token in colors else colors[FALLBACKS[token]] for token in TOKENS}
    return Theme(name=value["name"], colors=filled, appearance=value.get("appearance"), export=resolved["export"])


def load_theme(
    path: Path, diagnostics: list[ResourceDiagnostic], source_info: SourceInfo | None = None
) -> Theme | None:
    """The theme in a file; None, with a warning that names everything that is wrong, for one that is none."""
    try:
        theme = parse_theme(_json.decode(read_text_file(path)))
    except OSError as error:
        problem = error.strerror or str(error)
    except ValueError as error:
        problem = str(error)
    else:
        return msgspec.structs.replace(theme, file_path=str(path), source_info=source_info)
    diagnostics.append(ResourceDiagnostic("warning", f"theme {str(path)!r} is not used: {problem}", str(path)))
    return None


def theme_name_for(setting: str, *, is_dark: bool) -> str:
    """The name that the `theme` setting means on a dark or light terminal: a pair is `light/dark`."""
    light, slash, dark = setting.partition("/")
    return (dark if is_dark else light) if slash else setting


def _shape_problems(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "the file must hold a JSON object"
        return
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        yield f"unknown keys: {', '.join(map(repr, unknown))}"
    name = value.get("name")
    if not isinstance(name, str) or not name or "/" in name or name == "system":
        yield "'name' must be a text without '/', other than 'system'"
    if value.get("appearance") not in (None, "dark", "light"):
        yield "'appearance' must be 'dark' or 'light'"
    for group in ("vars", "colors", "export"):
        yield from _group_problems(group, value.get(group, {}))
    colors = value.get("colors")
    missing = [
        token for token in TOKENS if token not in FALLBACKS and not (isinstance(colors, dict) and token in colors)
    ]
    if missing:
        yield f"missing in 'colors': {', '.join(missing)}"


def _group_problems(group: str, table: Any) -> Iterator[str]:
    if not isinstance(table, dict):
        yield f"{group!r} must be an object of names to colours"
        return
    known = {"colors": TOKENS, "export": _EXPORT_KEYS}.get(group)
    for key, color in table.items():
        if known is not None and key not in known:
            yield f"unknown: {group}.{key}"
        elif isinstance(color, bool) or not isinstance(color, str | int):
            yield f"{group}.{key} must be a colour, not {color!r}"


def _without_variable(color: ThemeColor, variables: Mapping[str, ThemeColor]) -> ThemeColor:
    """The colour that a value stands for; raises `ValueError` for none."""
    passed: list[str] = []
    while isinstance(color, str) and color in variables and not _is_color(color):
        if color in passed:
            raise ValueError(f"goes in a circle: {' → '.join([*passed, color])}")
        passed.append(color)
        color = variables[color]
    if not _is_color(color):
        raise ValueError(f"is neither a colour nor a variable: {color!r}")
    return color


def _is_color(color: ThemeColor) -> bool:
    if isinstance(color, int):
        return 0 <= color <= _MAX_COLOR
    return not color or bool(_HEX.fullmatch(color) or _FUNCTION.fullmatch(color))
