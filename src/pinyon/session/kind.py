"""Entry kinds as small numbers, so that a tree of many entries can be walked without decoding any of them."""

from __future__ import annotations

from typing import Final

OTHER: Final = 0
SYSTEM: Final = 1
USER: Final = 2
ASSISTANT: Final = 3
TOOL_RESULT: Final = 4
HOST_MESSAGE: Final = 5
LAST_MESSAGE: Final = HOST_MESSAGE
"""Kinds 1 to this one are entries of type `message`."""
MODEL_CHANGE: Final = 6
THINKING_LEVEL_CHANGE: Final = 7
COMPACTION: Final = 8
BRANCH_SUMMARY: Final = 9
CUSTOM: Final = 10
CUSTOM_MESSAGE: Final = 11
LABEL: Final = 12
SESSION_INFO: Final = 13
USAGE: Final = 14
CONTEXT_EDIT: Final = 15

KIND_BY_TYPE: Final = {
    "model_change": MODEL_CHANGE,
    "thinking_level_change": THINKING_LEVEL_CHANGE,
    "compaction": COMPACTION,
    "branch_summary": BRANCH_SUMMARY,
    "custom": CUSTOM,
    "custom_message": CUSTOM_MESSAGE,
    "label": LABEL,
    "session_info": SESSION_INFO,
    "usage": USAGE,
    "context_edit": CONTEXT_EDIT,
}
KIND_BY_ROLE: Final = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT, "toolResult": TOOL_RESULT}

TYPE_BY_KIND: Final = {
    **dict.fromkeys(range(SYSTEM, LAST_MESSAGE + 1), "message"),
    **{kind: name for name, kind in KIND_BY_TYPE.items()},
}

ENTRY_TYPES: Final = frozenset({"message", *KIND_BY_TYPE})
"""The entry types of the format."""


def entry_kind(entry_type: str, role: str) -> int:
    """The kind of an entry; `role` is that of the message of a `message` entry."""
    if entry_type == "message":
        return KIND_BY_ROLE.get(role, HOST_MESSAGE)
    return KIND_BY_TYPE.get(entry_type, OTHER)


def is_message(kind: int) -> bool:
    """Whether the kind is an entry of type `message`."""
    return 0 < kind <= LAST_MESSAGE
