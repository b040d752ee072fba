import asyncio
from collections.abc import Callable

import pytest

from pinyon.ai.apis.faux import faux_assistant_message
from pinyon.ai.message import AssistantMessage
from pinyon.ai.retry import RetryPolicy
from pinyon.coding.auto_retry import CANCELLED, AutoRetry
from pinyon.coding.event import AutoRetryEnd, AutoRetryStart, SessionEvent
from pinyon.testing.fake_clock import FakeClock


class Retry:
    """An `AutoRetry` with what it emitted and how long it slept."""

    def __init__(self, policy: RetryPolicy | None = None, emit: Callable[[SessionEvent], None] | None = None) -> None:
        self.events: list[SessionEvent] = []
        self.omitted = 0
        self.clock = FakeClock()
        self.retry = AutoRetry(
            policy=lambda: policy or RetryPolicy(max_retries=2),
            context_window=lambda: 1000,
            omit_answer=self._omit,
            emit=emit or self.events.append,
            clock=self.clock,
        )

    def _omit(self) -> None:
        self.omitted += 1

    def fail(self, text: str = "529 overloaded") -> bool:
        return asyncio.run(self.retry.wait_to_repeat(failed(text)))


def failed(text: str) -> AssistantMessage:
    return faux_assistant_message("", stop_reason="error", error_message=text)


def test_pauses_double_and_the_last_failure_is_told_when_the_attempts_are_used_up() -> None:
    kit = Retry()
    assert [kit.fail(), kit.fail(), kit.fail()] == [True, True, False]
    assert kit.clock.sleeps_s == [2.0, 4.0]
    assert kit.omitted == 2
    starts = [event for event in kit.events if isinstance(event, AutoRetryStart)]
    assert [(start.attempt, start.max_attempts, start.delay_ms) for start in starts] == [(1, 2, 2000), (2, 2, 4000)]
    assert kit.events[-1] == AutoRetryEnd(success=False, attempt=2, final_error="529 overloaded")
    assert kit.retry.attempt == 0


def test_an_answer_after_a_failure_ends_the_series_as_a_success() -> None:
    kit = Retry()
    kit.fail()
    kit.retry.answered(faux_assistant_message("fine"))
    assert kit.events[-1] == AutoRetryEnd(success=True, attempt=1)
    kit.retry.answered(faux_assistant_message("fine again"))
    assert len(kit.events) == 2


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (RetryPolicy(enabled=False), "529 overloaded"),
        (RetryPolicy(max_retries=0), "529 overloaded"),
        (RetryPolicy(), "400 bad thing"),
        (RetryPolicy(), "prompt is too long: 2000 tokens > 1000 maximum"),
    ],
    ids=["switched off", "no attempts", "a failure that stays", "an overflow"],
)
def test_what_will_not_help_is_not_repeated(policy: RetryPolicy, text: str) -> None:
    kit = Retry(policy)
    assert not kit.fail(text)
    assert (kit.events, kit.clock.sleeps_s, kit.omitted) == ([], [], 0)


def test_an_abort_ends_the_pause_and_tells_so_once() -> None:
    events: list[SessionEvent] = []

    def abort_at_start(event: SessionEvent) -> None:
        events.append(event)
        if isinstance(event, AutoRetryStart):
            asyncio.get_running_loop().call_soon(abort_twice)

    def abort_twice() -> None:
        assert retry.is_waiting
        retry.abort()
        retry.abort()

    retry = Retry(emit=abort_at_start).retry
    assert not asyncio.run(retry.wait_to_repeat(failed("529 overloaded")))
    assert events[1:] == [AutoRetryEnd(success=False, attempt=1, final_error=CANCELLED)]
    assert not retry.is_waiting
    retry.abort()
    assert len(events) == 2


def test_a_new_prompt_has_all_attempts_again() -> None:
    kit = Retry()
    kit.fail()
    kit.fail()
    kit.retry.reset()
    assert kit.fail()
