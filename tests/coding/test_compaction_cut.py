"""Cuts, estimates and serialised texts of two large real sessions, against recorded numbers."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import BashExecutionMessage, UserMessage
from pinyon.coding.compaction.cut import CompactionPreparation, prepare_compaction
from pinyon.coding.compaction.estimate import estimate_context_tokens, estimate_messages_tokens
from pinyon.coding.compaction.serialize import serialize_conversation
from pinyon.resources.settings import CompactionSettings
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.session import Session

DATA = Path(__file__).parents[1] / "data" / "session_manager"
RECORDED: dict[str, Any] = json.loads((DATA / "results.json").read_text())["fixtures"]
WITHOUT_BASH: dict[str, Any] = json.loads((DATA / "wording-free-hashes.json").read_text())
CASES = [(name, index) for name in RECORDED for index in range(len(RECORDED[name]["prepare"]))]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    folder = tmp_path_factory.mktemp("sessions")
    opened = {}
    for name in RECORDED:
        path = folder / f"{name}.jsonl"
        path.write_bytes(gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()))
        opened[name] = Session.open(path)
    return opened


def prepared(session: Session, keep_recent_tokens: int) -> CompactionPreparation | None:
    settings = CompactionSettings(keep_recent_tokens=keep_recent_tokens)
    return prepare_compaction(session.get_branch(), settings, session.build_session_projection())


@pytest.mark.parametrize("name", RECORDED)
def test_estimates_of_real_sessions_are_the_recorded_ones(sessions: dict[str, Session], name: str) -> None:
    messages = sessions[name].build_session_projection().messages
    expected = RECORDED[name]["estimateContextTokens"]
    estimate = estimate_context_tokens(messages)
    assert estimate_messages_tokens(messages) == RECORDED[name]["estimateTokensSumContext"]
    assert (estimate.tokens, estimate.usage_tokens, estimate.trailing_tokens, estimate.last_usage_index) == (
        expected["tokens"],
        expected["usageTokens"],
        expected["trailingTokens"],
        expected["lastUsageIndex"],
    )


@pytest.mark.parametrize(("name", "index"), CASES)
def test_cuts_of_real_sessions_are_the_recorded_ones(sessions: dict[str, Session], name: str, index: int) -> None:
    expected = RECORDED[name]["prepare"][index]
    preparation = prepared(sessions[name], expected["keepRecentTokens"])
    if "result" in expected:
        assert preparation is None
        return
    assert preparation is not None
    ids = [entry.id for entry in sessions[name].get_branch()]
    operations = preparation.file_ops
    assert {
        "firstKeptIndex": ids.index(preparation.first_kept_entry_id),
        "isSplitTurn": preparation.is_split_turn,
        "messagesToSummarize": len(preparation.messages_to_summarize),
        "turnPrefixMessages": len(preparation.turn_prefix_messages),
        "tokensBefore": preparation.tokens_before,
        "fileOps": {"read": len(operations.read), "written": len(operations.written), "edited": len(operations.edited)},
        "readFiles": len(operations.read_files),
        "modifiedFiles": len(operations.modified_files),
    }.items() <= expected.items()


@pytest.mark.parametrize(("name", "index"), [case for case in CASES if case[1] < len(WITHOUT_BASH.get(case[0], ()))])
def test_serialised_history_is_byte_for_byte_the_recorded_one(
    sessions: dict[str, Session], name: str, index: int
) -> None:
    expected = WITHOUT_BASH[name][index]
    preparation = prepared(sessions[name], expected["keepRecentTokens"])
    assert preparation is not None
    history = [m for m in preparation.messages_to_summarize if not isinstance(m, BashExecutionMessage)]
    text = serialize_conversation(convert_to_llm(history))
    assert hashlib.sha256(text.encode()).hexdigest() == expected["sha256WithoutBash"]


def test_an_image_counts_for_twelve_hundred_tokens_and_a_rest_for_a_whole_one() -> None:
    image, text = ImageContent(data="x", mime_type="image/png"), TextContent(text="abcde")
    assert estimate_messages_tokens([UserMessage(content=[image], timestamp=1)]) == 1200
    assert estimate_messages_tokens([UserMessage(content=[image, text], timestamp=1)]) == 1202


def test_files_of_an_earlier_summary_are_carried_over(tmp_path: Path) -> None:
    session = Session.in_memory(tmp_path)
    session.append_message(UserMessage(content="zero", timestamp=1))
    details = {"readFiles": ["/read"], "modifiedFiles": ["/changed"]}
    session.append_compaction("so far", None, 10, details, False)
    for text in ("one", "two"):
        session.append_message(UserMessage(content=text, timestamp=1))
    preparation = prepared(session, 1)
    assert preparation is not None
    assert (preparation.previous_summary, preparation.file_ops.details()) == ("so far", details)
