"""Key names: one spelling for what terminals send, what key files say and what hints show."""

from __future__ import annotations

import sys

MODIFIERS = ("ctrl", "alt", "shift", "super")
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "pageup": "pageUp",
    "pagedown": "pageDown",
    "page_up": "pageUp",
    "page_down": "pageDown",
    "option": "alt",
    "meta": "alt",
    "cmd": "super",
    "command": "super",
    "control": "ctrl",
    "del": "delete",
    "ins": "insert",
}
_SYMBOLS = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "backslash": "\\",
    "underscore": "_",
    "minus": "-",
    "hyphen_minus": "-",
    "plus": "plus",
    "plus_sign": "plus",
    "slash": "/",
    "solidus": "/",
    "full_stop": ".",
    "comma": ",",
    "semicolon": ";",
    "colon": ":",
    "apostrophe": "'",
    "quotation_mark": '"',
    "question_mark": "?",
    "exclamation_mark": "!",
    "at": "@",
    "commercial_at": "@",
    "number_sign": "#",
    "dollar_sign": "$",
    "percent_sign": "%",
    "circumflex_accent": "^",
    "ampersand": "&",
    "asterisk": "*",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "equals_sign": "=",
    "grave_accent": "`",
    "tilde": "~",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "vertical_line": "|",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}
_LEGACY = {"ctrl+@": "ctrl+space", "ctrl+_": "ctrl+-", "ctrl+/": "ctrl+-", "backtab": "shift+tab"}


def normal_key(name: str) -> str:
    """The one spelling of a key: modifiers in fixed order, joined by `+`. Letters are lower case."""
    parts = [part for part in name.strip().split("+") if part] or ["plus"]
    if name.endswith("+") and name != "+":
        parts.append("plus")
    *modifiers, base = parts
    found = {_ALIASES.get(modifier.lower(), modifier.lower()) for modifier in modifiers}
    lowered = base.lower()
    base = _ALIASES.get(lowered) or _SYMBOLS.get(lowered) or (base if len(base) == 1 else lowered)
    if len(base) == 1 and base.isalpha() and base != base.lower():
        base = base.lower()
        found.add("shift")
    spelled = "+".join([*(modifier for modifier in MODIFIERS if modifier in found), base])
    return _LEGACY.get(spelled, spelled)


def is_key(name: str) -> bool:
    """Whether a name in a key file can be a key at all."""
    *modifiers, base = normal_key(name).split("+")
    known = {"escape", "enter", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end", "plus"}
    known |= {"pageUp", "pageDown", "up", "down", "left", "right", *(f"f{number}" for number in range(1, 13))}
    return all(modifier in MODIFIERS for modifier in modifiers) and (len(base) == 1 or base in known)


def shown_key(name: str) -> str:
    """A key as hints show it: `Ctrl+O`, `Shift+Enter`, `PgUp`."""
    names = {"pageUp": "PgUp", "pageDown": "PgDn", "escape": "Esc", "plus": "+", "delete": "Del"}
    names |= {"up": "↑", "down": "↓", "left": "←", "right": "→"}
    if sys.platform == "darwin":
        names["alt"] = "Option"
    return "+".join(names.get(part) or part[:1].upper() + part[1:] for part in name.split("+"))
