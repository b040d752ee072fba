"""Classification of failures and the loop that asks again."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import UNSET

from pinyon._util.abort import AbortController
from pinyon.ai.message import AssistantMessage, StopReason
from pinyon.ai.retry import (
    RetryCallbacks,
    RetryPolicy,
    is_retryable_assistant_error,
    is_retryable_error_text,
    is_transient_status,
    retry_assistant_call,
)
from pinyon.ai.usage import Usage
from pinyon.testing.fake_clock import FakeClock


def answer(stop_reason: StopReason = "error", text: str | None = None) -> AssistantMessage:
    message = AssistantMessage(
        content=[], api="a", provider="p", model="m", usage=Usage(), stop_reason=stop_reason, timestamp=0
    )
    if text is not None:
        message.error_message = text
    return message


@pytest.mark.parametrize(
    "text",
    [
        '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        "500 <html>oops</html>",
        "502: {}",
        "OpenAI API error (503): later",
        "520 status code (no body)",
        "524 status code (no body)",
        "429 Rate limited",
        "408 status code (no body)",
        "error code: 524, try later",
        "stream_read_error",
        "read ECONNRESET",
        "Connection closed.",
        "server_busy",
        "Selected model is at capacity",
        "rpc error: code = ResourceExhausted desc = slow down",
        "RESOURCE_EXHAUSTED",
        "Request timed out: no data from the server for 300 s",
        "Connection error connecting to 127.0.0.1:1: ECONNREFUSED: refused",
        "Connection error: ENOTFOUND: unknown host",
        "stream ended before message_stop",
        "the answer ended without text or a tool call",
        "Service is temporarily unavailable",
        "Too Many Requests",
        "WebSocket closed 1006",
        "Provider returned an error",
        "socket hang up",
        "terminated",
        "x; the server asked for a retry delay of 90 s",
        "subscription_sharing_usage_unavailable",
        "Server disconnected without sending a response.",
    ],
)
def test_failures_that_may_pass_are_retried(text: str) -> None:
    assert is_retryable_error_text(text)
    assert is_retryable_assistant_error(answer("error", text))


@pytest.mark.parametrize(
    "text",
    [
        '400 {"type":"error","error":{"type":"invalid_request_error","message":"internal error, timeout"}}',
        '401 {"error":"server error"}',
        "403: {}",
        "404 not found, connection error",
        "422 status code (no body)",
        "307 status code (no body)",
        "501 status code (no body)",
        '{"type":"error","error":{"type":"invalid_request_error","message":"timeout must be a number"}}',
        '429: {"type":"insufficient_quota"}',
        "429 GoUsageLimitError",
        "FreeUsageLimitError",
        "Monthly usage limit reached, rate limit",
        "429 your available balance is too low",
        "overloaded: out of budget",
        "500 Quota exceeded",
        "500 check your billing details",
        "429 subscription_sharing_usage_limit_exceeded",
        '500 {"error":{"code":"1308","message":"server error"}}',
        "500 {'code': 1308}",
        "TLS failure connecting to h: self-signed certificate",
        "a message with the number 15000 in it",
        "model429x",
        "something odd",
    ],
)
def test_failures_that_will_not_pass_are_not_retried(text: str) -> None:
    assert not is_retryable_error_text(text)


def test_a_longer_code_that_begins_like_the_quota_code_is_not_taken_for_it() -> None:
    assert is_retryable_error_text('500 {"code":13080}')


@pytest.mark.parametrize("stop_reason", ["stop", "length", "toolUse", "aborted"])
def test_only_failed_answers_are_retried(stop_reason: StopReason) -> None:
    assert not is_retryable_assistant_error(answer(stop_reason, "overloaded"))


def test_a_failure_without_a_text_is_not_retried() -> None:
    assert not is_retryable_assistant_error(answer("error"))


def test_a_context_overflow_is_not_retried_whatever_its_status() -> None:
    assert not is_retryable_assistant_error(answer("error", "500 the request exceeds the available context size"))


def test_delays_double_up_to_the_maximum() -> None:
    assert [RetryPolicy().delay_ms(attempt) for attempt in (1, 2, 3, 6, 7, 500)] == [
        2000,
        4000,
        8000,
        60_000,
        60_000,
        60_000,
    ]
    assert RetryPolicy(base_delay_ms=100).delay_ms(1) == 100


class Script:
    """Produces scripted answers and notes what the loop tells."""

    def __init__(self, *answers: AssistantMessage) -> None:
        self.answers = list(answers)
        self.told: list[object] = []
        self.callbacks = RetryCallbacks(
            on_scheduled=lambda *values: self.told.append(values),
            on_attempt_start=lambda: self.told.append("start"),
            on_finished=lambda: self.told.append("finished"),
        )

    async def produce(self) -> AssistantMessage:
        return self.answers.pop(0)


def test_a_failure_that_passes_is_repeated_until_it_did() -> None:
    clock = FakeClock()
    script = Script(answer("error", "529 overloaded"), answer("error", "500 x"), answer("stop"))
    message = asyncio.run(retry_assistant_call(script.produce, RetryPolicy(), callbacks=script.callbacks, clock=clock))
    assert message.stop_reason == "stop"
    assert clock.sleeps_s == [2, 4]
    assert script.told == [(1, 3, 2000, "529 overloaded"), "start", (2, 3, 4000, "500 x"), "start", "finished"]


def test_the_last_failure_is_returned_when_the_attempts_are_used_up() -> None:
    clock = FakeClock()
    script = Script(*(answer("error", f"529 number {number}") for number in range(4)))
    message = asyncio.run(retry_assistant_call(script.produce, RetryPolicy(), callbacks=script.callbacks, clock=clock))
    assert message.error_message == "529 number 3"
    assert clock.sleeps_s == [2, 4, 8]
    assert script.told[-1] == "finished"


@pytest.mark.parametrize(
    ("first", "policy"),
    [
        (answer("stop"), RetryPolicy()),
        (answer("aborted", "overloaded"), RetryPolicy()),
        (answer("error", "400 no"), RetryPolicy()),
        (answer("error", "529 x"), RetryPolicy(enabled=False)),
        (answer("error", "529 x"), RetryPolicy(max_retries=0)),
    ],
)
def test_other_answers_are_returned_at_once_and_nothing_is_told(first: AssistantMessage, policy: RetryPolicy) -> None:
    script = Script(first)
    assert asyncio.run(retry_assistant_call(script.produce, policy, callbacks=script.callbacks)) is first
    assert script.told == []


def test_an_abort_during_the_pause_makes_the_last_answer_an_aborted_one() -> None:
    async def scenario() -> AssistantMessage:
        controller = AbortController()

        def abort_soon(*_: object) -> None:
            asyncio.get_running_loop().call_soon(controller.abort)

        script.callbacks.on_scheduled = abort_soon
        return await retry_assistant_call(script.produce, RetryPolicy(), controller.signal, script.callbacks)

    script = Script(answer("error", "529 x"))
    message = asyncio.run(scenario())
    assert (message.stop_reason, message.error_message) == ("aborted", UNSET)
    assert script.told == ["finished"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(400, False), (401, False), (404, False), (408, True), (409, True), (413, False), (422, False), (425, True),
     (429, True), (500, True), (501, False), (502, True), (503, True), (505, False), (529, True)],
)  # fmt: skip
def test_a_status_decides_whether_waiting_may_help(status: int, expected: bool) -> None:
    assert is_transient_status(status) is expected
    assert is_retryable_error_text(f"{status} overloaded") is expected
