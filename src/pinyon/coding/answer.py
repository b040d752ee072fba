"""Finding the answer that a run ended with."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.message import AgentMessage, AssistantMessage


def last_assistant(messages: Sequence[AgentMessage]) -> AssistantMessage | None:
    """The latest assistant message, if there is one."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
