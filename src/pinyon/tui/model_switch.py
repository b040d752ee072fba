"""Changing model and thinking level without a dialog, and the lists that choose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon.ai.model import Model, supported_levels
from pinyon.ai.resolver import ScopedModel
from pinyon.errors import PinyonError
from pinyon.tui.picker.model_list import ModelList, ModelOffer
from pinyon.tui.picker.scope_list import ScopeList, scope_patterns
from pinyon.tui.quantity import counted
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
        self._tell(model)

    def _tell(self, model: Model) -> None:
        app = self._app
        app.footer_soon()
        app.level_changed()
        level = f", thinking {app.session.thinking_level}" if model.reasoning else ""
        app.notify_user(f"Model: {model.name or model.id} ({model.spec}){level}", "status")

    def cycle_model(self, direction: int) -> None:
        """The next or previous model of the scope, or of all."""
        self._app.start(self._cycle(direction))

    async def _cycle(self, direction: int) -> None:
        app = self._app
        try:
            change = await app.session.cycle_model("forward" if direction > 0 else "backward")
        except PinyonError as error:
            app.notify_user(str(error), "error")
            return
        if change is None:
            app.notify_user("There is only one model to use. /model offers to sign in to others.", "status")
        else:
            self._tell(change.model)

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

    # Lists.

    async def choose_model(self, query: str = "") -> None:
        """Choose from all models that can be used, or from the scope; leads to signing in where there is nothing."""
        status = ""
        while True:
            shown = ModelList(self._offer(), query=query, save=self._save_model, status=status)
            chosen = await self._app.ask(shown)
            if isinstance(chosen, Model):
                await self.use(chosen)
                return
            if chosen == "sign_in":
                from pinyon.tui.command.account import login

                await login(self._app, "")
                return
            if chosen != "local_servers":
                return
            query, status = "", await self.look_for_servers()

    def _offer(self) -> ModelOffer:
        app = self._app
        settings, current = app.pi.services.settings, app.session.model
        provider, model_id = settings.get_default_provider(), settings.get_default_model()
        return ModelOffer(
            models=self.available(),
            scope=[entry.model.spec for entry in app.session.scoped_models],
            current=current.spec if current is not None else "",
            default=f"{provider}/{model_id}" if provider and model_id else "",
        )

    async def look_for_servers(self) -> str:
        """Ask the model servers on this machine; what was found, for people."""
        found = await self._app.pi.services.registry.find_local_models()
        if not found:
            return "No model server answers on this machine (Ollama, llama.cpp, LM Studio, vLLM)."
        return f"Found {counted(len(found), 'model')} on this machine."

    def _save_model(self, model: Model) -> None:
        self._app.save_setting("defaultProvider", model.provider)
        self._app.save_setting("defaultModel", model.id)
        self._app.hint(f"{model.id} is the default now")

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
        save = f"{app.keymap.hint('app.thinking.save')} keeps as default"
        actions = {"app.thinking.save": self._save_level}
        chosen = await app.ask(Selector("Thinking", choices, is_searchable=False, hint=save, actions=actions))
        if chosen is not None:
            self.set_level(chosen)

    def _save_level(self, choice: Choice) -> object:
        self._app.save_setting("defaultThinkingLevel", choice.value)
        return choice.value

    async def choose_scope(self) -> None:
        """Choose and order the models that cycling goes through; changes count at once."""
        app = self._app
        registry = app.pi.services.registry
        patterns = app.pi.services.settings.get_enabled_models() or []
        remarks = registry.resolve_scope(patterns)[1]
        missing = [remark.pattern for remark in remarks if remark.code == "no-match"]
        await app.ask(
            ScopeList(
                self.available(),
                app.session.scoped_models,
                missing=missing,
                changed=app.desk_or_fail.use_scope,
                save=self._save_scope,
            )
        )

    def _save_scope(self, scope: list[ScopedModel]) -> None:
        self._app.save_setting("enabledModels", scope_patterns(scope) or None)
        self._app.hint("The models to cycle through are kept")
