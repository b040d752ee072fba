r"""File names as tools show them: one line each, valid text, nothing that a terminal would act on.

Control characters become escapes such as `\x1b`, bytes that are no UTF-8 become U+FFFD.
"""

from __future__ import annotations

import re

from pinyon._util.os_text import readable_name

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown_name(name: str) -> str:
    """`name` as it stands in a list."""
    if name.isascii() and name.isprintable():
        return name
    return _CONTROL.sub(_escape, readable_name(name))


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
