"""Ids of tool calls, which pair a call with its result: never empty, never twice in a conversation."""

from __future__ import annotations

from collections.abc import Iterable

from pinyon._util.ids import uuid4
from pinyon.ai.message import AgentMessage, AssistantMessage

MAX_BASE_CHARS = 56
"""Length to which an id is cut before a number is appended; providers take at most 64 characters."""


class CallIds:
    """The call ids of a conversation so far."""

    def __init__(self) -> None:
        self._taken: set[str] | None = None

    def make_unique(self, message: AssistantMessage, earlier: Iterable[AgentMessage]) -> None:
        """Give a new id to each call of `message` whose id is empty or taken.

        `earlier` is read when the first call comes; after that the ids that were seen are remembered.
        """
        calls = message.tool_calls
        if not calls:
            return
        if self._taken is None:
            answers = (other for other in earlier if isinstance(other, AssistantMessage))
            self._taken = {call.id for answer in answers for call in answer.tool_calls}
        for call in calls:
            if not call.id:
                call.id = f"call_{uuid4().replace('-', '')}"
            elif call.id in self._taken:
                call.id = self._numbered(call.id, self._taken)
            self._taken.add(call.id)

    def _numbered(self, base: str, taken: set[str]) -> str:
        stem = base.partition("|")[0][:MAX_BASE_CHARS]
        number = 2
        while f"{stem}_{number}" in taken:
            number += 1
        return f"{stem}_{number}"
