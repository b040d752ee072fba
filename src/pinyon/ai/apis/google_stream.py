"""The chunks of a `streamGenerateContent` response become the events of an answer.

Text and thoughts arrive as parts that continue the block of their kind; a function call arrives whole. Whatever a
server leaves out or spells otherwise counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import UNSET

from pinyon._util import json as _json
from pinyon._util.clock import now_ms
from pinyon.ai.content import ToolCall
from pinyon.ai.cost import apply_cost
from pinyon.ai.event import Done, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.model import Model
from pinyon.ai.text_flow import TextFlow
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_object, json_text
from pinyon.errors import ProviderError

FinishKind = Literal["stop", "length"]

_FINISH: Mapping[str, FinishKind] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}


class AnswerReader:
    """Reads the chunks of one answer."""

    def __init__(self, answer: LiveAnswer, model: Model, clock_ms: Callable[[], int] = now_ms) -> None:
        self._answer = answer
        self._model = model
        self._clock_ms = clock_ms
        self._flow = TextFlow(answer)
        self._ids: set[str] = set()
        self._finish_message = ""
        self._block_reason = ""
        self.finish_reason = ""
        self.saw_chunk = False

    def take(self, value: Any) -> list[UpdateEvent]:
        """The events of a chunk, or of all chunks where the server sends a list. Raises `ProviderError` for an error
        that the server reports.
        """
        if isinstance(value, list):
            return [event for item in value for event in self.take(item)]
        chunk = json_object(value)
        if chunk.get("error"):
            raise ProviderError(_json.encode_clean({"error": chunk["error"]}).decode())
        self._take_head(chunk)
        candidates = chunk.get("candidates")
        if not isinstance(candidates, list) or not candidates:
            return []
        self.saw_chunk = True
        return self._take_candidate(json_object(candidates[0]))

    def _take_head(self, chunk: Mapping[str, Any]) -> None:
        target = self._answer.target
        response_id, version = json_text(chunk.get("responseId")), json_text(chunk.get("modelVersion"))
        if response_id and target.response_id is UNSET:
            target.response_id = response_id
        if version and version != self._model.id and target.response_model is UNSET:
            target.response_model = version
        usage = chunk.get("usageMetadata") or chunk.get("usage_metadata")
        if isinstance(usage, dict):
            self.saw_chunk = True
            target.usage = apply_cost(self._model, read_usage(usage))
        feedback = json_object(chunk.get("promptFeedback"))
        if feedback.get("blockReason"):
            self.saw_chunk = True
            self._block_reason = json_text(feedback["blockReason"])
            self._finish_message = json_text(feedback.get("blockReasonMessage"))

    def _take_candidate(self, candidate: Mapping[str, Any]) -> list[UpdateEvent]:
        events: list[UpdateEvent] = []
        parts = json_object(candidate.get("content")).get("parts")
        for part in parts if isinstance(parts, list) else ():
            events += self._take_part(json_object(part))
        reason = json_text(candidate.get("finishReason"))
        if reason:
            self.finish_reason = reason
            self._answer.target.raw_stop_reason = reason
            self._finish_message = json_text(candidate.get("finishMessage"))
        return events

    def _take_part(self, part: Mapping[str, Any]) -> list[UpdateEvent]:
        signature = json_text(part.get("thoughtSignature"))
        call = part.get("functionCall")
        if isinstance(call, dict):
            return [*self._flow.end(), *self._call(call, signature)]
        if "text" in part or signature:
            is_thinking = part.get("thought") is True
            return self._flow.add(json_text(part.get("text")), is_thinking=is_thinking, signature=signature)
        return []  # code that the server ran and images that it made: nothing that a message could hold

    def _call(self, call: Mapping[str, Any], signature: str) -> list[UpdateEvent]:
        name, arguments = json_text(call.get("name")), call.get("args")
        start = self._answer.toolcall_start(
            self._call_id(json_text(call.get("id")), name), name, thought_signature=signature or UNSET
        )
        if not isinstance(arguments, str):
            arguments = _json.encode_clean({} if arguments is None else arguments).decode()
        index = start.content_index
        return [start, self._answer.toolcall_delta(index, arguments), self._answer.toolcall_end(index)]

    def _call_id(self, given: str, name: str) -> str:
        """The id of the server if it is a new one, else one of our own."""
        if not given or given in self._ids:
            given = f"{name}_{self._clock_ms()}_{len(self._ids) + 1}"
        self._ids.add(given)
        return given

    def finish_blocks(self) -> list[UpdateEvent]:
        """The events that the end of the stream brings."""
        return self._flow.end()

    def done(self) -> Done:
        """The final event. Raises `ProviderError` where the answer did not end well, or is none."""
        reason = self.finish_reason
        told = f": {self._finish_message}" if self._finish_message else ""
        if not reason:
            if self._block_reason:
                raise ProviderError(f"the server blocked the prompt with blockReason {self._block_reason!r}{told}")
            raise ProviderError("the model's stream ended without finishReason")
        kind = _FINISH.get(reason)
        if kind is None:
            raise ProviderError(f"the model ended its answer with finishReason {reason!r}{told}")
        has_calls = any(isinstance(block, ToolCall) for block in self._answer.target.content)
        return self._answer.done("toolUse" if kind == "stop" and has_calls else kind)


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """Token counts from a usage object, in camelCase or snake_case.

    Prompt tokens include cached ones; thoughts are counted beside the answer's tokens.
    """

    def count(*names: str) -> int:
        return json_count(*(raw.get(name) for name in names))

    prompt = count("promptTokenCount", "prompt_token_count") + count(
        "toolUsePromptTokenCount", "tool_use_prompt_token_count"
    )
    cached = count("cachedContentTokenCount", "cached_content_token_count")
    thoughts = count("thoughtsTokenCount", "thoughts_token_count")
    answer = count("candidatesTokenCount", "candidates_token_count", "responseTokenCount", "response_token_count")
    fresh, output = max(0, prompt - cached), answer + thoughts
    total = count("totalTokenCount", "total_token_count")
    return Usage(
        input=fresh,
        output=output,
        cache_read=cached,
        total_tokens=total or fresh + cached + output,
        reasoning=thoughts,
    )
