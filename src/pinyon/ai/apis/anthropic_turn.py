"""Messages of a conversation as turns of the Anthropic Messages API, each encoded once.

A turn is the JSON of one wire message. Blank texts and empty messages are left out, the results of one answer share a
user turn, and what the API would refuse (foreign characters in ids, images in failed results) is put right.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from pinyon._util import json as _json
from pinyon.ai.apis.anthropic_option import EFFORTS, AnthropicRequest
from pinyon.ai.call_id import safe_id
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.transcript import update_text

IMAGE_ONLY = "(see the attached image)"
IMAGE_MOVED = "(the image follows after the tool results)"

_KEPT: MessageMemo[bytes] = MessageMemo()

ToolBlocks = Callable[[SystemMessage], list[dict[str, Any]]]
"""The blocks that tell of the tool changes of a later system message."""


Kind = TypeVar("Kind", UserMessage, AssistantMessage, ToolResultMessage)


def _kept(message: Kind, key: Hashable, encode: Callable[[Kind], bytes]) -> bytes:
    data = _KEPT.get(message, key)
    if data is None:
        data = encode(message)
        _KEPT.put(message, key, data)
    return data


class TurnWriter:
    """Writes the turns of one request; `messages` come from the hand-over, without the leading system message."""

    def __init__(self, request: AnthropicRequest, tool_blocks: ToolBlocks) -> None:
        self._request = request
        self._tool_blocks = tool_blocks
        self._answer_key = ("answer", request.compat.allow_empty_signature)
        self._turns: list[bytes] = []
        self._held: list[SystemMessage] = []
        self._results: list[ToolResultMessage] = []

    def write(self, messages: Sequence[Message]) -> list[bytes]:
        """All turns, in order."""
        for message in messages:
            if isinstance(message, ToolResultMessage):
                self._results.append(message)
            elif isinstance(message, SystemMessage):
                self._held.append(message)
            else:
                if self._results:
                    self._flush_results()
                self._add(message)
        self._flush_results()
        self._flush_held()
        if self._request.marks_effort:
            self._turns.append(_effort_turn(self._request.thinking.effort))
        return self._turns

    def _add(self, message: UserMessage | AssistantMessage) -> None:
        turn = self.encoded(message)
        if not turn:
            return
        if isinstance(message, AssistantMessage):
            self._flush_held()
            effort = self._recorded_effort(message)
            if effort:
                self._turns.append(_effort_turn(effort))
        self._turns.append(turn)

    def encoded(self, message: UserMessage | AssistantMessage) -> bytes:
        """The turn of one message; empty when nothing of it is sent."""
        if isinstance(message, UserMessage):
            return _kept(message, "user", _user_json)
        return _kept(message, self._answer_key, self._answer_json)

    def _answer_json(self, message: AssistantMessage) -> bytes:
        content = [block for part in message.content if (block := self._assistant_block(part)) is not None]
        while content and content[-1]["type"] in ("thinking", "redacted_thinking"):
            content.pop()  # the API wants something said or called after thinking
        return _json.encode_clean({"role": "assistant", "content": content}) if content else b""

    def _assistant_block(self, block: AssistantBlock) -> dict[str, Any] | None:
        match block:
            case TextContent():
                return {"type": "text", "text": block.text} if block.text.strip() else None
            case ThinkingContent():
                return self._thinking_block(block)
            case ToolCall():
                call_id = safe_id(block.id)
                return {"type": "tool_use", "id": call_id, "name": block.name, "input": block.arguments}
            case _:
                return None

    def _thinking_block(self, block: ThinkingContent) -> dict[str, Any] | None:
        signature = block.thinking_signature or ""
        if block.redacted:
            return {"type": "redacted_thinking", "data": signature} if signature else None
        if signature or (self._request.compat.allow_empty_signature and block.thinking.strip()):
            return {"type": "thinking", "thinking": block.thinking, "signature": signature}
        return {"type": "text", "text": block.thinking} if block.thinking.strip() else None

    def _recorded_effort(self, message: AssistantMessage) -> str:
        request = self._request
        if not request.marks_effort or (message.provider, message.api) != (request.model.provider, request.model.api):
            return ""
        effort = message.provider_thinking_level or ""
        return effort if effort in EFFORTS else ""

    def _flush_results(self) -> None:
        if not self._results:
            return
        blocks = [_kept(result, "result", _result_json) for result in self._results]
        moved = [block for result in self._results for block in _moved_images(result)]
        blocks += [_json.encode_clean(block) for block in moved]
        self._turns.append(b'{"role":"user","content":[' + b",".join(blocks) + b"]}")
        self._results = []

    def _flush_held(self) -> None:
        for message in self._held:
            text = update_text(message)
            blocks = [{"type": "text", "text": text}] if text.strip() else []
            blocks += self._tool_blocks(message)
            if blocks:
                self._turns.append(_json.encode_clean({"role": "system", "content": blocks}))
        self._held = []


def mark_last_turn(turns: list[bytes], mark: dict[str, str]) -> None:
    """Put the cache mark on the last block of the conversation, unless an answer ends it."""
    for index in range(len(turns) - 1, -1, -1):
        message = _json.decode(turns[index])
        if not message["content"]:
            continue  # an effort turn has no block to carry the mark
        if message["role"] != "assistant":
            turns[index] = _marked(message, mark)
        return


def _marked(message: dict[str, Any], mark: dict[str, str]) -> bytes:
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    message["content"][-1]["cache_control"] = mark
    return _json.encode_clean(message)


def _effort_turn(effort: str) -> bytes:
    return _json.encode_clean({"role": "system", "content": [], "output_config": {"effort": effort}})


def _user_json(message: UserMessage) -> bytes:
    content = _user_content(message)
    return _json.encode_clean({"role": "user", "content": content}) if content else b""


def _user_content(message: UserMessage) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content if message.content.strip() else ""
    return [block for part in message.content if (block := _user_block(part)) is not None]


def _user_block(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    return _image_block(block) if isinstance(block, ImageContent) else None


def _image_block(image: ImageContent) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}


def _result_json(result: ToolResultMessage) -> bytes:
    block = {"type": "tool_result", "tool_use_id": safe_id(result.tool_call_id), "content": _result_content(result)}
    return _json.encode_clean(block | {"is_error": result.is_error})


def _result_content(result: ToolResultMessage) -> str | list[dict[str, Any]]:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    has_images = any(isinstance(block, ImageContent) for block in result.content)
    if not has_images:
        return "\n".join(texts)
    if result.is_error:
        return "\n".join([*(text for text in texts if text.strip()), IMAGE_MOVED])
    blocks = [block for part in result.content if (block := _user_block(part)) is not None]
    if not any(text.strip() for text in texts):
        blocks.insert(0, {"type": "text", "text": IMAGE_ONLY})
    return blocks


def _moved_images(result: ToolResultMessage) -> list[dict[str, Any]]:
    """The images of a failed result, which the API wants outside of it, under a caption."""
    images = [_image_block(block) for block in result.content if isinstance(block, ImageContent)]
    if not images or not result.is_error:
        return []
    caption = f"Image from the failed call {safe_id(result.tool_call_id)} of the tool {result.tool_name}:"
    return [{"type": "text", "text": caption}, *images]
