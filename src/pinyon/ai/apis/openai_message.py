"""Messages of a conversation as the chat-completions API wants them, each encoded once.

A wire message is JSON bytes. Assistant text is always one plain string, because models imitate what they see of
themselves. The images of a run of tool results follow it in one user message, as the API takes none in results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat
from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall, UserBlock
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.model import Model

IMAGE_ONLY = "(the tool returned an image, which follows)"
NO_OUTPUT = "(the tool returned nothing)"
IMAGES_CAPTION = "Images returned by the tools above:"
RESULTS_SEEN = "I have read the tool results."
NO_REASONING = "(no reasoning was recorded)"

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields that servers put thinking into, the most common first."""


class MessageWriter:
    """Writes the wire messages of one request; system messages are written by the caller through `add`.

    `grammar_inputs` maps the names of grammar tools to the argument that holds their text. `kept` remembers encodings
    between requests.
    """

    def __init__(
        self,
        model: Model,
        compat: OpenAICompletionsCompat,
        grammar_inputs: Mapping[str, str],
        kept: MessageMemo[bytes],
    ) -> None:
        self.messages: list[bytes] = []
        self._model = model
        self._compat = compat
        self._grammar_inputs = grammar_inputs
        self._kept = kept
        self._variant = (model.provider, model.reasoning, _variant_flags(compat), tuple(grammar_inputs.items()))
        self._images: list[ImageContent] = []
        self._after_results = False

    def add(self, message: dict[str, Any]) -> None:
        """Append a wire message as it is."""
        self._end_results(before_user=False)
        self.messages.append(_json.encode_clean(message))

    def write(self, message: Message) -> None:
        """Append what a message of the conversation becomes; system messages become nothing here."""
        if isinstance(message, ToolResultMessage):
            self._write_result(message)
        elif isinstance(message, AssistantMessage):
            self._end_results(before_user=False)
            self._append(message, partial(self.answer, message))
        elif isinstance(message, UserMessage):
            self._end_results(before_user=True)
            self._append(message, partial(user_message, message))

    def finish(self) -> list[bytes]:
        """All wire messages."""
        self._end_results(before_user=False)
        return self.messages

    def _append(self, message: Message, build: Callable[[], dict[str, Any] | None]) -> None:
        data = self._kept.get(message, self._variant)
        if data is None:
            data = _encoded(build())
            self._kept.put(message, self._variant, data)
        if data:
            self.messages.append(data)

    def _write_result(self, message: ToolResultMessage) -> None:
        self._append(message, partial(self.result, message))
        self._images += [block for block in message.content if isinstance(block, ImageContent)]
        self._after_results = True

    def _end_results(self, *, before_user: bool) -> None:
        if not self._after_results:
            return
        if self._compat.requires_assistant_after_tool_result and (before_user or self._images):
            self.messages.append(_json.encode_clean({"role": "assistant", "content": RESULTS_SEEN}))
        if self._images:
            caption: dict[str, Any] = {"type": "text", "text": IMAGES_CAPTION}
            content = [caption, *map(image_part, self._images)]
            self.messages.append(_json.encode_clean({"role": "user", "content": content}))
        self._images = []
        self._after_results = False

    def result(self, message: ToolResultMessage) -> dict[str, Any]:
        """The wire message of a tool result, without its images."""
        wire = {"role": "tool", "content": result_text(message), "tool_call_id": message.tool_call_id}
        return wire | {"name": message.tool_name} if self._compat.requires_tool_result_name else wire

    def answer(self, message: AssistantMessage) -> dict[str, Any] | None:
        """The wire message of an answer; None where it holds neither text nor a call."""
        calls = [self._call(block) for block in message.content if isinstance(block, ToolCall)]
        content = self._answer_content(message, has_calls=bool(calls))
        if not content and not calls:
            return None
        wire: dict[str, Any] = {"role": "assistant", "content": content, **self._reasoning(message, bool(calls))}
        if calls:
            wire["tool_calls"] = calls
        details = _reasoning_details(message)
        if details:
            wire.pop("reasoning_content", None)
            wire["reasoning_details"] = details
        return wire

    def _answer_content(self, message: AssistantMessage, *, has_calls: bool) -> str | list[dict[str, str]] | None:
        text = "".join(block.text for block in message.content if isinstance(block, TextContent) and block.text.strip())
        if self._compat.requires_thinking_as_text:
            thinking = "\n\n".join(_thinking_texts(message))
            if thinking:
                parts = [thinking, text] if text else [thinking]
                return [{"type": "text", "text": part} for part in parts]
        if text or not has_calls:
            return text
        compat = self._compat
        needs_text = compat.requires_non_null_assistant_content or compat.requires_assistant_after_tool_result
        return "" if needs_text else None

    def _reasoning(self, message: AssistantMessage, has_calls: bool) -> dict[str, str]:
        """Thinking in the field it came in, and a stand-in for servers that insist on it."""
        if self._compat.requires_thinking_as_text:
            return {}
        field = _reasoning_field(message)
        text = "\n".join(_thinking_texts(message))
        if field is not None and text:
            if self._model.provider == "opencode-go" and field == "reasoning":
                field = "reasoning_content"
            return {field: text}
        if self._compat.requires_reasoning_content_on_assistant_messages and self._model.reasoning:
            return {"reasoning_content": NO_REASONING if has_calls else ""}
        return {}

    def _call(self, call: ToolCall) -> dict[str, Any]:
        arguments = call.arguments or {}
        input_property = self._grammar_inputs.get(call.name)
        if input_property is not None:
            value = arguments.get(input_property)
            text = value if isinstance(value, str) else arguments_text(arguments)
            return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
        function = {"name": call.name, "arguments": arguments_text(arguments)}
        return {"id": call.id, "type": "function", "function": function}


def _variant_flags(compat: OpenAICompletionsCompat) -> tuple[bool, ...]:
    return (
        compat.requires_tool_result_name,
        compat.requires_assistant_after_tool_result,
        compat.requires_non_null_assistant_content,
        compat.requires_thinking_as_text,
        compat.requires_reasoning_content_on_assistant_messages,
        compat.tool_call_format == "native",
    )


def _encoded(wire: dict[str, Any] | None) -> bytes:
    return b"" if wire is None else _json.encode_clean(wire)


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON text, the same each time."""
    return _json.encode_clean(_json.normalise_numbers(dict(arguments))).decode()


def user_message(message: UserMessage) -> dict[str, Any] | None:
    """The wire message of a user message; None where nothing of it can be sent."""
    if isinstance(message.content, str):
        return {"role": "user", "content": message.content} if message.content.strip() else None
    parts = [part for block in message.content if (part := _user_part(block)) is not None]
    return {"role": "user", "content": parts} if parts else None


def _user_part(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    return image_part(block) if isinstance(block, ImageContent) else None


def image_part(image: ImageContent) -> dict[str, Any]:
    """An image as a data URL."""
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}


def result_text(message: ToolResultMessage) -> str:
    """The text of a tool result; says so where there is none."""
    text = "\n".join(block.text for block in message.content if isinstance(block, TextContent))
    if text.strip():
        return text
    return IMAGE_ONLY if any(isinstance(block, ImageContent) for block in message.content) else NO_OUTPUT


def _thinking_texts(message: AssistantMessage) -> Sequence[str]:
    blocks = (block for block in message.content if isinstance(block, ThinkingContent) and not block.redacted)
    return [block.thinking for block in blocks if block.thinking.strip()]


def _reasoning_field(message: AssistantMessage) -> str | None:
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature in REASONING_FIELDS:
            return str(block.thinking_signature)
    return None


def _reasoning_details(message: AssistantMessage) -> list[Any]:
    """The reasoning items that the server wants back as they were: from thinking blocks, or from calls of old files."""
    details: list[Any] = []
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature:
            value = _json_value(block.thinking_signature, "[")
            details += value if isinstance(value, list) else []
    if details:
        return details
    for block in message.content:
        if isinstance(block, ToolCall) and block.thought_signature:
            value = _json_value(block.thought_signature, "{")
            if isinstance(value, dict) and value.get("type") == "reasoning.encrypted":
                details.append(value)
    return details


def _json_value(text: str, opening: str) -> Any:
    if not text.startswith(opening):
        return None
    try:
        return _json.decode(text)
    except _json.JsonError:
        return None
