"""Conversations as trees of entries in JSONL files: reading, writing, branching, finding and copying them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.session.branch import (
        ForkPoint,
        fork_point,
    )
    from pinyon.session.context import (
        DEFAULT_THINKING_LEVEL,
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
    from pinyon.session.delete import (
        DeleteResult,
        delete_session_file,
    )
    from pinyon.session.entry import (
        SessionEntry,
    )
    from pinyon.session.error import (
        EntryNotFoundError,
        InvalidSessionIdError,
        MissingSessionCwdError,
        NotASessionError,
        SessionChangedError,
        SessionFileExistsError,
        SessionFileMissingError,
        SessionWriteError,
    )
    from pinyon.session.header import (
        CURRENT_SESSION_VERSION,
        SessionHeader,
        assert_valid_session_id,
        is_valid_session_id,
    )
    from pinyon.session.listing import (
        ListProgress,
        SessionInfo,
        read_session_info,
    )
    from pinyon.session.llm_message import (
        convert_to_llm,
    )
    from pinyon.session.loader import (
        SessionDiagnostic,
        load_entries_from_file,
        parse_session_entries,
        read_session_header,
    )
    from pinyon.session.local import (
        LocalSessionManager,
        latest_session,
        list_sessions,
    )
    from pinyon.session.lookup import (
        SessionLookup,
        SessionRef,
        resolve_session_argument,
    )
    from pinyon.session.manager import (
        SessionManager,
        require_session_cwd,
    )
    from pinyon.session.memory import (
        InMemorySessionManager,
    )
    from pinyon.session.migration import (
        migrate_session_entries,
    )
    from pinyon.session.naming import (
        default_session_dir,
        get_default_session_dir,
        session_file_name,
    )
    from pinyon.session.recorder import (
        SessionRecorder,
    )
    from pinyon.session.search import (
        parse_search_query,
        search_score,
        search_sessions,
    )
    from pinyon.session.session import (
        Session,
    )
    from pinyon.session.store import (
        FileStore,
        SessionStore,
        WriterLease,
    )
    from pinyon.session.transfer import (
        export_session_to_jsonl,
    )
    from pinyon.session.tree import (
        SessionTreeNode,
    )
    from pinyon.session.view import (
        BranchContext,
        SessionTree,
        load_session_messages,
    )

__all__ = [
    "CURRENT_SESSION_VERSION",
    "DEFAULT_THINKING_LEVEL",
    "BranchContext",
    "DeleteResult",
    "EntryNotFoundError",
    "FileStore",
    "ForkPoint",
    "InMemorySessionManager",
    "InvalidSessionIdError",
    "ListProgress",
    "LocalSessionManager",
    "MissingSessionCwdError",
    "NotASessionError",
    "ProjectedEntry",
    "Session",
    "SessionChangedError",
    "SessionContext",
    "SessionDiagnostic",
    "SessionEntry",
    "SessionFileExistsError",
    "SessionFileMissingError",
    "SessionHeader",
    "SessionInfo",
    "SessionLookup",
    "SessionManager",
    "SessionModel",
    "SessionProjection",
    "SessionRecorder",
    "SessionRef",
    "SessionStore",
    "SessionTree",
    "SessionTreeNode",
    "SessionWriteError",
    "WriterLease",
    "assert_valid_session_id",
    "build_context_entries",
    "build_session_context",
    "build_session_projection",
    "convert_to_llm",
    "default_session_dir",
    "delete_session_file",
    "export_session_to_jsonl",
    "fork_point",
    "get_default_session_dir",
    "get_latest_compaction_entry",
    "is_valid_session_id",
    "latest_session",
    "list_sessions",
    "load_entries_from_file",
    "load_session_messages",
    "migrate_session_entries",
    "parse_search_query",
    "parse_session_entries",
    "read_session_header",
    "read_session_info",
    "require_session_cwd",
    "resolve_session_argument",
    "search_score",
    "search_sessions",
    "session_entry_to_context_messages",
    "session_file_name",
]

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "pinyon.session.branch": (
            "ForkPoint",
            "fork_point",
        ),
        "pinyon.session.context": (
            "DEFAULT_THINKING_LEVEL",
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
        "pinyon.session.delete": (
            "DeleteResult",
            "delete_session_file",
        ),
        "pinyon.session.entry": ("SessionEntry",),
        "pinyon.session.error": (
            "EntryNotFoundError",
            "InvalidSessionIdError",
            "MissingSessionCwdError",
            "NotASessionError",
            "SessionChangedError",
            "SessionFileExistsError",
            "SessionFileMissingError",
            "SessionWriteError",
        ),
        "pinyon.session.header": (
            "CURRENT_SESSION_VERSION",
            "SessionHeader",
            "assert_valid_session_id",
            "is_valid_session_id",
        ),
        "pinyon.session.listing": (
            "ListProgress",
            "SessionInfo",
            "read_session_info",
        ),
        "pinyon.session.llm_message": ("convert_to_llm",),
        "pinyon.session.loader": (
            "SessionDiagnostic",
            "load_entries_from_file",
            "parse_session_entries",
            "read_session_header",
        ),
        "pinyon.session.local": (
            "LocalSessionManager",
            "latest_session",
            "list_sessions",
        ),
        "pinyon.session.lookup": (
            "SessionLookup",
            "SessionRef",
            "resolve_session_argument",
        ),
        "pinyon.session.manager": (
            "SessionManager",
            "require_session_cwd",
        ),
        "pinyon.session.memory": ("InMemorySessionManager",),
        "pinyon.session.migration": ("migrate_session_entries",),
        "pinyon.session.naming": (
            "default_session_dir",
            "get_default_session_dir",
            "session_file_name",
        ),
        "pinyon.session.recorder": ("SessionRecorder",),
        "pinyon.session.search": (
            "parse_search_query",
            "search_score",
            "search_sessions",
        ),
        "pinyon.session.session": ("Session",),
        "pinyon.session.store": (
            "FileStore",
            "SessionStore",
            "WriterLease",
        ),
        "pinyon.session.transfer": ("export_session_to_jsonl",),
        "pinyon.session.tree": ("SessionTreeNode",),
        "pinyon.session.view": (
            "BranchContext",
            "SessionTree",
            "load_session_messages",
        ),
    },
)
