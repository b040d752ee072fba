"""Writes the pages under docs/ that are made from tables in the code; `--check` only compares them.

A generated page is made as a whole: change the table or the text here, never the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pinyon.ai.provider import DATA_FOLDER, Provider, providers
from pinyon.ai.sign_in.catalogue import SIGN_INS, SignInEntry
from pinyon.ai.sign_in.context import client_id_variable
from pinyon.cli.auth_args import render_auth_help
from pinyon.cli.flag import COMMANDS, ENVIRONMENT, GROUPS, Flag
from pinyon.cli.help import flag_label
from pinyon.cli.manual import manual_page
from pinyon.resources import setting as settings
from pinyon.resources.settings_schema import settings_schema
from pinyon.tui.binding import BINDINGS
from pinyon.tui.command.builtin import builtin_commands

ROOT = Path(__file__).resolve().parents[1]
PAGES_FOLDER = Path(__file__).with_name("pages")
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
cut off (in JSON mode too), 3 when a limit ended the run before it was done, 129 and 143 after SIGHUP and SIGTERM.
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

- `settings.schema.json` beside this page is a JSON schema; name its path in `$schema` and editors check and complete
  the file.
- The project's values win. Objects are merged key by key, lists and other values are replaced. `null` means unset.
- A list of tools that holds only `+name` and `-name` entries changes the list below it instead of replacing it.
- A value of a wrong type is reported and its default is used. Where the table says *strict*, requests fail instead.
- A file that is not JSON is reported with line and column, counts as empty and is never overwritten. Comments and
  trailing commas are not JSON.
- Keys that Pinyon does not know are kept. The files are shared with pi.
- The interactive mode, RPC commands, `pinyon config` and programs store changes: only the keys that change are written,
  on what the file holds at that moment and under pi's lock, so that changes of several programs at once survive.

Scope *both* means either file, *yours* that a project cannot set it, *combined* that both lists are used.
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


def schema_page() -> str:
    """The JSON schema of settings files."""
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


def models_page() -> str:
    """The page of providers and models."""
    page = (PAGES_FOLDER / "models.md").read_text(encoding="utf-8")
    header = ("`--provider`", "Name", "Sign in", "APIs", "Models", "First model")
    for mark, lines in (
        ("providers", _table(header, map(_provider_row, providers().values()))),
        ("counts", [_counts()]),
        ("catalogue", _provenance()),
    ):
        page = page.replace("{{" + mark + "}}", "\n".join(lines))
    return f"{NOTE}\n\n{page}"


def sign_in_page() -> str:
    """The page of `pinyon auth` and of the providers that take accounts."""
    page = (PAGES_FOLDER / "sign-in.md").read_text(encoding="utf-8")
    rows = _table(("Provider", "Way", "Client id of your own"), (_sign_in_row(*item) for item in SIGN_INS.items()))
    for mark, text in (("accounts", "\n".join(rows)), ("help", render_auth_help().rstrip("\n"))):
        page = page.replace("{{" + mark + "}}", text)
    return f"{NOTE}\n\n{page}"


def _sign_in_row(provider_id: str, entry: SignInEntry) -> tuple[str, ...]:
    labels = {"browser": "browser", "device_code": "code on any device"}
    client = f"`{client_id_variable(provider_id)}`" if entry.needs_client_id else "–"
    return f"`{provider_id}`", " or ".join(labels[way] for way in entry.ways), client


def interactive_page() -> str:
    """The page of the interactive mode, with its commands and keys."""
    page = (PAGES_FOLDER / "interactive.md").read_text(encoding="utf-8")
    commands = (
        (_code(f"/{command.name} {command.argument_hint}".rstrip()), _escape(command.doc))
        for command in builtin_commands()
        if not command.is_hidden
    )
    keys = (
        (_code(binding.id), " ".join(map(_code, binding.keys)) or "–", _escape(binding.doc))
        for binding in BINDINGS.values()
    )
    for mark, lines in (
        ("commands", _table(("Command", "Meaning"), commands)),
        ("keys", _table(("Action", "Keys", "Meaning"), keys)),
    ):
        page = page.replace("{{" + mark + "}}", "\n".join(lines))
    return f"{NOTE}\n\n{page}"


def _code(text: str) -> str:
    return f"`{_escape(text)}`"


def _provider_row(provider: Provider) -> tuple[str, ...]:
    default = f"`{provider.default_model}`" if provider.default_model else "–"
    apis = "<br>".join(f"`{api}`" for api in provider.apis)
    count = str(len(_listed_models(provider))) or "–"
    return f"`{provider.id}`", provider.name, "<br>".join(_ways_in(provider)), apis, count, default


def _ways_in(provider: Provider) -> Iterator[str]:
    if provider.key_variables:
        needed = [f"`{name}`" for name in provider.requires]
        if provider.requires_one:
            needed.append(" or ".join(f"`{name}`" for name in provider.requires_one))
        names = ", ".join(f"`{name}`" for name in provider.key_variables)
        yield f"{names} with {' and '.join(needed)}" if needed else names
    for group in provider.ambient:
        yield " and ".join(f"`{name}`" for name in group)
    if provider.id == "google-vertex":
        yield "application default credentials with `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`"
    if provider.id in SIGN_INS:
        needs_client = SIGN_INS[provider.id].needs_client_id
        yield f"account, with `{client_id_variable(provider.id)}`" if needs_client else "account"


def _listed_models(provider: Provider) -> dict[str, Any]:
    path = DATA_FOLDER / "models" / f"{provider.id}.json"
    return json.loads(path.read_bytes()) if path.is_file() else {}


def _counts() -> str:
    listed = {provider.id: len(_listed_models(provider)) for provider in providers().values()}
    return f"{len(listed)} providers, {sum(listed.values())} models. TypeSafe offers classifiers only."


def _provenance() -> Iterator[str]:
    manifest = json.loads((DATA_FOLDER / "manifest.json").read_bytes())
    yield f"The files are of {manifest['generatedAt'][:10]} and were made from these published data sets:\n"
    sources = ([source[name] for name in ("name", "version", "licence", "url")] for source in manifest["sources"])
    yield from _table(("Data set", "Version", "Licence", "Source"), map(tuple, sources))


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
    "docs/interactive.md": interactive_page,
    "docs/models.md": models_page,
    "docs/pinyon.1": manual_page,
    "docs/settings.md": settings_page,
    "docs/settings.schema.json": schema_page,
    "docs/sign-in.md": sign_in_page,
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
