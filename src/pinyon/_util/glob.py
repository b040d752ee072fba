r"""Globs as regular expressions.

The syntax is that of the `globset` crate, which fd and ripgrep use: `*` and `?` stop at `/`, `**` as a whole component
does not, `[a-z]` and `[!a-z]` are classes, `{a,b}` alternatives, `\` takes the next character literally.
"""

from __future__ import annotations

import re

_STAR = "[^/]*"
_PREFIX = "(?:/?|.*/)"
_SUFFIX = "/.*"
_MIDDLE = "(?:/|/.*/)"


class InvalidGlobError(ValueError):
    """Raised for a glob that cannot be understood; the text says where it breaks."""


def compile_glob(glob: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """A pattern whose `fullmatch` accepts what the glob stands for. Raises `InvalidGlobError`."""
    return re.compile(glob_regex(glob), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def glob_regex(glob: str) -> str:
    """The glob as a regular expression for a full match with DOTALL."""
    parser = _Parser(glob)
    tokens = parser.alternative(depth=0)
    return ".*" if tokens == [_PREFIX] else "".join(_settled(tokens))


def _settled(tokens: list[str]) -> list[str]:
    """The same expression, where what stands between two stars of one component is looked for only once.

    The second star takes what a later place would leave over, so the first place is as good as any; trying all of them
    takes time that grows with each star.
    """
    settled: list[str] = []
    open_star: int | None = None
    for token in tokens:
        if token == _STAR and open_star is not None and open_star < len(settled) - 1:
            settled[open_star:] = [f"(?>{_STAR}?{''.join(settled[open_star + 1 :])})"]
        if token == _STAR:
            open_star = len(settled)
        elif _may_hold_slash(token):
            open_star = None
        settled.append(token)
    return settled


def _may_hold_slash(token: str) -> bool:
    return "/" in token.replace("[^/", "").replace("(?!/)", "")


class _Parser:
    """Reads one glob from left to right; a token is a piece of regular expression."""

    def __init__(self, glob: str) -> None:
        self._glob = glob
        self._at = 0

    def alternative(self, depth: int) -> list[str]:
        """Tokens up to the end of the glob or, within braces, up to the next `,` or `}`."""
        tokens: list[str] = []
        while self._at < len(self._glob):
            char = self._glob[self._at]
            if depth and char in ",}":
                break
            self._at += 1
            if char == "*":
                self._star(tokens, depth)
            else:
                tokens.append(self._token(char, depth))
        return tokens

    def _token(self, char: str, depth: int) -> str:
        match char:
            case "?":
                return "[^/]"
            case "[":
                return self._class()
            case "{":
                return self._braces(depth)
            case "}":
                raise InvalidGlobError(f"glob {self._glob!r} has a '}}' without a '{{'")
            case "\\":
                return re.escape(self._escaped())
            case _:
                return re.escape(char)

    def _escaped(self) -> str:
        char = self._next()
        if not char:
            raise InvalidGlobError(f"glob {self._glob!r} ends in a backslash")
        return char

    def _star(self, tokens: list[str], depth: int) -> None:
        before = self._glob[self._at - 2] if self._at > 1 else ""
        if self._peek() != "*":
            tokens.append(_STAR)
            return
        self._at += 1
        begins_part = before == "/" or (depth > 0 and before in ",{")
        if not tokens:
            self._leading_stars(tokens)
        elif begins_part:
            self._inner_stars(tokens, depth)
        else:
            tokens.append(_STAR)

    def _leading_stars(self, tokens: list[str]) -> None:
        if self._peek() in ("", "/"):
            self._next()
            tokens.append(_PREFIX)
        else:
            tokens.append(_STAR)

    def _inner_stars(self, tokens: list[str], depth: int) -> None:
        after = self._peek()
        is_last = not after or (depth > 0 and after in ",}")
        if not is_last and after != "/":
            tokens.append(_STAR)
            return
        if not is_last:
            self._next()
        previous = tokens.pop()
        if previous in (_PREFIX, _SUFFIX):
            tokens.append(previous)
        else:
            tokens.append(_SUFFIX if is_last else _MIDDLE)

    def _braces(self, depth: int) -> str:
        options = ["".join(_settled(self.alternative(depth + 1)))]
        while (char := self._next()) == ",":
            options.append("".join(_settled(self.alternative(depth + 1))))
        if char != "}":
            raise InvalidGlobError(f"glob {self._glob!r} has a '{{' without a '}}'")
        return f"(?:{'|'.join(options)})"

    def _class(self) -> str:
        negated = self._peek() in ("!", "^")
        if negated:
            self._next()
        members = self._members()
        body = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in members)
        return f"[^/{body}]" if negated else f"(?!/)[{body}]"

    def _members(self) -> list[tuple[str, str]]:
        members: list[tuple[str, str]] = []
        in_range = False
        while True:
            char = self._next()
            if not char:
                raise InvalidGlobError(f"glob {self._glob!r} has a '[' without a ']'")
            if char == "]" and members:
                return [*members, ("-", "-")] if in_range else members
            if in_range:
                members[-1] = (members[-1][0], self._upper(members[-1][0], char))
                in_range = False
            elif char == "-" and members:
                in_range = True
            else:
                members.append((char, char))

    def _upper(self, low: str, high: str) -> str:
        if low > high:
            raise InvalidGlobError(f"glob {self._glob!r} has the empty range {low}-{high}")
        return high

    def _peek(self) -> str:
        return self._glob[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += len(char)
        return char
