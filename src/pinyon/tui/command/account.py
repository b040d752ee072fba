"""`/login` and `/logout`: accounts and API keys of providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pinyon.ai.credential import OAuthCredential
from pinyon.ai.local_server import LOCAL_PROVIDERS
from pinyon.ai.oauth import login_problem
from pinyon.ai.provider import canonical_id, default_models, find_provider, list_order
from pinyon.errors import PinyonError
from pinyon.tui.command.command import SlashCommand
from pinyon.tui.selector import Choice, Selector
from pinyon.tui.sign_in import ScreenLogin

if TYPE_CHECKING:
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.tui.app import PinyonApp

Way = Literal["oauth", "api_key"]


async def login(app: PinyonApp, argument: str) -> None:
    """Sign in to a provider, which is asked for where it is not given."""
    if argument:
        await _login_named(app, argument)
        return
    while True:
        choices = [
            Choice("oauth", "With an account", note="in the browser, or with a code"),
            Choice("api_key", "With an API key", note="kept in auth.json"),
        ]
        way: Way | None = await app.ask(Selector("How do you want to sign in?", choices, is_searchable=False))
        if way is None or await login_by(app, way):
            return


async def _login_named(app: PinyonApp, argument: str) -> None:
    registry = app.pi.services.registry
    provider = _named(argument, registry)
    if provider is None:
        app.notify_user(f"There is no provider {argument!r}. /login without a name lists them.", "error")
        return
    both: tuple[Way, ...] = ("oauth", "api_key")
    ways = [way for way in both if provider in _providers(registry, way)]
    if not ways:
        app.notify_user(f"Provider {provider!r} needs no signing in.", "status")
        return
    if len(ways) == 2:
        name = registry.get_provider_display_name(provider)
        choices = [Choice("oauth", "With an account"), Choice("api_key", "With an API key")]
        chosen = await app.ask(Selector(f"How do you sign in to {name}?", choices, is_searchable=False))
        if chosen is None:
            return
        ways = [chosen]
    await sign_in(app, provider, ways[0])


def _named(text: str, registry: ModelRegistry) -> str | None:
    """The id of the provider that a user means by an id or a name."""
    ids = registry.provider_ids()
    if canonical_id(text) in ids:
        return canonical_id(text)
    wanted = text.strip().casefold()
    return next((each for each in ids if wanted == registry.get_provider_display_name(each).casefold()), None)


def _providers(registry: ModelRegistry, way: str) -> list[str]:
    """The providers that can be signed in to this way."""
    if way == "oauth":
        return sorted(registry.auth_storage.oauth_providers)
    known = ((each, find_provider(each)) for each in registry.provider_ids() if each not in LOCAL_PROVIDERS)
    return sorted(each for each, provider in known if provider is not None and "api_key" in provider.auth)


async def login_by(app: PinyonApp, way: Way) -> bool:
    """Choose a provider and sign in; False goes back."""
    registry = app.pi.services.registry
    title = "Which account?" if way == "oauth" else "API key of which provider?"
    while True:
        choices = [
            Choice(each, registry.get_provider_display_name(each), note=_status(registry, each, way), search=each)
            for each in _providers(registry, way)
        ]
        choices.sort(key=lambda choice: list_order(choice.value, choice.label))
        provider = await app.ask(Selector(title, choices))
        if provider is None:
            return False
        if await sign_in(app, provider, way):
            return True


def _status(registry: ModelRegistry, provider: str, way: Way) -> str:
    """What is there for a provider already."""
    storage = registry.auth_storage
    stored = storage.get(provider)
    if way == "oauth" and (problem := login_problem(storage.oauth_providers[provider])):
        return "needs a client id" if "client" in problem else "not available"
    if stored is not None:
        is_account = isinstance(stored, OAuthCredential)
        if is_account == (way == "oauth"):
            return "✓ signed in" if is_account else "✓ key is kept"
        return "an account is kept" if is_account else "an API key is kept"
    status = registry.get_provider_auth_status(provider)
    if not status.configured:
        return ""
    return f"env: {status.label}" if status.source == "environment" else f"from {status.label or status.source}"


async def sign_in(app: PinyonApp, provider: str, way: Way) -> bool:
    """Run the flow of a provider and say what came of it; False where nothing was stored."""
    registry = app.pi.services.registry
    storage = registry.auth_storage
    name = registry.get_provider_display_name(provider)
    if way == "oauth" and (problem := login_problem(storage.oauth_providers[provider])):
        app.notify_user(problem, "warning")
        return False
    screen = ScreenLogin(app, f"Signing in to {name}")
    try:
        credential = await screen.run(storage.login(provider, screen, way))
    except (PinyonError, OSError) as error:
        app.notify_user(str(error), "error")
        return False
    if credential is None:
        return False
    done = "Signed in to" if isinstance(credential, OAuthCredential) else "Kept the API key for"
    app.notify_user(f"{done} {name}; it is in {storage.name}", "info")
    app.start(_update_models(app, provider))
    await _use_first_model(app, provider)
    return True


async def _use_first_model(app: PinyonApp, provider: str) -> None:
    """Without a usable model, take the provider's own choice and keep it as the default."""
    registry, current = app.pi.services.registry, app.session.model
    app.footer_soon()
    if current is not None and registry.has_configured_auth(current):
        return
    usual = dict(default_models()).get(provider, "")
    models = registry.models_of(provider)
    model = registry.find(provider, usual) or (models[0] if models else None)
    if model is None:
        app.notify_user("Choose a model with /model.", "info")
        return
    await app.desk_or_fail.models.use(model)
    app.save_setting("defaultProvider", model.provider)
    app.save_setting("defaultModel", model.id)


async def _update_models(app: PinyonApp, provider: str) -> None:
    """Ask the catalogue server of the settings for the newest models; without one, nothing is asked."""
    import asyncio

    from pinyon._util.config import is_offline

    address = app.pi.services.settings.get_models_url()
    if address is None or is_offline():
        return
    try:
        async with asyncio.timeout(15):
            update = await app.pi.services.registry.update_models(address, [provider])
    except TimeoutError:
        app.notify_user(f"{address} does not answer; the models are those of before.", "status")
        return
    if problem := update.errors.get(provider):
        app.notify_user(f"The models of {provider} were not updated: {problem}", "status")


async def logout(app: PinyonApp, argument: str) -> None:
    """Delete a stored credential, which is asked for where it is not named."""
    registry = app.pi.services.registry
    storage = registry.auth_storage
    stored = storage.stored_ids()
    if not stored:
        app.notify_user("No credential is stored. Variables and models.json are not touched by /logout.", "status")
        return
    provider = _named(argument, registry) or argument if argument else None
    if provider is None:
        choices = [
            Choice(each, registry.get_provider_display_name(each), note=_kind(storage, each), search=each)
            for each in sorted(stored)
        ]
        provider = await app.ask(Selector("Delete which credential?\nVariables and models.json stay.", choices))
    if provider is None:
        return
    if not storage.is_stored(provider):
        app.notify_user(f"Nothing is stored for {provider!r}.", "status")
        return
    await storage.delete(provider)
    name = registry.get_provider_display_name(provider)
    app.notify_user(f"Deleted the credential of {name}; variables and models.json stay as they are.", "info")
    app.footer_soon()


def _kind(storage: AuthStorage, provider: str) -> str:
    return "account" if isinstance(storage.get(provider), OAuthCredential) else "API key"


ACCOUNT = (
    SlashCommand(name="login", doc="sign in to a provider", argument_hint="[provider]", run=login),
    SlashCommand(name="logout", doc="delete a stored credential", argument_hint="[provider]", run=logout),
)
