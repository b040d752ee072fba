"""Colours for code: pygments tokens mapped to the roles of the palette."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pinyon.tui.theme.palette import Palette

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped] # no stubs

_MAX_CHARS = 200_000
"""Longer code is shown without colours."""

_ROLES = (
    ("Comment", "syntaxComment"),
    ("Keyword.Type", "syntaxType"),
    ("Keyword", "syntaxKeyword"),
    ("Name.Function", "syntaxFunction"),
    ("Name.Class", "syntaxType"),
    ("Name.Builtin", "syntaxFunction"),
    ("Name.Decorator", "syntaxFunction"),
    ("Name.Tag", "syntaxKeyword"),
    ("Name.Attribute", "syntaxVariable"),
    ("Name.Variable", "syntaxVariable"),
    ("Literal.String", "syntaxString"),
    ("Literal.Number", "syntaxNumber"),
    ("Operator.Word", "syntaxKeyword"),
    ("Operator", "syntaxOperator"),
    ("Punctuation", "syntaxPunctuation"),
    ("Generic.Inserted", "toolDiffAdded"),
    ("Generic.Deleted", "toolDiffRemoved"),
    ("Generic.Heading", "syntaxFunction"),
    ("Generic.Subheading", "syntaxFunction"),
)


def highlighted(code: str, language: str, palette: Palette) -> Text:
    """`code` in colours. `language` is a name or alias as fences use it; an unknown one leaves the text plain."""
    base = palette.style("mdCodeBlock")
    lexer = lexer_for(language) if language and len(code) <= _MAX_CHARS else None
    if lexer is None:
        return Text(code, style=base)
    return _colored(code, lexer, palette, base)


@lru_cache(maxsize=64)
def lexer_for(language: str) -> Lexer | None:
    """The lexer of a language, None for an unknown one."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped] # no stubs
    from pygments.util import ClassNotFound  # type: ignore[import-untyped] # no stubs

    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def language_of(path: str) -> str:
    """The language of a file by its name, empty where unknown."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(path.replace("\n", ""), "")
    except ClassNotFound:
        return ""
    return str(lexer.aliases[0]) if lexer.aliases else ""


def _colored(code: str, lexer: Lexer, palette: Palette, base: Any) -> Text:
    text = Text(style=base)
    for kind, value in lexer.get_tokens(code):
        role = _role(kind)
        text.append(value, palette.style(role) if role else None)
    if not code.endswith("\n") and text.plain.endswith("\n"):
        text.right_crop(1)
    return text


@lru_cache(maxsize=256)
def _role(kind: Any) -> str:
    name = ".".join(kind)
    return next((role for prefix, role in _ROLES if name == prefix or name.startswith(prefix + ".")), "")
