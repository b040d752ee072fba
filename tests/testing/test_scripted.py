from __future__ import annotations

import asyncio
from pathlib import Path

from pinyon.session import LocalSessionManager
from pinyon.testing import (
    ScriptedAnswer,
    faux_assistant_message,
    faux_tool_call,
    scripted_model,
    scripted_session,
    scripted_sync_session,
    session_answers,
)


def test_a_scripted_session_runs_real_tools(tmp_path: Path) -> None:
    async def scene() -> None:
        answers: list[ScriptedAnswer] = [faux_tool_call("write", {"path": "a.txt", "content": "x"}), "Done."]
        async with scripted_session(*answers, cwd=tmp_path) as session:
            assert (await session.run("write a file")).text == "Done."

    asyncio.run(scene())
    assert (tmp_path / "a.txt").read_text() == "x"


def test_answers_may_be_texts_blocks_messages_and_functions(tmp_path: Path) -> None:
    model = scripted_model(
        "text",
        [faux_tool_call("ls", {}), faux_tool_call("ls", {})],
        faux_assistant_message("message"),
        lambda messages, options, state, used: faux_assistant_message(f"call {state.call_count} of {used.id}"),
    )
    with scripted_sync_session(cwd=tmp_path, model=model, tools=["ls"]) as session:
        assert session.run("x").text == "text"
        assert session.run("x").text == "message"
        assert session.run("x").text == "call 4 of faux-1"
        last = session.run("x")
        assert "no more responses" in str(last.error_message)


def test_a_session_file_is_the_script_of_a_model(tmp_path: Path) -> None:
    manager = LocalSessionManager(cwd=tmp_path, session_dir=tmp_path / "sessions")
    failed = faux_assistant_message("", error_message="bad")
    answers: list[ScriptedAnswer] = [faux_tool_call("ls", {}), "Nothing here.", failed, "Bye."]
    with scripted_sync_session(*answers, cwd=tmp_path, session_manager=manager) as session:
        for text in ("look", "again", "bye"):
            session.prompt(text)
        path = session.session_file
    assert path is not None
    replayed = session_answers(path)
    assert [answer.text for answer in replayed] == ["", "Nothing here.", "Bye."]
    with scripted_sync_session(*replayed, cwd=tmp_path) as session:
        result = session.run("look")
    assert (result.text, [call.name for call in result.tool_calls]) == ("Nothing here.", ["ls"])
