"""What a run leaves in the session: finished messages as entries, and failed answers taken out of the context again."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pinyon.coding.event import EntryAppended, SessionEvent
from pinyon.session.session import Session


class RunRecord:
    """Appends the messages of runs to `session`. `refresh` is called after entries changed the context."""

    def __init__(self, *, session: Session, emit: Callable[[SessionEvent], None], refresh: Callable[[], None]) -> None:
        self._session = session
        self._emit = emit
        self._refresh = refresh
        self._answer_entry_id: str | None = None
        self._is_storing = True

    def start_run(self) -> None:
        """Store again, after a run that ended because an entry could not be written."""
        self._is_storing = True

    def store(self, message: AgentMessage) -> bool:
        """Append a finished message; False where nothing was written because an earlier one failed.

        The error of a failed write ends the run. What follows from it is told to listeners but not written again.
        """
        if not self._is_storing:
            return False
        try:
            entry_id = self.append(message)
        except BaseException:
            self._is_storing = False
            raise
        if isinstance(message, AssistantMessage):
            self._answer_entry_id = entry_id
        return True

    def omit_answer(self) -> None:
        """Take the latest answer and its tool results out of the context; the file keeps them."""
        if self._answer_entry_id is None:
            return
        edits = [self._session.append_context_edit(target, None) for target in self._answer_and_results()]
        self._answer_entry_id = None
        self._refresh()
        for edit_id in edits:
            edit = self._session.get_entry(edit_id)
            if edit is not None:
                self._emit(EntryAppended(entry=edit.to_wire()))

    def _answer_and_results(self) -> list[str]:
        """Ids of the latest answer and of the tool results after it, oldest first."""
        ids = []
        for entry in self._session.upwards():
            if entry.id == self._answer_entry_id or isinstance(entry.message, ToolResultMessage):
                ids.append(entry.id)
            if entry.id == self._answer_entry_id:
                break
        return ids[::-1]

    def append(self, message: AgentMessage) -> str | None:
        """Append a message as the entry of its kind; returns its id, None for messages that are not stored."""
        if isinstance(message, CustomMessage):
            details = None if message.details is UNSET else message.details
            return self._session.append_custom_message_entry(
                message.custom_type, message.content, message.display, details
            )
        if isinstance(message, SystemMessage | UserMessage | AssistantMessage | ToolResultMessage):
            return self._session.append_message(message)
        return None
