"""Writes the pages under docs/ that are made from tables in the code; `--check` only compares them.

A generated page is made as a whole: change the table or the text here, never the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pinyon.ai.api import api_names
from pinyon.ai.provider import Provider, providers
from pinyon.cli.flag import COMMANDS, ENVIRONMENT, GROUPS, Flag
from pinyon.cli.help import flag_label
from pinyon.resources import setting as settings

ROOT = Path(__file__).resolve().parents[1]
NOTE = "<!-- Made by `make docs`; change the tables in the code instead. -->"

CLI_INTRO = """\
# Command line

    pinyon [options] [--] [@files...] [prompts...]
    pinyon <command>

- Options and prompts may stand in any order. The value of an option is the next argument, whatever it looks like;
  `--option=value` is only for options of extensions.
- `@path` attaches a file. Several prompts are sent one after another.
- `--` ends the options: what follows is a prompt or a file even if it starts with a dash.
- Short options are whole words (`-nt`, `-xt`) and cannot be combined.
- Text that is piped in comes before attached files and the first prompt.
- `-p` answers and exits. Without a terminal on standard input or output, that is also what happens without `-p`.

Exit codes: 0 for success, 1 for wrong arguments, a missing model, or a last answer that is an error, aborted, empty or
cut off (in JSON mode too), 129 and 143 after SIGHUP and SIGTERM.
"""

SETTINGS_INTRO = """\
# Settings

Settings are JSON objects in two files: yours, `~/.pi/agent/settings.json`, and the project's, `.pi/settings.json`,
which counts only in a trusted project (see [security](security.md)). A dotted name such as `retry.maxRetries` is a key
in an object of that name:

```json
{
  "defaultProvider": "anthropic",
  "retry": { "maxRetries": 5 }
}
```

- The project's values win. Objects are merged key by key, lists and other values are replaced. `null` means unset.
- A list of tools that holds only `+name` and `-name` entries changes the list below it instead of replacing it.
- A value of a wrong type is reported and its default is used. Where the table says *strict*, requests fail instead.
- A file that is not JSON is reported with line and column, counts as empty and is never overwritten. Comments and
  trailing commas are not JSON.
- Keys that Pinyon does not know are kept. The files are shared with pi.

Scope *both* means either file, *yours* that a project cannot set it, *combined* that both lists are used.
"""


PROVIDERS_INTRO = """\
# Providers

The providers that are known by name, the environment variables that can hold their key (the first one that is set
counts) with others that must be set too, and the model that a start without `--model` and without a default takes.
Keys can also stand in `auth.json` or `models.json`; see [models](models.md).
"""


def cli_page() -> str:
    """The page of flags, commands and environment variables."""
    parts = [NOTE, "", CLI_INTRO]
    for title, flags in GROUPS.items():
        parts += [f"## {title}", "", *_table(("Option", "Meaning"), (_flag_row(flag) for flag in flags)), ""]
    commands = ((f"`pinyon {name}`", _availability(item.help, item.planned)) for name, item in COMMANDS.items())
    parts += ["## Commands", "", "A command is recognised as the very first argument only.", ""]
    parts += [*_table(("Command", "Meaning"), commands), "", "## Environment", ""]
    parts += _table(("Variable", "Meaning"), ((f"`{name}`", text) for name, text in ENVIRONMENT.items()))
    return "\n".join(parts) + "\n"


def settings_page() -> str:
    """The page of settings."""
    parts = [NOTE, "", SETTINGS_INTRO]
    for title, group in settings.GROUPS.items():
        header = ("Setting", "Values", "Default", "Scope", "Meaning")
        parts += [f"## {title}", "", *_table(header, (_setting_row(setting) for setting in group)), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def providers_page() -> str:
    """The page of known providers."""
    spoken = set(api_names())
    usable = [provider for provider in providers().values() if spoken.intersection(provider.apis)]
    missing = [provider.name for provider in providers().values() if not spoken.intersection(provider.apis)]
    rows = _table(("`--provider`", "Name", "Variables", "First model"), map(_provider_row, usable))
    later = f"Known, but with a wire format that is not spoken yet: {', '.join(missing)}."
    return "\n".join([NOTE, "", PROVIDERS_INTRO, *rows, "", later]) + "\n"


def _provider_row(provider: Provider) -> tuple[str, ...]:
    variables = ", ".join(f"`{name}`" for name in provider.key_variables) or "–"
    needed = [f"`{name}`" for name in provider.requires]
    if provider.requires_one:
        needed.append(" or ".join(f"`{name}`" for name in provider.requires_one))
    default = f"`{provider.default_model}`" if provider.default_model else "–"
    return f"`{provider.id}`", provider.name, "; with ".join([variables, *needed]), default


def _flag_row(flag: Flag) -> tuple[str, str]:
    return f"`{_escape(flag_label(flag))}`", _availability(_escape(flag.help), flag.planned)


def _availability(text: str, planned: bool) -> str:
    return f"{text} *(not available yet)*" if planned else text


def _setting_row(setting: settings.Setting[Any]) -> tuple[str, ...]:
    default = "–" if setting.default is None else f"`{_escape(json.dumps(setting.default))}`"
    scope = {"both": "both", "global": "yours", "combined": "combined"}[setting.scope]
    doc = f"{setting.doc} *(strict)*" if setting.strict else setting.doc
    return f"`{setting.key}`", _escape(setting.kind.label), default, scope, _escape(doc)


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [_row(header), _row(("---",) * len(header)), *map(_row, rows)]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/cli.md": cli_page,
    "docs/providers.md": providers_page,
    "docs/settings.md": settings_page,
}


def stale_pages() -> list[str]:
    """The generated pages whose files differ from what the tables say now."""
    return [name for name, render in PAGES.items() if _read(ROOT / name) != render()]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(argv: list[str]) -> int:
    """Write or check the pages; exit code 1 when `--check` finds one that is out of date."""
    stale = stale_pages()
    if "--check" in argv:
        for name in stale:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
