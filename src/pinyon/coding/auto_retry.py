"""Asking again after a failed answer: which failures, how often, how long between, and what the transcript keeps."""

from __future__ import annotations

from collections.abc import Callable

from pinyon._util.abort import AbortController
from pinyon._util.clock import Clock
from pinyon.ai.message import AssistantMessage
from pinyon.ai.overflow import is_context_overflow
from pinyon.ai.retry import RetryPolicy, is_retryable_assistant_error, pause
from pinyon.coding.event import AutoRetryEnd, AutoRetryStart, SessionEvent
from pinyon.resources.settings import SettingsManager

CANCELLED = "Retry cancelled"


def retry_policy(settings: SettingsManager) -> RetryPolicy:
    """The policy that the settings ask for."""
    retry = settings.get_retry_settings()
    return RetryPolicy(
        enabled=retry.enabled,
        max_retries=retry.max_retries,
        base_delay_ms=retry.base_delay_ms,
        max_agent_delay_ms=retry.max_agent_delay_ms,
    )


class AutoRetry:
    """Counts the attempts for one prompt and waits between them.

    `policy` is read for every failure, so a changed setting counts at once. `omit_answer` takes the failed answer out
    of the context before it is asked for again.
    """

    def __init__(
        self,
        *,
        policy: Callable[[], RetryPolicy],
        context_window: Callable[[], int],
        omit_answer: Callable[[], None],
        emit: Callable[[SessionEvent], None],
        clock: Clock,
    ) -> None:
        self._policy = policy
        self._context_window = context_window
        self._omit_answer = omit_answer
        self._emit = emit
        self._clock = clock
        self._wait: AbortController | None = None
        self.attempt = 0

    @property
    def is_waiting(self) -> bool:
        """Whether the pause before a further attempt is running."""
        return self._wait is not None

    def is_due(self, message: AssistantMessage | None) -> bool:
        """Whether `message` is a failure that will be asked for again."""
        policy = self._policy()
        return (
            message is not None
            and policy.enabled
            and self.attempt < policy.max_retries
            and not is_context_overflow(message, self._context_window())
            and is_retryable_assistant_error(message)
        )

    def answered(self, message: AssistantMessage) -> None:
        """Note a finished answer: one that is no failure ends the series of attempts."""
        if message.stop_reason != "error" and self.attempt:
            self._finish(success=True)

    async def wait_to_repeat(self, message: AssistantMessage) -> bool:
        """Handle a failed answer after its run; True when the model should be asked again now."""
        if not self.is_due(message):
            if self.attempt and message.stop_reason == "error":
                self._finish(success=False, error=message.error_message or None)
            return False
        policy = self._policy()
        self.attempt += 1
        delay_ms = policy.delay_ms(self.attempt)
        start = AutoRetryStart(
            attempt=self.attempt,
            max_attempts=policy.max_retries,
            delay_ms=delay_ms,
            error_message=message.error_message or "",
        )
        self._wait = wait = AbortController()  # there before anybody hears of the pause and may want to end it
        try:
            self._emit(start)
            self._omit_answer()
            return await pause(delay_ms / 1000, wait.signal, self._clock)
        finally:
            self._wait = None

    def abort(self) -> None:
        """End the pause; no further attempt is made, and listeners hear so at once."""
        if self._wait is not None and not self._wait.signal.aborted:
            self._wait.abort()
            self._finish(success=False, error=CANCELLED)

    def reset(self) -> None:
        """Forget the attempts, for a new prompt."""
        self.attempt = 0

    def _finish(self, *, success: bool, error: str | None = None) -> None:
        attempt, self.attempt = self.attempt, 0
        if success:
            self._emit(AutoRetryEnd(success=True, attempt=attempt))
        else:
            self._emit(AutoRetryEnd(success=False, attempt=attempt, final_error=error or "The model request failed"))
