"""The chunks of a Mistral chat stream become the events of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET

from pinyon._util import json as _json
from pinyon.ai.apis.mistral_call import CallReader
from pinyon.ai.content import ToolCall
from pinyon.ai.cost import apply_cost
from pinyon.ai.event import Done, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.model import Model
from pinyon.ai.text_flow import TextFlow
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object, json_text
from pinyon.errors import ProviderError

FinishKind = Literal["stop", "length", "toolUse"]

_FINISH: Mapping[str, FinishKind] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "toolUse",
}


class AnswerReader:
    """Reads the chunks of one answer."""

    def __init__(self, answer: LiveAnswer, model: Model) -> None:
        self._answer = answer
        self._model = model
        self._flow = TextFlow(answer)
        self._calls = CallReader(answer)
        self.finish_reason = ""
        self.saw_chunk = False

    def take(self, value: Any) -> list[UpdateEvent]:
        """The events of a chunk. Raises `ProviderError` for an error that the server reports, and for no chunk."""
        if not isinstance(value, dict):
            raise ProviderError(f"the server sent an event that is no object: {_json.encode_clean(value).decode()!r}")
        if value.get("error") or value.get("object") == "error":
            raise ProviderError(_error_text(value))
        self._take_head(value)
        choices = value.get("choices")
        if not isinstance(choices, list) or not choices:
            return []
        self.saw_chunk = True
        choice = json_object(choices[0])
        reason = json_text(choice.get("finish_reason"))
        if reason:
            self.finish_reason = reason
            self._answer.target.raw_stop_reason = reason
        return self._take_delta(json_object(choice.get("delta") or choice.get("message")))

    def _take_head(self, chunk: Mapping[str, Any]) -> None:
        target = self._answer.target
        response_id, model_id = json_text(chunk.get("id")), json_text(chunk.get("model"))
        if response_id and target.response_id is UNSET:
            target.response_id = response_id
        if model_id and model_id != self._model.id and target.response_model is UNSET:
            target.response_model = model_id
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self.saw_chunk = True
            target.usage = apply_cost(self._model, read_usage(usage))

    def _take_delta(self, delta: Mapping[str, Any]) -> list[UpdateEvent]:
        content = delta.get("content")
        events: list[UpdateEvent] = []
        for part in content if isinstance(content, list) else [content]:
            events += self._take_part(part)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            events += [*self._flow.end(), *self._calls.take(json_object(call))]
        return events

    def _take_part(self, part: Any) -> list[UpdateEvent]:
        if isinstance(part, str):
            return self._flow.add(part, is_thinking=False)
        chunk = json_object(part)
        if chunk.get("type") == "thinking":
            text = _joined_text(chunk.get("thinking"))
            return self._flow.add(text, is_thinking=True, signature=json_text(chunk.get("signature")))
        return self._flow.add(json_text(chunk.get("text")), is_thinking=False)

    def finish_blocks(self) -> list[UpdateEvent]:
        """The events that the end of the stream brings, in content order."""
        return self._answer.end_open_blocks()

    def done(self) -> Done:
        """The final event. Raises `ProviderError` where the answer did not end well, or is none."""
        reason = self.finish_reason
        if not reason:
            raise ProviderError("the model's stream ended without finish_reason")
        if reason == "error":
            raise ProviderError("the model ended its answer with finish_reason 'error': a server error at the provider")
        kind = _FINISH.get(reason)
        if kind is None:
            raise ProviderError(f"the model ended its answer with finish_reason {reason!r}")
        # A call is a call, whatever the server says about it; an answer that was cut stays cut.
        has_calls = any(isinstance(block, ToolCall) for block in self._answer.target.content)
        return self._answer.done("toolUse" if kind == "stop" and has_calls else kind)


def _joined_text(value: Any) -> str:
    """The text of thinking, which is a list of text chunks or a plain text."""
    if isinstance(value, list):
        return "".join(json_text(item) or json_text(json_object(item).get("text")) for item in value)
    return json_text(value)


def _error_text(chunk: Mapping[str, Any]) -> str:
    """What an error in the stream says: its message with type and code, or the whole of it."""
    error = chunk.get("error") or chunk
    if isinstance(error, str):
        return error
    message = json_text(json_object(error).get("message"))
    if not message:
        return _json.encode_clean(error).decode()
    marks = (json_object(error).get(name) for name in ("type", "code"))
    named = ", ".join(str(mark) for mark in marks if isinstance(mark, str | int) and str(mark) not in message)
    return f"{message} ({named})" if named else message


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """Token counts from a usage object in any of the spellings that the API has had; prompt tokens include cached."""
    details = json_object(raw.get("prompt_tokens_details") or raw.get("prompt_token_details"))
    cached = json_count(
        details.get("cached_tokens"),
        raw.get("num_cached_tokens"),
        raw.get("cached_tokens"),
        raw.get("prompt_cached_tokens"),
    )
    fresh = max(0, json_count(raw.get("prompt_tokens")) - cached)
    output = json_count(raw.get("completion_tokens"))
    answer_details = json_object(raw.get("completion_tokens_details"))
    reasoning = json_count(answer_details.get("reasoning_tokens"), raw.get("reasoning_tokens"))
    return Usage(
        input=fresh,
        output=output,
        cache_read=cached,
        total_tokens=fresh + cached + output,
        reasoning=reasoning or UNSET,
    )
