"""Telling listeners that a failed summary request is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import UNSET, UnsetType

from pinyon.ai.retry import RetryCallbacks
from pinyon.coding.event import (
    CompactionReason,
    SessionEvent,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)


def retry_notices(
    emit: Callable[[SessionEvent], None],
    source: Literal["compaction", "branchSummary"],
    reason: CompactionReason | UnsetType = UNSET,
) -> RetryCallbacks:
    """Callbacks that emit the events of repeated summary requests."""
    return RetryCallbacks(
        on_scheduled=lambda attempt, limit, delay_ms, error: emit(
            SummarizationRetryScheduled(attempt=attempt, max_attempts=limit, delay_ms=delay_ms, error_message=error)
        ),
        on_attempt_start=lambda: emit(SummarizationRetryAttemptStart(source=source, reason=reason)),
        on_finished=lambda: emit(SummarizationRetryFinished()),
    )
