"""Events of a coding session: those of the agent and those that a session adds, one closed union.

Encoding an event gives the line that JSON mode and the RPC protocol write for it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from pinyon.agent.event import AgentEvent, AgentEventBase
from pinyon.ai.model import ThinkingLevel
from pinyon.ai.usage import Usage

CompactionReason = Literal["manual", "threshold", "overflow"]
LimitName = Literal["turns", "tokens", "cost", "wall_time"]
LimitScope = Literal["run", "opened", "session"]


class AgentSettled(AgentEventBase, tag="agent_settled"):
    """Nothing automatic follows: retries, compaction and queued messages are done. Once per session-level run."""

    aborted: bool


class QueueUpdate(AgentEventBase, tag="queue_update"):
    """Texts of the waiting messages after a change, oldest first."""

    steering: list[str]
    follow_up: list[str]


class CompactionResult(msgspec.Struct, rename="camel"):
    """What a compaction did; token counts are estimates of the whole context."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    details: Any = UNSET


class CompactionStart(AgentEventBase, tag="compaction_start"):
    """Earlier history is about to be summarised."""

    reason: CompactionReason


class CompactionEnd(AgentEventBase, tag="compaction_end"):
    """Summarising ended: with a result, aborted, or failed with `error_message`."""

    reason: CompactionReason
    aborted: bool
    will_retry: bool
    result: CompactionResult | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


class AutoRetryStart(AgentEventBase, tag="auto_retry_start"):
    """A failed answer will be asked for again after `delay_ms` milliseconds."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(AgentEventBase, tag="auto_retry_end"):
    """Retrying ended: with an answer, or given up with `final_error`."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class SummarizationRetryScheduled(AgentEventBase, tag="summarization_retry_scheduled"):
    """A failed summary request will be repeated after `delay_ms` milliseconds."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(AgentEventBase, tag="summarization_retry_attempt_start"):
    """A summary request is repeated now."""

    source: Literal["compaction", "branchSummary"]
    reason: CompactionReason | UnsetType = UNSET


class SummarizationRetryFinished(AgentEventBase, tag="summarization_retry_finished"):
    """No further repeat of the summary request follows."""


class EntryAppended(AgentEventBase, tag="entry_appended"):
    """An entry that is not a message was added to the session; `entry` is its object as stored."""

    entry: Any


class SessionInfoChanged(AgentEventBase, tag="session_info_changed"):
    """The session was named; `name` is absent when the name was cleared."""

    name: str | UnsetType = UNSET


class ThinkingLevelChanged(AgentEventBase, tag="thinking_level_changed"):
    """The effective thinking level changed."""

    level: ThinkingLevel


class BashExecutionUpdate(AgentEventBase, tag="bash_execution_update"):
    """More output of a shell command that the user runs."""

    delta: str
    id: Any = UNSET


class LimitReached(AgentEventBase, tag="limit_reached"):
    """A limit is close (`stopping` false) or used up (`stopping` true: the run ends, the session can be gone on with).

    `used` and `allowed` are turns, tokens, US dollars or seconds; `scope` is what is counted.
    """

    limit: LimitName
    used: int | float
    allowed: int | float
    stopping: bool
    scope: LimitScope = "run"


class ExtensionFailed(AgentEventBase, tag="extension_error"):
    """Something that users bring failed while it handled `event`; `extension_path` is its file. The run goes on."""

    extension_path: str
    event: str
    error: str


SessionOnlyEvent: TypeAlias = (
    AgentSettled
    | QueueUpdate
    | CompactionStart
    | CompactionEnd
    | AutoRetryStart
    | AutoRetryEnd
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | EntryAppended
    | SessionInfoChanged
    | ThinkingLevelChanged
    | BashExecutionUpdate
    | LimitReached
    | ExtensionFailed
)

SessionEvent: TypeAlias = AgentEvent | SessionOnlyEvent
