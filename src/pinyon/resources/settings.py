"""The user's and the project's settings as one view: read from `settings.json`, merged, typed.

A file that cannot be read counts as empty, is told about once (`drain_errors`) and is never overwritten. Values of a
wrong type fall back to their default, also told once; only settings marked strict raise when they are used. Unknown
keys are kept. The project's file counts only in a trusted project.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pinyon._util import config as _config
from pinyon._util import json as _json
from pinyon.ai.model import ThinkingLevel
from pinyon.ai.option import Transport
from pinyon.errors import ConfigError
from pinyon.resources import setting as _setting
from pinyon.resources.diagnostic import ResourceDiagnostic
from pinyon.resources.setting import CacheWarming, ProjectTrustDefault, QueueMode, Setting
from pinyon.resources.setting_kind import OBJECT
from pinyon.resources.settings_access import SettingAccess
from pinyon.resources.settings_layers import SettingsError, SettingsLayers, SettingsProblem, parse_settings
from pinyon.resources.settings_merge import Settings, edit_tool_names, merge_settings
from pinyon.resources.settings_storage import (
    FileSettingsStorage,
    MemorySettingsStorage,
    SettingsScope,
    SettingsStorage,
)
from pinyon.resources.settings_writer import REMOVED, SettingsWriter

__all__ = [
    "DEFAULT_TOOL_NAMES",
    "CompactionSettings",
    "ProviderRetrySettings",
    "RetrySettings",
    "SettingsError",
    "SettingsManager",
    "SettingsProblem",
]

T = TypeVar("T")

DEFAULT_TOOL_NAMES: tuple[str, ...] = ("read", "bash", "edit", "write")
"""Tools of a new session where nothing else is asked for."""


class RetrySettings(msgspec.Struct, frozen=True):
    """How failed answers are asked for again; delays in milliseconds."""

    enabled: bool
    max_retries: int
    base_delay_ms: int
    max_agent_delay_ms: int


class ProviderRetrySettings(msgspec.Struct, frozen=True):
    """How one HTTP request is repeated; times in milliseconds, `timeout_ms` 0 means no limit."""

    timeout_ms: int
    max_retries: int
    max_retry_delay_ms: int


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When and how far history is summarised, in tokens.

    A context is compacted when it leaves less than `reserve_tokens` of the window, down to about `keep_recent_tokens`
    of recent messages. `enabled` gates automatic compaction only. `session_id` is what summary requests are routed by;
    without it each has an id of its own.
    """

    enabled: bool = _setting.COMPACTION_ENABLED.default
    reserve_tokens: int = _setting.COMPACTION_RESERVE_TOKENS.default
    keep_recent_tokens: int = _setting.COMPACTION_KEEP_RECENT_TOKENS.default
    session_id: str | None = None


class SettingsManager(SettingAccess):
    """Typed access to the settings of one working directory. Build it with `create`, `in_memory` or `from_storage`."""

    def __init__(self, layers: SettingsLayers) -> None:
        self._layers = layers
        self._writer = SettingsWriter(layers.storage, parse_settings, layers.write_failed)

    @classmethod
    def create(
        cls, cwd: str | Path, agent_dir: str | Path | None = None, project_trusted: bool | None = None
    ) -> SettingsManager:
        """Settings of `cwd` with the user's from `agent_dir` (default: the agent folder).

        `project_trusted` None follows the saved decision and `defaultProjectTrust`, never a question: an undecided
        project that brings resources of its own is not trusted.
        """
        folder = _config.agent_dir() if agent_dir is None else _config.expand_home(str(agent_dir))
        manager = cls(SettingsLayers(FileSettingsStorage(Path(cwd), folder), project_trusted=bool(project_trusted)))
        if project_trusted is None:
            from pinyon.resources.trust import decide_project_trust

            decision = decide_project_trust(cwd, folder, default=manager.get_default_project_trust())
            manager.set_project_trusted(decision.trusted)
            if decision.problem:
                manager._layers.add_problem(SettingsProblem("global", decision.problem))
        return manager

    @classmethod
    def in_memory(cls, settings: Settings | None = None, *, project_trusted: bool = False) -> SettingsManager:
        """Settings that touch no file; `settings` count as the user's.

        `project_trusted` says whether a project's resources may be loaded beside them.
        """
        text = _json.encode(settings or {}).decode()
        return cls.from_storage(MemorySettingsStorage({"global": text}), project_trusted=project_trusted)

    @classmethod
    def from_storage(cls, storage: SettingsStorage, *, project_trusted: bool = True) -> SettingsManager:
        """Settings from another place than the two files."""
        return cls(SettingsLayers(storage, project_trusted=project_trusted))

    @property
    def is_project_trusted(self) -> bool:
        """Whether the project's own settings count."""
        return self._layers.project_trusted

    def set_project_trusted(self, trusted: bool) -> None:
        """Let the project's settings count, or not."""
        self._layers.project_trusted = trusted
        self._layers.merge()

    def get_settings(self) -> Settings:
        """A copy of the merged settings, with unknown keys."""
        return copy.deepcopy(self._layers.merged)

    def get_global_settings(self) -> Settings:
        """A copy of the user's settings."""
        return copy.deepcopy(self._layers.visible("global"))

    def get_project_settings(self) -> Settings:
        """A copy of the project's settings; empty while the project is not trusted."""
        return copy.deepcopy(self._layers.visible("project"))

    def is_readable(self, scope: SettingsScope) -> bool:
        """Whether the scope's file could be read; one that could not must not be written."""
        return self._layers.is_readable(scope)

    def apply_overrides(self, overrides: Settings) -> None:
        """Lay settings over both files, until `reload`."""
        self._layers.overrides = merge_settings(self._layers.overrides, copy.deepcopy(overrides))
        self._layers.merge()

    async def reload(self) -> None:
        """Read both files again and drop the overrides; a file that cannot be read keeps its previous values."""
        await self._writer.flush()
        self._layers.load()

    async def flush(self) -> None:
        """Wait until all changes are on disk; what could not be written is among the problems then."""
        await self._writer.flush()

    def set(self, setting: Setting[T], value: T | None, *, scope: SettingsScope = "global") -> None:
        """Change a setting now and store it; None takes it out of the file.

        The file is written in the background of a running event loop (`flush` waits for that), else at once. Only the
        keys of this setting change; a file that cannot be read is not written. Raises `ConfigError` for a value that
        the setting cannot have, for a project that is not trusted, and for one of the user's own settings in it.
        """
        if value is not None:
            try:
                setting.kind.read(value)
            except ValueError as error:
                raise ConfigError(f"setting {setting.key!r} {error}") from None
        self._change(setting, setting.path, REMOVED if value is None else value, scope)

    def set_entry(
        self, setting: Setting[dict[str, Any]], key: str, value: Any, *, scope: SettingsScope = "global"
    ) -> None:
        """Change one entry of a setting that is a table; None takes it out. Like `set` in everything else."""
        try:
            setting.kind.read({} if value is None else {key: value})
        except ValueError as error:
            raise ConfigError(f"setting {setting.key!r} {error}") from None
        self._change(setting, (*setting.path, key), REMOVED if value is None else value, scope)

    def edit(self, setting: Setting[T], change: Callable[[Any], T], *, scope: SettingsScope = "global") -> None:
        """Change a setting depending on what the scope's file holds when it is written, so that two programs that
        change a list at once both succeed. `change(value)` gets None for an absent value and may run twice; like `set`
        in everything else.
        """
        self._change(setting, setting.path, change, scope)

    def _change(self, setting: Setting[Any], path: tuple[str, ...], value: Any, scope: SettingsScope) -> None:
        if scope == "project":
            if setting.scope == "global":
                raise ConfigError(f"setting {setting.key!r} is the user's own; a project cannot have it")
            if not self.is_project_trusted:
                raise ConfigError("this project is not trusted: its settings are not written; trust it first")
        self._layers.change(scope, path, value)
        if self._layers.is_readable(scope):
            self._writer.mark(scope, path, value)

    def drain_errors(self) -> list[SettingsProblem]:
        """The problems found since the last call: unreadable files, and values that are not usable."""
        return self._layers.drain_problems()

    @property
    def diagnostics(self) -> list[ResourceDiagnostic]:
        """Everything that is wrong with files and values now, as warnings."""
        return [
            ResourceDiagnostic("warning", problem.message, None if problem.path is None else str(problem.path))
            for problem in self._layers.problems()
        ]

    def get(self, setting: Setting[T]) -> T:
        """The value of a setting: merged, typed, its default where it is absent, null or unusable.

        Raises `SettingsError` for an unusable value of a strict setting.
        """
        return self._layers.get(setting)

    def get_oauth_client_ids(self) -> dict[str, str]:
        """OAuth client ids that the user registered, by provider."""
        return self.get(_setting.OAUTH)

    def set_device_id(self, device_id: str) -> None:
        """Keep what names this installation."""
        self.set(_setting.DEVICE_ID, device_id)

    def get_device_id(self) -> str | None:
        """What names this installation to providers that ask for it when the user signs in."""
        return self.get(_setting.DEVICE_ID) or None

    def get_default_provider(self) -> str | None:
        """Provider of new sessions."""
        return self.get(_setting.DEFAULT_PROVIDER) or None

    def set_default_model_and_provider(self, provider: str, model_id: str) -> None:
        """Provider and model of new sessions, of the user."""
        self.set(_setting.DEFAULT_PROVIDER, provider)
        self.set(_setting.DEFAULT_MODEL, model_id)

    def get_default_model(self) -> str | None:
        """Model id of new sessions."""
        return self.get(_setting.DEFAULT_MODEL) or None

    def get_default_thinking_level(self) -> ThinkingLevel | None:
        """Thinking level of new sessions; None where the user set none."""
        return self.get(_setting.DEFAULT_THINKING_LEVEL)

    def get_model_thinking_level(self, provider: str, model_id: str) -> ThinkingLevel | None:
        """Thinking level that the user set for one model."""
        return self.get(_setting.MODEL_THINKING_LEVELS).get(f"{provider}/{model_id}")

    def get_thinking_budgets(self) -> dict[str, int]:
        """Tokens to think per level."""
        return self.get(_setting.THINKING_BUDGETS)

    def get_enabled_models(self) -> list[str] | None:
        """Patterns of the models to offer; None for all."""
        return self.get(_setting.ENABLED_MODELS)

    def get_transport(self) -> Transport:
        """How answers are streamed."""
        return self.get(_setting.TRANSPORT)

    def get_steering_mode(self) -> QueueMode:
        """How many steering messages a turn takes."""
        return self.get(_setting.STEERING_MODE)

    def get_follow_up_mode(self) -> QueueMode:
        """How many follow-ups a turn takes."""
        return self.get(_setting.FOLLOW_UP_MODE)

    def get_cache_warming(self) -> CacheWarming:
        """When the prompt cache is kept alive."""
        return self.get(_setting.CACHE_WARMING)

    def get_default_project_trust(self) -> ProjectTrustDefault:
        """Whether undecided projects are trusted."""
        return self.get(_setting.DEFAULT_PROJECT_TRUST)

    def get_default_tools(self) -> list[str]:
        """Tool names of new sessions, `+x` and `-x` carried out; an empty list means no built-in tools."""
        entries = self.get(_setting.DEFAULT_TOOLS)
        defaults = list(DEFAULT_TOOL_NAMES)
        return defaults if entries is None else edit_tool_names(defaults, entries)

    def get_session_dir(self) -> Path | None:
        """Folder for sessions with `~` expanded; the project's value counts even before trust. None if unset."""
        text = self.get(_setting.SESSION_DIR)
        return _config.expand_home(text) if text else None

    def get_shell_path(self) -> str | None:
        """Shell for commands, `~` expanded."""
        text = self.get(_setting.SHELL_PATH)
        return os.fspath(_config.expand_home(text)) if text else None

    def get_shell_command_prefix(self) -> str | None:
        """Line to put before every command."""
        return self.get(_setting.SHELL_COMMAND_PREFIX) or None

    def get_image_auto_resize(self) -> bool:
        """Whether images are shrunk to what the model takes."""
        return self.get(_setting.IMAGES_AUTO_RESIZE)

    def get_block_images(self) -> bool:
        """Whether images never go to a model."""
        return self.get(_setting.IMAGES_BLOCK_IMAGES)

    def get_http_proxy(self) -> str | None:
        """Proxy for HTTP and HTTPS."""
        return self.get(_setting.HTTP_PROXY) or None

    def get_models_url(self) -> str | None:
        """Address of the catalogue server that the user chose."""
        return self.get(_setting.MODELS_URL) or None

    def get_http_idle_timeout_ms(self) -> int:
        """Longest silence of a model server in milliseconds; 0 means no limit. Raises `SettingsError`."""
        return self.get(_setting.HTTP_IDLE_TIMEOUT_MS)

    def get_websocket_connect_timeout_ms(self) -> int:
        """Longest wait for a WebSocket connection in milliseconds; 0 means no limit. Raises `SettingsError`."""
        return self.get(_setting.WEBSOCKET_CONNECT_TIMEOUT_MS)

    def get_retry_settings(self) -> RetrySettings:
        """How failed answers are asked for again."""
        return RetrySettings(
            enabled=self.get(_setting.RETRY_ENABLED),
            max_retries=self.get(_setting.RETRY_MAX_RETRIES),
            base_delay_ms=self.get(_setting.RETRY_BASE_DELAY_MS),
            max_agent_delay_ms=self.get(_setting.RETRY_MAX_AGENT_DELAY_MS),
        )

    def get_provider_retry_settings(self) -> ProviderRetrySettings:
        """How one HTTP request is repeated. Raises `SettingsError` for a bad idle timeout."""
        timeout_ms = self.get(_setting.RETRY_PROVIDER_TIMEOUT_MS)
        return ProviderRetrySettings(
            timeout_ms=self.get_http_idle_timeout_ms() if timeout_ms is None else timeout_ms,
            max_retries=self.get(_setting.RETRY_PROVIDER_MAX_RETRIES),
            max_retry_delay_ms=self.get(_setting.RETRY_PROVIDER_MAX_RETRY_DELAY_MS),
        )

    def get_compaction_settings(self, provider: str | None = None, model_id: str | None = None) -> CompactionSettings:
        """When history is summarised, for one model if given: its override, else the plain value, else the default.

        Raises `SettingsError` for a value that is not an integer of at least 0.
        """
        override: Settings = {}
        path = (*_setting.COMPACTION_MODEL_OVERRIDES.path, f"{provider}/{model_id}")
        if provider is not None and model_id is not None:
            found = self.get(_setting.COMPACTION_MODEL_OVERRIDES).get(path[-1])
            override = self._layers.read_nested(OBJECT, found, path) or {}
        return CompactionSettings(
            enabled=self.get(_setting.COMPACTION_ENABLED),
            reserve_tokens=self._overridden(_setting.COMPACTION_RESERVE_TOKENS, override, path),
            keep_recent_tokens=self._overridden(_setting.COMPACTION_KEEP_RECENT_TOKENS, override, path),
        )

    def get_compaction_model(self) -> str | None:
        """The model that writes summaries, as `provider/id`; None for the session's own."""
        return self.get(_setting.COMPACTION_MODEL)

    def get_branch_summary_reserve_tokens(self) -> int:
        """Tokens kept free when a branch is summarised."""
        return self.get(_setting.BRANCH_SUMMARY_RESERVE_TOKENS)

    def _overridden(self, setting: Setting[int], override: Settings, path: tuple[str, ...]) -> int:
        name = setting.path[-1]
        tokens = self._layers.read_nested(setting.kind, override.get(name), (*path, name))
        return self.get(setting) if tokens is None else tokens
