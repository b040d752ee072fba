"""The first screen where no model can be used yet: ways to get one, for people who read no manual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinyon.ai.model import Model
from pinyon.tui.quantity import shown_tokens
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.tui.app import PinyonApp

_TITLE = "Welcome. Which model should answer?\nYou can change that at any time with /model and /login."
_MOST_LOCAL = 6
LEAVE = "leave"


class WelcomeList(Selector):
    """The result is a `Model`, `oauth`, `api_key`, `demo`, or None. Local models are added when they are found."""

    def __init__(self, *, has_demo: bool) -> None:
        self._has_demo = has_demo
        self.is_looking = True
        super().__init__(_TITLE, self._rows([]), is_searchable=False)

    def _rows(self, local: list[Model]) -> list[Choice]:
        rows = [
            Choice("oauth", "Sign in with an account", note="OpenRouter, GitHub Copilot, ChatGPT, …"),
            Choice("api_key", "Enter an API key", note="Anthropic, OpenAI, Google, Mistral, …"),
        ]
        rows += [_local_row(model) for model in local[:_MOST_LOCAL]]
        if self._has_demo:
            rows.append(Choice("demo", "Look around with a scripted model", note="no key, no network"))
        return [*rows, Choice(None, "Later")]

    def found(self, local: list[Model]) -> None:
        """Show the models of this machine."""
        self.is_looking = False
        self.replace_choices(self._rows(local))

    def handle(self, key: str, character: str | None) -> None:
        """The key that leaves the program does so here too."""
        if self.keymap.is_bound(key, "app.exit"):
            self.finish(LEAVE)
        else:
            super().handle(key, character)

    def hints(self) -> str:
        """The keys, and that servers are looked for."""
        looking = "looking for model servers on this machine…" if self.is_looking else ""
        return self.select_hint(looking)


def _local_row(model: Model) -> Choice:
    note = f"{model.provider}  {shown_tokens(model.context_window)}"
    return Choice(model, f"Use {model.id} on this machine", note=note)


async def welcome(app: PinyonApp) -> None:
    """Ask until there is a model or the user wants to go on without."""
    from pinyon.tui.command.account import login_by

    while app.session.model is None:
        shown = WelcomeList(has_demo=app.start_options.create_demo is not None)
        search = app.start(_look(app, shown))
        chosen: Any = await app.ask(shown)
        search.cancel()
        if isinstance(chosen, Model):
            await app.desk_or_fail.models.use(chosen)
            app.save_setting("defaultProvider", chosen.provider)
            app.save_setting("defaultModel", chosen.id)
        elif chosen in ("oauth", "api_key"):
            await login_by(app, chosen)
        elif chosen == LEAVE:
            app.quit()
            return
        elif chosen == "demo":
            await app.open_demo()
            return
        else:
            app.notify_user(
                "No model can be used yet: /login signs in, /model looks for one. What you type is kept.", "info"
            )
            return


async def _look(app: PinyonApp, shown: WelcomeList) -> None:
    local = await app.pi.services.registry.find_local_models()
    if not shown.result.done():
        shown.found(list(local))
