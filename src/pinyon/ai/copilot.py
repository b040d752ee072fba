"""Headers that GitHub Copilot wants with every request: which editor asks, and what is told from the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from pinyon._util.config import APP_NAME
from pinyon._version import __version__
from pinyon.ai.content import ImageContent
from pinyon.ai.message import Message, ToolResultMessage, UserMessage

COPILOT_PROVIDER = "github-copilot"

EDITOR_HEADERS = {
    "Editor-Version": f"{APP_NAME}/{__version__}",
    "Editor-Plugin-Version": f"{APP_NAME}/{__version__}",
    "Copilot-Integration-Id": APP_NAME,
}
"""The service asks for an editor; it is told this program."""


def copilot_headers(provider: str, messages: Sequence[Message]) -> dict[str, str]:
    """The editor, who began the request, what it is for and whether it holds images; nothing for other providers."""
    if provider != COPILOT_PROVIDER:
        return {}
    from_user = bool(messages) and isinstance(messages[-1], UserMessage)
    headers = {**EDITOR_HEADERS, "X-Initiator": "user" if from_user else "agent", "Openai-Intent": "conversation-edits"}
    if any(_has_image(message) for message in messages):
        headers["Copilot-Vision-Request"] = "true"
    return headers


def _has_image(message: Message) -> bool:
    if not isinstance(message, UserMessage | ToolResultMessage) or isinstance(message.content, str):
        return False
    return any(isinstance(block, ImageContent) for block in message.content)
