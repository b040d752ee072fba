"""The table of all flags and sub-commands: what the parser accepts and what help and documentation show.

This file and its neighbours `args` and `help` are all that `--version` and `--help` load, so they import nothing.
"""

from __future__ import annotations

MODES = ("text", "json", "rpc")
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
IN_USE = ("fail", "fork", "read-only")
TUI_MODES = ("fullscreen", "regular")


class Flag:
    """One flag. `kind` names how it is parsed (see `args`), `attribute` where its value goes.

    `value` is what help shows for the value, `choices` what it may be. With `needs_value` a missing value or, for
    `choice` and `word`, one that starts with a dash is refused at once. `planned` marks what this version cannot do
    yet: it is parsed and then refused, never passed over in silence; `instead` says what does nearly the same.
    """

    __slots__ = (
        "attribute",
        "choices",
        "constant",
        "group",
        "help",
        "instead",
        "kind",
        "names",
        "needs_value",
        "planned",
        "value",
    )

    def __init__(
        self,
        names: str,
        kind: str,
        text: str,
        *,
        attribute: str = "",
        value: str = "",
        choices: tuple[str, ...] = (),
        constant: bool = True,
        needs_value: bool = False,
        planned: bool = False,
        instead: str = "",
    ) -> None:
        self.names = names.split()
        self.kind = kind
        self.help = text
        self.attribute = attribute or self.names[0].lstrip("-").replace("-", "_")
        self.value = value
        self.choices = choices
        self.constant = constant
        self.needs_value = needs_value
        self.planned = planned
        self.instead = instead


class Command:
    """A sub-command, recognised as the very first argument only."""

    __slots__ = ("help", "name", "planned")

    def __init__(self, name: str, text: str, *, planned: bool = False) -> None:
        self.name = name
        self.help = text
        self.planned = planned


GROUPS: dict[str, tuple[Flag, ...]] = {
    "Output": (
        Flag("--print -p", "message", "answer and exit; the next argument is the prompt", value="[message]"),
        Flag(
            "--mode",
            "choice",
            "the answer's text (default), one JSON event a line, or commands and answers for programs",
            value="text|json|rpc",
            choices=MODES,
            needs_value=True,
        ),
        Flag("--verbose", "switch", "say more at the start"),
        Flag("--quiet", "switch", "with -p at a terminal: no line that shows what the run is doing"),
        Flag("--help -h", "switch", "show this text"),
        Flag("--version -v", "switch", "show the version"),
    ),
    "Model": (
        Flag("--model", "text", "model: id, provider/id or a part of it, with :level for thinking", value="pattern"),
        Flag("--provider", "text", "provider in which --model is looked up", value="name"),
        Flag("--api-key", "text", "key for the provider of the chosen model, for this run only", value="key"),
        Flag("--thinking", "level", "thinking level", value="off|minimal|low|medium|high|xhigh|max", choices=LEVELS),
        Flag(
            "--list-models", "search", "list the models that can be used, those that match if given", value="[search]"
        ),
        Flag(
            "--models",
            "list",
            "models to choose from, comma-separated: ids, parts and * patterns, each with :level; a new session takes "
            "the default if it is among them, else the first",
            value="patterns",
        ),
    ),
    "Session": (
        Flag("--continue -c", "switch", "go on with the newest session of this folder", attribute="continue_session"),
        Flag("--session", "text", "open a session by file or by the beginning of its id", value="path|id"),
        Flag("--session-id", "text", "open the session of this exact id, or create it", value="id"),
        Flag("--session-dir", "text", "folder in which sessions are stored and looked up", value="folder"),
        Flag("--no-session", "switch", "keep the conversation in memory only"),
        Flag(
            "--if-in-use",
            "choice",
            "what to do with a session that another process has open: stop (default), go on in a copy, only read it",
            value="fail|fork|read-only",
            choices=IN_USE,
            needs_value=True,
        ),
        Flag("--name -n", "text", "name of the session", value="text", needs_value=True),
        Flag("--resume -r", "switch", "choose a session from a list, in the interactive mode"),
        Flag("--fork", "text", "copy a session into a new one of this folder and go on there", value="path|id"),
        Flag("--export", "text", "write a session as HTML; the output file may follow", value="file"),
    ),
    "Limits": (
        Flag("--max-turns", "count", "end after so many answers", value="number", needs_value=True),
        Flag(
            "--max-tokens",
            "count",
            "end when so many tokens are used, input included",
            value="number",
            needs_value=True,
        ),
        Flag("--max-cost", "amount", "end when so many US dollars are spent", value="dollars", needs_value=True),
        Flag(
            "--max-time",
            "duration",
            "abort after this time: seconds, or with s, m or h",
            value="time",
            attribute="max_time_s",
            needs_value=True,
        ),
    ),
    "Tools": (
        Flag(
            "--tools -t",
            "tools",
            "tools to enable: names and * patterns, or +name,-name to change the defaults",
            value="list",
        ),
        Flag("--exclude-tools -xt", "list", "tools to leave out, whatever else enables them", value="list"),
        Flag("--no-builtin-tools -nbt", "switch", "leave out the built-in tools"),
        Flag("--no-tools -nt", "switch", "enable no tools"),
    ),
    "Prompt and project": (
        Flag("--system-prompt", "text", "system prompt instead of the built-in one", value="text|file"),
        Flag("--append-system-prompt", "repeat", "add to the system prompt; may be repeated", value="text|file"),
        Flag("--no-context-files -nc", "switch", "do not read AGENTS.md and CLAUDE.md"),
        Flag("--approve -a", "switch", "trust this project's own files for this run", attribute="project_trust"),
        Flag(
            "--no-approve -na",
            "switch",
            "ignore this project's own files for this run",
            attribute="project_trust",
            constant=False,
        ),
        Flag("--offline", "switch", "use no network at the start"),
    ),
    "Extensions and resources": (
        Flag(
            "--extension -e",
            "repeat",
            "load an extension for this run",
            attribute="extensions",
            value="source",
            planned=True,
        ),
        Flag("--no-extensions -ne", "switch", "load no extensions but those of -e"),
        Flag("--no-mcp", "switch", "start no MCP servers"),
        Flag("--skill", "repeat", "add a skill file or a folder of skills", attribute="skills", value="path"),
        Flag("--no-skills -ns", "switch", "look for no skills"),
        Flag(
            "--prompt-template",
            "repeat",
            "add a prompt template or a folder of them",
            attribute="prompt_templates",
            value="path",
        ),
        Flag("--no-prompt-templates -np", "switch", "look for no prompt templates"),
        Flag("--theme", "repeat", "add a theme or a folder of them", attribute="themes", value="path"),
        Flag("--no-themes", "switch", "look for no themes"),
        Flag("--use-theme", "word", "theme of the interactive mode", value="name", needs_value=True),
        Flag(
            "--tui-mode",
            "choice",
            "how the interactive mode draws",
            value="fullscreen|regular",
            choices=TUI_MODES,
            needs_value=True,
        ),
    ),
}
"""The flags by topic, in the order of the help text."""

FLAGS: dict[str, Flag] = {name: flag for group in GROUPS.values() for flag in group for name in flag.names}
"""The flags by each of their names."""

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("demo", "watch a scripted model work with the real tools; needs no key and no network"),
        Command("web", "show the interactive mode in a browser of this machine; see `pinyon web --help`"),
        Command("acp", "serve the Agent Client Protocol, for editors"),
        Command("completion", "print what lets bash, zsh or fish complete the options of pinyon"),
        Command("auth", "sign in to providers and out, print and check credentials; see `pinyon auth --help`"),
        Command(
            "install", "install a package from git, npm, a Python index or a folder, for you or (`-l`) the project"
        ),
        Command("remove", "remove a package"),
        Command("uninstall", "the same as remove"),
        Command("update", "update packages, or with `--models` the list of models; see `pinyon update --help`"),
        Command("list", "list the packages of you and of the project"),
        Command("doctor", "check what of your and the project's files is used, ignored or broken, and how to mend it"),
        Command("config", "show which skills, prompts, themes and extensions are used, and switch them on and off"),
        Command("mcp", "manage MCP servers", planned=True),
    )
}
"""The sub-commands by name."""

ENVIRONMENT: dict[str, str] = {
    "PI_CODING_AGENT_DIR": "agent folder instead of ~/.pi/agent",
    "PI_CODING_AGENT_SESSION_DIR": "folder for sessions; --session-dir wins",
    "PI_OFFLINE": "1, true or yes: use no network at the start, as --offline",
    "PI_TIMING": "1: tell on standard error how long the stages of the start took",
    "PI_SHARE_VIEWER_URL": "page that shows shared sessions, instead of https://pi.dev/session/",
    "PI_PACKAGE_DIR": "where README, docs and examples of Pinyon are looked for",
    "PINYON_OAUTH_<PROVIDER>_CLIENT_ID": "OAuth client id of your own, for sign-ins that need one",
    "PI_OAUTH_CALLBACK_HOST": "address at which browsers come back from a sign-in, instead of 127.0.0.1",
    "PINYON_MODEL_REQUESTS": "loopback: refuse requests to models beyond this machine, for tests",
    "HTTP_PROXY, HTTPS_PROXY, NO_PROXY": "proxies for requests to models",
}
"""Environment variables that are read, beside the keys of providers."""
