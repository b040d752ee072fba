from pathlib import Path

import pytest

from pinyon.ai.apis.faux import faux_assistant_message, faux_tool_call
from pinyon.ai.content import TextContent
from pinyon.ai.message import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage, message_role
from pinyon.coding.event import EntryAppended, SessionEvent
from pinyon.coding.run_record import RunRecord
from pinyon.errors import SessionError
from pinyon.session.session import Session


class Desk:
    """A run record on a session in memory."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.events: list[SessionEvent] = []
        self.refreshed = 0
        self.record = RunRecord(session=session, emit=self.events.append, refresh=self._refresh)

    def _refresh(self) -> None:
        self.refreshed += 1

    def roles(self) -> list[str]:
        return [message_role(message) for message in self.session.build_session_projection().messages]


def result_of_call(call_id: str) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="read", content=[TextContent(text="x")], is_error=False, timestamp=3
    )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(Session.in_memory(tmp_path))


def test_messages_become_entries_of_their_kinds(desk: Desk) -> None:
    desk.record.store(UserMessage(content="hi", timestamp=1))
    desk.record.store(CustomMessage(custom_type="note", content="n", display=True, timestamp=2))
    desk.record.store(faux_assistant_message("hello", timestamp=3))
    assert [entry.type for entry in desk.session.get_entries()] == ["message", "custom_message", "message"]


def test_an_omitted_answer_goes_with_its_results_and_stays_in_the_session(desk: Desk) -> None:
    desk.record.store(UserMessage(content="hi", timestamp=1))
    desk.record.store(faux_assistant_message(faux_tool_call("read", {}, id="c1"), timestamp=2))
    desk.record.store(result_of_call("c1"))
    desk.record.omit_answer()
    assert desk.roles() == ["user"]
    assert any(isinstance(entry.message, AssistantMessage) for entry in desk.session.get_entries())
    edits = [entry for entry in desk.session.get_entries() if entry.type == "context_edit"]
    assert [event.entry["id"] for event in desk.events if isinstance(event, EntryAppended)] == [e.id for e in edits]
    assert (len(edits), desk.refreshed) == (2, 1)


def test_an_answer_is_omitted_once(desk: Desk) -> None:
    desk.record.omit_answer()
    desk.record.store(faux_assistant_message("no", timestamp=2))
    desk.record.omit_answer()
    desk.record.omit_answer()
    assert len(desk.events) == 1


def test_after_a_failed_write_nothing_is_stored_until_the_next_run(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    desk = Desk(Session.create(tmp_path, folder, create_file_on="assistant"))
    folder.write_text("in the way")
    with pytest.raises(SessionError, match="Cannot write"):
        desk.record.store(faux_assistant_message("lost", timestamp=2))
    folder.unlink()
    assert not desk.record.store(UserMessage(content="told only", timestamp=3))
    desk.record.start_run()
    assert desk.record.store(UserMessage(content="kept", timestamp=4))
