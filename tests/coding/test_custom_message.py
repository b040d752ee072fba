from pathlib import Path
from typing import Any

from tests.coding.scripted_pi import Scripted, run_scripted, text_of

from pinyon.agent.define_tool import define_tool
from pinyon.agent.event import MessageEnd, MessageStart, TurnEnd
from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.message import CustomMessage


def test_an_idle_session_takes_a_message_at_once_and_tells_so(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.send_custom_message("note", None, display=False, details={"k": 1})
        start, end = scripted.events
        assert isinstance(start, MessageStart)
        assert isinstance(end, MessageEnd)
        entry = scripted.session.session.get_leaf_entry()
        assert entry is not None
        assert (entry.type, entry.custom_type, entry.content, entry.display) == ("custom_message", "note", [], False)
        assert entry.details == {"k": 1}
        assert isinstance(scripted.session.messages[-1], CustomMessage)
        assert scripted.requests == []

    run_scripted([], play, cwd=tmp_path)


def test_a_message_may_start_a_run(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.send_custom_message("note", "look here", trigger_turn=True)
        assert scripted.texts_sent(0) == ["look here"]
        assert scripted.names()[-1] == "agent_settled"

    run_scripted([faux_assistant_message("done")], play, cwd=tmp_path)


def test_a_message_may_wait_for_the_next_prompt_and_goes_behind_it(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        await scripted.session.send_custom_message("note", "by the way", deliver_as="nextTurn")
        assert scripted.events == []
        await scripted.session.prompt("hello")
        await scripted.session.prompt("again")
        assert scripted.texts_sent(0) == ["hello", "by the way"]
        assert scripted.texts_sent(1).count("by the way") == 1

    run_scripted([faux_assistant_message("a"), faux_assistant_message("b")], play, cwd=tmp_path)


def test_during_a_run_messages_steer_follow_up_or_wait_for_the_end_of_the_turn(tmp_path: Path) -> None:
    sessions: list[Any] = []

    @define_tool
    async def talk() -> str:
        """Send messages."""
        session = sessions[0]
        await session.send_custom_message("n", "at the turn's end", trigger_turn=False)
        await session.send_custom_message("n", "after the run", deliver_as="followUp")
        await session.send_custom_message("n", "after the turn")
        return "sent"

    async def play(scripted: Scripted) -> None:
        sessions.append(scripted.session)
        await scripted.session.prompt("go")
        assert scripted.texts_sent(1)[2:] == ["sent", "at the turn's end", "after the turn"]
        assert scripted.texts_sent(2)[-1] == "after the run"
        held = next(
            index
            for index, event in enumerate(scripted.events)
            if isinstance(event, MessageEnd) and text_of(event.message) == "at the turn's end"
        )
        assert isinstance(scripted.events[held - 2], TurnEnd)

    answers = [
        faux_assistant_message(faux_tool_call("talk", {})),
        faux_assistant_message("a"),
        faux_assistant_message("b"),
    ]
    run_scripted(answers, play, cwd=tmp_path, custom_tools=[talk])


def test_what_a_program_says_for_the_user_is_a_prompt_without_expansion(tmp_path: Path) -> None:
    async def play(scripted: Scripted) -> None:
        assert await scripted.session.send_user_message("hello") == "started"
        assert scripted.texts_sent(0) == ["hello"]

    run_scripted([faux_assistant_message("a")], play, cwd=tmp_path)
