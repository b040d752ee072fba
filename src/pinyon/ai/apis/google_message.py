"""Messages of a conversation as Google's APIs want them, each encoded once.

A wire message ("content") is JSON bytes. Results of one round of calls stand together in one user turn. Signatures of
thoughts go back on the part that they came with, and only where they are base64, as the API refuses any other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pinyon._util import json as _json
from pinyon.ai.apis.google_model import nests_images, wants_call_ids
from pinyon.ai.content import AssistantBlock, ImageContent, TextContent, ThinkingContent, ToolCall
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.model import Model

IMAGE_ONLY = "(the tool returned an image)"
NO_OUTPUT = "(the tool returned nothing)"
IMAGES_CAPTION = "Images returned by the tools above:"

STAND_IN_SIGNATURE = "skip_thought_signature_validator"
"""What the vendor's guide to thought signatures gives for calls that have none, as those of other models."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class ContentWriter:
    """Writes the contents of one request; system messages stand elsewhere. `kept` remembers encodings.

    With `stands_in` the first call of an answer gets the stand-in for a signature where it has none.
    """

    def __init__(self, model: Model, kept: MessageMemo[bytes], *, stands_in: bool = False) -> None:
        self.contents: list[bytes] = []
        self._kept = kept
        self._has_ids = wants_call_ids(model.id)
        self._nests_images = nests_images(model.id)
        self._stands_in = stands_in
        self._variant = ("google", self._has_ids, self._nests_images, stands_in)
        self._results: list[bytes] = []
        self._images: list[ImageContent] = []

    def write(self, message: Message) -> None:
        """Append what a message becomes; system messages become nothing."""
        if isinstance(message, ToolResultMessage):
            self._results.append(self._encoded(message, partial(self._result, message)))
            if not self._nests_images:
                self._images += [block for block in message.content if isinstance(block, ImageContent)]
        elif isinstance(message, AssistantMessage):
            self._end_results()
            self._append(self._encoded(message, partial(self._answer, message)))
        elif isinstance(message, UserMessage):
            self._end_results()
            self._append(self._encoded(message, partial(_user, message)))

    def finish(self) -> list[bytes]:
        """All contents."""
        self._end_results()
        return self.contents

    def _append(self, data: bytes) -> None:
        if data:
            self.contents.append(data)

    def _encoded(self, message: Message, build: Callable[[], dict[str, Any] | None]) -> bytes:
        data = self._kept.get(message, self._variant)
        if data is None:
            wire = build()
            data = b"" if wire is None else _json.encode_clean(wire)
            self._kept.put(message, self._variant, data)
        return data

    def _end_results(self) -> None:
        if self._results:
            self.contents.append(b'{"parts":[%s],"role":"user"}' % b",".join(self._results))
        if self._images:
            parts = [{"text": IMAGES_CAPTION}, *map(_inline, self._images)]
            self.contents.append(_json.encode_clean({"parts": parts, "role": "user"}))
        self._results, self._images = [], []

    def _result(self, message: ToolResultMessage) -> dict[str, Any]:
        """The part for a tool result."""
        field = "error" if message.is_error else "output"
        response: dict[str, Any] = {"name": message.tool_name, "response": {field: _result_text(message)}}
        images = [_inline(block) for block in message.content if isinstance(block, ImageContent)]
        if images and self._nests_images:
            response["parts"] = images
        if self._has_ids:
            response["id"] = message.tool_call_id
        return {"functionResponse": response}

    def _answer(self, message: AssistantMessage) -> dict[str, Any] | None:
        """The content for an answer; None where nothing of it can be sent."""
        parts = [part for block in message.content if (part := self._answer_part(block)) is not None]
        first_call = next((part for part in parts if "functionCall" in part), None)
        if self._stands_in and first_call is not None:
            first_call.setdefault("thoughtSignature", STAND_IN_SIGNATURE)
        return {"parts": parts, "role": "model"} if parts else None

    def _answer_part(self, block: AssistantBlock) -> dict[str, Any] | None:
        if isinstance(block, TextContent):
            return _signed_text({"text": block.text}, block.text_signature or "")
        if isinstance(block, ThinkingContent):
            if block.redacted:
                return None
            return _signed_text({"text": block.thinking, "thought": True}, block.thinking_signature or "")
        if not isinstance(block, ToolCall):
            return None
        call: dict[str, Any] = {"name": block.name, "args": _json.normalise_numbers(block.arguments or {})}
        if self._has_ids:
            call["id"] = block.id
        return _signed({"functionCall": call}, block.thought_signature or "")


def is_signature(text: str) -> bool:
    """Whether the API can take `text` as the signature of a thought: whole base64."""
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def _signed(part: dict[str, Any], signature: str) -> dict[str, Any]:
    return part | {"thoughtSignature": signature} if is_signature(signature) else part


def _signed_text(part: dict[str, Any], signature: str) -> dict[str, Any] | None:
    """A text with its signature; None for a blank one without."""
    signed = _signed(part, signature)
    return signed if signed is not part or part["text"].strip() else None


def _user(message: UserMessage) -> dict[str, Any] | None:
    content: Sequence[Any] = [TextContent(message.content)] if isinstance(message.content, str) else message.content
    parts: list[dict[str, Any]] = []
    for block in content:
        if isinstance(block, TextContent) and block.text.strip():
            parts.append({"text": block.text})
        elif isinstance(block, ImageContent):
            parts.append(_inline(block))
    return {"parts": parts, "role": "user"} if parts else None


def _inline(image: ImageContent) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


def _result_text(message: ToolResultMessage) -> str:
    """The text of a tool result; says so where there is none."""
    text = "\n".join(block.text for block in message.content if isinstance(block, TextContent))
    if text.strip():
        return text
    return IMAGE_ONLY if any(isinstance(block, ImageContent) for block in message.content) else NO_OUTPUT
