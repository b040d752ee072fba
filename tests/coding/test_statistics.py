from pathlib import Path

import pytest
from msgspec import UNSET

from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message, faux_tool_call
from pinyon.ai.content import TextContent
from pinyon.ai.message import ToolResultMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.usage import Cost, Usage
from pinyon.coding.statistics import context_usage, session_stats
from pinyon.session.session import Session


def spent(tokens: int, cost: float) -> Usage:
    return Usage(input=tokens, output=tokens, total_tokens=2 * tokens, cost=Cost(total=cost))


@pytest.fixture
def model() -> Model:
    return FauxProvider().get_model()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session.in_memory(tmp_path)
    session.append_message(UserMessage(content="hi", timestamp=1))
    call = faux_tool_call("read", {"path": "a"}, id="c1")
    session.append_message(faux_assistant_message(call, usage=spent(100, 0.5), timestamp=2))
    session.append_message(
        ToolResultMessage(
            tool_call_id="c1", tool_name="read", content=[TextContent(text="a")], is_error=False, timestamp=3
        )
    )
    session.append_message(faux_assistant_message("done", usage=spent(200, 0.25), timestamp=4))
    return session


def test_totals_count_every_entry_and_sum_what_answers_cost(session: Session) -> None:
    stats = session_stats(session, None)
    assert (stats.user_messages, stats.assistant_messages, stats.total_messages) == (1, 2, 4)
    assert (stats.tool_calls, stats.tool_results) == (1, 1)
    assert (stats.tokens.input, stats.tokens.output, stats.tokens.total, stats.cost) == (300, 300, 600, 0.75)
    assert stats.session_id == session.get_session_id()
    assert (stats.session_file, stats.context_usage) == (UNSET, UNSET)


def test_what_a_compaction_cost_counts_too_and_dropped_messages_still_do(session: Session, model: Model) -> None:
    kept = session.get_entries()[-1].id
    session.append_compaction("summary", kept, 600, None, False, spent(50, 0.125))
    stats = session_stats(session, context_usage(session, model))
    assert (stats.total_messages, stats.tokens.input, stats.cost) == (4, 350, 0.875)


def test_the_context_is_what_the_last_answer_reported(session: Session, model: Model) -> None:
    usage = context_usage(session, model)
    assert usage is not None
    assert (usage.tokens, usage.context_window) == (400, model.context_window)
    assert usage.percent == pytest.approx(400 / model.context_window * 100)


def test_after_a_compaction_the_context_is_unknown_until_the_next_answer(session: Session, model: Model) -> None:
    session.append_compaction("summary", session.get_entries()[-1].id, 600)
    usage = context_usage(session, model)
    assert usage is not None
    assert (usage.tokens, usage.percent) == (None, None)
    session.append_message(faux_assistant_message("next", usage=spent(10, 0), timestamp=2**45))
    usage = context_usage(session, model)
    assert usage is not None
    assert usage.tokens == 20


def test_without_a_model_there_is_no_window_to_fill(session: Session) -> None:
    assert context_usage(session, None) is None
