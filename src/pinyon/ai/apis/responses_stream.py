"""Builds an answer from the events of a Responses API stream.

Each output item of the response is a slot at its `output_index` and becomes one content block. Deltas grow the block,
the finished item replaces what was streamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon.ai.apis.responses_event import ResponseEvent, coded, error_text
from pinyon.ai.apis.responses_item import text_signature
from pinyon.ai.apis.responses_slot import CallSlot, item_text, new_call_id, thinking_text
from pinyon.ai.content import TextContent, ThinkingContent
from pinyon.ai.cost import apply_cost, apply_service_tier
from pinyon.ai.event import Done, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import MessageDiagnostic
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object
from pinyon.errors import ProviderError

SlotKind = Literal["thinking", "text", "call", "ignored"]

_KINDS: Mapping[str, SlotKind] = {
    "reasoning": "thinking",
    "message": "text",
    "function_call": "call",
    "custom_tool_call": "call",
}
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.done", "response.failed"})
_STATUS_OF_EVENT = {"response.incomplete": "incomplete", "response.failed": "failed"}
_LENGTH_REASON = "max_output_tokens"

PRIORITY_TIERS = frozenset({"priority", "fast"})
"""Service tiers that mean priority processing."""


class ResponseFailedError(ProviderError):
    """Raised when the server ended a response with a failure of its own."""


class _Slot(msgspec.Struct):
    kind: SlotKind
    index: int = -1
    item_id: str = ""
    has_text: bool = False
    is_done: bool = False
    call: CallSlot | None = None


class TierPolicy(msgspec.Struct, frozen=True):
    """How the service tier of a response decides its price.

    `names` are the tiers that count as priority. With `keeps_requested` a response that reports the default tier is
    priced by the tier that was asked for.
    """

    requested: str | None = None
    names: frozenset[str] = PRIORITY_TIERS
    keeps_requested: bool = False

    def priced(self, reported: Any) -> str | None:
        """The tier to price a response by."""
        if not isinstance(reported, str):
            return self.requested
        if self.keeps_requested and reported == "default" and self.requested in ("flex", *self.names):
            return self.requested
        return reported


class AnswerReader:
    """Takes the events of one response in order and gives the events that they mean.

    `sent_model` is what the request called the model.
    """

    def __init__(
        self, answer: LiveAnswer, model: Model, sent_model: str, grammar_inputs: Mapping[str, str], tier: TierPolicy
    ) -> None:
        self._answer = answer
        self._model = model
        self._sent_model = sent_model
        self._grammar_inputs = grammar_inputs
        self._tier = tier
        self._slots: dict[int, _Slot] = {}
        self._all: list[_Slot] = []
        self._call_ids: set[str] = set()
        self._status = ""
        self._incomplete_reason = ""
        self.is_started = False
        """Whether the server began an answer."""
        self.is_complete = False
        """Whether the event came that ends a response."""

    def take(self, event: ResponseEvent) -> Iterable[UpdateEvent]:
        """The updates of one event. Raises `ProviderError` for a failure that the server reports."""
        if event.type == "response.output_text.delta" and event.output_index is not None:  # the most frequent event
            slot = self._slots.get(event.output_index)
            if slot is not None and slot.has_text and slot.kind == "text" and not slot.is_done:
                return (self._answer.text_delta(slot.index, event.delta),) if event.delta else ()
        return self._take(event)

    def _take(self, event: ResponseEvent) -> Iterator[UpdateEvent]:
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._grow(event, "text")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._grow(event, "thinking")
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                yield from self._grow_call(event)
            case "response.reasoning_summary_part.done":
                yield from self._grow(ResponseEvent(output_index=event.output_index, delta="\n\n"), "thinking")
            case "response.function_call_arguments.done" | "response.custom_tool_call_input.done":
                self._keep_whole(event)
            case "response.output_item.added":
                yield from self._open(event)
            case "response.output_item.done":
                yield from self._finish_item(event)
            case "error":
                raise ResponseFailedError(error_text(event))
            case "response.created" | "response.in_progress" | "response.queued":
                self._note_response(event.response or {})
            case kind if kind in _TERMINAL:
                yield from self._end(event.response or {}, kind)
            case _:
                if event.error:
                    raise ResponseFailedError(error_text(event))

    def finish(self) -> Done:
        """The final event, after the stream has ended. Raises `ProviderError` unless the answer is whole and usable."""
        if not self.is_complete:
            raise ProviderError("the connection closed too early: stream ended before a terminal response event")
        if self._status == "incomplete":
            if self._incomplete_reason == _LENGTH_REASON:
                return self._answer.done("length")
            reason = self._incomplete_reason or "no reason given"
            raise ResponseFailedError(f"the response is incomplete: {reason}")
        if not any(slot.kind == "call" for slot in self._all):
            return self._answer.done("stop")
        unfinished = next((slot for slot in self._all if slot.kind == "call" and not slot.is_done), None)
        if unfinished is not None:
            raise ProviderError(f"the response ended with an unfinished tool call: {unfinished.item_id!r}")
        return self._answer.done("toolUse")

    # Items

    def _slot(self, event: ResponseEvent) -> _Slot | None:
        if event.output_index is not None:
            return self._slots.get(event.output_index)
        if event.item_id:
            return next((slot for slot in reversed(self._all) if slot.item_id == event.item_id), None)
        return self._all[-1] if self._all else None

    def _open(self, event: ResponseEvent) -> Iterator[UpdateEvent]:
        self.is_started = True
        item = event.item or {}
        slot = _Slot(_KINDS.get(str(item.get("type")), "ignored"), item_id=str(item.get("id") or ""))
        self._all.append(slot)
        self._slots[len(self._all) - 1 if event.output_index is None else event.output_index] = slot
        if slot.kind == "thinking":
            start: UpdateEvent = self._answer.thinking_start()
        elif slot.kind == "text":
            start = self._answer.text_start()
        elif slot.kind == "call":
            start = self._start_call(slot, item)
        else:
            return
        slot.index = start.content_index
        yield start
        if slot.call is not None and (first := slot.call.append(slot.call.text_of(item))):
            yield self._answer.toolcall_delta(slot.index, first)

    def _start_call(self, slot: _Slot, item: dict[str, Any]) -> UpdateEvent:
        name, is_custom = str(item.get("name") or ""), item.get("type") == "custom_tool_call"
        slot.call = CallSlot(self._grammar_inputs.get(name, "input") if is_custom else None)
        call_id = self._claimed(str(item.get("call_id") or ""))
        namespace = item.get("namespace")
        fields = {"namespace": namespace} if isinstance(namespace, str) and namespace else {}
        whole_id = f"{call_id}|{slot.item_id}" if slot.item_id else call_id
        return self._answer.toolcall_start(whole_id, name, **fields)

    def _claimed(self, given: str) -> str:
        call_id, number = given or new_call_id(), 2
        while call_id in self._call_ids:
            call_id, number = f"{given}_{number}", number + 1
        self._call_ids.add(call_id)
        return call_id

    def _grow(self, event: ResponseEvent, kind: SlotKind) -> Iterator[UpdateEvent]:
        slot = self._slot(event)
        if slot is None:
            item_type = "message" if kind == "text" else "reasoning"
            opening = ResponseEvent(output_index=event.output_index, item={"type": item_type, "id": event.item_id})
            yield from self._open(opening)
            slot = self._all[-1]
        if slot.kind != kind or slot.is_done or not event.delta:
            return
        slot.has_text = True
        if kind == "text":
            yield self._answer.text_delta(slot.index, event.delta)
        else:
            yield self._answer.thinking_delta(slot.index, event.delta)

    def _grow_call(self, event: ResponseEvent) -> Iterator[UpdateEvent]:
        slot = self._slot(event)
        if slot is not None and slot.call is not None and not slot.is_done:
            yield self._answer.toolcall_delta(slot.index, slot.call.append(event.delta or ""))

    def _keep_whole(self, event: ResponseEvent) -> None:
        slot = self._slot(event)
        if slot is not None and slot.call is not None:
            slot.call.whole = event.arguments if event.input is None else event.input

    def _finish_item(self, event: ResponseEvent) -> Iterator[UpdateEvent]:
        slot, item = self._slot(event), event.item or {}
        if slot is None or (item.get("id") and slot.item_id and item["id"] != slot.item_id and slot.is_done):
            yield from self._open(msgspec.structs.replace(event, item=_without_call_text(item)))
            slot = self._all[-1]
        if slot.is_done or slot.kind == "ignored":
            return
        slot.item_id = slot.item_id or str(item.get("id") or "")
        yield from self._closed(slot, item)

    def _closed(self, slot: _Slot, item: dict[str, Any]) -> Iterator[UpdateEvent]:
        slot.is_done = True
        answer = self._answer
        if slot.kind == "thinking":
            text = thinking_text(item) or None
            if text and not slot.has_text:
                yield answer.thinking_delta(slot.index, text)
            yield answer.thinking_end(slot.index, text, signature=_json.encode_clean(item).decode())
        elif slot.kind == "text":
            text = item_text(item)
            if text and not slot.has_text:
                yield answer.text_delta(slot.index, text)
            self._sign_text(slot, item)
            yield answer.text_end(slot.index, text)
        elif slot.call is not None:
            rest, arguments = slot.call.close(item)
            if rest:
                yield answer.toolcall_delta(slot.index, rest)
            yield answer.toolcall_end(slot.index, arguments)

    def _sign_text(self, slot: _Slot, item: dict[str, Any]) -> None:
        block, phase = self._answer.block(slot.index), item.get("phase")
        assert isinstance(block, TextContent)
        if slot.item_id:
            block.text_signature = text_signature(slot.item_id, phase if isinstance(phase, str) else None)
        if phase == "final_answer":
            self._answer.target.stop_reason = "stop"

    # The response as a whole

    def _note_response(self, response: dict[str, Any]) -> None:
        self.is_started = True
        target = self._answer.target
        response_id, model = response.get("id"), response.get("model")
        if isinstance(response_id, str) and response_id:
            target.response_id = response_id
        if isinstance(model, str) and model and model not in (self._model.id, self._sent_model):
            target.response_model = model

    def _end(self, response: dict[str, Any], kind: str) -> Iterator[UpdateEvent]:
        self._note_response(response)
        yield from self._close_from_output(response.get("output"))
        self._take_usage(response)
        self._note_transformations(response.get("input_transformations"))
        self._note_status(response, _STATUS_OF_EVENT.get(kind, "completed"))
        self.is_complete = True
        if self._status in ("failed", "cancelled"):
            raise ResponseFailedError(_failure_text(response, self._status))
        yield from self._close_rest()

    def _close_rest(self) -> Iterator[UpdateEvent]:
        """End the blocks whose item was never told to be done; a call only where the answer was cut."""
        for slot in self._all:
            is_awaited_call = slot.kind == "call" and self._status != "incomplete"
            if not slot.is_done and slot.kind != "ignored" and not is_awaited_call:
                slot.is_done = True
                yield self._answer.end_block(slot.index)

    def _note_status(self, response: dict[str, Any], default: str) -> None:
        target = self._answer.target
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        self._status = str(response.get("status") or ("failed" if response.get("error") else default))
        self._incomplete_reason = str(reason or "")
        target.raw_stop_reason = f"{self._status}.{reason}" if reason else self._status
        end_turn = response.get("end_turn")
        if isinstance(end_turn, bool):
            target.end_turn = end_turn

    def _close_from_output(self, output: Any) -> Iterator[UpdateEvent]:
        """Finish texts and reasoning whose item was never told to be done, and fill in late encrypted reasoning."""
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        by_id = {str(item.get("id")): item for item in items if item.get("id")}
        if not self._all:
            for number, item in enumerate(items):
                yield from self._finish_item(ResponseEvent(output_index=number, item=item))
        for slot in self._all:
            whole = by_id.get(slot.item_id)
            if whole is None:
                continue
            if not slot.is_done and slot.kind in ("thinking", "text"):
                yield from self._closed(slot, whole)
            elif slot.kind == "thinking":
                self._add_encrypted(slot, whole.get("encrypted_content"))

    def _add_encrypted(self, slot: _Slot, encrypted: Any) -> None:
        block = self._answer.block(slot.index)
        assert isinstance(block, ThinkingContent)
        if not isinstance(encrypted, str) or not encrypted or not block.thinking_signature:
            return
        stored = _json.decode(block.thinking_signature)
        if not stored.get("encrypted_content"):
            block.thinking_signature = _json.encode_clean(stored | {"encrypted_content": encrypted}).decode()

    def _take_usage(self, response: dict[str, Any]) -> None:
        raw = response.get("usage")
        if not isinstance(raw, dict):
            return
        usage = apply_cost(self._model, read_usage(raw))
        apply_service_tier(self._model, usage, self._tier.priced(response.get("service_tier")), self._tier.names)
        self._answer.target.usage = usage

    def _note_transformations(self, value: Any) -> None:
        """Record reasoning that the server left out of the input, except what it always leaves out."""
        found = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
        told = [
            entry
            for entry in found
            if entry.get("type") == "reasoning"
            and entry.get("action") == "removed"
            and entry.get("reason") != "turn_boundary"
        ]
        if told:
            add_diagnostic(self._answer, "openai_input_transformations", {"transformations": told})


def _without_call_text(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("arguments", "input")}


def _failure_text(response: dict[str, Any], status: str) -> str:
    error = response.get("error")
    if isinstance(error, dict) and error.get("message"):
        return coded(error.get("code"), error["message"])
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return f"the response is {status}: {reason or 'the server gave no reason'}"


def read_usage(raw: dict[str, Any]) -> Usage:
    """Usage from the object of the API, whose input count includes what was read from and written to the cache."""
    inputs, outputs = json_object(raw.get("input_tokens_details")), json_object(raw.get("output_tokens_details"))
    cache_read, cache_write = json_count(inputs.get("cached_tokens")), json_count(inputs.get("cache_write_tokens"))
    fresh = max(0, json_count(raw.get("input_tokens")) - cache_read - cache_write)
    output = json_count(raw.get("output_tokens"))
    usage = Usage(input=fresh, output=output, cache_read=cache_read, cache_write=cache_write)
    usage.total_tokens = json_count(raw.get("total_tokens")) or fresh + cache_read + cache_write + output
    usage.reasoning = json_count(outputs.get("reasoning_tokens")) if "reasoning_tokens" in outputs else UNSET
    return usage


def add_diagnostic(answer: LiveAnswer, kind: str, details: dict[str, Any]) -> None:
    """Record on the message something that happened on the way to it."""
    diagnostic = MessageDiagnostic(type=kind, timestamp=now_ms(), details=details)
    answer.target.diagnostics = [*(answer.target.diagnostics or ()), diagnostic]
