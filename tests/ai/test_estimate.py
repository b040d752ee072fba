from typing import Any

import pytest

from pinyon.ai.content import ImageContent, TextContent, ToolCall
from pinyon.ai.estimate import (
    ContextFullError,
    ThinkingBudget,
    adjust_for_thinking,
    clamp_max_tokens,
    estimate_request_tokens,
)
from pinyon.ai.message import AssistantMessage, Message, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.overflow import is_overflow_error_text
from pinyon.ai.usage import Usage


def model(window: int, most: int = 64_000) -> Model:
    return Model(id="m", name="m", api="a", provider="p", base_url="", context_window=window, max_tokens=most)


def text_of(tokens: int) -> list[Message]:
    return [UserMessage(content="x" * int(tokens * 3.5), timestamp=0)]


def answer(total: int, timestamp: int, *content: Any, stop: Any = "stop") -> AssistantMessage:
    return AssistantMessage(
        content=list(content),
        api="a",
        provider="p",
        model="m",
        usage=Usage(total_tokens=total),
        stop_reason=stop,
        timestamp=timestamp,
    )


@pytest.mark.parametrize(
    ("window", "used", "wanted", "given"),
    [(200_000, 170_000, 64_000, 25_904), (32_768, 1000, 32_768, 27_672), (0, 10, 500, 500), (200_000, 10, 4096, 4096)],
)
def test_the_output_limit_leaves_room_for_the_input(window: int, used: int, wanted: int, given: int) -> None:
    assert clamp_max_tokens(model(window), text_of(used), wanted) == given


def test_no_room_is_an_error_that_reads_as_an_overflow_and_never_a_tiny_limit() -> None:
    with pytest.raises(ContextFullError) as caught:
        clamp_max_tokens(model(32_000), text_of(40_000))
    assert is_overflow_error_text(str(caught.value))


def test_the_latest_usable_report_counts_and_what_follows_is_estimated() -> None:
    messages = [*text_of(1000), answer(5000, 5), UserMessage(content="y" * 35, timestamp=6)]
    assert estimate_request_tokens(messages) == 5010


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_failed_and_stale_reports_do_not_count(stop: str) -> None:
    assert estimate_request_tokens([*text_of(100), answer(5000, 5, stop=stop)]) == 100
    stale: list[Message] = [UserMessage(content="x" * 350, timestamp=10), answer(5000, 5)]
    assert estimate_request_tokens(stale) == 100


def test_images_and_calls_have_their_sizes() -> None:
    image = UserMessage(content=[ImageContent("A" * 10_000, "image/png"), TextContent("😀")], timestamp=0)
    assert estimate_request_tokens([image]) == 1372
    assert estimate_request_tokens([answer(0, 0, ToolCall(id="1", name="ls", arguments={"a": 1}))]) == 3


@pytest.mark.parametrize(
    ("base", "most", "level", "custom", "expected"),
    [
        (None, 64_000, "low", None, (64_000, 2048)),
        (1000, 64_000, "high", None, (17_384, 16_384)),
        (None, 8192, "high", None, (8192, 7168)),
        (None, 64_000, "max", None, (64_000, 16_384)),
        (None, 64_000, "low", {"low": 99}, (64_000, 99)),
    ],
)
def test_the_thinking_budget_comes_on_top_within_the_limit(
    base: int | None, most: int, level: Any, custom: dict[str, int] | None, expected: tuple[int, int]
) -> None:
    assert adjust_for_thinking(base, most, level, custom) == ThinkingBudget(*expected)
