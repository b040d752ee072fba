"""`pinyon completion bash|zsh|fish`: scripts that let a shell complete commands, options, their values and file names.

The scripts are made from the table of flags and hold all they need, so that completing starts no program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from pinyon.cli.entry import write
from pinyon.cli.flag import COMMANDS, GROUPS, Flag
from pinyon.errors import ConfigError

SHELLS = ("bash", "zsh", "fish")

USAGE = """\
Usage: pinyon completion bash|zsh|fish

  bash:  pinyon completion bash > ~/.local/share/bash-completion/completions/pinyon
  zsh:   pinyon completion zsh > "${fpath[1]}/_pinyon"
  fish:  pinyon completion fish > ~/.config/fish/completions/pinyon.fish
"""

_FOLDERS = frozenset({"folder"})
_FILES = frozenset({"file", "path", "path|id", "text|file", "source"})


def run_completion(arguments: Sequence[str]) -> int:
    """`pinyon completion SHELL`; returns the exit code."""
    if list(arguments) in (["-h"], ["--help"]):
        return write(sys.stdout, USAGE)
    if len(arguments) == 1 and arguments[0] in SHELLS:
        return write(sys.stdout, completion_script(arguments[0]))
    raise ConfigError(
        f"`pinyon completion` takes one shell, {', '.join(SHELLS)}; got {' '.join(arguments) or 'none'!r}"
    )


def completion_script(shell: str) -> str:
    """The script for one of `SHELLS`."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _flags() -> list[Flag]:
    return [flag for flags in GROUPS.values() for flag in flags if not flag.planned]


def _commands() -> list[tuple[str, str]]:
    return [(name, command.help) for name, command in COMMANDS.items() if not command.planned]


def _takes_value(flag: Flag) -> bool:
    return bool(flag.value) and not flag.value.startswith("[")


def _words(words: Iterable[str]) -> str:
    return " ".join(words)


def _bash() -> str:
    cases = []
    for flag in filter(_takes_value, _flags()):
        names = "|".join(flag.names)
        if flag.choices:
            cases.append(f'    {names}) COMPREPLY=($(compgen -W "{_words(flag.choices)}" -- "$word")); return ;;')
        elif flag.value in _FOLDERS:
            cases.append(f'    {names}) COMPREPLY=($(compgen -d -- "$word")); return ;;')
        elif flag.value in _FILES:
            cases.append(f'    {names}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
        else:
            cases.append(f"    {names}) return ;;")
    options = _words(name for flag in _flags() for name in flag.names)
    commands = _words(name for name, _ in _commands())
    lines = (
        "_pinyon() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "  COMPREPLY=()",
        '  case "$before" in',
        *cases,
        "  esac",
        '  case "$word" in',
        f'    -*) COMPREPLY=($(compgen -W "{options}" -- "$word")) ;;',
        '    @*) COMPREPLY=($(compgen -P @ -f -- "${word#@}")) ;;',
        f'    *) [ "$COMP_CWORD" = 1 ] && COMPREPLY=($(compgen -W "{commands}" -- "$word")) ;;',
        "  esac",
        "}",
        "complete -o bashdefault -o default -F _pinyon pinyon",
    )
    return "\n".join(lines) + "\n"


def _zsh() -> str:
    lines = ["#compdef pinyon", "", "_pinyon() {", "  local -a commands", "  commands=("]
    lines += [f"    {_quoted(f'{name}:{text}')}" for name, text in _commands()]
    lines += ["  )", "  _arguments -s \\"]
    for flag in _flags():
        lines += [f"    {_quoted(_zsh_option(name, flag))} \\" for name in flag.names]
    lines += [
        "    '1: :{ compset -P @ && _files || _describe command commands }' \\",
        "    '*: :{ compset -P @ && _files || _message prompt }'",
        "}",
        "",
        '_pinyon "$@"',
    ]
    return "\n".join(lines) + "\n"


def _zsh_option(name: str, flag: Flag) -> str:
    described = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    repeated = "*" if flag.kind == "repeat" else ""
    if not _takes_value(flag):
        return f"{repeated}{name}[{described}]"
    if flag.choices:
        action = f"({_words(flag.choices)})"
    else:
        action = "_files -/" if flag.value in _FOLDERS else "_files" if flag.value in _FILES else " "
    return f"{repeated}{name}[{described}]:{flag.value.replace('|', ' or ')}:{action}"


def _fish() -> str:
    lines = ["complete -c pinyon -f", "complete -c pinyon -a '(__fish_complete_suffix @)'"]
    first = "-n '__fish_is_first_token'"
    lines += [f"complete -c pinyon {first} -a {name} -d {_quoted(text)}" for name, text in _commands()]
    for flag in _flags():
        lines += [
            f"complete -c pinyon {_fish_name(name)}{_fish_value(flag)} -d {_quoted(flag.help)}" for name in flag.names
        ]
    return "\n".join(lines) + "\n"


def _fish_name(name: str) -> str:
    if name.startswith("--"):
        return f"-l {name[2:]}"
    return f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"


def _fish_value(flag: Flag) -> str:
    if not _takes_value(flag):
        return ""
    if flag.choices:
        return f" -x -a {_quoted(_words(flag.choices))}"
    if flag.value in _FOLDERS:
        return " -x -a '(__fish_complete_directories)'"
    return " -r -F" if flag.value in _FILES else " -x"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
