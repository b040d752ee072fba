"""What can be asked of a session: its state, its messages, its numbers. Nothing here changes anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinyon.agent.agent import Agent
from pinyon.agent.queue import QueueMode
from pinyon.agent.state import AgentState
from pinyon.ai.message import AgentMessage, UserMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.resolver import ScopedModel
from pinyon.coding.answer import last_answer_text
from pinyon.coding.core import SessionCore
from pinyon.coding.event_hub import EventHub
from pinyon.coding.hooks import SessionHooks
from pinyon.coding.limit import LimitGuard
from pinyon.coding.run_driver import RunDriver
from pinyon.coding.selection import ModelSelection
from pinyon.coding.statistics import (
    ContextUsage,
    CostRow,
    SessionStats,
    context_usage,
    cost_breakdown,
    session_stats,
)
from pinyon.coding.toolset import Toolset
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.coding.cache_statistics import CacheWaste


class ForkableMessage(msgspec.Struct, rename="camel"):
    """A message of the user that the session can be forked at."""

    entry_id: str
    text: str


class SessionView:
    """The readable side of `AgentSession`."""

    def __init__(self, core: SessionCore, driver: RunDriver) -> None:
        self._core = core
        self._driver = driver

    @property
    def agent(self) -> Agent:
        """The agent that runs the conversation."""
        return self._core.agent

    @property
    def session(self) -> Session:
        """The tree of entries."""
        return self._core.session

    @property
    def settings(self) -> SettingsManager:
        """The settings of the session's directory."""
        return self._core.settings

    @property
    def selection(self) -> ModelSelection:
        """Which model answers, and how much it thinks."""
        return self._core.selection

    @property
    def toolset(self) -> Toolset:
        """The registered and active tools."""
        return self._core.toolset

    @property
    def events(self) -> EventHub:
        """Where events are delivered."""
        return self._core.events

    @property
    def hooks(self) -> SessionHooks:
        """Who takes part in the session from outside."""
        return self._core.hooks

    @property
    def limits(self) -> LimitGuard:
        """What runs may use, and what they have used."""
        return self._driver.limits

    @property
    def state(self) -> AgentState:
        """The agent's state; assigning its messages does not change what is sent."""
        return self._core.agent.state

    @property
    def cwd(self) -> str:
        """Working directory of the session."""
        return self._core.session.get_cwd()

    @property
    def messages(self) -> list[AgentMessage]:
        """The conversation as it will be projected for the next request."""
        return self._core.messages

    @property
    def message_count(self) -> int:
        """How many messages the conversation has; a stored one is not decoded for it."""
        return self._core.session.build_session_projection().message_count

    @property
    def model(self) -> Model | None:
        """The model that answers next."""
        return self._core.selection.model

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level of the next request."""
        return self._core.selection.thinking_level

    @property
    def scoped_models(self) -> list[ScopedModel]:
        """The models that `cycle_model` steps through; empty for all that can be used."""
        return list(self._core.selection.scoped_models)

    @property
    def is_streaming(self) -> bool:
        """Whether a run is in progress."""
        return self._driver.control.is_active

    @property
    def is_idle(self) -> bool:
        """Whether no run is in progress."""
        return not self._driver.control.is_active

    @property
    def is_compacting(self) -> bool:
        """Whether earlier history or a branch is being summarised."""
        return self._driver.compactor.is_running or self._driver.navigator.is_running

    @property
    def is_retrying(self) -> bool:
        """Whether the pause before a repeated request is running."""
        return self._driver.retry.is_waiting

    @property
    def retry_attempt(self) -> int:
        """How many times the present answer was asked for again."""
        return self._driver.retry.attempt

    @property
    def is_bash_running(self) -> bool:
        """Whether a shell command of the user is running."""
        return self._driver.shell.is_running

    @property
    def is_read_only(self) -> bool:
        """Whether prompts are refused, because another process writes the session."""
        return self._core.session.is_read_only

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._core.session.get_session_id()

    @property
    def session_file(self) -> Path | None:
        """Path of the session's file; None for one that is kept in memory."""
        return self._core.session.get_session_file()

    @property
    def session_name(self) -> str | None:
        """Display name of the session."""
        return self._core.session.get_session_name()

    @property
    def system_prompt(self) -> str:
        """The prompt that the next request will carry."""
        return self._core.system_prompt.text()

    @property
    def steering_mode(self) -> QueueMode:
        """How many steering messages one turn takes."""
        return self._core.agent.steering_mode

    @property
    def follow_up_mode(self) -> QueueMode:
        """How many follow-up messages one turn takes."""
        return self._core.agent.follow_up_mode

    @property
    def auto_compaction_enabled(self) -> bool:
        """Whether a context that grows too large is compacted by itself."""
        return self._core.compaction_settings().enabled

    @property
    def auto_retry_enabled(self) -> bool:
        """Whether failed answers are asked for again by themselves."""
        return self._core.settings.get_retry_settings().enabled

    @property
    def steering_messages(self) -> list[str]:
        """Texts that wait for the end of the present turn."""
        return list(self._driver.queue.steering)

    @property
    def follow_up_messages(self) -> list[str]:
        """Texts that wait for the end of the present run."""
        return list(self._driver.queue.follow_up)

    @property
    def pending_message_count(self) -> int:
        """How many texts wait."""
        return len(self._driver.queue)

    def get_active_tool_names(self) -> list[str]:
        """Names of the tools that the model is told of."""
        return self._core.toolset.active_names

    def get_callable_tool_names(self) -> list[str]:
        """Names of the tools that other tools may call."""
        return self._core.toolset.callable_names

    def get_session_stats(self) -> SessionStats:
        """Counts, tokens and cost over all entries of the session."""
        return session_stats(self._core.session, self.get_context_usage())

    def get_context_usage(self) -> ContextUsage | None:
        """How much of the model's window the context takes; None without a model or a window."""
        return context_usage(self._core.session, self.model)

    def get_cost_breakdown(self) -> list[CostRow]:
        """What the session cost, by model, the dearest first; tools and summaries are one row."""
        return cost_breakdown(self._core.session)

    def get_cache_waste(self) -> CacheWaste:
        """What the session paid for tokens that the prompt cache of the provider should have held."""
        from pinyon.coding.cache_statistics import compute_cache_waste

        return compute_cache_waste(self._core.session.get_entries(), self._core.selection.find_model)

    def get_last_assistant_text(self) -> str | None:
        """Text of the latest complete answer; answers without text that did not end normally are skipped."""
        return last_answer_text(self.messages)

    def get_user_messages_for_forking(self) -> list[ForkableMessage]:
        """The messages of the user in all branches, in the order of the file; those without text are left out."""
        messages = ((entry.id, entry.message) for entry in self._core.session.get_entries())
        texts = ((entry_id, message.text) for entry_id, message in messages if isinstance(message, UserMessage))
        return [ForkableMessage(entry_id=entry_id, text=text) for entry_id, text in texts if text]
