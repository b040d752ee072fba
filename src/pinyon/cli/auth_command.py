"""`pinyon auth`: sign in and out, print and check credentials. Nothing here asks a question without a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pinyon._util.clock import now_ms
from pinyon._util.config import agent_dir
from pinyon._util.terminal import strip_terminal_control
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.oauth import OAuthProvider
from pinyon.cli import auth_args
from pinyon.cli.app import fail, move_old_credentials, tell, use_proxy, warn
from pinyon.cli.auth_args import AuthArgs, AuthArgumentError, is_help_wanted, parse_auth_args, render_auth_help
from pinyon.cli.auth_credential import CredentialDesk
from pinyon.cli.entry import write
from pinyon.cli.interrupt import run_until_signal
from pinyon.errors import AuthError, PinyonError
from pinyon.resources.settings import SettingsManager

PRINT_TIMEOUT_S = 15.0
_INTERRUPTED = 130


def run_auth(argv: Sequence[str], sign_ins: Mapping[str, OAuthProvider] | None = None) -> int:
    """Run the arguments behind `auth`; returns the exit code. `sign_ins` take the place of built-in flows."""
    if is_help_wanted(argv):
        return write(sys.stdout, render_auth_help())
    try:
        args = parse_auth_args(argv)
    except AuthArgumentError as error:
        fail(str(error))
        return error.exit_code
    try:
        code = run_until_signal(_run(args, open_accounts(sign_ins)))
    except PinyonError as error:
        return fail(str(error))
    if code == _INTERRUPTED and args.command == auth_args.LOGIN:
        return fail("the sign-in was cancelled")
    return code


class Accounts(msgspec.Struct):
    """What the commands work on."""

    registry: ModelRegistry
    settings: SettingsManager


def open_accounts(sign_ins: Mapping[str, OAuthProvider] | None = None) -> Accounts:
    """The user's credentials, models and settings; the project's files are not looked at."""
    move_old_credentials()
    folder = agent_dir()
    settings = SettingsManager.create(folder or Path.cwd(), folder, project_trusted=False)
    use_proxy(settings)
    storage = AuthStorage.create(folder / "auth.json" if folder else None)
    storage.sign_in.use(
        client_ids=settings.get_oauth_client_ids(),
        device_id=settings.get_device_id(),
        keep_device_id=settings.set_device_id,
    )
    storage.oauth_providers.update(sign_ins or {})
    registry = ModelRegistry.create(storage, folder / "models.json" if folder else None)
    for problem in (*(item.message for item in settings.diagnostics), *map(str, storage.drain_errors())):
        warn(problem)
    return Accounts(registry, settings)


async def _run(args: AuthArgs, accounts: Accounts) -> int:
    try:
        return await _run_command(args, accounts)
    finally:  # also when a signal ends the command: a token that was just renewed must not be lost
        await accounts.registry.auth_storage.flush()
        await accounts.settings.flush()


async def _run_command(args: AuthArgs, accounts: Accounts) -> int:
    match args.command:
        case auth_args.LOGIN:
            from pinyon.cli.auth_login import login

            return await login(args, accounts.registry, accounts.settings)
        case auth_args.LOGOUT:
            from pinyon.cli.auth_login import logout

            return await logout(args, accounts.registry)
        case auth_args.CHECK:
            return await _check(args, _desk(accounts.registry))
        case auth_args.LIST:
            return _list(_desk(accounts.registry))
        case _:
            return await _print_secret(args, _desk(accounts.registry))


def _desk(registry: ModelRegistry) -> CredentialDesk:
    return CredentialDesk(registry, now_ms())


async def _print_secret(args: AuthArgs, desk: CredentialDesk) -> int:
    try:
        async with asyncio.timeout(PRINT_TIMEOUT_S):
            if args.command == auth_args.PRINT_KEY:
                secret = await desk.api_key(args.provider, args.model)
            else:
                secret = await desk.bearer_token(args.provider, args.model, args.min_expiry_ms)
    except TimeoutError:
        raise AuthError(f"the credential could not be had within {PRINT_TIMEOUT_S:g} s; try again") from None
    return write(sys.stdout, f"{secret}\n")


async def _check(args: AuthArgs, desk: CredentialDesk) -> int:
    result = await desk.check(
        args.provider,
        args.model,
        with_secret="--credentials" in args.switches,
        refresh="--no-refresh" not in args.switches,
    )
    if "--json" in args.switches:
        text = msgspec.json.encode(result).decode()
    else:
        text = result.credentials or result.status
        tell(desk.detail)
    return write(sys.stdout, f"{text}\n") or result.exit_code


def _list(desk: CredentialDesk) -> int:
    rows = desk.rows()
    if not rows:
        return write(sys.stdout, "No provider has a credential yet. Sign in with: pinyon auth login <provider>\n")
    table = [("provider", "kind", "from", "state"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = (
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])) for row in table
    )
    return write(sys.stdout, "".join(f"{strip_terminal_control(line)}\n" for line in lines))
