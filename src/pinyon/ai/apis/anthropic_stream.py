"""Builds an answer from the events of an Anthropic Messages stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon._util.ids import uuid4
from pinyon.ai.apis.anthropic_event import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamPart,
    WireBlock,
    WireUsage,
)
from pinyon.ai.apis.anthropic_option import AnthropicRequest
from pinyon.ai.content import ThinkingContent
from pinyon.ai.cost import apply_cost, apply_reported_total, is_openrouter, token_cost
from pinyon.ai.event import Done, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import MessageDiagnostic
from pinyon.errors import ProviderError

BlockKind = Literal["text", "thinking", "redacted", "tool", "ignored"]

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}


class AnswerRefusedError(ProviderError):
    """Raised when the model or the server's filter declined to answer."""


class _Block(msgspec.Struct):
    kind: BlockKind
    index: int = -1
    start_input: Any = None
    has_deltas: bool = False


class AnswerReader:
    """Takes the parts of a stream in order and gives the events that they mean."""

    def __init__(self, answer: LiveAnswer, request: AnthropicRequest) -> None:
        self._answer = answer
        self._request = request
        self._blocks: dict[int, _Block] = {}
        self._call_ids: set[str] = set()
        self._stop_reason = ""
        self.is_started = False
        """Whether the server began an answer."""
        self.is_stopped = False
        """Whether the server said that the answer is complete."""

    def take(self, part: StreamPart, data: bytes) -> Iterator[UpdateEvent]:
        """The events of one part, which was decoded from `data`. Raises `ProviderError` for one out of place."""
        if type(part) is BlockDelta:
            event = self.grow(part)
            if event is not None:
                yield event
        elif type(part) is BlockStart:
            yield from self._open(part)
        elif type(part) is BlockStop:
            yield from self._close(part)
        elif type(part) is MessageStart:
            self._begin(part, data)
        elif type(part) is MessageDelta:
            self._change(part, data)
        elif type(part) is MessageStop:
            self.is_stopped = True

    def finish(self) -> Done:
        """The final event, after the stream has ended. Raises `ProviderError` unless the answer is whole and usable."""
        if not self.is_stopped:
            raise ProviderError("the connection closed too early: stream ended before message_stop")
        if not self._stop_reason:
            raise ProviderError("the answer ended without a stop reason")
        reason = _STOPS.get(self._stop_reason)
        if reason is None:
            raise ProviderError(f"the server stopped for a reason that is not known: {self._stop_reason!r}")
        if reason == "length":
            return self._answer.done("length")
        return self._answer.done("toolUse" if reason == "toolUse" or self._call_ids else "stop")

    def _begin(self, part: MessageStart, data: bytes) -> None:
        self.is_started = True
        message, target = part.message, self._answer.target
        if message.id:
            target.response_id = message.id
        if message.model and message.model != self._request.model.id:
            target.response_model = message.model
        target.usage.cache_write_1h = 0
        self._count(message.usage, data)
        self._note_transformations(message.input_transformations)

    def _open(self, part: BlockStart) -> Iterator[UpdateEvent]:
        block = part.content_block
        if block.type == "fallback" and self._answer.target.content:
            raise ProviderError("another model took over in the middle of the answer; please retry your request")
        start, kind = self._start(block)
        if start is None:
            self._blocks[part.index] = _Block("ignored")
            return
        opened = _Block(kind, start.content_index, block.input)
        self._blocks[part.index] = opened
        yield start
        yield from self._initial_text(block, opened)

    def _start(self, block: WireBlock) -> tuple[UpdateEvent | None, BlockKind]:
        answer = self._answer
        match block.type:
            case "text":
                return answer.text_start(), "text"
            case "thinking":
                return answer.thinking_start(signature=block.signature or UNSET), "thinking"
            case "redacted_thinking":
                return answer.thinking_start(redacted=True, signature=block.data), "redacted"
            case "tool_use":
                return answer.toolcall_start(self._call_id(block.id), block.name), "tool"
            case _:
                return None, "ignored"

    def _initial_text(self, block: WireBlock, opened: _Block) -> Iterator[UpdateEvent]:
        if opened.kind == "text" and block.text:
            yield self._answer.text_delta(opened.index, block.text)
        elif opened.kind == "thinking" and block.thinking:
            yield self._answer.thinking_delta(opened.index, block.thinking)

    def _call_id(self, given: str) -> str:
        call_id, number = given or f"toolu_{uuid4().replace('-', '')}", 2
        while call_id in self._call_ids:
            call_id, number = f"{given}_{number}", number + 1
        self._call_ids.add(call_id)
        return call_id

    def grow(self, part: BlockDelta) -> UpdateEvent | None:
        """The event of a delta; None for one that shows nowhere, such as a signature."""
        block = self._blocks.get(part.index)
        if block is None:
            raise ProviderError(f"the server sent more of content block {part.index}, which never began")
        delta = part.delta
        if delta.type == "text_delta" and block.kind == "text":
            return self._answer.text_delta(block.index, delta.text)
        if delta.type == "input_json_delta" and block.kind == "tool":
            block.has_deltas = block.has_deltas or bool(delta.partial_json)
            return self._answer.toolcall_delta(block.index, delta.partial_json)
        if delta.type == "thinking_delta" and block.kind == "thinking":
            return self._answer.thinking_delta(block.index, delta.thinking)
        if delta.type == "signature_delta" and block.kind == "thinking":
            content = self._answer.block(block.index)
            assert isinstance(content, ThinkingContent)
            content.thinking_signature = (content.thinking_signature or "") + delta.signature
        return None

    def _close(self, part: BlockStop) -> Iterator[UpdateEvent]:
        block = self._blocks.pop(part.index, None)
        if block is None or block.kind == "ignored":
            return
        if block.kind == "tool" and block.start_input and not block.has_deltas:
            yield self._answer.toolcall_delta(block.index, _json.encode(block.start_input).decode())
        yield self._answer.end_block(block.index)

    def _change(self, part: MessageDelta, data: bytes) -> None:
        self._count(part.usage, data)
        self._note_transformations(part.input_transformations or part.delta.input_transformations)
        reason = part.delta.stop_reason
        if not reason:
            return
        self._stop_reason = reason
        self._answer.target.raw_stop_reason = reason
        if reason == "refusal":
            details = part.delta.stop_details
            explanation = details.explanation or details.category if details is not None else None
            raise AnswerRefusedError(f"the model refused to answer: {explanation or 'no explanation given'}")
        if reason == "sensitive":
            raise AnswerRefusedError("the answer was withheld because the server considers it sensitive")

    def _count(self, counts: WireUsage | None, data: bytes) -> None:
        if counts is None:
            return
        usage = self._answer.target.usage
        writes, output = counts.cache_creation, counts.output_tokens_details
        for name, value in (
            ("input", counts.input_tokens),
            ("output", counts.output_tokens),
            ("cache_read", counts.cache_read_input_tokens),
            ("cache_write", counts.cache_creation_input_tokens),
            ("cache_write_1h", None if writes is None else writes.ephemeral_1h_input_tokens),
            ("reasoning", None if output is None else output.thinking_tokens),
        ):
            if value is not None and _json.is_number(value) and value >= 0:
                setattr(usage, name, value)
        usage.total_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write
        self._price(data)

    def _price(self, data: bytes) -> None:
        target, model = self._answer.target, self._request.model
        answered_by = target.response_model or model.id
        fallback = next((other for other in self._request.compat.fallback_models if other.model == answered_by), None)
        if fallback is not None:
            target.usage.cost = token_cost(fallback.cost, target.usage)
        else:
            apply_cost(model, target.usage)
        if is_openrouter(model):
            value = _json.decode(data)
            raw = value.get("usage") or value.get("message", {}).get("usage")
            if isinstance(raw, dict):
                apply_reported_total(model, target.usage, raw)

    def _note_transformations(self, transformations: list[Any] | None) -> None:
        if not transformations:
            return
        add_diagnostic(self._answer, "anthropic_input_transformations", {"transformations": transformations})


def add_diagnostic(answer: LiveAnswer, kind: str, details: dict[str, Any]) -> None:
    """Record on the message something that happened on the way to it."""
    diagnostic = MessageDiagnostic(type=kind, timestamp=now_ms(), details=details)
    answer.target.diagnostics = [*(answer.target.diagnostics or ()), diagnostic]
