"""Arguments of prompt templates: how a line is split into them, and how they take the places of a template's marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARK = re.compile(
    r"\$(?:(?P<number>\d+)|(?P<all>@|ARGUMENTS\b)"
    r"|\{(?:(?P<default_of>\d+|@|ARGUMENTS):-(?P<default>[^}]*)|@:(?P<start>\d+)(?::(?P<count>\d+))?)\})"
)


def split_arguments(text: str) -> list[str]:
    """The arguments of a line. Quotes count only where an argument begins; without an end they are ordinary letters."""
    arguments: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        argument, at = _argument_at(text, at)
        arguments.append(argument)
    return arguments


def _argument_at(text: str, start: int) -> tuple[str, int]:
    """The argument that begins at `start`, and where it ends."""
    quoted = _quoted_at(text, start) if text[start] in "'\"" else None
    value, at = quoted if quoted is not None else ("", start)
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return value + text[at:end], end


def _quoted_at(text: str, start: int) -> tuple[str, int] | None:
    quote = text[start]
    value: list[str] = []
    at = start + 1
    while at < len(text):
        if text[at] == quote:
            return "".join(value), at + 1
        if text[at] == "\\" and text[at + 1 : at + 2] == quote:
            at += 1
        value.append(text[at])
        at += 1
    return None


def substitute(template: str, arguments: Sequence[str]) -> str:
    """The template with its marks replaced, in one pass: `$1`, `$@`, `$ARGUMENTS`, `${1:-text}`, `${@:2}`, `${@:2:3}`.

    A mark without an argument becomes empty, or its default text.
    """
    joined = " ".join(arguments)

    def value(name: str) -> str:
        if not name.isdecimal():
            return joined
        number = int(name)
        return arguments[number - 1] if 1 <= number <= len(arguments) else ""

    def replaced(found: re.Match[str]) -> str:
        if found["default_of"] is not None:
            return value(found["default_of"]) or found["default"]
        if found["start"] is not None:
            start = max(int(found["start"]), 1) - 1
            end = None if found["count"] is None else start + int(found["count"])
            return " ".join(arguments[start:end])
        return value(found["number"] or "@")

    return _MARK.sub(replaced, template)
