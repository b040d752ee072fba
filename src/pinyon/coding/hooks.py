"""Where code outside of the session takes part in it: prompts, runs, tool calls, summaries, moves and replacements.

One object of hooks serves a session; each method does nothing until it is overridden. They are awaited in the order in
which things happen, so a hook sees the session as it is at that moment. What a hook raises is not caught here: whoever
connects foreign code decides what its faults mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.agent.event import AgentEvent
from pinyon.agent.hook import (
    AfterToolCallContext,
    AfterToolCallResult,
    BeforeToolCallContext,
    BeforeToolCallResult,
    TurnContext,
    TurnDecision,
)
from pinyon.ai.content import ImageContent
from pinyon.ai.message import AgentMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.usage import Usage
from pinyon.session.entry import SessionEntry

if TYPE_CHECKING:
    from pinyon.coding.compaction.cut import CompactionPreparation
    from pinyon.coding.event import CompactionReason
    from pinyon.tools.operations import BashOperations
    from pinyon.tools.user_command import BashResult

PromptSource = Literal["interactive", "rpc", "extension", "sdk"]
ShutdownReason = Literal["new", "resume", "fork", "quit", "reload"]
SwitchReason = Literal["new", "resume"]


class PromptInput(msgspec.Struct):
    """A prompt on its way into the session; `handled` means that nothing is left for the model."""

    text: str
    images: Sequence[ImageContent] = ()
    source: PromptSource = "sdk"
    handled: bool = False


class RunStart(msgspec.Struct, kw_only=True):
    """What a hook adds before a run.

    `messages` follow the prompt. `system_prompt` replaces the whole prompt in the requests of this run; it is sent, but
    not stored.
    """

    messages: list[AgentMessage] = msgspec.field(default_factory=list)
    system_prompt: str | None = None


class CompactionRequest(msgspec.Struct, kw_only=True):
    """A compaction about to be written."""

    preparation: CompactionPreparation
    branch_entries: list[SessionEntry]
    custom_instructions: str | None
    reason: CompactionReason
    will_retry: bool
    signal: AbortSignal


class OwnSummary(msgspec.Struct, kw_only=True):
    """A summary that a hook wrote instead of the model; `first_kept_entry_id` None keeps the prepared cut."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int | None = None
    details: Any = None
    usage: Usage | None = None


class CompactionAnswer(msgspec.Struct, kw_only=True):
    """What a hook decides on a compaction: nothing, to cancel it, or its own summary."""

    cancel: bool = False
    summary: OwnSummary | None = None


class TreeRequest(msgspec.Struct, kw_only=True):
    """A move in the tree about to happen: the entries that are left, oldest first, and what the user asked for."""

    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: list[SessionEntry]
    wants_summary: bool
    custom_instructions: str | None
    replace_instructions: bool
    label: str | None
    signal: AbortSignal


class TreeAnswer(msgspec.Struct, kw_only=True):
    """What a hook decides on a move. The summary counts only where one was asked for; None keeps the user's wish."""

    cancel: bool = False
    summary: OwnSummary | None = None
    custom_instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None


class TreeMove(msgspec.Struct, kw_only=True):
    """A move in the tree that has happened."""

    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: SessionEntry | None = None
    from_extension: bool = False


class UserCommandAnswer(msgspec.Struct, kw_only=True):
    """How a hook takes over a shell command of the user: other operations to run it with, or the finished result."""

    operations: BashOperations | None = None
    result: BashResult | None = None


class SessionStart(msgspec.Struct, kw_only=True):
    """Why a session became the active one, and the file of the one before it."""

    reason: Literal["startup", "new", "resume", "fork", "reload"]
    previous_session_file: str | None = None


class SessionHooks:
    """The hooks of a session, each doing nothing. Derive and override what is wanted."""

    # prompts

    def is_command(self, name: str) -> bool:
        """Whether `/name` runs a command instead of going to the model."""
        del name
        return False

    async def run_command(self, name: str, args: str) -> None:
        """Run a command that `is_command` named."""

    async def transform_input(self, prompt: PromptInput) -> PromptInput:
        """See a prompt first: change it, or handle it."""
        return prompt

    async def expand(self, text: str) -> str:
        """Replace skill and template references of a prompt by their text."""
        return text

    # runs

    async def before_agent_start(self, prompt: PromptInput) -> list[AgentMessage] | RunStart:
        """What to send after the prompt of a run, and a prompt to force for it."""
        del prompt
        return []

    async def on_agent_event(self, event: AgentEvent) -> None:
        """Hear an event of the agent before the listeners do, and hold it back until this returns."""

    async def message_end(self, message: AgentMessage) -> AgentMessage | None:
        """Replace a finished message by another of the same role before it is stored; None keeps it."""
        del message
        return None

    async def transform_context(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Change the messages of one request; what is returned is sent and not stored."""
        return messages

    async def finish_turn(self, turn: TurnContext) -> TurnDecision | None:
        """Decide at the end of a turn, before its event, whether the run ends or goes on."""
        del turn
        return None

    async def before_settle(self) -> bool:
        """Act when nothing automatic is left to do; True asks for another run on the context as it then is."""
        return False

    # tools

    async def before_tool_call(self, call: BeforeToolCallContext, signal: AbortSignal) -> BeforeToolCallResult | None:
        """Change or refuse a tool call that is about to run."""
        del call, signal
        return None

    async def after_tool_call(self, call: AfterToolCallContext, signal: AbortSignal) -> AfterToolCallResult | None:
        """Change the result of a tool call."""
        del call, signal
        return None

    async def user_command(self, command: str, *, exclude_from_context: bool, cwd: str) -> UserCommandAnswer | None:
        """Take over a shell command of the user."""
        del command, exclude_from_context, cwd
        return None

    # summaries and moves

    async def before_compact(self, request: CompactionRequest) -> CompactionAnswer | None:
        """Cancel a compaction, or write its summary."""
        del request
        return None

    async def compacted(
        self, entry: SessionEntry, *, reason: CompactionReason, will_retry: bool, from_extension: bool
    ) -> None:
        """Hear of a compaction that was stored."""

    async def compaction_failed(
        self, *, reason: CompactionReason, error_message: str | None, aborted: bool, will_retry: bool
    ) -> None:
        """Hear of a compaction that did not come about."""

    async def before_tree(self, request: TreeRequest) -> TreeAnswer | None:
        """Cancel a move in the tree, or change how it is made."""
        del request
        return None

    async def tree_moved(self, move: TreeMove) -> None:
        """Hear of a move in the tree."""

    async def model_selected(self, model: Model, previous: Model | None) -> None:
        """Hear of another model."""

    def thinking_level_selected(self, level: ThinkingLevel, previous: ThinkingLevel) -> None:
        """Hear of another thinking level. Levels change at once, so this cannot be waited for."""

    # the life of a session

    async def session_started(self, start: SessionStart) -> None:
        """Hear that the session is the active one."""

    async def before_switch(self, reason: SwitchReason, target_session_file: str | None) -> bool:
        """Whether another session may take the place of this one; False cancels."""
        del reason, target_session_file
        return True

    async def before_fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        """Whether the session may be forked; False cancels."""
        del entry_id, position
        return True

    async def shutdown(self, reason: ShutdownReason, target_session_file: str | None) -> None:
        """Hear that the session ends; runs have ended, and entries may still be added."""
