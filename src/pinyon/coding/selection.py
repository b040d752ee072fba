"""Which model answers a session and how much it thinks: choosing, changing and recording both in the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from pinyon.agent.agent import Agent
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model, ThinkingLevel, clamp_level, parse_level, supported_levels
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.resolver import ScopedModel
from pinyon.coding.event import SessionEvent, ThinkingLevelChanged
from pinyon.errors import AuthError, ModelError
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session

NO_MODEL = (
    "no model is available: set an API key (for example ANTHROPIC_API_KEY), pass one with `--api-key`, describe a "
    "server in ~/.pi/agent/models.json, or name a local server with `--model ollama/NAME`; `pinyon --list-models` "
    "shows what is usable and `pinyon demo` runs without a model"
)


CycleDirection = Literal["forward", "backward"]


class ModelCycle(msgspec.Struct, rename="camel"):
    """Where a step through the models led; `is_scoped` tells whether a scope limits them."""

    model: Model
    thinking_level: ThinkingLevel
    is_scoped: bool


class ModelSelection:
    """The model and thinking level in force; the agent's state mirrors both.

    `is_custom_stream` says that the program brought its own stream function, which needs no credentials of ours.
    `scoped_models` limit what `cycle_model` steps through.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        session: Session,
        settings: SettingsManager,
        registry: ModelRegistry,
        emit: Callable[[SessionEvent], None],
        model: Model | None,
        thinking_level: ThinkingLevel,
        is_custom_stream: bool = False,
        scoped_models: Sequence[ScopedModel] = (),
    ) -> None:
        self._agent = agent
        self._session = session
        self._settings = settings
        self._registry = registry
        self._emit = emit
        self._is_custom_stream = is_custom_stream
        self.scoped_models = list(scoped_models)
        self.model = model
        self.thinking_level: ThinkingLevel = clamp_level(model, thinking_level) if model else thinking_level
        self._mirror()

    @property
    def auth_storage(self) -> AuthStorage:
        """Where the credentials of the models are kept."""
        return self._registry.auth_storage

    def record_start(self) -> None:
        """Write what a new session starts with, or the thinking level that an older file lacks."""
        if self._session.is_read_only:
            return
        projection = self._session.build_session_projection()
        is_new = not projection.message_count
        if is_new and self.model is not None:
            self._session.append_model_change(self.model.provider, self.model.id)
        if is_new or projection.recorded_thinking_level is None:
            self._session.append_thinking_level_change(self.thinking_level)

    def record(self) -> None:
        """Write the thinking level where the branch ends with another one, as after moving in the tree."""
        if self.model is None:
            return
        recorded = parse_level(self._session.build_session_projection().recorded_thinking_level or "")
        if recorded and clamp_level(self.model, recorded) != self.thinking_level:
            self._session.append_thinking_level_change(self.thinking_level)

    def require_usable(self) -> None:
        """Raise `ModelError` without a model, `AuthError` without credentials for it, `SessionError` if read-only."""
        self._session.require_writable()
        if self.model is None:
            raise ModelError(NO_MODEL)
        if not self._is_usable(self.model):
            raise AuthError(self._registry.missing_auth_message(self.model.provider))

    def set_model(self, model: Model, api_key: str | None = None, *, persist: bool = False) -> None:
        """Switch to `model`, record it and choose its thinking level. Raises `AuthError` without credentials.

        `persist` makes it the user's default, and one of the enabled models where the user lists those.
        """
        self._use(model, api_key, None)
        if persist:
            self._persist(model)

    def _persist(self, model: Model) -> None:
        self._settings.set_default_model_and_provider(model.provider, model.id)
        enabled = self._settings.get_enabled_models()
        if enabled and model.spec not in enabled and model.key not in [entry.model.key for entry in self.scoped_models]:
            self._settings.set_enabled_models([*enabled, model.spec])

    def renew(self) -> None:
        """Take the description of the model in force from the registry again, after that was read anew."""
        if self.model is None or self._is_custom_stream:
            return
        self.model = self._registry.find(*self.model.key) or self.model
        self.thinking_level = clamp_level(self.model, self.thinking_level)
        self._mirror()

    def cycle_model(self, direction: CycleDirection = "forward") -> ModelCycle | None:
        """Step to the next usable model, through the scope where there is one; None where there is no other one."""
        scoped = [entry for entry in self.scoped_models if self._is_usable(entry.model)]
        is_scoped = bool(self.scoped_models)
        candidates = scoped if is_scoped else [ScopedModel(model) for model in self._registry.get_available()]
        keys = [entry.model.key for entry in candidates]
        current = self.model.key if self.model is not None else None
        if not keys or keys == [current]:
            return None
        step = 1 if direction == "forward" else -1
        start = keys.index(current) if current in keys else (-1 if step == 1 else 0)
        chosen = candidates[(start + step) % len(candidates)]
        self._use(chosen.model, None, chosen.thinking_level)
        return ModelCycle(model=chosen.model, thinking_level=self.thinking_level, is_scoped=is_scoped)

    def find_model(self, provider: str, model_id: str) -> Model | None:
        """A known model, the one in force included."""
        if self.model is not None and self.model.key == (provider, model_id):
            return self.model
        return self._registry.find(provider, model_id)

    def summary_model(self, spec: str | None) -> Model | None:
        """The model that writes summaries: the one that `spec` names as `provider/id`, else the model in force.

        Raises `ModelError` where `spec` names none and `AuthError` where it has no credentials.
        """
        if not spec:
            return self.model
        provider, _, model_id = spec.partition("/")
        found = self._registry.find(provider, model_id)
        if found is None:
            raise ModelError(f"the setting 'compaction.model' names {spec!r}, which is no known 'provider/id'")
        if not self._is_usable(found):
            raise AuthError(self._registry.missing_auth_message(found.provider))
        return found

    def cycle_thinking_level(self) -> ThinkingLevel | None:
        """Step to the next level of the model; None where it does not reason."""
        if self.model is None or not self.model.reasoning:
            return None
        levels = supported_levels(self.model)
        start = levels.index(self.thinking_level) if self.thinking_level in levels else -1
        self.set_thinking_level(levels[(start + 1) % len(levels)])
        return self.thinking_level

    def _is_usable(self, model: Model) -> bool:
        return self._is_custom_stream or self._registry.has_configured_auth(model)

    def _use(self, model: Model, api_key: str | None, level: ThinkingLevel | None) -> None:
        if api_key is not None:
            self._registry.auth_storage.set_runtime_api_key(model.provider, api_key)
        if not self._is_usable(model):
            raise AuthError(self._registry.missing_auth_message(model.provider))
        self._session.append_model_change(model.provider, model.id)
        self.model = model
        self._mirror()
        wanted = level or self._settings.get_model_thinking_level(model.provider, model.id)
        self.set_thinking_level(wanted or self._settings.get_default_thinking_level() or self.thinking_level)

    def set_thinking_level(self, level: ThinkingLevel, *, persist: bool = False) -> None:
        """Switch to `level` as far as the model supports it; a change is recorded and announced.

        `persist` makes the level as it was asked for the user's default.
        """
        if persist:
            self._settings.set_default_thinking_level(level)
        effective = clamp_level(self.model, level) if self.model else level
        if effective == self.thinking_level:
            return
        self._session.append_thinking_level_change(effective)
        self.thinking_level = effective
        self._mirror()
        self._emit(ThinkingLevelChanged(level=effective))

    def _mirror(self) -> None:
        if self.model is not None:
            self._agent.state.model = self.model
        self._agent.state.thinking_level = self.thinking_level
