"""Arguments of the package commands: a small grammar with exact answers to what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

HELP = frozenset({"-h", "--help"})
TRUST = {"-a": True, "--approve": True, "-na": False, "--no-approve": False}
LOCAL = frozenset({"-l", "--local"})


class PackageArgsError(ValueError):
    """What is wrong with the arguments, as a sentence without the usage."""


class PackageArgs(msgspec.Struct):
    """What a package command was given. `switches` are its own options, `values` those that take a value."""

    positionals: list[str] = []
    switches: set[str] = set()
    values: dict[str, str] = {}
    trust: bool | None = None
    is_local: bool = False
    is_offline: bool = False
    is_help: bool = False


def parse_package_args(
    arguments: Sequence[str],
    *,
    switches: frozenset[str] = frozenset(),
    values: frozenset[str] = frozenset(),
    max_positionals: int = 0,
    can_be_local: bool = False,
) -> PackageArgs:
    """Parse the arguments behind a command. Raises `PackageArgsError`; a question for help comes before all errors."""
    found = PackageArgs(is_help=any(argument in HELP for argument in arguments))
    if found.is_help:
        return found
    rest = list(arguments)
    missing: list[str] = []
    while rest:
        argument = rest.pop(0)
        if argument in TRUST:
            found.trust = TRUST[argument]
        elif argument in LOCAL and can_be_local:
            found.is_local = True
        elif argument == "--offline":
            found.is_offline = True
        elif argument in switches:
            found.switches.add(argument)
        elif argument in values:
            if not rest or rest[0].startswith("-"):
                missing.append(argument)
            else:
                found.values[argument] = rest.pop(0)
        elif argument.startswith("-"):
            raise PackageArgsError(f"unknown option {argument!r}")
        else:
            found.positionals.append(argument)
    if missing:
        raise PackageArgsError(f"{missing[0]!r} needs a value")
    if len(found.positionals) > max_positionals:
        raise PackageArgsError(f"unexpected argument {found.positionals[max_positionals]!r}")
    return found
