"""Scripted answers of Mistral's chat API for `FakeServer`, and a server that is strict as the real one.

::

    look = mistral_answer(thinking="Let me look.", calls=[mistral_call("ls", {"path": "."})])
    with FakeServer([strict_mistral(look), strict_mistral(mistral_answer("Done."))]) as server:
        ...  # a model whose base URL is server.url
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply

SIGNATURE = "fake-mistral-signature"
"""The only signature of a thinking part that the strict server knows."""

_ID = re.compile(r"[A-Za-z0-9]{9}")
_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_numbers = itertools.count(1)


class MistralCall(msgspec.Struct):
    """A tool call as the server sends it: `arguments` is raw text, or an object as some models send it."""

    name: str
    arguments: str | dict[str, Any]
    id: str | None


def mistral_call(
    name: str, arguments: Mapping[str, Any] | None = None, *, call_id: str | None = "", raw: str | None = None
) -> MistralCall:
    """A tool call with a fresh id; pass None for a server that sends none, `raw` for text that is no JSON."""
    text = raw if raw is not None else _json.encode(dict(arguments or {})).decode()
    return MistralCall(name, text, f"call{next(_numbers):05d}" if call_id == "" else call_id)


def mistral_usage(prompt: int = 100, completion: int = 20, **details: Any) -> dict[str, Any]:
    """A usage object."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **details}


def mistral_answer(
    text: str = "",
    *,
    thinking: str = "",
    calls: Sequence[MistralCall] = (),
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
) -> Reply:
    """An answer; the finish reason follows from the content unless it is given."""
    reason = finish_reason or ("tool_calls" if calls else "stop")
    counts = mistral_usage() if usage is None else usage
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": [thinking_part(piece)]} for piece in _halves(thinking)]
    deltas += [{"content": piece} for piece in _halves(text)]
    last = mistral_chunk(_call_delta(calls) if calls else {"content": ""}, reason)
    return mistral_stream([*map(mistral_chunk, deltas), last | {"usage": dict(counts)} if counts else last])


def thinking_part(text: str) -> dict[str, Any]:
    """A thinking part of content."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def mistral_chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return {"id": "cmpl-0001", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}


def mistral_stream(chunks: Sequence[Any], *, done: bool = True) -> Reply:
    """A stream of ready chunks; `done` sends the closing mark."""
    return Reply.sse([(None, chunk) for chunk in (*chunks, *(["[DONE]"] if done else []))])


def mistral_error(status: int, message: str, kind: str = "invalid_request_error", **headers: str) -> Reply:
    """A refusal in the API's form."""
    error = {"object": "error", "message": message, "type": kind, "code": None}
    return Reply.json(error, status, {name.replace("_", "-"): value for name, value in headers.items()})


def strict_mistral(accepted: ScriptedReply) -> ScriptedReply:
    """`accepted` for a conversation that the real server takes, a 422 that names the fault for any other."""

    def reply(request: RecordedRequest) -> Reply:
        fault = mistral_fault(request.json["messages"])
        if fault is not None:
            return mistral_error(422, fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def mistral_fault(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with a conversation; None when nothing is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        role = message["role"]
        extra = set(message) - _FIELDS[role]
        if extra:
            return f"extra inputs are not permitted: {sorted(extra)}"
        fault = _content_fault(message)
        if fault is not None:
            return fault
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                return f"result for unknown call {message['tool_call_id']!r}"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"calls without results: {', '.join(waiting)}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if not all(_ID.fullmatch(call_id) for call_id in waiting):
            return "a tool call id must be nine characters of a-z, A-Z, 0-9"
        if len(set(waiting)) < len(waiting) or seen & set(waiting):
            return "repeated tool call id"
        seen |= set(waiting)
    return f"calls without results: {', '.join(waiting)}" if waiting else None


def _content_fault(message: Mapping[str, Any]) -> str | None:
    content = message.get("content")
    if not content:
        return None if message.get("tool_calls") else f"{message['role']} message without content"
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part["type"] == "text" and not part["text"].strip():
            return "a text part is empty"
        if part["type"] == "thinking" and part.get("signature", SIGNATURE) != SIGNATURE:
            return "unknown signature of a thinking part"
    return None


def _call_delta(calls: Sequence[MistralCall]) -> dict[str, Any]:
    wire = []
    for place, call in enumerate(calls):
        function = {"name": call.name, "arguments": call.arguments}
        identity = {} if call.id is None else {"id": call.id}
        wire.append({**identity, "function": function, "index": place})
    return {"content": "", "tool_calls": wire}


def _halves(value: str) -> list[str]:
    middle = (len(value) + 1) // 2
    return [piece for piece in (value[:middle], value[middle:]) if piece]
