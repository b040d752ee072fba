"""Call ids of a conversation as they stand on the wire, where only the first part of `call|item` names a call."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pinyon.ai.call_id import distinct_id
from pinyon.ai.content import ToolCall
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage


def with_distinct_calls(messages: Sequence[Message], memo: MessageMemo[Message]) -> list[Message]:
    """The messages with every call named once; calls whose first part is taken get another id, and so do their results.

    `messages` come from the hand-over: ids are unique as wholes, and results follow their calls. `memo` keeps what had
    to be built anew.
    """
    taken: set[str] = set()
    renamed: dict[str, str] = {}
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            renamed = _renamed(message, taken)
            kept.append(_with_ids(message, renamed, memo) if renamed else message)
        elif isinstance(message, ToolResultMessage) and message.tool_call_id in renamed:
            kept.append(_with_ids(message, renamed, memo))
        else:
            kept.append(message)
    return kept


def _renamed(message: AssistantMessage, taken: set[str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for block in message.content:
        if not isinstance(block, ToolCall):
            continue
        call_id, number = block.id.partition("|")[0], 2
        while call_id in taken:
            call_id, number = distinct_id(block.id, number), number + 1
            renamed[block.id] = call_id
        taken.add(call_id)
    return renamed


def _with_ids(
    message: AssistantMessage | ToolResultMessage, renamed: dict[str, str], memo: MessageMemo[Message]
) -> Message:
    key = tuple(renamed.items())
    adapted = memo.get(message, key)
    if adapted is None:
        adapted = _rebuilt(message, renamed)
        memo.put(message, key, adapted)
    return adapted


def _rebuilt(message: AssistantMessage | ToolResultMessage, renamed: dict[str, str]) -> Message:
    if isinstance(message, ToolResultMessage):
        return msgspec.structs.replace(message, tool_call_id=renamed[message.tool_call_id])
    content = [
        msgspec.structs.replace(block, id=renamed[block.id])
        if isinstance(block, ToolCall) and block.id in renamed
        else block
        for block in message.content
    ]
    return msgspec.structs.replace(message, content=content)
