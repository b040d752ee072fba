"""Keeps the transcript in step with a session: stored entries at the start, then every event."""

from __future__ import annotations

from collections.abc import Callable

from pinyon.agent.event import (
    AgentEnd,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage, UserMessage
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event import (
    AutoRetryEnd,
    AutoRetryStart,
    CompactionEnd,
    EntryAppended,
    ExtensionFailed,
    SessionEvent,
)
from pinyon.session.entry import SessionEntry
from pinyon.session.session import Session
from pinyon.tui.block.block import Block
from pinyon.tui.block.notice import NoticeBlock, NoticeKind
from pinyon.tui.block.prose import AnswerBlock, ThinkingBlock
from pinyon.tui.block.tool import ToolBlock
from pinyon.tui.message_block import BlockMaker, Renderers, fault_block, text_of
from pinyon.tui.transcript import Transcript

_FIRST_ENTRIES = 120
_MORE_ENTRIES = 400


class Conversation:
    """The blocks of one session. `schedule` runs a function at the next frame, at most one at a time."""

    def __init__(
        self, session: AgentSession, transcript: Transcript, renderers: Renderers, schedule: Callable[[], None]
    ) -> None:
        self.session = session
        self._transcript = transcript
        self._schedule = schedule
        self._maker = BlockMaker(session.session.get_cwd(), renderers)
        self._live: AssistantMessage | None = None
        self._parts: dict[int, Block] = {}
        self._failures: list[NoticeBlock] = []
        self._older: list[SessionEntry] = []
        self.waiting_texts: list[str] = []

    # What is stored.

    def load(self) -> None:
        """Show the end of the branch; `load_older` brings the rest."""
        entries = shown_entries(self.session.session)
        first = _boundary(entries, max(0, len(entries) - _FIRST_ENTRIES))
        self._older = entries[:first]
        self._transcript.extend(self._maker.entries(entries[first:]))

    def load_older(self) -> bool:
        """Put some more older blocks in front; False when all are there."""
        if not self._older:
            return False
        first = _boundary(self._older, max(0, len(self._older) - _MORE_ENTRIES))
        entries, self._older = self._older[first:], self._older[:first]
        maker = BlockMaker(self._maker.cwd, self._maker.renderers)
        self._transcript.prepend(list(maker.entries(entries)))
        return bool(self._older)

    # What happens.

    def hear(self, event: SessionEvent) -> None:
        """Show an event."""
        match event:
            case MessageStart():
                self._start_message(event.message)
            case MessageUpdate():
                self._live = event.message
                self._schedule()
            case MessageEnd():
                self._end_message(event.message)
            case ToolExecutionStart() | ToolExecutionUpdate() | ToolExecutionEnd():
                if not event.parent_tool_call_id:
                    self._hear_tool(event)
            case AgentEnd():
                self._drop_unfinished()
            case AutoRetryStart():
                self._note_failure()
            case AutoRetryEnd():
                self._end_retry(event)
            case CompactionEnd():
                self._end_compaction(event)
            case ExtensionFailed():
                self._transcript.add(NoticeBlock("error", event.error))
            case EntryAppended():
                self._entry_appended(event.entry)
            case _:
                pass

    def _hear_tool(self, event: ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd) -> None:
        if isinstance(event, ToolExecutionStart):
            self._tool(event.tool_call_id, event.tool_name, event.args).start()
        elif isinstance(event, ToolExecutionEnd):
            self._end_tool(event)
        elif event.tool_call_id in self._maker.open_calls:
            result = event.partial_result
            self._maker.open_calls[event.tool_call_id].progress(text_of(result.content), result.details or None)

    def flush(self) -> None:
        """Bring the blocks of the growing answer up to date; called once a frame."""
        message = self._live
        if message is None:
            return
        for index, part in enumerate(message.content):
            self._show_part(index, part, is_last=index == len(message.content) - 1)

    def _start_message(self, message: AgentMessage) -> None:
        if isinstance(message, AssistantMessage):
            self._live, self._parts = message, {}
        elif not isinstance(message, ToolResultMessage):
            for block in self._maker.message(message):
                self._transcript.add(block)

    def _show_part(self, index: int, part: object, *, is_last: bool) -> None:
        block = self._parts.get(index)
        match part:
            case TextContent():
                if block is None and part.text.strip():
                    block = self._add_part(index, AnswerBlock(is_final=False))
                if isinstance(block, AnswerBlock) and block.plain_text() != part.text.lstrip("\n"):
                    block.set_text(part.text)
            case ThinkingContent():
                if block is None and part.thinking.strip():
                    block = self._add_part(index, ThinkingBlock(is_final=False))
                if isinstance(block, ThinkingBlock) and not (block.is_final and not is_last):
                    block.set_text(part.thinking, is_final=not is_last)
            case ToolCall():
                if block is None:
                    block = self._add_part(index, self._maker.tool_block(part.name, part.id))
                if isinstance(block, ToolBlock) and block.call.state == "arguments":
                    block.set_arguments(part.arguments, is_complete=not is_last)
            case _:
                pass

    def _add_part(self, index: int, block: Block) -> Block:
        self._parts[index] = block
        self._transcript.add(block)
        return block

    def _end_message(self, message: AgentMessage) -> None:
        if not isinstance(message, AssistantMessage):
            return
        self._live = message
        self.flush()
        for index, part in enumerate(message.content):
            block = self._parts.get(index)
            if isinstance(block, AnswerBlock) and isinstance(part, TextContent):
                block.finish(part.text)
            elif isinstance(block, ThinkingBlock) and isinstance(part, ThinkingContent):
                block.set_text(part.thinking, is_final=True)
            elif isinstance(block, ToolBlock) and isinstance(part, ToolCall):
                block.set_arguments(part.arguments, is_complete=True)
        self._live = None
        self._show_fault(message)

    def _show_fault(self, message: AssistantMessage) -> None:
        fault = fault_block(message)
        if fault is None:
            return
        calls = [block for block in self._parts.values() if isinstance(block, ToolBlock)]
        for block in calls:
            block.fail(fault.text)
        if not calls:
            self._transcript.add(fault)
            if message.stop_reason == "error":
                self._failures.append(fault)

    def _drop_unfinished(self) -> None:
        """Take away the blocks of an answer that never ended."""
        if self._live is not None:
            for block in self._parts.values():
                self._transcript.remove_block(block)
        self._live, self._parts = None, {}

    # Tools.

    def _tool(self, call_id: str, name: str, args: object) -> ToolBlock:
        block = self._maker.open_calls.get(call_id)
        if block is None:
            block = self._maker.tool_block(name, call_id)
            self._transcript.add(block)
        if isinstance(args, dict):
            block.set_arguments(args, is_complete=True)
        return block

    def _end_tool(self, event: ToolExecutionEnd) -> None:
        block = self._tool(event.tool_call_id, event.tool_name, None)
        self._maker.open_calls.pop(event.tool_call_id, None)
        block.finish(
            text_of(event.result.content),
            event.result.details or None,
            images=[part for part in event.result.content if isinstance(part, ImageContent)],
            is_error=event.is_error,
            duration_ms=event.duration_ms or None,
        )

    def running_tools(self) -> list[ToolBlock]:
        """The rows whose clocks go on."""
        return [block for block in self._maker.open_calls.values() if block.is_running]

    def tools_to_preview(self) -> list[ToolBlock]:
        """Edits whose arguments are complete and whose difference is not known yet."""
        return [
            block
            for block in self._maker.open_calls.values()
            if block.call.name == "edit" and block.call.state != "arguments" and block.call.diff_preview is None
        ]

    # Retry and compaction.

    def _note_failure(self) -> None:
        for block in self._failures[:-1]:
            self._transcript.remove_block(block)

    def _end_retry(self, event: AutoRetryEnd) -> None:
        failures, self._failures = self._failures, []
        if not failures:
            return
        for block in failures:
            self._transcript.remove_block(block)
        attempts = f"{event.attempt} attempt{'s' if event.attempt != 1 else ''}"
        if event.success:
            text = f"Answered after {attempts} more; before that: {failures[-1].text}"
            self._insert_before_answer(NoticeBlock("status", text))
        else:
            self._transcript.add(
                NoticeBlock("error", f"Gave up after {attempts} more: {event.final_error or failures[-1].text}")
            )

    def _insert_before_answer(self, block: Block) -> None:
        blocks = self._transcript.blocks
        parts = list(self._parts.values())
        first = next((part for part in parts if part in blocks), None)
        self._transcript.add(block, before=first)

    def _end_compaction(self, event: CompactionEnd) -> None:
        if event.result:
            self._rebuild()
        elif event.aborted:
            kind: NoticeKind = "error" if event.reason == "manual" else "status"
            self._transcript.add(NoticeBlock(kind, "Compaction was stopped; the session is as it was."))
        elif event.error_message:
            self._transcript.add(NoticeBlock("error", f"Compaction failed: {event.error_message}"))

    def _rebuild(self) -> None:
        """Show the session anew, as after a compaction."""
        self._transcript.clear()
        self._maker.open_calls.clear()
        self.load()

    def _entry_appended(self, entry: object) -> None:
        if not isinstance(entry, dict):
            return
        shown = SessionEntry.from_wire(entry)
        if shown.type in ("custom", "branch_summary"):
            first = next(iter(self._parts.values()), None) if self._live is not None else None
            for block in self._maker.entries([shown]):
                self._transcript.add(block, before=first)


def shown_entries(session: Session) -> list[SessionEntry]:
    """The entries of the branch that the model still sees, in their order in time, and what only people see."""
    projection = session.build_session_projection()
    context = {entry.id: entry for entry in projection.context_entries}
    branch = session.get_branch()
    kept_from = min((index for index, entry in enumerate(branch) if entry.id in context), default=0)
    visible = [entry for entry in branch[kept_from:] if entry.id in context or entry.type == "custom"]
    known = {entry.id for entry in visible}
    return [*(entry for entry in projection.context_entries if entry.id not in known), *visible]


def _boundary(entries: list[SessionEntry], index: int) -> int:
    """The nearest place at or before `index` where a prompt begins, so that calls and results stay together."""
    for number in range(index, max(-1, index - 400), -1):
        if number == 0 or (number < len(entries) and isinstance(entries[number].message, UserMessage)):
            return number
    return index
