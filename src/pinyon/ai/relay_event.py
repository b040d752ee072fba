"""Events of an answer as relays send them, and the message rebuilt from them.

A relay sends the events of `pinyon.ai.event` without the answer so far. Block starts name the call; block ends may
carry a signature, and the whole content; the last event carries reason, usage and ids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

from msgspec import UNSET

from pinyon._util.clock import now_ms
from pinyon._util.json import is_number
from pinyon._util.secret import redact, redact_json
from pinyon.ai.codec import usage_from_wire
from pinyon.ai.content import TextContent, ThinkingContent, ToolCall
from pinyon.ai.cost import apply_cost
from pinyon.ai.event import AssistantMessageEvent
from pinyon.ai.http_error import shortened
from pinyon.ai.live import LiveAnswer
from pinyon.ai.message import MessageDiagnostic
from pinyon.ai.model import Model
from pinyon.ai.usage import Usage
from pinyon.ai.wire_value import json_count, json_event, json_object, json_text
from pinyon.errors import ProviderError

DONE_REASONS = ("stop", "length", "toolUse", "deferred")


class RelayReader:
    """Turns the data of events into events and grows the answer by them."""

    def __init__(self, answer: LiveAnswer, model: Model) -> None:
        self._answer = answer
        self._model = model
        self.is_started = False
        """Whether the relay began an answer."""
        self.is_over = False
        """Whether the final event was read."""
        self.secrets: list[str] = []
        """Credentials that the relay may echo and that are left out of error texts."""
        self._handlers: dict[str, Callable[[dict[str, Any]], AssistantMessageEvent | None]] = {
            "start": self._start,
            "text_start": lambda event: self._begun(event, answer.text_start),
            "text_delta": lambda event: answer.text_delta(*self._grown(event, TextContent)),
            "text_end": self._end_text,
            "thinking_start": lambda event: self._begun(event, answer.thinking_start),
            "thinking_delta": lambda event: answer.thinking_delta(
                self._index(event, ThinkingContent), _text(event, "delta")
            ),
            "thinking_end": self._end_thinking,
            "toolcall_start": lambda event: self._begun(
                event, lambda: answer.toolcall_start(_text(event, "id"), _text(event, "toolName"))
            ),
            "toolcall_delta": lambda event: answer.toolcall_delta(*self._grown(event, ToolCall)),
            "toolcall_end": self._end_call,
            "done": self._done,
            "error": self._failed,
        }

    def decode(self, data: bytes) -> dict[str, Any]:
        """The object of an event. Raises `ProviderError` where it is none."""
        event = json_event(data)
        if not isinstance(event, dict):
            raise ProviderError("the relay sent an event that cannot be read: it is no object")
        return event

    def take(self, event: dict[str, Any]) -> AssistantMessageEvent | None:
        """What an event means; None for kinds that are not known. Raises `ProviderError` for one out of place."""
        try:
            handler = self._handlers.get(event["type"])
            return None if handler is None else handler(event)
        except (LookupError, TypeError, AttributeError) as error:
            raise ProviderError(f"the relay sent an event that cannot be read: {error}") from error

    def _start(self, _: dict[str, Any]) -> AssistantMessageEvent | None:
        if self.is_started:
            return None
        self.is_started = True
        return self._answer.start()

    def _begun(self, event: dict[str, Any], begin: Callable[[], AssistantMessageEvent]) -> AssistantMessageEvent:
        index, due = event["contentIndex"], len(self._answer.target.content)
        if index != due:
            raise ProviderError(f"the relay began content block {index!r} where block {due} was due")
        return begin()

    def _index(self, event: dict[str, Any], kind: type[object]) -> int:
        """The block that an event is about. Raises `ProviderError` where that is no block of the kind."""
        index = event["contentIndex"]
        if not isinstance(index, int) or not 0 <= index < len(self._answer.target.content):
            raise ProviderError(f"the relay sent {event['type']!r} for content block {index!r}, which never began")
        if not isinstance(self._answer.block(index), kind):
            raise ProviderError(f"the relay sent {event['type']!r} for content block {index}, which is of another kind")
        return index

    def _grown(self, event: dict[str, Any], kind: type[object]) -> tuple[int, str]:
        """The block that an event adds to, and what it adds."""
        return self._index(event, kind), _text(event, "delta")

    def _end_text(self, event: dict[str, Any]) -> AssistantMessageEvent:
        index = self._index(event, TextContent)
        block = self._answer.block(index)
        if isinstance(block, TextContent):
            block.text_signature = json_text(event.get("contentSignature")) or UNSET
        return self._answer.text_end(index, _whole(event))

    def _end_thinking(self, event: dict[str, Any]) -> AssistantMessageEvent:
        index = self._index(event, ThinkingContent)
        block = self._answer.block(index)
        if isinstance(block, ThinkingContent) and event.get("redacted") is True:
            block.redacted = True
        signature = json_text(event.get("contentSignature")) or UNSET
        return self._answer.thinking_end(index, _whole(event), signature=signature)

    def _end_call(self, event: dict[str, Any]) -> AssistantMessageEvent:
        index = self._index(event, ToolCall)
        block = self._answer.block(index)
        assert isinstance(block, ToolCall)
        whole = json_object(event.get("toolCall"))
        block.thought_signature = (
            json_text(event.get("contentSignature")) or json_text(whole.get("thoughtSignature")) or UNSET
        )
        block.namespace = json_text(whole.get("namespace")) or UNSET
        return self._answer.toolcall_end(index)

    def _done(self, event: dict[str, Any]) -> AssistantMessageEvent:
        self._take_totals(event)
        if event["reason"] not in DONE_REASONS:
            raise ProviderError(f"the relay ended the answer for a reason that is not known: {event['reason']!r}")
        return self._answer.done(cast("Literal['stop', 'length', 'toolUse', 'deferred']", event["reason"]))

    def _failed(self, event: dict[str, Any]) -> AssistantMessageEvent:
        self._take_totals(event)
        told = shortened(redact(json_text(event.get("errorMessage")), self.secrets))
        return self._answer.fail(told, aborted=event["reason"] == "aborted")

    def _take_totals(self, event: dict[str, Any]) -> None:
        self.is_over = True
        target = self._answer.target
        counts = json_object(event.get("usage"))
        target.usage = _usage(counts)
        if not counts.get("cost"):
            apply_cost(self._model, target.usage)
        target.provider_thinking_level = json_text(event.get("providerThinkingLevel")) or UNSET
        target.response_id = json_text(event.get("responseId")) or UNSET
        target.response_model = json_text(event.get("responseModel")) or UNSET
        rewrite = event.get("rewrite")
        if rewrite:
            details = redact_json(rewrite if isinstance(rewrite, dict) else {"rewrite": rewrite}, self.secrets)
            note = MessageDiagnostic("pi_messages_rewrite", now_ms(), details=details)
            target.diagnostics = [*(target.diagnostics or []), note]


def _usage(raw: dict[str, Any]) -> Usage:
    counts = {name: json_count(value) for name, value in raw.items() if is_number(value)}
    prices = json_object(raw.get("cost")).items()
    cost = {name: value for name, value in prices if isinstance(value, bool) or (is_number(value) and value >= 0)}
    return usage_from_wire({**counts, "cost": cost})


def _text(event: dict[str, Any], name: str) -> str:
    """A text that an event has to hold. Raises `ProviderError` where it holds none."""
    value = event[name]
    if not isinstance(value, str):
        raise ProviderError(f"the relay sent {event['type']!r} whose {name!r} is no text")
    return value


def _whole(event: dict[str, Any]) -> str | None:
    """The block's whole content, where the relay repeats it."""
    content = event.get("content")
    return content if isinstance(content, str) else None
