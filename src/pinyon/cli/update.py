"""`pinyon update`: newer packages, or newer models; for the program itself it says what to run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.config import is_offline
from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.app import fail, tell
from pinyon.cli.entry import write
from pinyon.cli.package_args import PackageArgs, PackageArgsError, parse_package_args
from pinyon.cli.package_command import open_manager, run_work, usage_error

if TYPE_CHECKING:
    from pinyon.resources.package.manager import PackageUpdate

USAGE = """\
Usage: pinyon update --extensions              every package of your settings and of a trusted project
       pinyon update <source>                  one package; also: --extension <source>
       pinyon update [self | --self]           how to update Pinyon itself
       pinyon update --all                     both
       pinyon update --models [--url <address>]

--force installs again what is pinned or up to date. --offline changes nothing. -a and -na trust this project or not.

--models fetches newer models of the providers that are signed in and keeps them in models-store.json in the agent
folder. <address> is a catalogue server, by default that of the setting `modelsUrl`; there is none unless you choose
one. OpenRouter and Radius are asked themselves, with your key.
"""
_SWITCHES = frozenset({"--self", "--extensions", "--all", "--force"})
_SELF = frozenset({"self", "pi", "pinyon"})
_PLACEHOLDERS = {"packageName": "pinyon", "installSpec": "pinyon", "version": "latest"}
_TOLD = {
    "updated": "updated",
    "current": "up to date",
    "pinned": "pinned to this version; --force installs it again",
    "local": "a folder of this machine; it is used as it is",
}


def run_update(arguments: Sequence[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    if "--models" in arguments and not {"-h", "--help"} & set(arguments):
        if arguments[0] != "--models":
            return usage_error("--models cannot be combined with anything else", USAGE)
        from pinyon.cli.update_models import run_update_models

        return run_update_models(arguments[1:], USAGE)
    try:
        args = parse_package_args(arguments, switches=_SWITCHES, values=frozenset({"--extension"}), max_positionals=1)
        source = _source(args)
    except PackageArgsError as error:
        return usage_error(str(error), USAGE)
    if args.is_help:
        return write(sys.stdout, USAGE)
    wants_packages = source is not None or bool(args.switches & {"--extensions", "--all"})
    wants_self = not wants_packages or bool(args.switches & {"--self", "--all"})
    code = _tell_self(wants_packages=wants_packages) if wants_self else 0
    return _update_packages(args, source) if wants_packages else code


def _source(args: PackageArgs) -> str | None:
    """The one package to update, None for all or none. Raises `PackageArgsError` for targets that exclude others."""
    named = [*args.values.values(), *args.positionals]
    targets = [*sorted(args.switches - {"--force"}), *(["a source"] if named else [])]
    if len(named) > 1:
        raise PackageArgsError(f"one source at a time; {named[1]!r} is too many")
    if "--all" in args.switches and len(targets) > 1:
        raise PackageArgsError(f"--all cannot be combined with {targets[-1] if targets[-1] != '--all' else targets[0]}")
    if named and len(targets) > 1:
        raise PackageArgsError(f"{targets[0]} cannot be combined with a source")
    if args.positionals and args.positionals[0] in _SELF:
        return None
    return named[0] if named else None


def _update_packages(args: PackageArgs, source: str | None) -> int:
    if args.is_offline or is_offline():
        tell("offline: packages are not updated and stay as they are")
        return 0

    async def work() -> int:
        manager = open_manager(args, only_saved_trust=True)
        updates = await manager.update(source, force="--force" in args.switches)
        lines = [_line(update) for update in updates if update.outcome != "failed"]
        for update in updates:
            if update.outcome == "failed":
                tell(f"Error: {update.source.label}: {update.problem}")
        write(sys.stdout, strip_terminal_control("".join(lines) or ("" if updates else "No packages are installed.\n")))
        return int(any(update.outcome == "failed" for update in updates))

    return run_work(work)


def _line(update: PackageUpdate) -> str:
    told = _TOLD[update.outcome]
    if update.outcome == "updated" and update.after:
        told = f"updated from {update.before} to {update.after}" if update.before else f"installed {update.after}"
    return f"{update.source.label}: {told}\n"


def _tell_self(*, wants_packages: bool) -> int:
    from pinyon._version import __version__

    note = "" if wants_packages else " Packages are left as they are: `pinyon update --extensions` updates them."
    return fail(f"this is Pinyon {__version__}; it does not replace itself. Run: {self_update_command()}.{note}")


def self_update_command() -> str:
    """What updates the program: the command that the user chose, else that of the installer it came with."""
    chosen = os.environ.get("PI_SELF_UPDATE_COMMAND") or " ".join(_setting())
    if chosen:
        return re.sub(r"\{(packageName|installSpec|version)\}", lambda found: _PLACEHOLDERS[found[1]], chosen)
    prefix = Path(sys.prefix).as_posix()
    if "/uv/tools/" in prefix:
        return "uv tool upgrade pinyon"
    if "/pipx/" in prefix:
        return "pipx upgrade pinyon"
    return f"{sys.executable} -m pip install --upgrade pinyon"


def _setting() -> list[str]:
    from pinyon.resources.setting import SELF_UPDATE_COMMAND
    from pinyon.resources.settings import SettingsManager

    return SettingsManager.create(Path.cwd(), project_trusted=False).get(SELF_UPDATE_COMMAND) or []
