r"""Patterns of the `regex` crate as Python patterns, for searches without the ripgrep program.

The two syntaxes mean the same in nearly everything that people write. What one of them does not have, or has with
another meaning, is refused instead of guessed.
"""

from __future__ import annotations

import re
import warnings

from pinyon.errors import ToolError

_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PIECE = re.compile(
    r"\\(?:x\{[0-9a-fA-F]+\}|[pP]\{?\w*\}?|.)|\(\?P?<(?![=!])|\(\?[=!<]+|\(\?P=|\[:\^?\w+:\]|&&|--|~~|[*+?}][+]|.",
    re.DOTALL,
)
_SAME_ESCAPES = set("dDwWsSbBAnrtfv") | set(r"\.+*?()|[]{}^$#&-~/ '\"%,:;<=>@_`!")


def line_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> re.Pattern[str]:
    """A pattern to `search` in single lines. Raises `ToolError` for what cannot be said in both syntaxes."""
    flags = re.IGNORECASE if ignore_case else 0
    if literal:
        return re.compile(re.escape(pattern), flags)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(_translate(pattern), flags)
    except (re.error, FutureWarning, DeprecationWarning, OverflowError) as error:
        raise _refusal(pattern, str(error)) from error


def _translate(pattern: str) -> str:
    parts: list[str] = []
    in_class = False
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        if piece == "[" and in_class:
            raise _refusal(pattern, "a class within a class is not supported")
        if piece == "[":
            in_class = True
        elif piece == "]":
            in_class = False
        parts.append(_converted(piece, pattern, in_class=in_class))
    return "".join(parts)


def _converted(piece: str, pattern: str, *, in_class: bool) -> str:
    if piece.startswith("\\"):
        return _escape(piece, pattern)
    if piece.startswith("[:") and in_class:
        return _posix_class(piece, pattern)
    if piece in ("&&", "--", "~~") and in_class:
        raise _refusal(pattern, f"set operation {piece!r} within a class")
    if in_class:
        return piece
    if piece in ("(?<", "(?P<"):
        return "(?P<"
    if piece.startswith("(?") and len(piece) > 2:
        raise _refusal(pattern, "look-around and back-references are not supported")
    if len(piece) == 2 and piece[1] == "+":
        raise _refusal(pattern, f"doubled repetition {piece!r}")
    return piece


def _escape(piece: str, pattern: str) -> str:
    code = piece[1:]
    if code == "z":
        return r"\Z"
    if code.startswith("x{"):
        return re.escape(chr(int(code[2:-1], 16)))
    if code[0] in _SAME_ESCAPES or code[0] in "xuU":
        return re.escape(code) if code in "/ '\"%,:;<=>@_`!" else piece
    if code[0].isdigit():
        raise _refusal(pattern, "look-around and back-references are not supported")
    raise _refusal(pattern, f"escape {piece!r} is not supported")


def _posix_class(piece: str, pattern: str) -> str:
    name = piece[2:-2]
    if name not in _POSIX_CLASSES:
        raise _refusal(pattern, f"class {piece!r} is not supported")
    return _POSIX_CLASSES[name]


def _refusal(pattern: str, reason: str) -> ToolError:
    return ToolError(
        f"The search for {pattern!r} failed: {reason}. Set literal to true to search for the text as it is."
    )
