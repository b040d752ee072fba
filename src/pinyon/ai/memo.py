"""Work done once for a message and kept as long as the message lives.

Histories grow at their end, so what was derived from a message (its form for another model, its encoding for a
provider) is derived again for every request unless it is kept. Nothing here keeps a message alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message

Derived = TypeVar("Derived")


class _Kept(weakref.ref[Message], Generic[Derived]):
    """What is kept for one message, in the reference to it: long histories have one of these for each message."""

    __slots__ = ("identity", "key", "leaves", "value")

    identity: int
    key: Hashable
    leaves: tuple[Any, ...]
    value: Derived


class MessageMemo(Generic[Derived]):
    """One derived value for each message, by the message's identity.

    `get` finds the value only under the key it was kept with, and only if the texts and argument objects of the message
    are still the ones it was derived from; argument objects are compared by identity or value.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Kept[Derived]] = {}
        self._forget = _forgetter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, message: Message, key: Hashable) -> Derived | None:
        """The value kept for `message` under `key`, None where there is none that still holds."""
        entry = self._kept.get(id(message))
        if entry is None or entry() is not message or entry.key != key or entry.leaves != _leaves(message):
            return None
        return entry.value

    def put(self, message: Message, key: Hashable, value: Derived) -> None:
        """Keep `value`, in place of what was kept for the message before."""
        entry: _Kept[Derived] = _Kept(message, self._forget)
        entry.identity = id(message)
        entry.key = key
        entry.leaves = _leaves(message)
        entry.value = value
        self._kept[entry.identity] = entry


def _forgetter(kept: dict[int, _Kept[Derived]]) -> Callable[[_Kept[Derived]], None]:
    def forget(entry: _Kept[Derived]) -> None:
        if kept.get(entry.identity) is entry:
            del kept[entry.identity]

    return forget


def _leaves(message: Message) -> tuple[Any, ...]:
    """Everything in a message that may be changed in place and matters to a model."""
    content = message.content
    if isinstance(content, str):
        return (content,)
    leaves: list[Any] = []
    for block in content:
        if type(block) is TextContent:
            leaves += (block.text, block.text_signature)
        elif type(block) is ToolCall:
            leaves += (block.id, block.name, block.arguments, block.thought_signature)
        elif type(block) is ThinkingContent:
            leaves += (block.thinking, block.thinking_signature)
        elif type(block) is ImageContent:
            leaves.append(block.data)
        else:
            leaves.append(block)
    if type(message) is AssistantMessage:
        leaves.append(message.stop_reason)
    return tuple(leaves)
