"""Messages of a conversation as turns of the Bedrock Converse API, each message encoded once.

Turns alternate between user and assistant: the results of one answer and what the user says after it share one turn.
What the API refuses is put right: blank texts, empty turns, empty keys in arguments, formats of images it cannot read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from pinyon._util import json as _json
from pinyon.ai.call_id import safe_id
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage

NO_OUTPUT = "(the tool returned nothing)"
IMAGE_MOVED = "(the image follows after the tool results)"
UNREADABLE_IMAGE = "[Image of the type {kind!r} left out: only PNG, JPEG, GIF and WebP can be read.]"

_FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

_KEPT: MessageMemo[bytes] = MessageMemo()

Role = Literal["user", "assistant"]
Kind = TypeVar("Kind", UserMessage, AssistantMessage, ToolResultMessage)


def _kept(message: Kind, key: Hashable, encode: Callable[[Kind], list[dict[str, Any]]]) -> bytes:
    """The JSON of a message's blocks, without the brackets around them; empty where nothing of it is sent."""
    data = _KEPT.get(message, key)
    if data is None:
        data = _json.encode_clean(encode(message))[1:-1]
        _KEPT.put(message, key, data)
    return data


class Turn(msgspec.Struct):
    """One turn: who speaks, and the JSON of its blocks."""

    role: Role
    blocks: list[bytes]

    def encoded(self, cache_point: dict[str, Any] | None = None) -> bytes:
        """The turn's JSON, with a cache point at its end where one is given."""
        blocks = [*self.blocks, _json.encode(cache_point)] if cache_point else self.blocks
        return b'{"role":"%s","content":[%s]}' % (self.role.encode(), b",".join(blocks))


class TurnWriter:
    """Writes the turns of one request; `messages` come from the hand-over, without system messages."""

    def __init__(self, *, is_claude: bool) -> None:
        self._is_claude = is_claude
        self._turns: list[Turn] = []
        self._moved: list[dict[str, Any]] = []

    def write(self, messages: Sequence[Message]) -> list[Turn]:
        """All turns, in order."""
        for message in messages:
            if isinstance(message, ToolResultMessage):
                self._add("user", _kept(message, ("result", self._is_claude), self._result_blocks))
                self._moved += _moved_images(message) if self._is_claude else []
                continue
            self._flush_moved()
            if isinstance(message, UserMessage):
                self._add("user", _kept(message, "user", _user_blocks))
            elif isinstance(message, AssistantMessage):
                self._add("assistant", _kept(message, ("answer", self._is_claude), self._answer_blocks))
        self._flush_moved()
        return self._turns

    def _add(self, role: Role, blocks: bytes) -> None:
        if not blocks:
            return
        if self._turns and self._turns[-1].role == role:
            self._turns[-1].blocks.append(blocks)
        else:
            self._turns.append(Turn(role, [blocks]))

    def _flush_moved(self) -> None:
        if self._moved:
            self._add("user", _json.encode_clean(self._moved)[1:-1])
            self._moved = []

    def _answer_blocks(self, message: AssistantMessage) -> list[dict[str, Any]]:
        content = [block for part in message.content if (block := self._assistant_block(part)) is not None]
        while content and "reasoningContent" in content[-1]:
            content.pop()  # thinking that leads to nothing is refused
        return content

    def _assistant_block(self, block: AssistantBlock) -> dict[str, Any] | None:
        match block:
            case TextContent():
                return {"text": block.text} if block.text.strip() else None
            case ThinkingContent():
                return self._thinking_block(block)
            case ToolCall():
                used = {
                    "toolUseId": safe_id(block.id),
                    "name": block.name,
                    "input": _without_empty_keys(block.arguments),
                }
                return {"toolUse": used}
            case _:
                return None

    def _thinking_block(self, block: ThinkingContent) -> dict[str, Any] | None:
        signature = block.thinking_signature or ""
        if block.redacted:
            return {"reasoningContent": {"redactedContent": signature}} if signature else None
        if self._is_claude and signature:
            return {"reasoningContent": {"reasoningText": {"text": block.thinking, "signature": signature}}}
        if not block.thinking.strip():
            return None
        return (
            {"text": block.thinking}
            if self._is_claude
            else {"reasoningContent": {"reasoningText": {"text": block.thinking}}}
        )

    def _result_blocks(self, message: ToolResultMessage) -> list[dict[str, Any]]:
        content = _content_blocks(message.content)
        if self._is_claude and message.is_error:
            moved = [block for block in content if "image" in block]
            content = [block for block in content if "image" not in block]
            content += [{"text": IMAGE_MOVED}] if moved else []
        result: dict[str, Any] = {
            "toolUseId": safe_id(message.tool_call_id),
            "content": content or [{"text": NO_OUTPUT}],
        }
        result["status"] = "error" if message.is_error else "success"
        return [{"toolResult": result}]


def encode_turns(turns: Sequence[Turn], cache_point: dict[str, Any] | None) -> bytes:
    """The list of messages; the cache point stands at the end of the last user turn."""
    last = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=-1)
    encoded = (turn.encoded(cache_point if index == last else None) for index, turn in enumerate(turns))
    return b"[" + b",".join(encoded) + b"]"


def uses_tools(messages: Sequence[Message]) -> bool:
    """Whether the conversation holds calls or results, which the API takes only where tools are declared."""
    return any(isinstance(message, ToolResultMessage) for message in messages)


def _user_blocks(message: UserMessage) -> list[dict[str, Any]]:
    if isinstance(message.content, str):
        return [{"text": message.content}] if message.content.strip() else []
    return _content_blocks(message.content)


def _content_blocks(content: Sequence[UserBlock]) -> list[dict[str, Any]]:
    return [block for part in content if (block := _content_block(part)) is not None]


def _content_block(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"text": block.text} if block.text.strip() else None
    return _image_block(block) if isinstance(block, ImageContent) else None


def _image_block(image: ImageContent) -> dict[str, Any]:
    kind = _FORMATS.get(image.mime_type.lower())
    if kind is None:
        return {"text": UNREADABLE_IMAGE.format(kind=image.mime_type)}
    return {"image": {"format": kind, "source": {"bytes": image.data}}}


def _moved_images(message: ToolResultMessage) -> list[dict[str, Any]]:
    """The images of a failed result, which Claude wants outside of it, under a caption."""
    if not message.is_error:
        return []
    images = [_image_block(block) for block in message.content if isinstance(block, ImageContent)]
    images = [block for block in images if "image" in block]
    if not images:
        return []
    caption = f"Image from the failed call {safe_id(message.tool_call_id)} of the tool {message.tool_name}:"
    return [{"text": caption}, *images]


def _without_empty_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty_keys(item) for key, item in value.items() if key != ""}
    return [_without_empty_keys(item) for item in value] if isinstance(value, list) else value
