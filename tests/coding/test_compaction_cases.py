"""When a session compacts by itself, and what its summaries are made of."""

from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import Scripted, run_scripted, text_of

from pinyon.agent.define_tool import define_tool
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.message import AssistantMessage, CompactionSummaryMessage, ToolResultMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage


def sized(text: str, tokens: int) -> AssistantMessage:
    """An answer whose request took so many tokens."""
    return faux_assistant_message(text, usage=Usage(input=tokens, total_tokens=tokens))


def small(window: int) -> Model:
    return Model(
        id="faux-1", name="f", api="faux", provider="faux", base_url="", context_window=window, max_tokens=1000
    )


def compaction_settings(reserve: int, keep: int) -> dict[str, Any]:
    return {"compaction": {"reserveTokens": reserve, "keepRecentTokens": keep}, "retry": {"baseDelayMs": 1}}


def summaries(scripted: Scripted) -> int:
    return sum(entry.type == "compaction" for entry in scripted.session.session.get_entries())


def test_a_usage_from_before_a_summary_starts_no_second_one(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one " * 50)
        await scripted.session.prompt("two " * 50)
        assert summaries(scripted) == 1
        scripted.session.append_entry("mine", {"k": 1})
        await scripted.session.prompt("three")
        assert summaries(scripted) == 1

    answers = [sized("a", 10), sized("b", 99_000), sized("summary", 10), sized("rest", 10), sized("c", 100)]
    run_scripted(
        answers, play, cwd=tmp_path, model=small(100_000), settings=compaction_settings(16_384, 10), no_tools="all"
    )


def test_a_failed_answer_after_a_summary_is_not_measured_by_an_old_usage(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        for text in ("one ", "two "):
            await scripted.session.prompt(text * 50)
        assert summaries(scripted) == 1
        await scripted.session.prompt("three")
        await scripted.session.prompt("four")
        assert summaries(scripted) == 1

    failed = faux_assistant_message("", stop_reason="error", error_message="400 refused")
    answers = [sized("a", 10), sized("b", 99_000), sized("summary", 10), sized("rest", 10), failed, sized("d", 10)]
    run_scripted(
        answers, play, cwd=tmp_path, model=small(100_000), settings=compaction_settings(16_384, 10), no_tools="all"
    )


def test_without_reported_usage_the_length_of_the_texts_decides(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        for number in range(4):
            await scripted.session.prompt(f"{number}" * 2000)
        assert summaries(scripted) >= 1

    async def answer(*_: Any) -> AssistantMessage:
        return faux_assistant_message("x" * 400)

    run_scripted(
        [answer] * 12, play, cwd=tmp_path, model=small(2_500), settings=compaction_settings(1_000, 100), no_tools="all"
    )


@define_tool
async def dump(text: str) -> str:
    """Give much."""
    return text * 8000


def test_large_results_are_met_between_turns_and_the_unread_one_stays(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("read both")
        assert result.text == "done"
        assert summaries(scripted) == 1
        kinds = scripted.names("message_start", "message_end", "tool_execution_start", "tool_execution_end")
        at = kinds.index("compaction_start")
        assert kinds[at - 1 : at + 3] == ["turn_end", "compaction_start", "compaction_end", "turn_start"]
        last = [message for message in scripted.requests[-1] if isinstance(message, ToolResultMessage)]
        assert [text_of(message)[:1] for message in last] == ["b"]
        assert any("<summary>" in text_of(message) for message in scripted.requests[-1])
        assert scripted.names().count("agent_start") == 1

    answers: list[Any] = [
        faux_assistant_message(faux_tool_call("dump", {"text": "a"}), usage=Usage(input=10, total_tokens=10)),
        faux_assistant_message(faux_tool_call("dump", {"text": "b"}), usage=Usage(input=2100, total_tokens=2100)),
        sized("summary", 10),
        sized("done", 2500),
    ]
    run_scripted(
        answers,
        play,
        cwd=tmp_path,
        model=small(5_000),
        settings=compaction_settings(1_000, 1_500),
        custom_tools=[dump],
        tools=["dump"],
    )


@pytest.mark.parametrize("failure", ["400 the answer that failed"])
def test_a_split_turn_asks_twice_with_the_users_words_and_leaves_failures_out(tmp_path: Path, failure: str) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("earlier")
        await scripted.session.prompt("a giant turn")
        await scripted.session.compact("mind the TODOs")
        requests = [
            text_of(sent[-1])
            for sent in scripted.requests
            if "# Conversation" in text_of(sent[-1]) or "<conversation>" in text_of(sent[-1])
        ]
        assert len(requests) == 2
        assert all(text.endswith("Additional focus: mind the TODOs") for text in requests)
        assert not any("half of a failure" in text for text in requests)
        [entry] = [entry for entry in scripted.session.session.get_entries() if entry.type == "compaction"]
        assert "history" in entry.summary
        assert "prefix" in entry.summary
        assert isinstance(scripted.session.messages[1], CompactionSummaryMessage)

    answers: list[Any] = [
        faux_assistant_message("half of a failure", stop_reason="error", error_message=failure),
        faux_assistant_message(faux_tool_call("dump", {"text": "z"})),
        faux_assistant_message("end " * 10),
        faux_assistant_message("history"),
        faux_assistant_message("prefix"),
    ]
    run_scripted(
        answers,
        play,
        cwd=tmp_path,
        settings=compaction_settings(100, 5),
        custom_tools=[dump],
        tools=["dump"],
    )
