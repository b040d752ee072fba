"""Which model answers a session and how much it thinks: choosing, changing and recording both in the tree."""

from __future__ import annotations

from collections.abc import Callable

from pinyon.agent.agent import Agent
from pinyon.ai.model import Model, ThinkingLevel, clamp_level, parse_level
from pinyon.ai.model_registry import ModelRegistry
from pinyon.coding.event import SessionEvent, ThinkingLevelChanged
from pinyon.errors import AuthError, ModelError
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session

NO_MODEL = (
    "no model is available: set an API key (for example ANTHROPIC_API_KEY), pass one with `--api-key`, describe a "
    "server in ~/.pi/agent/models.json, or name a local server with `--model ollama/NAME`; `pinyon --list-models` "
    "shows what is usable and `pinyon demo` runs without a model"
)


class ModelSelection:
    """The model and thinking level in force; the agent's state mirrors both.

    `is_custom_stream` says that the program brought its own stream function, which needs no credentials of ours.
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
    ) -> None:
        self._agent = agent
        self._session = session
        self._settings = settings
        self._registry = registry
        self._emit = emit
        self._is_custom_stream = is_custom_stream
        self.model = model
        self.thinking_level: ThinkingLevel = clamp_level(model, thinking_level) if model else thinking_level
        self._mirror()

    def record_start(self) -> None:
        """Write what a new session starts with, or the thinking level that an older file lacks."""
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
        """Raise `ModelError` without a model and `AuthError` without credentials for it."""
        if self.model is None:
            raise ModelError(NO_MODEL)
        if not self._is_custom_stream and not self._registry.has_configured_auth(self.model):
            raise AuthError(self._registry.missing_auth_message(self.model.provider))

    def set_model(self, model: Model, api_key: str | None = None) -> None:
        """Switch to `model`, record it and choose its thinking level."""
        if api_key is not None:
            self._registry.auth_storage.set_runtime_api_key(model.provider, api_key)
        if not self._is_custom_stream and not self._registry.has_configured_auth(model):
            raise AuthError(self._registry.missing_auth_message(model.provider))
        self.model = model
        self._mirror()
        self._session.append_model_change(model.provider, model.id)
        preferred = self._settings.get_model_thinking_level(model.provider, model.id)
        self.set_thinking_level(preferred or self._settings.get_default_thinking_level() or self.thinking_level)

    def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Switch to `level` as far as the model supports it; a change is recorded and announced."""
        effective = clamp_level(self.model, level) if self.model else level
        if effective == self.thinking_level:
            return
        self.thinking_level = effective
        self._mirror()
        self._session.append_thinking_level_change(effective)
        self._emit(ThinkingLevelChanged(level=effective))

    def _mirror(self) -> None:
        if self.model is not None:
            self._agent.state.model = self.model
        self._agent.state.thinking_level = self.thinking_level
