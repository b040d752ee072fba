"""The chunks of a chat-completions stream become the events of an answer.

An answer has at most one thinking and one text block; they and the tool calls stay open until the stream ends, and are
then closed in content order, before anything is said about how the answer ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import UNSET

from pinyon._util import json as _json
from pinyon.ai.apis.openai_call import CallAssembler, new_call_id
from pinyon.ai.apis.openai_chunk import CallDelta, Chunk, Delta, error_message
from pinyon.ai.apis.openai_json_call import JsonCallReader
from pinyon.ai.apis.openai_message import REASONING_FIELDS
from pinyon.ai.apis.openai_payload import CompletionsRequest
from pinyon.ai.content import ThinkingContent, ToolCall
from pinyon.ai.cost import apply_cost, apply_reported_total
from pinyon.ai.event import Done, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object
from pinyon.errors import ProviderError

FinishKind = Literal["stop", "length", "toolUse"]

_FINISH: Mapping[str, FinishKind] = {
    "stop": "stop",
    "end": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
}


class _ContentReader(Protocol):
    """Where the text of an answer goes."""

    def take(self, text: str) -> list[UpdateEvent]: ...

    def finish(self) -> list[UpdateEvent]: ...


class _TextReader:
    """Text that is shown as it comes, in one block."""

    def __init__(self, answer: LiveAnswer) -> None:
        self._answer = answer
        self._index: int | None = None

    def take(self, text: str) -> list[UpdateEvent]:
        """A delta, with a start before the first one."""
        if self._index is not None:
            return [self._answer.text_delta(self._index, text)]
        start = self._answer.text_start()
        self._index = start.content_index
        return [start, self._answer.text_delta(self._index, text)]

    def finish(self) -> list[UpdateEvent]:
        """Nothing is held back."""
        return []


class AnswerReader:
    """Reads the chunks of one answer."""

    def __init__(
        self,
        answer: LiveAnswer,
        request: CompletionsRequest,
        tool_names: list[str],
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self._answer = answer
        self._request = request
        self._model_id = request.model.id
        self._calls = CallAssembler(answer, request.grammar_inputs, new_id)
        self._content: _ContentReader = (
            JsonCallReader(answer, tool_names, new_id) if request.calls_by_json else _TextReader(answer)
        )
        self._thinking: int | None = None
        self._details: list[dict[str, Any]] = []
        self.finish_reason: str | None = None
        self.saw_chunk = False
        self.is_complete = False
        """Whether the chunk came that ends a stream by the protocol: the usage alone, after the finish reason."""

    def take(self, chunk: Chunk) -> list[UpdateEvent]:
        """The events of a chunk. Raises `ProviderError` for an error that the server reports."""
        if chunk.error:
            raise ProviderError(error_message(chunk.error))
        self.saw_chunk = self.saw_chunk or chunk.choices is not None or chunk.usage is not None
        self._take_names(chunk)
        if chunk.usage is not None:
            self._take_usage(chunk.usage)
        if not chunk.choices:
            self.is_complete = chunk.usage is not None and self.finish_reason is not None
            return []
        choice = chunk.choices[0]
        if choice.usage is not None and chunk.usage is None:
            self._take_usage(choice.usage)
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason
            self._answer.target.raw_stop_reason = choice.finish_reason
        delta = choice.delta or choice.message
        return [] if delta is None else self._take_delta(delta)

    def _take_names(self, chunk: Chunk) -> None:
        target = self._answer.target
        if chunk.id and target.response_id is UNSET:
            target.response_id = chunk.id
        if chunk.model != self._model_id and chunk.model and target.response_model is UNSET:
            target.response_model = chunk.model

    def _take_delta(self, delta: Delta) -> list[UpdateEvent]:
        events: list[UpdateEvent] = []
        if delta.reasoning_content or delta.reasoning or delta.reasoning_text:
            events += self._take_thinking(delta)
        if delta.reasoning_details:
            events += self._take_details(delta.reasoning_details)
        text = delta.content or delta.refusal
        if text:
            events += self._content.take(text)
        if delta.tool_calls:
            for call in delta.tool_calls:
                events += self._calls.take(call)
        if delta.function_call is not None:
            events += self._calls.take(CallDelta(function=delta.function_call))
        return events

    def _take_thinking(self, delta: Delta) -> list[UpdateEvent]:
        """Thinking from the first field that holds any."""
        texts = (delta.reasoning_content, delta.reasoning, delta.reasoning_text)
        field, text = next((name, text) for name, text in zip(REASONING_FIELDS, texts, strict=True) if text)
        if self._thinking is not None:
            return [self._answer.thinking_delta(self._thinking, text)]
        start = self._answer.thinking_start(signature=field)
        self._thinking = start.content_index
        return [start, self._answer.thinking_delta(self._thinking, text)]

    def _take_details(self, details: list[dict[str, Any]]) -> list[UpdateEvent]:
        for detail in details:
            _merge_detail(self._details, detail)
        if self._thinking is not None:
            return []
        start = self._answer.thinking_start()
        self._thinking = start.content_index
        return [start]

    def _take_usage(self, raw: dict[str, Any]) -> None:
        usage = read_usage(raw)
        apply_cost(self._request.model, usage)
        apply_reported_total(self._request.model, usage, raw)
        self._answer.target.usage = usage

    def finish_blocks(self) -> list[UpdateEvent]:
        """The events that the end of the stream brings, with all blocks closed in content order."""
        events = [*self._content.finish(), *self._calls.finish()]
        if self._details and self._thinking is not None:
            block = self._answer.block(self._thinking)
            assert isinstance(block, ThinkingContent)
            block.thinking_signature = _json.encode_clean(self._details).decode()
        return events + self._answer.end_open_blocks()

    def done(self) -> Done:
        """The final event. Raises `ProviderError` where the answer did not end well, or is none."""
        reason = self.finish_reason
        has_calls = any(isinstance(block, ToolCall) for block in self._answer.target.content)
        if reason is None:
            if self._request.compat.supports_finish_reason:
                raise ProviderError("the model's stream ended without finish_reason")
            return self._answer.done("toolUse" if has_calls else "stop")
        kind = _FINISH.get(reason)
        if kind is None:
            raise ProviderError(f"the model ended its answer with finish_reason {reason!r}")
        # A call is a call, whatever the server says about it; an answer that was cut stays cut.
        return self._answer.done("toolUse" if kind == "stop" and has_calls else kind)


def _merge_detail(details: list[dict[str, Any]], detail: dict[str, Any]) -> None:
    """Append a reasoning item, or a piece of the last one, whose text or summary goes on."""
    last = details[-1] if details else None
    field = {"reasoning.text": "text", "reasoning.summary": "summary"}.get(str(detail.get("type")))
    if last is None or field is None or not _continues(last, detail):
        details.append(dict(detail))
        return
    joined = f"{last.get(field) or ''}{detail.get(field) or ''}"
    last.update({name: value for name, value in detail.items() if value is not None})
    last[field] = joined


def _continues(last: dict[str, Any], detail: dict[str, Any]) -> bool:
    if last.get("type") != detail.get("type"):
        return False
    pairs = ((last.get(name), detail.get(name)) for name in ("index", "id"))
    return all(a is None or b is None or a == b for a, b in pairs)


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """Token counts from a usage object in any of the spellings that servers have.

    Prompt tokens include those read from and written to the cache, completion tokens include reasoning.
    """
    prompt_details = json_object(raw.get("prompt_tokens_details"))
    cached = json_count(
        prompt_details.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"), raw.get("cached_tokens")
    )
    written = json_count(prompt_details.get("cache_write_tokens"))
    reasoning = json_count(json_object(raw.get("completion_tokens_details")).get("reasoning_tokens"))
    fresh = max(0, json_count(raw.get("prompt_tokens")) - cached - written)
    output = json_count(raw.get("completion_tokens"))
    return Usage(
        input=fresh,
        output=output,
        cache_read=cached,
        cache_write=written,
        total_tokens=fresh + output + cached + written,
        reasoning=reasoning or json_count(raw.get("reasoning_tokens")),
    )
