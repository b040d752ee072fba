"""A question with numbered answers on the plain terminal, before the interactive mode takes the screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pinyon._util.terminal import strip_terminal_control


def choose_on_terminal(question: Sequence[str], answers: Sequence[str], otherwise: str) -> int | None:
    """Show the lines of a question and its answers, and read a number; the position of the answer.

    An empty line or the end of the input is None; `otherwise` says what happens then.
    """
    for line in question:
        _tell(line)
    for number, answer in enumerate(answers, 1):
        _tell(f"  {number}  {answer}")
    numbers = f"1-{len(answers)}" if len(answers) > 1 else "1"
    while True:
        sys.stderr.write(f"{numbers}, or Enter to {otherwise}: ")
        sys.stderr.flush()
        typed = sys.stdin.readline().strip()
        if not typed:
            return None
        if typed.isdecimal() and 1 <= int(typed) <= len(answers):
            return int(typed) - 1
        _tell(f"{typed!r} is not one of the numbers.")


def _tell(line: str) -> None:
    sys.stderr.write(strip_terminal_control(line) + "\n")
