"""The argument grammar: options and prompts in any order, values in the next argument, `--` ends the options.

An unknown long flag may belong to an extension, so it is kept and judged later by `unknown_flag_problems`. A value flag
without a value counts as unknown too. Nothing here imports more than the table of flags.
"""

from __future__ import annotations

from pinyon.cli.flag import FLAGS, Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Literal


class ArgumentProblem:
    """Something wrong on the command line; an `error` ends the program, a `warning` is shown."""

    __slots__ = ("message", "type")

    def __init__(self, kind: Literal["error", "warning"], message: str) -> None:
        self.type = kind
        self.message = message

    def __repr__(self) -> str:
        return f"{self.type}: {self.message}"


class CliArgs:
    """What the command line says. Lists that were not given are None or empty, texts None.

    `unknown_flags` maps names without dashes to their value, or True without one. No flag sets `session_trust`, what a
    person answered about projects, by real path, and `session_cwd`, where a session whose folder is gone goes on.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.files: list[str] = []
        self.unknown_flags: dict[str, str | bool] = {}
        self.problems: list[ArgumentProblem] = []

        self.print = False
        self.mode: Literal["text", "json", "rpc"] | None = None
        self.verbose = False
        self.quiet = False
        self.help = False
        self.version = False

        self.model: str | None = None
        self.provider: str | None = None
        self.api_key: str | None = None
        self.thinking: Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
        self.list_models = False
        self.list_models_search: str | None = None
        self.models: list[str] | None = None

        self.continue_session = False
        self.session: str | None = None
        self.session_cwd: str | None = None
        self.session_id: str | None = None
        self.session_dir: str | None = None
        self.no_session = False
        self.if_in_use: Literal["fail", "fork", "read-only"] | None = None
        self.name: str | None = None
        self.resume = False
        self.fork: str | None = None
        self.export: str | None = None

        self.max_turns: int | None = None
        self.max_tokens: int | None = None
        self.max_cost: float | None = None
        self.max_time_s: float | None = None

        self.tools: list[str] | None = None
        self.exclude_tools: list[str] | None = None
        self.no_builtin_tools = False
        self.no_tools = False

        self.system_prompt: str | None = None
        self.append_system_prompt: list[str] = []
        self.no_context_files = False
        self.project_trust: bool | None = None
        self.session_trust: dict[str, bool] = {}
        self.offline = False

        self.extensions: list[str] = []
        self.no_extensions = False
        self.no_mcp = False
        self.skills: list[str] = []
        self.no_skills = False
        self.prompt_templates: list[str] = []
        self.no_prompt_templates = False
        self.themes: list[str] = []
        self.no_themes = False
        self.use_theme: str | None = None
        self.tui_mode: Literal["fullscreen", "regular"] | None = None

    @property
    def has_errors(self) -> bool:
        """Whether a problem ends the program."""
        return any(problem.type == "error" for problem in self.problems)


def parse_args(argv: Sequence[str]) -> CliArgs:
    """Parse the arguments after the program's name; never raises, problems stand in the result."""
    parser = _Parser(argv)
    parser.run()
    parser.args.offline = "--offline" in argv  # also behind `--`, where it cannot be meant as a prompt
    return parser.args


class _Parser:
    """Walks over the arguments once; each flag kind takes what belongs to it."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.args = CliArgs()
        self._rest = list(reversed(argv))

    def run(self) -> None:
        while self._rest:
            word = self._rest.pop()
            if word == "--":
                self._take_literally()
            elif word.startswith("@"):
                self._file(word)
            elif not word.startswith("-"):
                self.args.messages.append(word)
            elif word in FLAGS:
                self._flag(word, FLAGS[word])
            elif word.startswith("--"):
                self._unknown(word)
            else:
                self._error(f"unknown option {word!r}; put it after '--' if it is part of the prompt")

    def _take_literally(self) -> None:
        while self._rest:
            word = self._rest.pop()
            if word.startswith("@"):
                self._file(word)
            else:
                self.args.messages.append(word)

    def _file(self, word: str) -> None:
        if word == "@":
            self._error("'@' needs the path of a file directly behind it")
        else:
            self.args.files.append(word[1:])

    def _flag(self, word: str, flag: Flag) -> None:
        if flag.kind in _VALUELESS:
            _VALUELESS[flag.kind](self, flag)
        elif flag.needs_value and not self._has_value(flag):
            expected = f"one of {', '.join(flag.choices)}" if flag.choices else "a value"
            self._error(f"{word} needs {expected}")
        elif self._rest:
            _WITH_VALUE[flag.kind](self, flag, self._rest.pop())
        elif word.startswith("--"):
            self._unknown(word)
        else:
            self._error(f"{word} needs a value")

    def _has_value(self, flag: Flag) -> bool:
        return bool(self._rest) and (flag.kind == "text" or not self._rest[-1].startswith("-"))

    def _unknown(self, word: str) -> None:
        name, equals, value = word[2:].partition("=")
        if equals:
            self.args.unknown_flags[name] = value
        elif self._rest and not self._rest[-1].startswith(("-", "@")):
            self.args.unknown_flags[name] = self._rest.pop()
        else:
            self.args.unknown_flags[name] = True

    def _error(self, message: str) -> None:
        self.args.problems.append(ArgumentProblem("error", message))

    # --- kinds that need no value

    def take_switch(self, flag: Flag) -> None:
        setattr(self.args, flag.attribute, flag.constant)

    def take_message(self, flag: Flag) -> None:
        self.take_switch(flag)
        if self._rest and (self._rest[-1].startswith("---") or not self._rest[-1].startswith(("-", "@"))):
            self.args.messages.append(self._rest.pop())

    def take_search(self, flag: Flag) -> None:
        self.take_switch(flag)
        if self._rest and not self._rest[-1].startswith(("-", "@")):
            self.args.list_models_search = self._rest.pop()

    # --- kinds with a value

    def take_text(self, flag: Flag, value: str) -> None:
        setattr(self.args, flag.attribute, value)

    def take_repeat(self, flag: Flag, value: str) -> None:
        getattr(self.args, flag.attribute).append(value)

    def take_list(self, flag: Flag, value: str) -> None:
        setattr(self.args, flag.attribute, _split(value))

    def take_tools(self, flag: Flag, value: str) -> None:
        entries = _split(value)
        edits = [entry for entry in entries if entry.startswith(("+", "-"))]
        if edits and len(edits) != len(entries):
            self._error(f"--tools {value!r} mixes names with +name or -name entries; use only one of the two forms")
        setattr(self.args, flag.attribute, entries)

    def take_choice(self, flag: Flag, value: str) -> None:
        if value in flag.choices:
            setattr(self.args, flag.attribute, value)
        else:
            self._error(f"{flag.names[0]} {value!r} is not one of {', '.join(flag.choices)}")

    def take_level(self, flag: Flag, value: str) -> None:
        if value in flag.choices:
            setattr(self.args, flag.attribute, value)
            return
        message = f"{flag.names[0]} {value!r} is passed over: it is not one of {', '.join(flag.choices)}"
        self.args.problems.append(ArgumentProblem("warning", message))

    def take_count(self, flag: Flag, value: str) -> None:
        if value.isascii() and value.isdigit() and int(value):
            setattr(self.args, flag.attribute, int(value))
        else:
            self._error(f"{flag.names[0]} {value!r} is not a whole number of at least 1")

    def take_amount(self, flag: Flag, value: str) -> None:
        amount = _positive(value)
        if amount is not None:
            setattr(self.args, flag.attribute, amount)
        else:
            self._error(f"{flag.names[0]} {value!r} is not a number above 0")

    def take_duration(self, flag: Flag, value: str) -> None:
        unit_s = _UNITS_S.get(value[-1:])
        amount = _positive(value if unit_s is None else value[:-1])
        if amount is not None:
            setattr(self.args, flag.attribute, amount * (unit_s or 1))
        else:
            self._error(f"{flag.names[0]} {value!r} is not a time; write seconds, or a number with s, m or h")


_UNITS_S = {"s": 1, "m": 60, "h": 3600}

_VALUELESS: dict[str, Callable[[_Parser, Flag], None]] = {
    "switch": _Parser.take_switch,
    "message": _Parser.take_message,
    "search": _Parser.take_search,
}
_WITH_VALUE: dict[str, Callable[[_Parser, Flag, str], None]] = {
    "text": _Parser.take_text,
    "word": _Parser.take_text,
    "repeat": _Parser.take_repeat,
    "list": _Parser.take_list,
    "tools": _Parser.take_tools,
    "choice": _Parser.take_choice,
    "level": _Parser.take_level,
    "count": _Parser.take_count,
    "amount": _Parser.take_amount,
    "duration": _Parser.take_duration,
}


def _positive(text: str) -> float | None:
    """The finite number above 0 that a text is, None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def _split(value: str) -> list[str]:
    return [entry.strip() for entry in value.split(",") if entry.strip()]


def check_args(args: CliArgs, registered: Collection[str] = ()) -> list[ArgumentProblem]:
    """Everything that is wrong with parsed arguments before anything is opened, beside `args.problems`.

    `registered` are the long flags of extensions, without dashes.
    """
    return [*conflict_problems(args), *planned_problems(args), *unknown_flag_problems(args, registered)]


def conflict_problems(args: CliArgs) -> Iterator[ArgumentProblem]:
    """The errors of flags that do not go together or whose value cannot be used, before anything is opened."""
    if args.mode == "rpc" and args.files:
        yield ArgumentProblem("error", "@file arguments cannot be used with --mode rpc; send them in a prompt command")
    yield from _exclusive("--fork", args.fork is not None, _session_flags(args, "session", "continue", "resume", "no"))
    yield from _exclusive(
        "--session-id", args.session_id is not None, _session_flags(args, "session", "continue", "resume")
    )
    yield from _value_problems(args)
    if args.provider is not None and args.model is None:
        yield ArgumentProblem(
            "error", f"--provider needs --model, for example: --provider {args.provider} --model PATTERN"
        )
    if args.api_key is not None and args.model is None and not args.models:
        yield ArgumentProblem("error", "--api-key needs a model that it is for: add --model or --models")


def _session_flags(args: CliArgs, *which: str) -> list[str]:
    given = {
        "session": ("--session", args.session is not None),
        "continue": ("--continue", args.continue_session),
        "resume": ("--resume", args.resume),
        "no": ("--no-session", args.no_session),
    }
    return [name for name, is_given in map(given.__getitem__, which) if is_given]


def _exclusive(flag: str, is_given: bool, others: list[str]) -> Iterable[ArgumentProblem]:
    if is_given and others:
        yield ArgumentProblem("error", f"{flag} cannot be combined with {', '.join(others)}")


def _value_problems(args: CliArgs) -> Iterator[ArgumentProblem]:
    if args.session_id is not None:
        from pinyon.session.header import is_valid_session_id

        if not is_valid_session_id(args.session_id):
            yield ArgumentProblem(
                "error",
                f"--session-id {args.session_id!r} cannot be used: letters and digits, inside also '.', '_' and '-'",
            )
    if args.name is not None and not args.name.strip():
        yield ArgumentProblem("error", "--name needs a text that is not blank")


def planned_problems(args: CliArgs) -> Iterator[ArgumentProblem]:
    """The errors of flags that this version of Pinyon does not carry out yet."""
    for flag in dict.fromkeys(FLAGS.values()):
        if flag.planned and getattr(args, flag.attribute) not in (None, False, []):
            instead = f"; {flag.instead}" if flag.instead else ""
            yield ArgumentProblem("error", f"{flag.names[0]} is not available in this version of Pinyon{instead}")


def unknown_flag_problems(args: CliArgs, registered: Collection[str] = ()) -> Iterator[ArgumentProblem]:
    """The errors of unknown flags that no extension registered, all names of a kind in one."""
    unknown = [f"--{name}" for name in args.unknown_flags if name not in registered]
    own = [name for name in unknown if name in FLAGS]
    foreign = [name for name in unknown if name not in FLAGS]
    for name in own:
        mend = "put it into the next argument" if args.unknown_flags[name[2:]] is not True else "it is missing"
        detail = f"{name} takes its value from the next argument" if FLAGS[name].value else f"{name} takes no value"
        yield ArgumentProblem("error", f"{detail}: {mend}" if FLAGS[name].value else detail)
    if foreign:
        noun = "option" if len(foreign) == 1 else "options"
        yield ArgumentProblem("error", f"unknown {noun} {', '.join(foreign)}; see --help, or put prompts after '--'")
