"""Messages of a conversation as input items of the Responses API, each message encoded once.

An item is JSON bytes. Reasoning goes back exactly as it came; it is left out where nothing of the same answer follows
it, because the API refuses reasoning on its own. An id of a call in two parts, `call|item`, names both the call and
the item that made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.apis.responses_option import ResponsesRequest
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.short_hash import short_hash
from pinyon.ai.transform import is_same_model

NO_OUTPUT = "(the tool returned nothing)"
_ID_LIMIT = 64

Items = tuple[bytes, ...]


class ItemWriter:
    """Encodes the messages of one request; system messages are written by the caller.

    `grammar_inputs` maps the names of grammar tools to the argument that holds their text. `kept` remembers encodings
    between requests.
    """

    def __init__(self, request: ResponsesRequest, grammar_inputs: Mapping[str, str], kept: MessageMemo[Items]) -> None:
        self._model = request.model
        self._grammar_inputs = grammar_inputs
        self._kept = kept
        self._variant = (request.model.provider, request.model.api, request.model.id, tuple(grammar_inputs.items()))

    def items(self, message: Message, position: int) -> Items:
        """The items of a message that stands at `position` in the conversation, without the leading system message."""
        # Ids that are made up from the position must not survive where the message moved.
        key = (*self._variant, position) if isinstance(message, AssistantMessage) else self._variant
        items = self._kept.get(message, key)
        if items is None:
            items = tuple(_json.encode_clean(item) for item in self._build(message, position))
            self._kept.put(message, key, items)
        return items

    def _build(self, message: Message, position: int) -> list[dict[str, Any]]:
        if isinstance(message, AssistantMessage):
            return self._answer(message, position)
        if isinstance(message, ToolResultMessage):
            return [self._result(message)]
        return user_items(message) if isinstance(message, UserMessage) else []

    def _answer(self, message: AssistantMessage, position: int) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        text_count = 0
        for block in message.content:
            item: dict[str, Any] | None = None
            if isinstance(block, ThinkingContent):
                item = reasoning_item(block)
            elif isinstance(block, TextContent) and block.text.strip():
                item = _text_item(block, f"msg_pi_{position}" + (f"_{text_count}" if text_count else ""))
                text_count += 1
            elif isinstance(block, ToolCall):
                item = self._call(block, message)
            if item is not None:
                items.append(item)
        while items and items[-1].get("type") == "reasoning":
            items.pop()
        return items

    def _call(self, call: ToolCall, message: AssistantMessage) -> dict[str, Any]:
        is_same = is_same_model(message, self._model)
        call_id, _, item_id = call.id.partition("|")
        arguments = call.arguments or {}
        input_property = self._grammar_inputs.get(call.name)
        prefix = "fc_" if input_property is None else "ctc_"
        item: dict[str, Any] = {"type": "function_call" if input_property is None else "custom_tool_call"}
        # Another model of the same provider would be asked for the reasoning that belongs to the item.
        if item_id.startswith(prefix) and (is_same or message.provider != self._model.provider):
            item["id"] = item_id
        item |= {"call_id": call_id, "name": call.name}
        if input_property is None:
            item["arguments"] = arguments_text(arguments)
        else:
            value = arguments.get(input_property)
            item["input"] = value if isinstance(value, str) else arguments_text(arguments)
        if call.namespace and is_same:
            item["namespace"] = call.namespace
        return item

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        is_custom = message.tool_name in self._grammar_inputs
        return {
            "type": "custom_tool_call_output" if is_custom else "function_call_output",
            "call_id": message.tool_call_id.partition("|")[0],
            "output": result_output(message),
        }


def user_items(message: UserMessage) -> list[dict[str, Any]]:
    """The item of a user message; none where nothing of it can be sent."""
    content = message.content
    blocks: Sequence[UserBlock] = [TextContent(content)] if isinstance(content, str) else content
    parts = _parts(blocks)
    return [{"role": "user", "content": parts}] if parts else []


def _parts(blocks: Sequence[UserBlock]) -> list[dict[str, Any]]:
    return [part for block in blocks if (part := _part(block)) is not None]


def _part(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"type": "input_text", "text": block.text} if block.text.strip() else None
    if isinstance(block, ImageContent):
        url = f"data:{block.mime_type};base64,{block.data}"
        return {"type": "input_image", "detail": "auto", "image_url": url}
    return None


def result_output(message: ToolResultMessage) -> str | list[dict[str, Any]]:
    """The output of a tool: its text, or parts where it holds images."""
    if any(isinstance(block, ImageContent) for block in message.content):
        return _parts(message.content)
    text = "\n".join(block.text for block in message.content if isinstance(block, TextContent))
    return text if text.strip() else NO_OUTPUT


def reasoning_item(block: ThinkingContent) -> dict[str, Any] | None:
    """The reasoning item that a thinking block was made from, None where it keeps none."""
    item = _object(block.thinking_signature or "")
    return item if item is not None and item.get("type") == "reasoning" else None


def _text_item(block: TextContent, made_up_id: str) -> dict[str, Any]:
    signature = read_text_signature(block.text_signature or "")
    message_id = signature.get("id") or made_up_id
    if len(message_id) > _ID_LIMIT:
        message_id = f"msg_{short_hash(message_id)}"
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": block.text, "annotations": []}],
        "status": "completed",
        "id": message_id,
    }
    phase = signature.get("phase")
    return item | {"phase": phase} if phase in ("commentary", "final_answer") else item


def text_signature(message_id: str, phase: str | None) -> str:
    """What a text block keeps of the item it came in."""
    value = {"v": 1, "id": message_id} | ({"phase": phase} if phase in ("commentary", "final_answer") else {})
    return _json.encode_clean(value).decode()


def read_text_signature(signature: str) -> dict[str, str]:
    """Id and phase in a text's signature; one that is no JSON object is a bare message id."""
    value = _object(signature)
    if value is None:
        return {"id": signature} if signature else {}
    return {name: text for name in ("id", "phase") if isinstance(text := value.get(name), str) and text}


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON text, the same each time."""
    return _json.encode_clean(_json.normalise_numbers(dict(arguments))).decode()


def _object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = _json.decode(text)
    except _json.JsonError:
        return None
    return value if isinstance(value, dict) else None
