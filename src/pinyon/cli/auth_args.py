"""The argument grammar of `pinyon auth`, and its help text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LOGIN, LOGOUT, PRINT_KEY, PRINT_TOKEN, CHECK, LIST = (
    "login",
    "logout",
    "print-api-key",
    "print-bearer-token",
    "check",
    "list",
)

USAGES = {
    LOGIN: "<provider> [--api-key] [--no-browser]",
    LOGOUT: "<provider>",
    PRINT_KEY: "[--provider <provider>] [--model <model>]",
    PRINT_TOKEN: "[--provider <provider>] [--model <model>] [--min-expiry <duration>]",
    CHECK: "[--provider <provider>] [--model <model>] [--json] [--credentials] [--no-refresh]",
    LIST: "",
}
"""The commands and what follows them."""

_SWITCHES = {"--api-key", "--no-browser", "--json", "--credentials", "--no-refresh"}
_VALUES = {"--provider", "--model", "--min-expiry"}
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_DEFAULT_MIN_EXPIRY_MS = 30 * 60_000


class AuthArgumentError(Exception):
    """Raised for arguments that cannot be used; `exit_code` is the command's."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class AuthArgs:
    """What the arguments say. `subject` is the provider that stands behind `login` and `logout`."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.subject = ""
        self.switches: set[str] = set()
        self.provider: str | None = None
        self.model: str | None = None
        self.min_expiry_ms = _DEFAULT_MIN_EXPIRY_MS


def usage_of(command: str) -> str:
    """One line: how a command is written."""
    return f"pinyon auth {command} {USAGES[command]}".rstrip()


def is_help_wanted(argv: Sequence[str]) -> bool:
    """Whether the arguments behind `auth` ask for the help text."""
    return not argv or argv[0] == "help" or "-h" in argv or "--help" in argv


def parse_auth_args(argv: Sequence[str]) -> AuthArgs:
    """The arguments behind `auth`; raises `AuthArgumentError`."""
    if argv[0] not in USAGES:
        raise AuthArgumentError(f"unknown auth command {argv[0]!r}; the commands are {', '.join(USAGES)}")
    args = AuthArgs(argv[0])
    words = _read_words(args, argv[1:])
    if args.command in (LOGIN, LOGOUT):
        if len(words) != 1:
            raise AuthArgumentError(f"one provider is needed; usage: {usage_of(args.command)}")
        args.subject = words[0]
    elif words:
        raise AuthArgumentError(f"{words[0]!r} is one word too many; usage: {usage_of(args.command)}", _bad(args))
    if {"--api-key", "--no-browser"} <= args.switches:
        raise AuthArgumentError("--no-browser is for signing in with an account; leave it out beside --api-key")
    if args.command in (PRINT_KEY, PRINT_TOKEN, CHECK) and not args.provider and not args.model:
        raise AuthArgumentError(f"--provider or --model is needed; usage: {usage_of(args.command)}", _bad(args))
    return args


def _bad(args: AuthArgs) -> int:
    return 2 if args.command == CHECK else 1


def _read_words(args: AuthArgs, argv: Sequence[str]) -> list[str]:
    """Take the options out of `argv` and return the other words."""
    words = []
    rest = list(reversed(argv))
    while rest:
        word = rest.pop()
        if not word.startswith("-"):
            words.append(word)
        elif word in _SWITCHES or word in _VALUES:
            _check_place(args, word)
            _take(args, word, rest)
        else:
            detail = " (a value is the next argument)" if word.partition("=")[0] in _VALUES else ""
            raise AuthArgumentError(f"unknown option {word!r}{detail}; usage: {usage_of(args.command)}")
    return words


def _check_place(args: AuthArgs, word: str) -> None:
    if f"[{word}" in USAGES[args.command]:
        return
    if word == "--api-key" and args.command != LOGOUT:
        raise AuthArgumentError(f"{word} is only for auth login; usage: {usage_of(args.command)}", _bad(args))
    owners = " and ".join(command for command, usage in USAGES.items() if f"[{word}" in usage)
    raise AuthArgumentError(f"{word} is only for auth {owners}; usage: {usage_of(args.command)}")


def _take(args: AuthArgs, word: str, rest: list[str]) -> None:
    if word in _SWITCHES:
        args.switches.add(word)
        return
    if not rest or rest[-1].startswith("-") or not rest[-1]:
        raise AuthArgumentError(f"{word} needs a value; usage: {usage_of(args.command)}")
    value = rest.pop()
    if word == "--min-expiry":
        args.min_expiry_ms = duration_ms(value)
    else:
        setattr(args, word[2:], value)


def duration_ms(text: str) -> int:
    """Milliseconds of a duration such as `30m`; raises `AuthArgumentError`."""
    digits = text.rstrip("hms")
    unit = text[len(digits) :]
    if unit not in _UNITS_MS or not digits.isascii() or not digits.isdigit() or len(digits) > 12:
        raise AuthArgumentError(f"--min-expiry {text!r} is no duration; write it like 30m, 1h or 90s")
    return int(digits) * _UNITS_MS[unit]


def render_auth_help() -> str:
    """The whole help text, ending in a newline."""
    usages = "\n".join(f"  {usage_of(command)}" for command in USAGES)
    return f"""\
Sign in to providers of models and out again, and print or check what is stored.

Usage:
{usages}

Commands:
  login               sign in with an account, or store an API key where the provider has no accounts
  logout              remove the stored credential; variables and models.json stay as they are
  print-api-key       print the API key that requests would carry
  print-bearer-token  print the access token of a sign-in, renewed if it runs out soon
  check               print ready, not_ready or invalid, and exit with 0, 1 or 2
  list                show for each provider where its credential comes from and how long it is valid

Options:
  --api-key           store an API key instead of signing in with an account
  --no-browser        open no browser here; sign in with a code or on another machine
  --provider          provider whose credential is meant
  --model             model whose provider is meant
  --min-expiry        how long a printed token must stay valid, such as 30m (default) or 1h
  --json              print the result of check as JSON
  --credentials       let check print the credential itself
  --no-refresh        let check use a stored token as it is

Credentials are stored in auth.json in the agent folder, ~/.pi/agent, readable by you only.
Some providers need an OAuth client id of your own: PINYON_OAUTH_<PROVIDER>_CLIENT_ID, or
oauth.<provider>.clientId in settings.json.
"""
