"""The manual page `pinyon(1)`, in the man macros of troff, from the same tables as the help text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pinyon.cli.flag import COMMANDS, ENVIRONMENT, GROUPS
from pinyon.cli.help import flag_label

_ABOUT = (
    "Pinyon is an AI coding agent that works on the files of the current folder: it reads, searches, runs commands "
    "and edits. Without options at a terminal it is interactive; with a prompt behind \\fB\\-p\\fR, or without a "
    "terminal, it answers and exits."
)
_CODES = (
    ("0", "success"),
    ("1", "wrong arguments, no usable model, or a last answer that is an error, aborted, empty or cut off"),
    ("129, 143", "ended by SIGHUP or SIGTERM"),
)
_FILES = (
    ("~/.pi/agent", "the agent folder: settings.json, models.json, auth.json, sessions"),
    (".pi", "the project's own settings and resources, read when the project is trusted"),
)


def manual_page() -> str:
    """The whole page."""
    lines = [
        '.TH PINYON 1 "" Pinyon "User Commands"',
        *_section("NAME", ["pinyon \\- AI coding agent for the terminal and for scripts"]),
        *_section(
            "SYNOPSIS", [".B pinyon", "[options] [\\-\\-] [@files...] [prompts...]", ".br", ".B pinyon", "command"]
        ),
        *_section("DESCRIPTION", [_ABOUT]),
        *_section("COMMANDS", _terms((name, item.help) for name, item in COMMANDS.items() if not item.planned)),
    ]
    for title, flags in GROUPS.items():
        rows = ((flag_label(flag), flag.help) for flag in flags if not flag.planned)
        lines += _section(f"OPTIONS: {title.upper()}", _terms(rows))
    lines += _section("EXIT STATUS", _terms(_CODES))
    lines += _section("ENVIRONMENT", _terms(ENVIRONMENT.items()))
    lines += _section("FILES", _terms(_FILES))
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'.SH "{title}"'
    yield from lines


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield ".TP"
        yield f".B {_escaped(term)}"
        yield _escaped(text)


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
