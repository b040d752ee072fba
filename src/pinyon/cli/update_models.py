"""`pinyon update --models`: fetch newer models from the catalogue server that the user chose."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon._util.config import is_offline
from pinyon.cli.app import fail, tell, use_proxy
from pinyon.cli.entry import write
from pinyon.errors import PinyonError

if TYPE_CHECKING:
    from pinyon.ai.models_update import ModelsUpdate

_NO_SERVER = (
    "there is no catalogue server to ask: set `modelsUrl` in ~/.pi/agent/settings.json or give --url <address>; "
    "the models of this version stay in use"
)
_OFFLINE = "offline: the models are not updated and stay as they are"


def run_update_models(arguments: Sequence[str], usage: str) -> int:
    """Run `pinyon update --models` with the arguments behind it; returns the exit code."""
    rest = [argument for argument in arguments if argument != "--offline"]
    address, problem = _address(rest)
    if problem:
        return fail(f"{problem}\n\n{usage.rstrip()}")
    if len(rest) < len(arguments) or is_offline():
        return fail(_OFFLINE)
    from pinyon.cli.interrupt import run_until_signal

    try:
        return run_until_signal(_update(address))
    except PinyonError as error:
        return fail(str(error))


def _address(arguments: Sequence[str]) -> tuple[str | None, str]:
    """The address that was given, and what is wrong with the arguments."""
    match arguments:
        case []:
            return None, ""
        case ["--url", address] if address.strip():
            return address, ""
        case ["--url", *_]:
            return None, "--url needs one address"
        case _:
            return None, f"--models takes nothing but --url and --offline, got {arguments[0]!r}"


async def _update(address: str | None) -> int:
    from pinyon.coding.services import create_services

    services = create_services(Path.cwd())
    use_proxy(services.settings)
    address = address or services.settings.get_models_url()
    registry = services.registry
    if address is None and not any(map(registry.lists_models_itself, registry.provider_ids())):
        return fail(_NO_SERVER)
    update = await registry.update_models(address)
    for provider_id, reason in sorted(update.errors.items()):
        tell(f"Warning: {provider_id}: {reason}")
    write(sys.stdout, summary(update))
    return 1 if update.errors and not update.updated and not update.unchanged else 0


def summary(update: ModelsUpdate) -> str:
    """What was fetched, one line for each provider, and one for what did not change."""
    lines = [f"{provider_id}: {count} models" for provider_id, count in sorted(update.updated.items())]
    if update.unchanged:
        lines.append(f"nothing newer: {', '.join(sorted(update.unchanged))}")
    if update.unknown:
        lines.append(f"not on this server: {', '.join(sorted(update.unknown))}")
    return "".join(f"{line}\n" for line in lines)
