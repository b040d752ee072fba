"""Finding the answer that a run ended with."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon.ai.message import AgentMessage, AssistantMessage


def last_assistant(messages: Sequence[AgentMessage]) -> AssistantMessage | None:
    """The latest assistant message, if there is one."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


def last_answer_text(messages: Sequence[AgentMessage]) -> str | None:
    """Text of the latest complete answer; answers without text that did not end normally are skipped."""
    for message in reversed(messages):
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            continue
        text = message.text.strip()
        if text or message.stop_reason == "stop":
            return text or None
    return None
