"""Judging a finished answer: what is no answer at all although the provider called it one."""

from __future__ import annotations

from pinyon.ai.content import TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage

_EMPTY = "The model's answer ended without any text or tool call (an empty answer; please retry your request)."
_NO_TOOL = "The model said that it calls a tool, but its answer ended without a tool call (please retry your request)."


def mark_unusable_answer(message: AssistantMessage) -> None:
    """Turn an empty answer, or a tool-use stop without a tool call, into a failed one with a retryable error text."""
    if message.stop_reason not in ("stop", "toolUse") or message.tool_calls:
        return
    if message.stop_reason == "toolUse":
        fault = _NO_TOOL
    elif any(isinstance(block, TextContent) and block.text.strip() for block in message.content):
        return
    else:
        fault = _EMPTY
    message.stop_reason = "error"
    message.error_message = fault


def last_assistant(messages: list[AgentMessage]) -> AssistantMessage | None:
    """The latest assistant message, if there is one."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
