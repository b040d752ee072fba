"""Where to cut a branch: what goes into the summary, what stays, and whether a turn is split."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pinyon.ai.message import AgentMessage, AssistantMessage, SystemMessage, message_role
from pinyon.coding.compaction.estimate import estimate_messages_tokens, estimate_projected_context_tokens
from pinyon.coding.compaction.file_ops import FileOps
from pinyon.resources.settings import CompactionSettings
from pinyon.session.context import ProjectedEntry, SessionProjection, build_session_projection
from pinyon.session.entry import SessionEntry

_TURN_START_ROLES = frozenset({"user", "bashExecution", "custom", "branchSummary", "compactionSummary"})
_CUT_ROLES = _TURN_START_ROLES | {"assistant"}


class CutPoint(msgspec.Struct, frozen=True):
    """Index of the first kept entry, and of the start of its turn where the cut splits one."""

    first_kept: int
    turn_start: int | None

    @property
    def is_split_turn(self) -> bool:
        """Whether the kept part begins inside a turn."""
        return self.turn_start is not None


class CompactionPreparation(msgspec.Struct, kw_only=True):
    """Everything that a summary needs; nothing in it asks a model."""

    first_kept_entry_id: str
    messages_to_summarize: list[AgentMessage]
    turn_prefix_messages: list[AgentMessage]
    is_split_turn: bool
    tokens_before: int
    previous_summary: str | None
    file_ops: FileOps
    settings: CompactionSettings


def prepare_compaction(
    branch: Sequence[SessionEntry], settings: CompactionSettings, projection: SessionProjection | None = None
) -> CompactionPreparation | None:
    """Work out a compaction of a branch (root first); None when there is nothing to compact."""
    if branch and branch[-1].type == "compaction":
        return None
    projection = projection or build_session_projection(branch)
    entries = projection.entries
    previous = entries[0].source if entries and entries[0].source.type == "compaction" else None
    start = 0 if previous is None else 1
    cut = find_cut_point(entries, start, settings.keep_recent_tokens)
    if cut is None:
        return None
    history_end = cut.first_kept if cut.turn_start is None else cut.turn_start
    history = _messages(entries[start:history_end])
    prefix = _messages(entries[history_end : cut.first_kept])
    if not history and not prefix:
        return None
    file_ops = FileOps()
    if previous is not None:
        file_ops.add_summary(previous)
    file_ops.add_messages([*history, *prefix])
    return CompactionPreparation(
        first_kept_entry_id=entries[cut.first_kept].source.id,
        messages_to_summarize=history,
        turn_prefix_messages=prefix,
        is_split_turn=cut.is_split_turn,
        tokens_before=estimate_projected_context_tokens(projection, reversed(branch)).tokens,
        previous_summary=previous.summary if previous is not None else None,
        file_ops=file_ops,
        settings=settings,
    )


def find_cut_point(entries: Sequence[ProjectedEntry], start: int, keep_recent_tokens: int) -> CutPoint | None:
    """The cut that keeps about `keep_recent_tokens` of the newest entries; None where no entry can be cut at.

    A cut never separates a tool result from its call: it falls on messages of the user, of the host or of the model.
    """
    points = [index for index in range(start, len(entries)) if _has_role(entries[index], _CUT_ROLES)]
    if not points:
        return None
    reached = _index_at_budget(entries, start, keep_recent_tokens)
    cut = points[0] if reached is None else next((point for point in points if point >= reached), points[-1])
    if reached is not None and _only_failed_answers_follow(entries[cut + 1 :]):
        cut += 1
    first_kept = _before_silent_entries(entries, start, cut)
    if cut < len(entries) and _has_role(entries[cut], _TURN_START_ROLES):
        return CutPoint(first_kept, None)
    return CutPoint(first_kept, _turn_start(entries, start, cut))


def _index_at_budget(entries: Sequence[ProjectedEntry], start: int, budget: int) -> int | None:
    total = 0
    for index in range(len(entries) - 1, start - 1, -1):
        tokens = estimate_messages_tokens(entries[index].messages)
        if not tokens:
            continue
        total += tokens
        if total >= budget:
            return index
    return None


def _only_failed_answers_follow(entries: Sequence[ProjectedEntry]) -> bool:
    """Whether nothing is visible behind the cut because a failed answer was taken out: then all input is summarised."""
    omitted = {entry.source.id: entry.source for entry in entries if _is_visible_by_nature(entry.source)}
    if not any(isinstance(source.message, AssistantMessage) for source in omitted.values()):
        return False
    for entry in entries:
        if entry.messages or entry.source.type == "compaction":
            return False
        is_other_edit = entry.source.type == "context_edit" and entry.source.get("replacement") is not None
        if is_other_edit and entry.source.target_id not in omitted:
            return False
    return True


def _is_visible_by_nature(source: SessionEntry) -> bool:
    return source.type in ("message", "custom_message", "branch_summary")


def _before_silent_entries(entries: Sequence[ProjectedEntry], start: int, cut: int) -> int:
    while cut > start and not entries[cut - 1].messages and entries[cut - 1].source.type != "compaction":
        cut -= 1
    return cut


def _turn_start(entries: Sequence[ProjectedEntry], start: int, cut: int) -> int | None:
    return next((i for i in range(cut - 1, start - 1, -1) if _has_role(entries[i], _TURN_START_ROLES)), None)


def _has_role(entry: ProjectedEntry, roles: frozenset[str]) -> bool:
    return entry.source.type != "compaction" and any(message_role(message) in roles for message in entry.messages)


def _messages(entries: Sequence[ProjectedEntry]) -> list[AgentMessage]:
    return [
        message
        for entry in entries
        if entry.source.type != "compaction"
        for message in entry.messages
        if not isinstance(message, SystemMessage)
    ]
