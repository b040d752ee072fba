"""The help text, made from the table of flags."""

from __future__ import annotations

from pinyon.cli.flag import COMMANDS, ENVIRONMENT, GROUPS, Flag

WIDTH = 100
COLUMN = 36

USAGE = """\
Pinyon, an AI coding agent that works on the files of the current folder.

Usage:
  pinyon [options] [--] [@files...] [prompts...]
  pinyon <command>
"""

EXAMPLES = """\
Examples:
  pinyon -p "What does this project do?"
  pinyon -p @error.log "Why does this fail?"
  git diff | pinyon -p "Review this change"
  pinyon -c -p "Now write a test for it"
  pinyon --model ollama/qwen3 --tools read,grep -p "Find dead code"

Keys come from environment variables such as ANTHROPIC_API_KEY, from auth.json or from --api-key.
Settings, models and sessions live in the agent folder, ~/.pi/agent.
"""


def render_help() -> str:
    """The whole help text, ending in a newline."""
    parts = [
        USAGE,
        _section("Commands", [(name, command.help) for name, command in COMMANDS.items() if not command.planned]),
    ]
    for title, flags in GROUPS.items():
        rows = [(flag_label(flag), flag.help) for flag in flags if not flag.planned]
        parts.append(_section(title, rows))
    parts += [_planned(), _section("Environment", list(ENVIRONMENT.items())), EXAMPLES]
    return "\n".join(parts)


def flag_label(flag: Flag) -> str:
    """The names of a flag, short ones first, and its value."""
    names = ", ".join(sorted(flag.names, key=len))
    return f"{names} {_value(flag)}".rstrip()


def _value(flag: Flag) -> str:
    return flag.value if not flag.value or flag.value.startswith("[") else f"<{flag.value}>"


def _planned() -> str:
    names = [flag.names[0] for flags in GROUPS.values() for flag in flags if flag.planned]
    commands = [name for name, command in COMMANDS.items() if command.planned]
    lines = ["Not available yet:"]
    lines += _wrap(", ".join(names), WIDTH - 2, "  ")
    lines += _wrap(f"commands: {', '.join(commands)}", WIDTH - 2, "  ")
    return "\n".join(lines) + "\n"


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"{title}:"]
    for label, text in rows:
        described = _wrap(text, WIDTH - COLUMN, " " * COLUMN)
        if len(label) + 4 > COLUMN:
            lines.append(f"  {label}")
        else:
            described[0] = f"  {label:<{COLUMN - 2}}{described[0].lstrip()}"
        lines += described
    return "\n".join(lines) + "\n"


def _wrap(text: str, width: int, indent: str) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, indent + line]
