"""Builds an answer from the events of a Bedrock Converse stream."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon._util.ids import uuid4
from pinyon.ai.content import ThinkingContent
from pinyon.ai.cost import apply_cost
from pinyon.ai.event import AssistantMessageEvent, Done
from pinyon.ai.live import LiveAnswer
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object, json_text
from pinyon.errors import ProviderError

REDACTED = "[encrypted thinking]"

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
}


class _Block(msgspec.Struct):
    """A content block of the stream: its index in the message and what it is."""

    index: int
    kind: str
    redacted: bytes = b""


class AnswerReader:
    """Takes the events of a stream in order and gives those that they mean. Raises `ProviderError` for odd ones."""

    def __init__(self, answer: LiveAnswer, model: Model) -> None:
        self._answer = answer
        self._model = model
        self._blocks: dict[int, _Block] = {}
        self._call_ids: set[str] = set()
        self._stop_reason = ""
        self._handlers: dict[str, Callable[[dict[str, Any]], Iterator[AssistantMessageEvent]]] = {
            "messageStart": self._begin,
            "contentBlockStart": self._open,
            "contentBlockDelta": self._grow,
            "contentBlockStop": self._close,
            "messageStop": self._stop,
            "metadata": self._count,
        }
        self.is_started = False
        """Whether the server began an answer."""

    def take(self, kind: str, payload: bytes) -> Iterator[AssistantMessageEvent]:
        """The events that one event of the stream means; none for kinds that are not known."""
        handler = self._handlers.get(kind)
        if handler is None:
            return
        event = decode_payload(kind, payload)
        try:
            yield from handler(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise ProviderError(f"the server sent the event {kind!r} without {error}") from error

    def finish(self) -> Done:
        """The final event, after the stream has ended. Raises `ProviderError` unless the answer is whole and usable."""
        if not self._stop_reason:
            raise ProviderError("the stream ended without messageStop")
        self._answer.target.raw_stop_reason = self._stop_reason
        reason = _STOPS.get(self._stop_reason)
        if reason is None:
            raise ProviderError(f"the model stopped without a usable answer: {self._stop_reason!r}")
        if reason == "length":
            return self._answer.done("length")
        return self._answer.done("toolUse" if reason == "toolUse" or self._call_ids else "stop")

    def _begin(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        if event["role"] != "assistant":
            raise ProviderError(f"the server answered in the role {event['role']!r}")
        if not self.is_started:
            self.is_started = True
            yield self._answer.start()

    def _open(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        start = event.get("start") or {}
        if "toolUse" not in start:
            return  # texts and thinking have no start of their own; other kinds of blocks are not for us
        call = start["toolUse"]
        opened = self._answer.toolcall_start(self._call_id(json_text(call.get("toolUseId"))), json_text(call["name"]))
        self._blocks[event["contentBlockIndex"]] = _Block(opened.content_index, "tool")
        yield opened

    def _call_id(self, given: str) -> str:
        call_id, number = given or f"tooluse_{uuid4().replace('-', '')}", 2
        while call_id in self._call_ids:
            call_id, number = f"{given}_{number}", number + 1
        self._call_ids.add(call_id)
        return call_id

    def _grow(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        delta, at = event["delta"], event["contentBlockIndex"]
        if "text" in delta:
            block = self._blocks.get(at)
            if block is None:
                opened = self._answer.text_start()
                block = self._blocks[at] = _Block(opened.content_index, "text")
                yield opened
            yield self._answer.text_delta(_as(block, "text", at).index, delta["text"])
        elif "toolUse" in delta:
            block = _as(self._blocks.get(at), "tool", at)
            yield self._answer.toolcall_delta(block.index, delta["toolUse"]["input"])
        elif "reasoningContent" in delta:
            yield from self._think(at, delta["reasoningContent"])

    def _think(self, at: int, delta: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        block = self._blocks.get(at)
        if block is None:
            opened = self._answer.thinking_start(redacted=bool(delta.get("redactedContent")))
            block = self._blocks[at] = _Block(opened.content_index, "thinking")
            yield opened
        target = self._answer.block(_as(block, "thinking", at).index)
        assert isinstance(target, ThinkingContent)
        if delta.get("text"):
            yield self._answer.thinking_delta(block.index, delta["text"])
        if delta.get("signature"):
            target.thinking_signature = (target.thinking_signature or "") + delta["signature"]
        if delta.get("redactedContent"):
            is_first = not block.redacted
            block.redacted += _bytes(delta["redactedContent"])
            target.redacted = True
            target.thinking_signature = base64.b64encode(block.redacted).decode()
            if is_first:
                yield self._answer.thinking_delta(block.index, REDACTED)

    def _close(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        block = self._blocks.pop(event["contentBlockIndex"], None)
        if block is not None:
            yield self._answer.end_block(block.index)

    def _stop(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        self._stop_reason = json_text(event["stopReason"])
        yield from self._answer.end_open_blocks()
        self._blocks.clear()

    def _count(self, event: dict[str, Any]) -> Iterator[AssistantMessageEvent]:
        counts = json_object(event.get("usage"))
        usage = Usage(
            input=json_count(counts.get("inputTokens")),
            output=json_count(counts.get("outputTokens")),
            cache_read=json_count(counts.get("cacheReadInputTokens")),
            cache_write=json_count(counts.get("cacheWriteInputTokens")),
        )
        details = counts.get("cacheDetails") or ()
        long_writes = sum(json_count(detail.get("inputTokens")) for detail in details if detail.get("ttl") == "1h")
        usage.cache_write_1h = min(long_writes, usage.cache_write)
        parts = usage.input + usage.output + usage.cache_read + usage.cache_write
        usage.total_tokens = json_count(counts.get("totalTokens")) or parts
        self._answer.target.usage = apply_cost(self._model, usage)
        invoked = ((event.get("trace") or {}).get("promptRouter") or {}).get("invokedModelId")
        if isinstance(invoked, str) and invoked != self._model.id:
            self._answer.target.response_model = invoked
        yield from ()


def decode_payload(kind: str, payload: bytes) -> dict[str, Any]:
    """The JSON object of an event. Raises `ProviderError` where it is none."""
    try:
        event = _json.decode(payload)
    except _json.JsonError as error:
        raise ProviderError(f"the server sent an event {kind!r} that is no JSON: {error}") from error
    if not isinstance(event, dict):
        raise ProviderError(f"the server sent an event {kind!r} that is no object")
    return event


def _as(block: _Block | None, kind: str, at: int) -> _Block:
    if block is None or block.kind != kind:
        raise ProviderError(f"the server sent more of content block {at} than it had begun")
    return block


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ProviderError(f"the server sent encrypted thinking that is no base64: {error}") from error
