"""Requests that did not fit into the context."""

from __future__ import annotations

import pytest

from pinyon.ai.message import AssistantMessage, StopReason
from pinyon.ai.overflow import is_context_overflow, is_recoverable_length
from pinyon.ai.usage import Usage


def answer(
    stop_reason: StopReason = "error", text: str = "", provider: str = "p", usage: Usage | None = None
) -> AssistantMessage:
    message = AssistantMessage(
        content=[], api="a", provider=provider, model="m", usage=usage or Usage(), stop_reason=stop_reason, timestamp=0
    )
    if text:
        message.error_message = text
    return message


@pytest.mark.parametrize(
    "text",
    [
        '400 {"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
        "Prompt too long",
        "prompt exceeds max length",
        "prompt too long; exceeded max context length by 5 tokens",
        "prompt too long; exceeded context length",
        '413 {"error":{"type":"request_too_large"}}',
        "ValidationException: Input is too long for requested model.",
        "Your input exceeds the context window of this model",
        "exceeds the model's maximum context length of 131,072 tokens",
        "exceeds maximum context length (8192)",
        "ContextWindowExceededError: context window exceeded",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "Please reduce the length of the messages or completion",
        "This endpoint's maximum context length is 65536 tokens",
        "prompt exceeds the maximum allowed input length of 100 tokens",
        "The input (516368 tokens) is longer than the model's context length (262144 tokens)",
        "prompt token count of 200 exceeds the limit of 100",
        "the request exceeds the available context size, try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 262144",
        "Prompt contains 9 tokens, too large for model with 5 maximum context length",
        "prompt has 9000 tokens, but the configured context size is 8192 tokens",
        "finish_reason: model_context_window_exceeded",
        "Range of input length should be [1, 129024]",
        "context_length_exceeded",
        "context length exceeded",
        "too many tokens",
        "token limit exceeded",
        "413",
        "413 status code (no body)",
        "413: {}",
        "OpenAI API error (413): large",
    ],
)
def test_the_words_of_each_kind_of_server_are_recognised(text: str) -> None:
    assert is_context_overflow(answer(text=text))
    assert is_context_overflow(answer(text=text.upper()))


@pytest.mark.parametrize(
    "text",
    [
        "Throttling error: Too many tokens, please wait before trying again.",
        "Service unavailable: too many tokens",
        "429 rate limit: too many tokens per minute",
        "Too many requests: token limit exceeded",
        "4130 things",
        "error 413 in the middle",
        "400 status code (no body)",
        "invalid api key",
    ],
)
def test_other_failures_are_not(text: str) -> None:
    assert not is_context_overflow(answer(text=text))


@pytest.mark.parametrize("status", [400, 413])
def test_a_bodyless_refusal_of_cerebras_is_an_overflow(status: int) -> None:
    assert is_context_overflow(answer(text=f"{status} status code (no body)", provider="cerebras"))


@pytest.mark.parametrize(
    ("stop_reason", "usage", "expected"),
    [
        ("stop", Usage(input=150, cache_read=51), True),
        ("stop", Usage(input=200), False),
        ("length", Usage(input=198, output=0), True),
        ("length", Usage(input=197, output=0), False),
        ("length", Usage(input=200, output=1), False),
        ("toolUse", Usage(input=900), False),
        ("aborted", Usage(input=900), False),
    ],
)
def test_silent_truncation_shows_in_the_usage(stop_reason: StopReason, usage: Usage, expected: bool) -> None:
    assert is_context_overflow(answer(stop_reason, usage=usage), 200) is expected
    assert not is_context_overflow(answer(stop_reason, usage=usage))
    assert not is_context_overflow(answer(stop_reason, usage=usage), 0)


def test_an_answer_cut_short_of_what_was_wanted_is_recoverable() -> None:
    cut = answer("length", usage=Usage(output=10))
    assert is_recoverable_length(cut, 100)
    assert not is_recoverable_length(cut, 10)
    assert not is_recoverable_length(answer("stop", usage=Usage(output=10)), 100)
