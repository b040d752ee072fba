"""`pinyon install`, `remove`, `uninstall` and `list`: packages of the user and, with `-l`, of the project."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.app import fail, tell, use_proxy
from pinyon.cli.entry import write
from pinyon.cli.package_args import PackageArgs, PackageArgsError, parse_package_args
from pinyon.errors import PinyonError

if TYPE_CHECKING:
    from pinyon.resources.package.manager import ListedPackage, PackageManager
    from pinyon.resources.source_info import SourceScope

INSTALL_USAGE = """\
Usage: pinyon install <source> [-l] [-a|-na] [--offline]

  git:github.com/owner/name[@ref]     a repository; https, ssh and git URLs too
  npm:name[@version]                  skills, prompts and themes of an npm package; needs npm
  pypi:name[==version]                a Python package, with uv or pip, in a folder of its own
  ./folder                            a folder of this machine, used where it is

-l, --local           for this project: into .pi/settings.json, which needs a trusted project
-a, --approve         trust this project for this run; -na, --no-approve does not
"""
REMOVE_USAGE = """\
Usage: pinyon remove <source> [-l] [-a|-na]

Takes a package out of your settings, or with -l out of the project's, and deletes what was installed for it.
"""
LIST_USAGE = """\
Usage: pinyon list [-a|-na]

Lists the packages of your settings and of the project's, with where they are. "filtered" means that an entry chooses
from what its package brings.
"""


def run_install(arguments: Sequence[str]) -> int:
    """`pinyon install`; returns the exit code."""
    args = _parsed(arguments, INSTALL_USAGE, max_positionals=1)
    if isinstance(args, int):
        return args
    if not args.positionals:
        return usage_error("what should be installed? give a source", INSTALL_USAGE)

    async def work() -> int:
        manager = open_manager(args)
        scope: SourceScope = "project" if args.is_local else "user"
        source = await manager.install(args.positionals[0], scope)
        told = f"Installed {source.label}\n" + _trust_note(manager, args)
        return write(sys.stdout, strip_terminal_control(told))

    return run_work(work)


def run_remove(arguments: Sequence[str]) -> int:
    """`pinyon remove` and `pinyon uninstall`; returns the exit code."""
    args = _parsed(arguments, REMOVE_USAGE, max_positionals=1)
    if isinstance(args, int):
        return args
    if not args.positionals:
        return usage_error("what should be removed? give a source as `pinyon list` shows it", REMOVE_USAGE)

    async def work() -> int:
        source = await open_manager(args).remove(args.positionals[0], "project" if args.is_local else "user")
        return write(sys.stdout, strip_terminal_control(f"Removed {source.label}\n"))

    return run_work(work)


def run_list(arguments: Sequence[str]) -> int:
    """`pinyon list`; returns the exit code."""
    args = _parsed(arguments, LIST_USAGE, can_be_local=False)
    if isinstance(args, int):
        return args

    async def work() -> int:
        manager = open_manager(args)
        for diagnostic in manager.settings.diagnostics:
            tell(f"Warning: {diagnostic.message}")
        return write(sys.stdout, strip_terminal_control(_listing(await manager.list_packages())))

    return run_work(work)


def open_manager(args: PackageArgs, *, only_saved_trust: bool = False) -> PackageManager:
    """The packages of the working directory, as far as it is trusted."""
    from pinyon.resources.package.manager import PackageManager
    from pinyon.resources.settings import SettingsManager

    if args.is_offline:
        os.environ["PI_OFFLINE"] = "1"
    cwd = Path.cwd()
    trust = args.trust
    if trust is None and args.is_local and not only_saved_trust and sys.stdin.isatty() and sys.stderr.isatty():
        from pinyon.cli.trust_terminal import settle_trust

        trust = settle_trust(cwd, None).get(str(cwd.resolve()))
    settings = SettingsManager.create(cwd, project_trusted=trust)
    use_proxy(settings)
    return PackageManager(cwd=cwd, settings=settings, progress=tell)


def usage_error(message: str, usage: str) -> int:
    """Tell what is wrong with the arguments, with the usage; returns exit code 1."""
    return fail(f"{message}\n\n{usage.rstrip()}")


def _parsed(
    arguments: Sequence[str], usage: str, *, max_positionals: int = 0, can_be_local: bool = True
) -> PackageArgs | int:
    try:
        args = parse_package_args(arguments, max_positionals=max_positionals, can_be_local=can_be_local)
    except PackageArgsError as error:
        return usage_error(str(error), usage)
    return write(sys.stdout, usage) if args.is_help else args


def run_work(work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run the work of a command; a failure is one clear line."""
    from pinyon.cli.interrupt import run_until_signal

    try:
        return run_until_signal(work())
    except PinyonError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error.filename or 'a file'!r}: {error.strerror or error}")


def _trust_note(manager: PackageManager, args: PackageArgs) -> str:
    """What keeps a package of the project from being used, if anything does."""
    from pinyon.resources.trust import decide_project_trust

    if not args.is_local:
        return ""
    default = manager.settings.get_default_project_trust()
    if decide_project_trust(manager.cwd, manager.agent_dir, default=default).trusted:
        return ""
    return "It is used once this project is trusted: start `pinyon` here and answer, or give --approve.\n"


def _listing(packages: list[ListedPackage]) -> str:
    if not packages:
        return "No packages are installed.\n"
    groups: dict[str, list[str]] = {"user": [], "project": []}
    for package in packages:
        entry = package.entry
        version = f" [{package.version}]" if package.version else ""
        where = str(package.folder) if package.folder else "not there"
        filtered = " (filtered)" if entry.is_filtered else ""
        groups[entry.scope] += [f"  {entry.source.label}{filtered}{version}", f"    {where}"]
    titles = {"user": "Your packages:", "project": "Packages of the project:"}
    return "\n".join("\n".join([titles[scope], *lines, ""]) for scope, lines in groups.items() if lines)
