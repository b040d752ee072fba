"""Summaries of a branch that the conversation leaves: what goes in, what is asked, and what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.message import AgentMessage, SystemMessage, ToolResultMessage
from pinyon.coding.compaction.estimate import estimate_tokens
from pinyon.coding.compaction.file_ops import FileOps
from pinyon.coding.compaction.instruction import BRANCH_PREAMBLE, NOTHING_ON_BRANCH, branch_request
from pinyon.coding.compaction.summary import Summary, SummaryWriter, conversation_text
from pinyon.session.context import edited_messages, session_entry_to_context_messages
from pinyon.session.entry import SessionEntry

DEFAULT_WINDOW_TOKENS = 128_000
"""Context window that is assumed for a model that states none."""

_SUMMARY_SHARE = 0.9
"""Share of the budget below which an older summary is still added although it does not fit."""


class BranchPreparation(msgspec.Struct, kw_only=True):
    """What a branch summary is made from: messages oldest first, the files that they name, and their estimate."""

    messages: list[AgentMessage]
    file_ops: FileOps
    total_tokens: int


def prepare_branch_summary(entries: Sequence[SessionEntry], budget_tokens: int) -> BranchPreparation:
    """Choose the newest messages of `entries` (oldest first) that fit into the budget; tool results are left out."""
    file_ops, edits = FileOps(), _edits(entries)
    for entry in entries:
        if entry.type == "branch_summary":
            file_ops.add_summary(entry)
    chosen: list[AgentMessage] = []
    total = 0
    for entry in reversed(entries):
        messages = _messages_of(entry, edits)
        if not messages:
            continue
        file_ops.add_messages(messages)
        tokens = sum(map(estimate_tokens, messages))
        is_over = total + tokens > budget_tokens
        is_summary = entry.type in ("compaction", "branch_summary")
        if not is_over or (is_summary and total < budget_tokens * _SUMMARY_SHARE):
            chosen[:0] = messages
            total += tokens
        if is_over:
            break
    return BranchPreparation(messages=chosen, file_ops=file_ops, total_tokens=total)


async def write_branch_summary(
    writer: SummaryWriter,
    entries: Sequence[SessionEntry],
    *,
    reserve_tokens: int,
    custom_instructions: str | None = None,
    replace_instructions: bool = False,
) -> tuple[Summary, FileOps]:
    """Summarise `entries` as the text that is stored, with the files that they name.

    Raises `SummaryError`, or `OperationAbortedError` after an abort. Where nothing fits or nothing was said, no model
    is asked.
    """
    window = writer.model.context_window or DEFAULT_WINDOW_TOKENS
    preparation = prepare_branch_summary(entries, window - reserve_tokens)
    if not preparation.messages:
        return Summary(text=NOTHING_ON_BRANCH), preparation.file_ops
    text = conversation_text(preparation.messages)
    answer = await writer.ask(branch_request(text, custom_instructions, replace=replace_instructions))
    return (
        Summary(text=BRANCH_PREAMBLE + answer.text + preparation.file_ops.as_text(), usage=answer.usage),
        preparation.file_ops,
    )


def _edits(entries: Sequence[SessionEntry]) -> Mapping[str, Any]:
    return {
        entry.target_id: entry.replacement
        for entry in entries
        if entry.type == "context_edit" and "replacement" in entry.object
    }


def _messages_of(entry: SessionEntry, edits: Mapping[str, Any]) -> list[AgentMessage]:
    if entry.id in edits:
        messages = list(edited_messages(entry, edits[entry.id]))
    else:
        messages = session_entry_to_context_messages(entry)
    return [message for message in messages if not isinstance(message, SystemMessage | ToolResultMessage)]
