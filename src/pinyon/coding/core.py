"""What the collaborators of one session share: the agent, the tree, and what is chosen and heard."""

from __future__ import annotations

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.agent import Agent
from pinyon.ai.message import AgentMessage
from pinyon.ai.model import Model, clamp_level
from pinyon.ai.retry import RetryCallbacks
from pinyon.coding.auto_retry import retry_policy
from pinyon.coding.compaction.settings import compaction_settings
from pinyon.coding.compaction.summary import SummaryWriter
from pinyon.coding.event_hub import EventHub
from pinyon.coding.hooks import SessionHooks
from pinyon.coding.prompt_expansion import Expansion
from pinyon.coding.selection import NO_MODEL, ModelSelection
from pinyon.coding.system_prompt import SystemPrompt
from pinyon.coding.toolset import Toolset
from pinyon.errors import ModelError
from pinyon.resources.settings import CompactionSettings, SettingsManager
from pinyon.session.session import Session


class SessionCore(msgspec.Struct, kw_only=True, dict=True):
    """The parts of one session. `compaction` replaces what the settings say about it; `expand`
    replaces calls of skills and templates in prompts.
    """

    agent: Agent
    session: Session
    settings: SettingsManager
    selection: ModelSelection
    toolset: Toolset
    system_prompt: SystemPrompt
    events: EventHub
    hooks: SessionHooks
    clock: Clock = SYSTEM_CLOCK
    compaction: CompactionSettings | None = None
    expand: Expansion | None = None
    has_context: bool = False

    @property
    def model(self) -> Model | None:
        """The model that answers next."""
        return self.selection.model

    @property
    def messages(self) -> list[AgentMessage]:
        """The conversation as it will be projected for the next request."""
        if not self.has_context:
            self.refresh()
        return self.agent.state.messages

    def refresh(self) -> None:
        """Give the agent the messages that the tree projects to."""
        self.has_context = True
        self.agent.state.messages = self.session.build_session_projection().messages

    def compaction_settings(self) -> CompactionSettings:
        """When and how far history is summarised with the model in force."""
        return self.compaction or compaction_settings(self.settings, self.model)

    def summary_writer(self, signal: AbortSignal, callbacks: RetryCallbacks) -> SummaryWriter:
        """Who writes a summary now: the model of the settings, else the session's own. Raises `ModelError`."""
        model = self.selection.summary_model(self.settings.get_compaction_model())
        if model is None or self.agent.stream_fn is None:
            raise ModelError(NO_MODEL)
        return SummaryWriter(
            stream_fn=self.agent.stream_fn,
            model=model,
            thinking_level=clamp_level(model, self.selection.thinking_level),
            policy=retry_policy(self.settings),
            signal=signal,
            callbacks=callbacks,
            session_id=self.compaction_settings().session_id,
        )
