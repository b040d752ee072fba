import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pinyon._util.abort import AbortSignal, OperationAbortedError
from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.retry import RetryCallbacks, RetryPolicy
from pinyon.ai.usage import Usage
from pinyon.coding.compaction.compactor import Compactor, NothingToCompactError
from pinyon.coding.compaction.summary import SummaryError, SummaryWriter
from pinyon.coding.event import CompactionEnd, CompactionStart, SessionEvent
from pinyon.resources.settings import CompactionSettings
from pinyon.session.session import Session

SMALL = CompactionSettings(reserve_tokens=100, keep_recent_tokens=1)


class Bench:
    """A compactor on a session with two turns; its model gives `answers` as summaries."""

    def __init__(
        self,
        folder: Path,
        answers: Sequence[AssistantMessage] = (),
        *,
        settings: CompactionSettings = SMALL,
        turns: int = 2,
    ) -> None:
        self.faux = FauxProvider()
        self.faux.set_responses(list(answers))
        self.model = self.faux.get_model()
        self.session = Session.in_memory(folder)
        self.events: list[SessionEvent] = []
        self.omitted = 0
        for turn in range(turns):
            self.session.append_message(UserMessage(content=f"question {turn} " * 20, timestamp=turn))
            self.session.append_message(self.answer(10, timestamp=turn))
        self.compactor = Compactor(
            session=self.session,
            settings=lambda: settings,
            model=lambda: self.model,
            writer=self._writer,
            emit=self._emit,
            omit_answer=self._omit,
            refresh=lambda: None,
        )

    def answer(self, tokens: int, *, timestamp: int = 2**45, error: str | None = None) -> AssistantMessage:
        return faux_assistant_message(
            "answer",
            model=self.model,
            usage=Usage(input=tokens, total_tokens=tokens),
            timestamp=timestamp,
            stop_reason="error" if error else None,
            error_message=error,
        )

    def _writer(self, signal: AbortSignal, callbacks: RetryCallbacks) -> SummaryWriter:
        return SummaryWriter(
            stream_fn=self.faux.stream,
            model=self.model,
            thinking_level="off",
            policy=RetryPolicy(enabled=False),
            signal=signal,
            callbacks=callbacks,
        )

    def _emit(self, event: SessionEvent) -> None:
        assert isinstance(event, CompactionStart) or not self.compactor.is_running
        self.events.append(event)

    def _omit(self) -> None:
        self.omitted += 1

    def last_end(self) -> CompactionEnd:
        end = self.events[-1]
        assert isinstance(end, CompactionEnd)
        return end

    def compactions(self) -> list[str]:
        return [str(entry.get("summary")) for entry in self.session.get_entries() if entry.type == "compaction"]


def test_by_hand_earlier_history_becomes_a_summary_between_two_events(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("the story"), faux_assistant_message("its turn")])
    result = asyncio.run(bench.compactor.compact())
    assert "the story" in result.summary
    assert bench.events == [
        CompactionStart(reason="manual"),
        CompactionEnd(reason="manual", aborted=False, will_retry=False, result=result),
    ]
    assert bench.compactions() == [result.summary]


def test_a_session_without_earlier_history_says_so_in_event_and_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, turns=0)
    with pytest.raises(NothingToCompactError):
        asyncio.run(bench.compactor.compact())
    assert "nothing to compact" in str(bench.last_end().error_message)


def test_an_unusable_summary_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("  ")])
    with pytest.raises(SummaryError, match="empty"):
        asyncio.run(bench.compactor.compact())
    assert "empty summary" in str(bench.last_end().error_message)
    assert (bench.compactions(), bench.compactor.is_running) == ([], False)


def test_an_abort_ends_the_summary_and_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("never")])

    async def scene() -> None:
        work = asyncio.ensure_future(bench.compactor.compact())
        await asyncio.sleep(0)
        bench.compactor.abort()
        with pytest.raises(OperationAbortedError, match="cancelled"):
            await work
        await bench.compactor.wait_for_idle()

    asyncio.run(scene())
    assert bench.last_end().aborted
    assert bench.compactions() == []


def test_an_answer_over_the_threshold_compacts_and_asks_for_no_repeat(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("a"), faux_assistant_message("b")])
    assert not asyncio.run(bench.compactor.check(bench.answer(bench.model.context_window - 50)))
    assert len(bench.compactions()) == 1
    assert bench.last_end().reason == "threshold"


@pytest.mark.parametrize("settings", [SMALL, CompactionSettings(enabled=False, reserve_tokens=2**40)])
def test_nothing_happens_below_the_threshold_or_switched_off(tmp_path: Path, settings: CompactionSettings) -> None:
    bench = Bench(tmp_path, settings=settings)
    assert not asyncio.run(bench.compactor.check(bench.answer(50)))
    assert not asyncio.run(bench.compactor.check(None))
    assert bench.events == []


def test_an_overflow_is_recovered_from_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("a"), faux_assistant_message("b")])
    overflow = bench.answer(0, error="prompt is too long: 200000 tokens > 100000 maximum")
    assert asyncio.run(bench.compactor.check(overflow))
    assert (bench.omitted, bench.last_end().will_retry) == (1, True)
    again = bench.answer(0, error="prompt is too long: 200000 tokens > 100000 maximum")
    assert not asyncio.run(bench.compactor.check(again))
    assert "still too large" in str(bench.last_end().error_message)
    assert bench.omitted == 1


def test_without_earlier_history_an_answer_that_found_no_room_stays_in_the_context(tmp_path: Path) -> None:
    bench = Bench(tmp_path, turns=0)
    overflow = bench.answer(0, error="prompt is too long: 200000 tokens > 100000 maximum")
    assert not asyncio.run(bench.compactor.check(overflow))
    assert (bench.omitted, bench.events) == (0, [])


def test_a_failed_automatic_compaction_is_told_and_does_not_raise(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("")])
    assert not asyncio.run(bench.compactor.check(bench.answer(bench.model.context_window)))
    assert str(bench.last_end().error_message).startswith("Compaction failed")


def test_an_aborted_answer_starts_no_compaction_unless_a_prompt_does(tmp_path: Path) -> None:
    tiny = CompactionSettings(reserve_tokens=FauxProvider().get_model().context_window - 5, keep_recent_tokens=1)
    bench = Bench(tmp_path, [faux_assistant_message("a"), faux_assistant_message("b")], settings=tiny)
    cut = faux_assistant_message(
        "cut", model=bench.model, stop_reason="aborted", usage=Usage(total_tokens=10**9), timestamp=2**45
    )
    assert not asyncio.run(bench.compactor.check(cut))
    assert bench.events == []
    assert not asyncio.run(bench.compactor.check(cut, skip_aborted=False))
    assert bench.last_end().result


def test_an_answer_that_was_edited_away_since_starts_no_recovery(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message("a"), faux_assistant_message("b")])
    answer = bench.answer(bench.model.context_window + 1)
    bench.session.append_message(answer)
    question = bench.session.get_entries()[0].id
    bench.session.append_context_edit(question, {"content": "short"})
    assert not asyncio.run(bench.compactor.check(answer))
    assert bench.events == []


def test_an_answer_from_before_the_last_compaction_starts_none(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [faux_assistant_message(text) for text in "abcd"])
    asyncio.run(bench.compactor.compact())
    for _ in range(2):
        bench.session.append_message(UserMessage(content="more " * 20, timestamp=2**45))
        bench.session.append_message(bench.answer(10))
    bench.events.clear()
    huge = bench.model.context_window - 50
    assert not asyncio.run(bench.compactor.check(bench.answer(huge, timestamp=1)))
    assert bench.events == []
    assert not asyncio.run(bench.compactor.check(bench.answer(huge)))
    assert bench.last_end().result
