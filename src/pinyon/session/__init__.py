"""Conversations as trees of entries in JSONL files: reading, writing, branching, finding and copying them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.session.context import (
        ProjectedEntry,
        SessionContext,
        SessionModel,
        SessionProjection,
        build_context_entries,
        build_session_context,
        build_session_projection,
        get_latest_compaction_entry,
        session_entry_to_context_messages,
    )
    from pinyon.session.entry import SessionEntry
    from pinyon.session.session import Session

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "pinyon.session.context": (
            "ProjectedEntry",
            "SessionContext",
            "SessionModel",
            "SessionProjection",
            "build_context_entries",
            "build_session_context",
            "build_session_projection",
            "get_latest_compaction_entry",
            "session_entry_to_context_messages",
        ),
        "pinyon.session.entry": ("SessionEntry",),
        "pinyon.session.session": ("Session",),
    },
)
