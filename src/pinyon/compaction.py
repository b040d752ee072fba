"""Summaries of conversations for programs that embed Pinyon: estimates, cuts, texts and the hook for an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.ai.retry import retry_assistant_call
    from pinyon.coding.compaction.branch_summary import prepare_branch_summary, write_branch_summary
    from pinyon.coding.compaction.cut import CompactionPreparation, CutPoint, find_cut_point, prepare_compaction
    from pinyon.coding.compaction.estimate import (
        ContextEstimate,
        calculate_context_tokens,
        estimate_context_tokens,
        estimate_messages_tokens,
        estimate_projected_context_tokens,
        estimate_tokens,
    )
    from pinyon.coding.compaction.serialize import serialize_conversation
    from pinyon.coding.compaction.settings import DEFAULT_COMPACTION_SETTINGS, should_compact
    from pinyon.coding.compaction.summary import Summary, SummaryError, SummaryWriter
    from pinyon.coding.compaction.transform import compaction_transform
    from pinyon.resources.settings import CompactionSettings

__all__ = [
    "DEFAULT_COMPACTION_SETTINGS",
    "CompactionPreparation",
    "CompactionSettings",
    "ContextEstimate",
    "CutPoint",
    "Summary",
    "SummaryError",
    "SummaryWriter",
    "calculate_context_tokens",
    "compaction_transform",
    "estimate_context_tokens",
    "estimate_messages_tokens",
    "estimate_projected_context_tokens",
    "estimate_tokens",
    "find_cut_point",
    "prepare_branch_summary",
    "prepare_compaction",
    "retry_assistant_call",
    "serialize_conversation",
    "should_compact",
    "write_branch_summary",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.ai.retry": ("retry_assistant_call",),
        "pinyon.coding.compaction.branch_summary": ("prepare_branch_summary", "write_branch_summary"),
        "pinyon.coding.compaction.cut": ("CompactionPreparation", "CutPoint", "find_cut_point", "prepare_compaction"),
        "pinyon.coding.compaction.estimate": (
            "ContextEstimate",
            "calculate_context_tokens",
            "estimate_context_tokens",
            "estimate_messages_tokens",
            "estimate_projected_context_tokens",
            "estimate_tokens",
        ),
        "pinyon.coding.compaction.serialize": ("serialize_conversation",),
        "pinyon.coding.compaction.settings": ("DEFAULT_COMPACTION_SETTINGS", "should_compact"),
        "pinyon.coding.compaction.summary": ("Summary", "SummaryError", "SummaryWriter"),
        "pinyon.coding.compaction.transform": ("compaction_transform",),
        "pinyon.resources.settings": ("CompactionSettings",),
    },
)
