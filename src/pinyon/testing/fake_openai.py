"""Scripted answers of the chat-completions API for `FakeServer`, chunk by chunk as servers send them.

::

    look = openai_answer(reasoning="Let me look.", calls=[call("ls", {"path": "."})])
    with FakeServer([look, openai_answer("Done.")]) as server:
        ...  # a model whose base URL is server.url + "/v1"

`strict_reply` answers like a back end that refuses conversations with broken call and result pairs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply

_numbers = itertools.count(1)

CallStyle = Literal["index", "no-index", "index-0"]
"""How deltas of tool calls are told apart: by index, by id alone, or by id with index 0 for all."""


class WireCall(msgspec.Struct):
    """A tool call as the server sends it; `arguments` is raw text, valid JSON or not."""

    name: str
    arguments: str
    id: str | None


def call(
    name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = "", raw: str | None = None
) -> WireCall:
    """A tool call with a fresh id; pass None for a server that sends none, `raw` for text that is no JSON."""
    text = raw if raw is not None else json.dumps(arguments or {})
    return WireCall(name, text, f"call_{next(_numbers):04d}" if call_id == "" else call_id)


def usage(prompt: int = 100, completion: int = 20, **details: Any) -> dict[str, Any]:
    """A usage object."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **details}


def openai_answer(
    text: str = "",
    *,
    reasoning: str = "",
    calls: Sequence[WireCall] = (),
    style: CallStyle = "index",
    finish_reason: str | None = None,
    counts: Mapping[str, Any] | None = None,
    reasoning_field: str = "reasoning_content",
) -> ScriptedReply:
    """An answer; the finish reason follows from the content unless it is given.

    Without `counts` the usual usage comes in a last chunk; `{}` sends none. A request without `"stream": true` gets one
    JSON document.
    """
    reason = finish_reason or ("tool_calls" if calls else "stop")
    numbers = usage() if counts is None else counts

    def reply(request: RecordedRequest) -> Reply:
        model = request.json["model"]
        if not request.json.get("stream"):
            return Reply.json(_document(model, text, calls, reason, numbers))
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{reasoning_field: piece} for piece in _halves(reasoning)]
        deltas += [{"content": piece} for piece in _halves(text)]
        deltas += [{"tool_calls": [piece]} for piece in _call_pieces(calls, style)]
        chunks = [_chunk(model, delta) for delta in deltas] + [_chunk(model, {}, reason)]
        if numbers:
            chunks.append({**_head(model), "choices": [], "usage": dict(numbers)})
        return sse_reply(chunks)

    return reply


def sse_reply(chunks: Sequence[Any], *, done: bool = True) -> Reply:
    """A stream of ready chunks; `done` sends the closing mark."""
    return Reply.sse([(None, chunk) for chunk in (*chunks, *(["[DONE]"] if done else []))])


def delta_chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """One chunk of a stream that a test puts together itself."""
    return _chunk("fake-1", delta, finish_reason)


def error_reply(status: int, message: str, kind: str = "invalid_request_error", **headers: str) -> Reply:
    """A refusal in the API's form."""
    error = {"message": message, "type": kind, "code": None}
    return Reply.json({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


def strict_reply(accepted: ScriptedReply, *, demands_reasoning: bool = False) -> ScriptedReply:
    """`accepted` for a conversation that strict back ends take, a 400 that names the fault for any other."""

    def reply(request: RecordedRequest) -> Reply:
        fault = conversation_fault(request.json["messages"], demands_reasoning=demands_reasoning)
        if fault is not None:
            return error_reply(400, fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def conversation_fault(messages: Sequence[Mapping[str, Any]], *, demands_reasoning: bool = False) -> str | None:
    """What is wrong with the pairing of calls and results, or with empty messages; None when nothing is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"result for unknown call {message['tool_call_id']!r}"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"calls without results: {', '.join(waiting)}"
        if message["role"] == "assistant":
            waiting = [wire["id"] for wire in message.get("tool_calls", ())]
            if not waiting and not message.get("content"):
                return "empty assistant message"
            if "" in waiting or len(set(waiting)) < len(waiting) or seen & set(waiting):
                return "empty or repeated call id"
            if waiting and demands_reasoning and not message.get("reasoning_content"):
                return "reasoning_content is missing"
            seen |= set(waiting)
    return f"calls without results: {', '.join(waiting)}" if waiting else None


def _head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-0001", "object": "chat.completion.chunk", "created": 1, "model": model}


def _chunk(model: str, delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {**_head(model), "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish_reason}]}


def _halves(value: str) -> list[str]:
    middle = (len(value) + 1) // 2
    return [piece for piece in (value[:middle], value[middle:]) if piece]


def _call_pieces(calls: Sequence[WireCall], style: CallStyle) -> list[dict[str, Any]]:
    pieces: list[dict[str, Any]] = []
    for number, wire in enumerate(calls):
        place = {} if style == "no-index" else {"index": number if style == "index" else 0}
        first, *rest = _halves(wire.arguments) or [""]
        identity = {} if wire.id is None else {"id": wire.id}
        pieces.append({**place, **identity, "type": "function", "function": {"name": wire.name, "arguments": first}})
        pieces += [{**place, "function": {"arguments": piece}} for piece in rest]
    return pieces


def _document(
    model: str, text: str, calls: Sequence[WireCall], reason: str, numbers: Mapping[str, Any]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": wire.id, "type": "function", "function": {"name": wire.name, "arguments": wire.arguments}}
            for wire in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**_head(model), "object": "chat.completion", "choices": [choice], "usage": dict(numbers) or usage()}
