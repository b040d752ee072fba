"""Changing model and thinking level without a dialog, and the lists that choose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.ai.model import Model, supported_levels
from pinyon.errors import PinyonError
from pinyon.tui.selector import Choice, Selector

if TYPE_CHECKING:
    from pinyon.ai.model import ThinkingLevel
    from pinyon.tui.app import PinyonApp

_COST = {
    "off": "answers at once",
    "minimal": "hardly any",
    "low": "a little",
    "medium": "moderate",
    "high": "thorough, slower",
    "xhigh": "very thorough, slow and dear",
    "max": "all that the model has",
}


class ModelSwitch:
    """Model and level of the session."""

    def __init__(self, app: PinyonApp) -> None:
        self._app = app

    def available(self) -> list[Model]:
        """The models that can be used, by provider, those in use first."""
        registry = self._app.pi.services.registry
        models = list(registry.get_available())
        current = self._app.session.model
        if current is not None and all(model.spec != current.spec for model in models):
            models.insert(0, current)
        models.sort(key=lambda model: (current is None or model.spec != current.spec, model.provider, model.id))
        return models

    async def use(self, model: Model) -> None:
        """Answer with a model from now on and say so."""
        app = self._app
        try:
            await app.session.set_model(model)
        except PinyonError as error:
            app.notify_user(str(error), "error")
            return
        app.footer_soon()
        app.level_changed()
        level = f", thinking {app.session.thinking_level}" if model.reasoning else ""
        app.notify_user(f"Model: {model.name or model.id} ({model.spec}){level}", "status")

    def cycle_model(self, direction: int) -> None:
        """The next or previous model."""
        models = sorted(self.available(), key=lambda model: (model.provider, model.id))
        current = self._app.session.model
        if len(models) < 2:
            self._app.notify_user("There is only one model to use.", "status")
            return
        at = next((n for n, model in enumerate(models) if current is not None and model.spec == current.spec), 0)
        self._app.start(self.use(models[(at + direction) % len(models)]))

    def cycle_thinking(self) -> None:
        """The next level that the model supports."""
        app = self._app
        model = app.session.model
        levels = list(supported_levels(model)) if model is not None else []
        if len(levels) < 2:
            app.notify_user("This model does not think, so there are no levels.", "status")
            return
        current = app.session.thinking_level
        at = levels.index(current) if current in levels else -1
        self.set_level(levels[(at + 1) % len(levels)])

    def set_level(self, level: ThinkingLevel) -> None:
        """Use a level from now on and say so."""
        app = self._app
        app.session.set_thinking_level(level)
        app.level_changed()
        app.notify_user(f"Thinking: {app.session.thinking_level}", "status")

    async def choose_model(self, query: str = "") -> None:
        """Choose from all models that can be used."""
        app = self._app
        current = app.session.model
        models = self.available()
        if not models:
            app.notify_user("No model can be used yet: set an API key, or /login. `/help` says more.", "warning")
            return
        choices = [
            Choice(
                model,
                model.id,
                note=model.provider,
                is_current=current is not None and model.spec == current.spec,
                search=f"{model.provider} {model.name}",
                detail=model.name if model.name != model.id else "",
            )
            for model in models
        ]
        save = f"{app.keymap.hint('app.models.save')} also keeps it as default"
        selector = Selector("Model", choices, query=query, hint=save, actions={"app.models.save": self._save_model})
        chosen = await app.ask(selector)
        if isinstance(chosen, Model):
            await self.use(chosen)

    def _save_model(self, choice: Choice) -> object:
        model = choice.value
        self._app.save_setting("defaultProvider", model.provider)
        self._app.save_setting("defaultModel", model.id)
        return model

    async def choose_level(self) -> None:
        """Choose from the levels of the model."""
        app = self._app
        model = app.session.model
        levels = list(supported_levels(model)) if model is not None else []
        if not levels:
            app.notify_user("Choose a model first: /model.", "status")
            return
        current = app.session.thinking_level
        choices = [Choice(level, level, note=_COST.get(level, ""), is_current=level == current) for level in levels]
        chosen = await app.ask(Selector("Thinking", choices, is_searchable=False))
        if chosen is not None:
            self.set_level(chosen)
