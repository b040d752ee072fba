"""Requests without images, for users who switched them off."""

from __future__ import annotations

import msgspec

from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.message import Message, ToolResultMessage, UserMessage

_NOTE = "[An image was left out: the user has switched off sending images.]"


def without_images(messages: list[Message]) -> list[Message]:
    """The same messages with a note in place of images; a run of images gives one note."""
    return [_without_images(message) for message in messages]


def _without_images(message: Message) -> Message:
    if not isinstance(message, UserMessage | ToolResultMessage) or isinstance(message.content, str):
        return message
    if not any(isinstance(block, ImageContent) for block in message.content):
        return message
    content: list[UserBlock] = []
    for block in message.content:
        if not isinstance(block, ImageContent):
            content.append(block)
        elif not (content and isinstance(content[-1], TextContent) and content[-1].text == _NOTE):
            content.append(TextContent(text=_NOTE))
    return msgspec.structs.replace(message, content=content)
