"""`pinyon auth login` and `logout`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from pinyon._util.config import is_offline
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.credential import CredentialType, OAuthCredential
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.oauth import LoginCancelledError, login_problem
from pinyon.ai.provider import canonical_id, find_provider
from pinyon.cli.app import fail, tell
from pinyon.cli.auth_args import LOGIN, AuthArgs, usage_of
from pinyon.cli.entry import write
from pinyon.cli.login_terminal import TerminalLogin
from pinyon.errors import AuthError, ConfigError
from pinyon.resources.settings import SettingsManager

UPDATE_TIMEOUT_S = 15.0


async def login(args: AuthArgs, registry: ModelRegistry, settings: SettingsManager) -> int:
    """Sign in and say where the credential is kept."""
    storage = registry.auth_storage
    provider_id = provider_named(args.subject, registry)
    if provider_id is None:
        tell(f"Error: there is no provider {args.subject!r}")
        return fail_with_list("Providers", sorted(_login_ids(registry)))
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return fail(
            f"`{usage_of(LOGIN)}` needs a terminal; without one, set the provider's variable or write auth.json"
        )
    method = _method(provider_id, "--api-key" in args.switches, storage)
    interaction = TerminalLogin(no_browser="--no-browser" in args.switches)
    try:
        credential = await storage.login(provider_id, interaction, method)
    except LoginCancelledError:
        return fail("the sign-in was cancelled")
    done = "Signed in to" if isinstance(credential, OAuthCredential) else "Stored the API key for"
    name = registry.get_provider_display_name(provider_id)
    code = write(sys.stdout, f"{done} {name}; it is kept in {storage.name}\n")
    await _update_models(provider_id, registry, settings)
    return code


async def _update_models(provider_id: str, registry: ModelRegistry, settings: SettingsManager) -> None:
    """Fetch the provider's newest models where the user chose a catalogue server; a failure is only noted."""
    address = settings.get_models_url()
    if address is None or is_offline():
        return
    try:
        async with asyncio.timeout(UPDATE_TIMEOUT_S):
            update = await registry.update_models(address, [provider_id])
        problem = update.errors.get(provider_id)
    except TimeoutError:
        problem = f"{address} took longer than {UPDATE_TIMEOUT_S:g} s"
    except ConfigError as error:
        problem = str(error)
    if problem:
        tell(f"Note: the models of {provider_id} were not updated: {problem}")


def _method(provider_id: str, wants_key: bool, storage: AuthStorage) -> CredentialType:
    """How to sign in; raises `AuthError` where that way is closed."""
    known = find_provider(provider_id)
    takes_key = known is None or "api_key" in known.auth
    flow = storage.oauth_providers.get(provider_id)
    if wants_key or (flow is None and takes_key):
        return "api_key"
    if flow is None:
        raise AuthError(f"provider {provider_id!r} only takes accounts, and signing in to it is not installed here")
    if problem := login_problem(flow):
        instead = f"; or store an API key: pinyon auth login {provider_id} --api-key" if takes_key else ""
        raise AuthError(f"{problem}{instead}")
    return "oauth"


async def logout(args: AuthArgs, registry: ModelRegistry) -> int:
    """Remove a stored credential."""
    storage = registry.auth_storage
    if storage.problem is not None:
        raise storage.problem
    stored = storage.stored_ids()
    provider_id = provider_named(args.subject, registry) or (args.subject if args.subject in stored else None)
    if provider_id is None:
        tell(f"Error: there is no provider {args.subject!r}, and nothing is stored for it")
        return fail_with_list("Stored credentials", stored or ["none"])
    name = registry.get_provider_display_name(provider_id)
    if not storage.is_stored(provider_id):
        return write(sys.stdout, f"Nothing is stored for {name}. Variables and models.json stay as they are.\n")
    kind = "account" if isinstance(storage.get(provider_id), OAuthCredential) else "API key"
    await storage.delete(provider_id)
    return write(sys.stdout, f"Removed the stored {kind} of {name}. Variables and models.json stay as they are.\n")


def provider_named(text: str, registry: ModelRegistry) -> str | None:
    """The id of the provider that a user means by an id or a name; None for neither."""
    ids = registry.provider_ids()
    if canonical_id(text) in ids:
        return canonical_id(text)
    wanted = text.strip().casefold()
    named = (name for name in ids if wanted in (name, registry.get_provider_display_name(name).casefold()))
    return next(named, None)


def _login_ids(registry: ModelRegistry) -> list[str]:
    return [name for name in registry.provider_ids() if find_provider(name) is not None]


def fail_with_list(title: str, items: Sequence[str]) -> int:
    """Tell what there is instead; returns exit code 1."""
    tell(f"{title}: {', '.join(items)}")
    return 1
