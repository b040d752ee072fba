"""Real session files of an early format, worked on as a user would."""

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.coding.scripted_pi import text_of

from pinyon.ai.apis.faux import FauxProvider, faux_assistant_message
from pinyon.ai.message import AgentMessage, CompactionSummaryMessage, SystemMessage
from pinyon.coding.pi_agent import PiAgent
from pinyon.resources.settings import SettingsManager
from pinyon.session.local import LocalSessionManager
from pinyon.session.search import search_sessions

DATA = Path(__file__).parents[1] / "data" / "session_manager"
RECORDED: dict[str, Any] = json.loads((DATA / "results.json").read_text())["fixtures"]
KEEP_TOKENS = 20_000


def said(messages: Sequence[AgentMessage]) -> list[str]:
    """The texts behind the summary, without prompts."""
    return [text_of(m) for m in messages[1:] if hasattr(m, "content") and not isinstance(m, SystemMessage)]


@pytest.mark.parametrize("name", RECORDED)
def test_a_real_session_is_found_compacted_forked_and_gone_on_with(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions" / f"{name}.jsonl"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()))
    before = path.read_bytes()
    prepared = next(case for case in RECORDED[name]["prepare"] if case["keepRecentTokens"] == KEEP_TOKENS)
    faux = FauxProvider()
    faux.set_responses([faux_assistant_message(text) for text in ("SUMMARY", "PREFIX", "next answer", "forked answer")])
    if not prepared["isSplitTurn"]:
        faux.set_responses([faux_assistant_message(text) for text in ("SUMMARY", "next answer", "forked answer")])

    async def main() -> None:
        manager = LocalSessionManager(cwd=tmp_path, session_dir=path.parent)
        infos = await manager.list_all_sessions()
        assert [info.path for info in infos] == [str(path)]
        words = infos[0].first_message.split()[:2]
        assert search_sessions(infos, " ".join(words)) == infos
        assert search_sessions(infos, '"surely not in there 1234567"') == []
        options: dict[str, Any] = {
            "cwd": tmp_path,
            "agent_dir": tmp_path / "agent",
            "session_manager": manager,
            "settings_manager": SettingsManager.in_memory({"compaction": {"keepRecentTokens": KEEP_TOKENS}}),
            "model": faux.get_model(),
            "stream_fn": faux.stream,
        }
        async with await PiAgent.create(**options) as pi:
            tree = await manager.open_session(path, cwd_override=tmp_path)
            assert path.read_bytes() == before
            ids = [entry.id for entry in tree.get_branch()]
            session = await pi.create_agent_session(session=tree)
            assert len(session.messages) == RECORDED[name]["contextMessages"]
            result = await session.compact()
            assert ids.index(result.first_kept_entry_id) == prepared["firstKeptIndex"]
            assert result.tokens_before == prepared["tokensBefore"]
            assert ("PREFIX" in result.summary) is prepared["isSplitTurn"]
            assert isinstance(session.messages[0], CompactionSummaryMessage)
            await session.prompt("go on")
            assert session.get_last_assistant_text() == "next answer"
            texts = said(session.messages)
            await pi.clone()
            assert said(pi.session.messages) == texts
            await pi.session.prompt("in the fork")
            assert pi.session.get_last_assistant_text() == "forked answer"
        assert len(await manager.list_all_sessions()) == 2
        again = await manager.open_session(path)
        assert [entry.id for entry in again.get_entries()][: len(ids)] == ids

    asyncio.run(main())
