"""Images that a server would not take: left out of later requests, so that one of them cannot end a conversation.

A server that refuses an image refuses every request that holds it, and the image stays in the history. When a refusal
speaks of images, those that came last are set aside for this server and model, or all of them if that did not help,
and a note stands in their place. Nothing in the session changes; other models get the images as before.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.http_error import HttpStatusError
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.model import Model

OMITTED = "[Image left out: the server refused it.]"
_STATUSES = (400, 413, 422)
_LIMIT = 4096

_refused: dict[tuple[str, str], set[int]] = {}
_adapted: MessageMemo[Message] = MessageMemo()


def without_refused_images(messages: Sequence[Message], model: Model) -> list[Message]:
    """The messages with a note in place of every refused image; messages without one are passed on."""
    refused = _refused.get((model.base_url, model.id))
    if not refused:
        return list(messages)
    return [_adapt(message, refused) for message in messages]


def set_aside_images(messages: Sequence[Message], model: Model, error: HttpStatusError) -> bool:
    """Learn from a refusal; returns whether a further request would hold fewer images and is worth a try."""
    if error.status not in _STATUSES or "image" not in error.body.lower():
        return False
    refused = _refused.setdefault((model.base_url, model.id), set())
    if len(refused) > _LIMIT:
        refused.clear()
    newest = _images_after_last_answer(messages) - refused
    found = newest or _images(messages) - refused
    refused |= found
    return bool(found)


def forget_refused_images() -> None:
    """Offer every image again."""
    _refused.clear()


def _images_after_last_answer(messages: Sequence[Message]) -> set[int]:
    start = max((index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)), default=-1)
    return _images(messages[start + 1 :])


def _images(messages: Sequence[Message]) -> set[int]:
    return {
        hash(block.data)
        for message in messages
        if isinstance(message, UserMessage | ToolResultMessage) and not isinstance(message.content, str)
        for block in message.content
        if isinstance(block, ImageContent)
    }


def _adapt(message: Message, refused: set[int]) -> Message:
    here = _images([message]) & refused
    if not here:
        return message
    key = frozenset(here)
    adapted = _adapted.get(message, key)
    if adapted is None:
        assert isinstance(message, UserMessage | ToolResultMessage)
        assert not isinstance(message.content, str)
        content = [
            TextContent(OMITTED) if isinstance(block, ImageContent) and hash(block.data) in here else block
            for block in message.content
        ]
        adapted = msgspec.structs.replace(message, content=content)
        _adapted.put(message, key, adapted)
    return adapted
