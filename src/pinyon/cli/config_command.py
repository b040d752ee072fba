"""`pinyon config`: which resources are used, and switches for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.terminal import strip_terminal_control
from pinyon.cli.app import tell
from pinyon.cli.entry import write
from pinyon.cli.package_args import PackageArgs, PackageArgsError, parse_package_args
from pinyon.cli.package_command import open_manager, run_work, usage_error
from pinyon.errors import ConfigError

if TYPE_CHECKING:
    from pinyon.resources.diagnostic import ResourceKind
    from pinyon.resources.loader import DefaultResourceLoader
    from pinyon.resources.resource_place import FoundResource

USAGE = """\
Usage: pinyon config [-l] [-a|-na]
       pinyon config enable|disable <kind> <path>... [-l] [-a|-na]

Without more, lists the extensions, skills, prompts and themes that were found, [x] used and [ ] not.
<kind> is extensions, skills, prompts or themes; <path> is a path as listed, or its last part.
-l changes the settings of the project, which must be trusted. -a trusts the project for this run, -na does not.
"""
_ACTIONS = ("enable", "disable")
_MAX_PATHS = 1000


def run_config(arguments: Sequence[str]) -> int:
    """`pinyon config`; returns the exit code."""
    try:
        args = parse_package_args(arguments, max_positionals=_MAX_PATHS, can_be_local=True)
        if args.is_help:
            return write(sys.stdout, USAGE)
        kind = _checked_kind(args.positionals)
    except PackageArgsError as error:
        return usage_error(str(error), USAGE)

    async def work() -> int:
        loader = _loader(args)
        if kind is None:
            return _show(loader)
        for text in args.positionals[2:]:
            await _switch(loader, kind, text, args)
        return 0

    return run_work(work)


def _checked_kind(positionals: Sequence[str]) -> ResourceKind | None:
    from pinyon.resources.package.manifest import KINDS

    if not positionals:
        return None
    action, *rest = positionals
    if action not in _ACTIONS:
        raise PackageArgsError(f"unexpected argument {action!r}")
    kind = next((kind for kind in KINDS if rest and rest[0] in (kind, kind.removesuffix("s"))), None)
    if kind is None:
        raise PackageArgsError(f"{action} needs a kind, one of {', '.join(KINDS)}")
    if len(rest) < 2:
        raise PackageArgsError(f"{action} needs at least one path")
    return kind


def _loader(args: PackageArgs) -> DefaultResourceLoader:
    from pinyon.resources.loader import DefaultResourceLoader

    manager = open_manager(args)
    if args.is_local and not manager.settings.is_project_trusted:
        raise ConfigError("this project is not trusted: its settings are not changed; give --approve, or trust it")
    loader = DefaultResourceLoader(cwd=manager.cwd, agent_dir=manager.agent_dir, settings_manager=manager.settings)
    loader.load()
    return loader


def _show(loader: DefaultResourceLoader) -> int:
    from pinyon.resources.package.manifest import KINDS

    for diagnostic in [*loader.settings.diagnostics, *loader.diagnostics]:
        if diagnostic.type != "collision":
            tell(f"{diagnostic.severity.capitalize()}: {diagnostic.message}")
    lines: list[str] = []
    for kind in KINDS:
        found = loader.find(kind)
        if found:
            lines += [f"{kind}:", *map(_line, found), ""]
    if sys.stdin.isatty() and sys.stdout.isatty():
        lines.append("/config of the interactive mode switches them on a screen.")
    return write(sys.stdout, strip_terminal_control("\n".join(lines) or "Nothing was found.") + "\n")


def _line(found: FoundResource) -> str:
    source = found.source
    origin = source.source if source.origin == "package" else f"{source.scope} {source.source}"
    return f"  [{'x' if found.is_enabled else ' '}] {_subject(found)}  ({origin})"


def _subject(found: FoundResource) -> Path:
    return found.path.parent if found.path.name == "SKILL.md" else found.path


async def _switch(loader: DefaultResourceLoader, kind: ResourceKind, text: str, args: PackageArgs) -> None:
    from pinyon._util.config import CONFIG_DIR_NAME
    from pinyon.resources.resource_switch import ResourceSwitch

    found = _named(loader, kind, text)
    base = loader.cwd / CONFIG_DIR_NAME if args.is_local else loader.agent_dir
    if base is None:
        raise ConfigError("there is no agent folder for settings: set HOME or PI_CODING_AGENT_DIR")
    switch = ResourceSwitch(loader.settings, "project" if args.is_local else "user", base, loader.agent_dir)
    is_on = args.positionals[0] == "enable"
    await switch.set(kind, found, is_on=is_on)
    for problem in loader.settings.drain_errors():
        raise ConfigError(problem.message)
    write(sys.stdout, strip_terminal_control(f"{'on ' if is_on else 'off'} {_subject(found)}\n"))


def _named(loader: DefaultResourceLoader, kind: ResourceKind, text: str) -> FoundResource:
    from pinyon._util.config import expand_home

    found = loader.find(kind)
    path = (loader.cwd / expand_home(text)).absolute()
    exact = [each for each in found if path in (each.path, _subject(each))]
    last = [each for each in found if text in (each.path.name, each.path.stem, _subject(each).name)]
    named = exact[:1] or last
    if not named:
        raise ConfigError(f"no {kind.removesuffix('s')} {text!r} was found; `pinyon config` lists them")
    if len(named) > 1:
        paths = ", ".join(repr(str(_subject(each))) for each in named)
        raise ConfigError(f"{text!r} is the name of more than one {kind.removesuffix('s')}: {paths}; give the path")
    return named[0]
