"""Which call a fragment of a streamed tool call belongs to.

Servers number fragments, name the call's id, or both, or neither. A number counts first, then the id; a fragment with
neither goes on with the last call, unless it begins one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pinyon._util import json as _json
from pinyon.ai.apis.openai_chunk import CallDelta
from pinyon.ai.content import ToolCall
from pinyon.ai.event import ToolCallStart, UpdateEvent
from pinyon.ai.live import LiveAnswer
from pinyon.ai.strict_schema import GrammarInput


def new_call_id() -> str:
    """A random id for a call that the server gave none."""
    return f"call_{os.urandom(12).hex()}"


class _Call:
    """A call in the making, with the text of its arguments in the pieces it came in."""

    __slots__ = ("block", "content_index", "grammar", "pieces", "wire_id")

    def __init__(self, block: ToolCall, content_index: int, wire_id: str, grammar: GrammarInput | None) -> None:
        self.block = block
        self.content_index = content_index
        self.wire_id = wire_id
        self.grammar = grammar
        self.pieces: list[str] = []

    def is_whole(self) -> bool:
        """Whether the arguments so far are a complete object, so that a name after them begins another call."""
        try:
            return isinstance(_json.decode("".join(self.pieces)), dict)
        except _json.JsonError:
            return False


class CallAssembler:
    """Opens and grows the tool calls of one answer.

    Ids are unique within the answer and never empty; `grammar_inputs` maps custom tools to the argument that holds
    their text.
    """

    def __init__(
        self, answer: LiveAnswer, grammar_inputs: Mapping[str, str], new_id: Callable[[], str] = new_call_id
    ) -> None:
        self._answer = answer
        self._grammar_inputs = grammar_inputs
        self._new_id = new_id
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_key: dict[tuple[int | None, str], _Call] = {}
        self._ids: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """Whether any call has begun."""
        return bool(self._calls)

    def take(self, delta: CallDelta) -> list[UpdateEvent]:
        """The events for a fragment: perhaps a start, then a delta, which may be empty."""
        part = delta.custom or delta.function
        name = (part.name if part is not None else None) or ""
        call = self._find(delta, name)
        events: list[UpdateEvent] = []
        if call is None:
            call, start = self._open(delta, name)
            events.append(start)
        self._learn(call, delta, name)
        text = self._fragment(call, delta)
        events.append(self._answer.toolcall_delta(call.content_index, text))
        return events

    def finish(self) -> list[UpdateEvent]:
        """The last fragments of free texts; the blocks stay open."""
        unfinished = [(call, call.grammar) for call in self._calls if call.grammar is not None]
        return [self._answer.toolcall_delta(call.content_index, grammar.close()) for call, grammar in unfinished]

    def _find(self, delta: CallDelta, name: str) -> _Call | None:
        candidate = self._by_key.get((delta.index, delta.id)) if delta.id else None
        if candidate is None and delta.index is not None:
            candidate = self._by_index.get(delta.index)
        elif candidate is None and not delta.id:
            candidate = self._calls[-1] if self._calls else None
        return None if candidate is None or _begins_another(candidate, delta.id or "", name) else candidate

    def _open(self, delta: CallDelta, name: str) -> tuple[_Call, ToolCallStart]:
        wire_id = delta.id or ""
        call_id = wire_id if wire_id and wire_id not in self._ids else self._new_id()
        self._ids.add(call_id)
        start = self._answer.toolcall_start(call_id, name)
        block = self._answer.block(start.content_index)
        assert isinstance(block, ToolCall)
        grammar = GrammarInput(self._grammar_inputs.get(name, "input")) if delta.custom is not None else None
        call = _Call(block, start.content_index, "", grammar)
        self._calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        return call, start

    def _learn(self, call: _Call, delta: CallDelta, name: str) -> None:
        if name and not call.block.name:
            call.block.name = name
        if delta.id and not call.wire_id:
            call.wire_id = delta.id
            self._by_key[delta.index, delta.id] = call
            self._by_key[None, delta.id] = call  # for later fragments without a number

    def _fragment(self, call: _Call, delta: CallDelta) -> str:
        if call.grammar is not None:
            text = delta.custom.input if delta.custom is not None else None
            return call.grammar.append(text or "")
        text = (delta.function.arguments if delta.function is not None else None) or ""
        if text:
            call.pieces.append(text)
        return text


def _begins_another(call: _Call, wire_id: str, name: str) -> bool:
    """Whether a fragment that seems to go on with `call` opens a new one after all; only one with a name can."""
    if not name or (wire_id and call.wire_id and wire_id != call.wire_id):
        return bool(name)
    if call.block.name and name != call.block.name:
        return True
    # A server that repeats the id may repeat the name with it.
    return not (wire_id and call.wire_id) and bool(call.block.name) and call.is_whole()
