"""Output of programs as plain text: without escape sequences and control characters, however it is cut into blocks.

The sequences are those of ECMA-48 that set colours, move the cursor and set titles.
"""

from __future__ import annotations

import re

MAX_HELD_CHARACTERS = 256
"""Longest unfinished sequence that is held back for the next block."""

_SEQUENCE = re.compile(
    r"\x1b\].*?(?:\x07|\x1b\\|\x9c)"  # a title or a link, up to its terminator
    r"|(?:(?:\x1b\[|\x9b)[<=>]|[\x1b\x9b][\[\]()#;?]*)"
    r"(?:\d{1,4}(?:[;:]\d{0,4})*)?[0-9A-PR-TZcf-nq-uy=><~]",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"(?:\x1b\](?:[^\x07\x1b\x9c]|\x1b[^\\])*\x1b?|[\x1b\x9b][\[\]()#;?<=>\d:]*)\Z")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufff9-\ufffb]")


def to_printable(text: str) -> str:
    """`text` without escape sequences and control characters; newlines and tabs stay."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text))


class PrintableStream:
    """Makes blocks of text printable; the beginning of a sequence at the end of a block waits for the next one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What of the text so far can be shown."""
        text = self._held + text
        match = _UNFINISHED.search(text, max(0, len(text) - MAX_HELD_CHARACTERS))
        cut = len(text) if match is None else match.start()
        self._held = text[cut:]
        return to_printable(text[:cut])

    def finish(self) -> str:
        """What was held back and never became a sequence."""
        held, self._held = self._held, ""
        return to_printable(held)
