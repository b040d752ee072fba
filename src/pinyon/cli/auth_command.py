"""`pinyon auth`: sign in and out, print and check credentials. Nothing here asks a question without a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinyon.cli import auth_args
from pinyon.cli.app import fail, move_old_credentials, tell, warn
from pinyon.cli.auth_args import AuthArgs, AuthArgumentError, is_help_wanted, parse_auth_args, render_auth_help
from pinyon.cli.entry import write
from pinyon.cli.interrupt import run_until_signal
from pinyon.errors import AuthError, PinyonError

if TYPE_CHECKING:
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.ai.oauth import OAuthProvider
    from pinyon.cli.auth_credential import CredentialDesk

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
        registry = open_registry(sign_ins)
        code = run_until_signal(_run(args, registry))
    except PinyonError as error:
        return fail(str(error))
    if code == _INTERRUPTED and args.command == auth_args.LOGIN:
        return fail("the sign-in was cancelled")
    return code


def open_registry(sign_ins: Mapping[str, OAuthProvider] | None = None) -> ModelRegistry:
    """The user's credentials and models; the project's files are not looked at."""
    from pinyon._util.config import agent_dir
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.resources.settings import SettingsManager

    move_old_credentials()
    folder = agent_dir()
    settings = SettingsManager.create(folder or Path.cwd(), folder, project_trusted=False)
    if proxy := settings.get_http_proxy():
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            os.environ.setdefault(name, proxy)
    storage = AuthStorage.create(folder / "auth.json" if folder else None)
    storage.sign_in.use(client_ids=settings.get_oauth_client_ids(), device_id=settings.get_device_id())
    storage.oauth_providers.update(sign_ins or {})
    registry = ModelRegistry.create(storage, folder / "models.json" if folder else None)
    for problem in (*(item.message for item in settings.diagnostics), *map(str, storage.drain_errors())):
        warn(problem)
    return registry


async def _run(args: AuthArgs, registry: ModelRegistry) -> int:
    match args.command:
        case auth_args.LOGIN:
            from pinyon.cli.auth_login import login

            code = await login(args, registry)
        case auth_args.LOGOUT:
            from pinyon.cli.auth_login import logout

            code = await logout(args, registry)
        case auth_args.CHECK:
            code = await _check(args, _desk(registry))
        case auth_args.LIST:
            code = _list(_desk(registry))
        case _:
            code = await _print_secret(args, _desk(registry))
    await registry.auth_storage.flush()
    return code


def _desk(registry: ModelRegistry) -> CredentialDesk:
    from pinyon._util.clock import now_ms
    from pinyon.cli.auth_credential import CredentialDesk

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
    import msgspec

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
    from pinyon._util.terminal import strip_terminal_control

    rows = desk.rows()
    if not rows:
        return write(sys.stdout, "No provider has a credential yet. Sign in with: pinyon auth login <provider>\n")
    table = [("provider", "kind", "from", "state"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = (
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])) for row in table
    )
    return write(sys.stdout, "".join(f"{strip_terminal_control(line)}\n" for line in lines))
