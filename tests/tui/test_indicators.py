"""What is shown of retries, compaction and the footer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.tui.stage import stage

from pinyon.testing import faux_assistant_message
from pinyon.tui.footer import Footer, FooterFacts
from pinyon.tui.place import git_branch
from pinyon.tui.quantity import shown_duration, shown_tokens
from pinyon.tui.spinner import Spinner

QUICK = {"retry": {"enabled": True, "maxRetries": 2, "baseDelayMs": 1}}


def test_failed_attempts_are_one_quiet_line_once_an_answer_came(tmp_path: Path) -> None:
    script = [
        faux_assistant_message("", error_message="503 overloaded"),
        faux_assistant_message("", error_message="503 overloaded"),
        faux_assistant_message("At last."),
    ]

    async def play() -> str:
        async with stage(tmp_path, script, settings=QUICK) as running:
            await running.say("go")
            return running.transcript

    shown = asyncio.run(play())
    assert "At last." in shown
    assert "✗" not in shown
    assert shown.count("503 overloaded") == 1


def test_giving_up_says_so_with_the_last_error(tmp_path: Path) -> None:
    script = [faux_assistant_message("", error_message="503 overloaded")] * 3

    async def play() -> str:
        async with stage(tmp_path, script, settings=QUICK) as running:
            await running.say("go")
            return running.transcript

    shown = asyncio.run(play())
    assert "✗ Gave up after 2 attempts more: 503 overloaded" in shown


def test_the_message_of_a_server_is_shown_and_its_json_only_when_unfolded(tmp_path: Path) -> None:
    raw = '400 {"error": {"message": "the model is unknown", "type": "invalid"}}'
    script = [faux_assistant_message("", error_message=raw)]

    async def play() -> tuple[str, str]:
        async with stage(tmp_path, script, settings={"retry": {"enabled": False}}) as running:
            await running.say("go")
            folded = running.transcript
            await running.press("ctrl+o")
            await running.drawn()
            return folded, running.transcript

    folded, unfolded = asyncio.run(play())
    assert "✗ 400: the model is unknown" in folded
    assert "invalid" not in folded
    assert '"type": "invalid"' in unfolded


def test_a_compaction_takes_the_place_of_what_it_summarised(tmp_path: Path) -> None:
    script = [
        faux_assistant_message("a long answer " * 200),
        faux_assistant_message("second answer"),
        faux_assistant_message("THE SUMMARY"),
    ]
    settings = {"compaction": {"keepRecentTokens": 10}}

    async def play() -> tuple[str, str]:
        async with stage(tmp_path, script, settings=settings) as running:
            await running.say("first prompt")
            await running.say("second prompt")
            running.app.editing.set_text("/compact")
            await running.press("enter")
            await running.until(lambda: "[compaction]" in running.transcript)
            await running.settled()
            folded = running.transcript
            await running.press("ctrl+o")
            await running.drawn()
            return folded, running.transcript

    folded, unfolded = asyncio.run(play())
    assert "first prompt" not in folded
    assert "second answer" in folded
    assert "THE SUMMARY" not in folded
    assert "THE SUMMARY" in unfolded


@pytest.mark.parametrize(
    ("seconds", "shown"), [(4.24, "4.2s"), (90, "1m 30s"), (7384, "2h 3m 4s"), (0, "0.0s"), (59.96, "60.0s")]
)
def test_durations_read_well(seconds: float, shown: str) -> None:
    assert shown_duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(999, "999"), (1200, "1.2k"), (12_000, "12k"), (1_200_000, "1.2M"), (12_000_000, "12M")]
)
def test_token_counts_read_well(count: int, shown: str) -> None:
    assert shown_tokens(count) == shown


def test_a_spinner_tells_time_tokens_and_the_key_that_stops() -> None:
    now = 100.0
    spinner = Spinner(lambda: None, lambda: now)
    spinner.start("working", "Working")
    spinner.streamed(4800)
    now = 103.5
    (_, (facts, _)) = spinner.parts()
    assert facts.split(" · ") == ["3s", "1.2k tokens", "Esc stops "]
    spinner.start("retry", "Retrying (1/3)", for_s=5)
    ((text, role), (facts, _)) = spinner.parts()
    assert "Retrying (1/3)" in text
    assert role == "warning"
    assert facts.startswith("5s")
    spinner.stop("retry")
    assert spinner.kind == "working"


@pytest.mark.parametrize("width", [1, 10, 20, 30, 40, 60, 100, 200])
def test_the_footer_fits_and_keeps_the_level_before_the_provider(width: int) -> None:
    footer = Footer()
    footer.facts = FooterFacts(
        place="~/some/long/project/folder",
        branch="main",
        name="night shift",
        input=12_000,
        output=3_400,
        cost=0.1234,
        percent=75.0,
        window=200_000,
        provider="anthropic",
        model="claude-opus",
        level="high",
    )
    rows = footer.build(width)
    assert {row.cell_length for row in rows} == {width}
    numbers = rows[1].text
    if "anthropic" in numbers:
        assert "high" in numbers
    if width >= 60:
        assert "claude-opus • high" in numbers
        assert "75.0%/200k (auto)" in numbers


def test_the_branch_is_read_from_the_repository(tmp_path: Path) -> None:
    assert git_branch(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    assert git_branch(tmp_path / "sub") == "topic/one"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n", encoding="utf-8")
    assert git_branch(tmp_path) == "detached"
