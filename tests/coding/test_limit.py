from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import FAST_RETRY, Scripted, run_scripted

from pinyon._util.abort import AbortSignal
from pinyon.agent.define_tool import define_tool
from pinyon.agent.tool import ToolDefinition
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.message import AssistantMessage, ToolResultMessage, UserMessage
from pinyon.ai.usage import Cost, Usage
from pinyon.coding.event import AgentSettled, LimitReached
from pinyon.coding.limit import LimitError, Limits


@define_tool
async def ping() -> str:
    """Answer."""
    return "pong"


def calling(tokens: int = 10, cost: float = 0.0) -> AssistantMessage:
    """An answer that calls the tool, with this usage."""
    usage = Usage(input=tokens, total_tokens=tokens, cost=Cost(total=cost))
    return faux_assistant_message(faux_tool_call("ping", {}), usage=usage)


def said(text: str, tokens: int = 10, cost: float = 0.0) -> AssistantMessage:
    return faux_assistant_message(text, usage=Usage(input=tokens, total_tokens=tokens, cost=Cost(total=cost)))


def notices(scripted: Scripted) -> list[tuple[str, bool]]:
    return [(event.limit, event.stopping) for event in scripted.events if isinstance(event, LimitReached)]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(max_turns=2), "turns"),
        (Limits(max_tokens=200), "tokens"),
        (Limits(max_cost=0.2), "cost"),
    ],
)
def test_a_run_ends_at_its_limit_with_every_call_answered_and_can_be_gone_on_with(
    tmp_path: Path, limits: Limits, name: str
) -> None:
    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("go")
        assert (result.limit, result.totals.turns, result.totals.tokens) == (name, 2, 200)
        assert result.totals.cost == pytest.approx(0.2)
        assert result.totals.wall_time_s >= 0
        assert notices(scripted) == [(name, False), (name, True)]
        assert isinstance(scripted.session.messages[-1], ToolResultMessage)
        assert scripted.events[-1] == AgentSettled(aborted=False)
        again = await scripted.session.run("go on")
        assert (again.text, again.limit) == ("done", None)

    answers = [calling(100, 0.1), calling(100, 0.1), said("done")]
    run_scripted(answers, play, cwd=tmp_path, custom_tools=[ping], limits=limits)


def test_a_run_that_is_done_when_its_limit_is_used_up_ends_as_usual(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("go")
        assert (result.text, result.limit) == ("done", None)
        assert notices(scripted) == [("turns", False)]

    run_scripted([said("done")], play, cwd=tmp_path, limits=Limits(max_turns=1))


def test_waiting_messages_stay_when_a_limit_ends_the_run(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.follow_up("later")
        result = await scripted.session.run("go")
        assert result.limit == "turns"
        assert scripted.session.follow_up_messages == ["later"]
        assert len(scripted.requests) == 1

    run_scripted([said("done")], play, cwd=tmp_path, limits=Limits(max_turns=1))


def test_a_failed_answer_is_not_asked_for_again_beyond_the_limit(tmp_path: Path) -> None:
    usage = Usage(input=100, total_tokens=100)
    failed = faux_assistant_message("", stop_reason="error", error_message="529 overloaded", usage=usage)

    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("go", limits=Limits(max_tokens=100))
        assert result.stop_reason == "error"
        assert len(scripted.requests) == 1
        assert "auto_retry_start" not in scripted.names()

    run_scripted([failed], play, cwd=tmp_path, settings=FAST_RETRY)


def test_a_limit_of_the_session_counts_what_is_stored_and_refuses_the_next_prompt(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.prompt("one")
        file = scripted.session.export_to_jsonl(tmp_path / "copy.jsonl")
        await scripted.session.prompt("two")
        with pytest.raises(LimitError, match="2 turns"):
            await scripted.session.prompt("three")
        assert len(scripted.requests) == 2
        await scripted.pi.import_from_jsonl(file)
        await scripted.session.prompt("two again")
        with pytest.raises(LimitError):
            await scripted.session.prompt("three again")

    answers = [said("a"), said("b"), said("c")]
    run_scripted(answers, play, cwd=tmp_path, limits=Limits(max_turns=2, scope="session"))


def test_a_limit_since_opening_spans_the_runs_of_one_opening(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        first = await scripted.session.run("one")
        assert first.limit is None
        second = await scripted.session.run("two")
        assert (second.limit, second.totals.turns) == ("turns", 1)
        assert notices(scripted)[-1] == ("turns", True)

    answers = [said("a"), calling()]
    run_scripted(answers, play, cwd=tmp_path, custom_tools=[ping], limits=[Limits(max_turns=2, scope="opened")])


def test_when_its_time_is_over_a_run_is_aborted_and_keeps_what_it_has(tmp_path: Path) -> None:
    async def wait(tool_call_id: str, params: Any, signal: AbortSignal, on_update: Any, ctx: Any) -> Any:
        del tool_call_id, params, on_update, ctx
        await signal.wait()
        raise RuntimeError("stopped")

    tool = ToolDefinition(name="wait", description="Wait.", parameters={"type": "object"}, execute=wait)

    async def play(scripted: Scripted) -> None:
        result = await scripted.session.run("go", limits=Limits(max_wall_time_s=0.05))
        assert result.limit == "wall_time"
        assert ("wall_time", True) in notices(scripted)
        assert scripted.events[-1] == AgentSettled(aborted=True)
        kinds = [type(message) for message in scripted.session.messages]
        assert kinds[1:4] == [UserMessage, AssistantMessage, ToolResultMessage]
        again = await scripted.session.run("go on")
        assert (again.text, again.limit) == ("done", None)

    run_scripted(
        [faux_assistant_message(faux_tool_call("wait", {})), said("done")], play, cwd=tmp_path, custom_tools=[tool]
    )


def test_what_a_summary_cost_counts(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        for text in ("one", "two"):
            await scripted.session.prompt(text * 50)
        await scripted.session.compact()
        with pytest.raises(LimitError):
            await scripted.session.prompt("three")

    run_scripted(
        [said("a"), said("b"), said("summary", tokens=1000), said("rest", tokens=1000)],
        play,
        cwd=tmp_path,
        settings={"compaction": {"keepRecentTokens": 1}},
        limits=Limits(max_tokens=1000, scope="opened"),
    )


def test_no_limits_are_falsy_and_text_names_the_unit() -> None:
    assert not Limits()
    assert Limits(max_cost=1)
    assert "US dollars" in str(LimitError("cost", 2, 1, "run"))
