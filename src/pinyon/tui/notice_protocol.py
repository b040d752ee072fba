"""How desktop notices reach a terminal, and what tmux needs to hand them on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


def notice_protocol(environ: Mapping[str, str]) -> Literal["9", "777"]:
    """The OSC number of desktop notices: 777 where urxvt's form is spoken, else iTerm2's 9."""
    return "777" if environ.get("TERM", "").startswith(("rxvt", "foot")) or environ.get("VTE_VERSION") else "9"


def passed_through(sequence: str, environ: Mapping[str, str]) -> str:
    """A sequence in the wrapping with which tmux hands it to the terminal around it."""
    if not environ.get("TMUX"):
        return sequence
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
