"""Scripted answers of the `pi-messages` API and of relays for `FakeServer`, and the checks that a gateway makes.

::

    look = strict_gateway(gateway_answer(thinking("Let me look."), tool_use("ls", {"path": "."})), token="secret")
    with FakeServer([look]) as server:
        ...  # a model whose base URL is server.url
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply, Step

OPTION_NAMES = frozenset({"temperature", "maxTokens", "reasoning", "cacheRetention", "sessionId", "toolChoice"})

_numbers = itertools.count(1)


class Part(msgspec.Struct):
    """One content block: its kind, what starts it, its deltas and what ends it."""

    kind: str
    start: dict[str, Any]
    deltas: list[str]
    end: dict[str, Any]


def text(value: str, signature: str = "", *, pieces: int = 2) -> Part:
    """A text block in `pieces` deltas."""
    return Part("text", {}, _pieces(value, pieces), _signed(signature) | {"content": value})


def thinking(value: str, signature: str = "c2lnbmF0dXJl", *, redacted: bool = False, pieces: int = 2) -> Part:
    """A thinking block; `redacted` marks one whose signature is its payload."""
    end = _signed(signature) | {"content": value} | ({"redacted": True} if redacted else {})
    return Part("thinking", {}, _pieces(value, pieces), end)


def tool_use(name: str, arguments: Any, *, call_id: str | None = None, raw: str | None = None, pieces: int = 2) -> Part:
    """A tool call. `raw` is sent instead of the JSON of the arguments, valid or not."""
    call_id = f"call_{next(_numbers):04d}" if call_id is None else call_id
    deltas = _pieces(json.dumps(arguments) if raw is None else raw, pieces)
    return Part("toolcall", {"id": call_id, "toolName": name}, deltas, {})


def _signed(signature: str) -> dict[str, Any]:
    return {"contentSignature": signature} if signature else {}


def _pieces(value: str, count: int) -> list[str]:
    size = max(1, -(-len(value) // count))
    return [value[start : start + size] for start in range(0, len(value), size)]


def usage(input_tokens: int = 100, output_tokens: int = 20, cost: float | None = 0.5) -> dict[str, Any]:
    """Token counts and, unless it is None, the total that the gateway charges."""
    counts: dict[str, Any] = {"input": input_tokens, "output": output_tokens, "cacheRead": 0, "cacheWrite": 0}
    counts["totalTokens"] = input_tokens + output_tokens
    return counts if cost is None else counts | {"cost": {"total": cost, "totalFromProvider": True}}


def answer_events(*parts: Part, reason: str | None = None, **final: Any) -> list[dict[str, Any]]:
    """The events of a whole answer; the reason follows from the content, `final` adds to the last event."""
    events: list[dict[str, Any]] = [{"type": "start"}]
    for index, part in enumerate(parts):
        place = {"contentIndex": index}
        events.append({"type": f"{part.kind}_start", **place, **part.start})
        events += [{"type": f"{part.kind}_delta", **place, "delta": delta} for delta in part.deltas]
        events.append({"type": f"{part.kind}_end", **place, **part.end})
    calls = any(part.kind == "toolcall" for part in parts)
    done = {"type": "done", "reason": reason or ("toolUse" if calls else "stop"), "usage": usage()}
    return [*events, done | final]


def stream_reply(events: Sequence[Mapping[str, Any] | Step], *, piece_bytes: int | None = None) -> Reply:
    """A stream of ready events; a step stands for itself."""
    return Reply.sse(
        [(None, dict(event)) if isinstance(event, Mapping) else event for event in events], piece_bytes=piece_bytes
    )


def gateway_answer(*parts: Part, piece_bytes: int | None = None, **final: Any) -> Reply:
    """A whole answer; `piece_bytes` cuts its bytes into pieces of that size."""
    return stream_reply(answer_events(*parts, **final), piece_bytes=piece_bytes)


def error_reply(status: int, message: str, code: str | None = None) -> Reply:
    """A refusal in the gateway's form."""
    return Reply.json({"error": {"message": message, **({"code": code} if code else {})}}, status)


def strict_gateway(
    accepted: ScriptedReply, *, token: str | None = None, signatures: Collection[str] | None = None
) -> ScriptedReply:
    """`accepted` for a request that a gateway would take, its refusal for any other.

    `token` is the only one that is let in; `signatures` are those of thinking that are known, None takes all.
    """

    def reply(request: RecordedRequest) -> Reply:
        given = request.headers.get("authorization", "")
        if not given or (token is not None and given != f"Bearer {token}"):
            return error_reply(401, "the token is not valid", "unauthorized")
        fault = request_fault(request, signatures)
        if fault:
            return error_reply(400, fault, "invalid_request")
        return accepted(request) if callable(accepted) else accepted

    return reply


def request_fault(request: RecordedRequest, signatures: Collection[str] | None = None) -> str | None:
    """What a gateway would refuse in a request; None for nothing."""
    if request.method != "POST" or request.path.partition("?")[0].rpartition("/")[2] != "messages":
        return f"no such operation: {request.method} {request.path}"
    body = request.json
    if set(body) != {"model", "context", "options"} or not isinstance(body["model"], str):
        return "the request must hold model, context and options"
    unknown = set(body["options"]) - OPTION_NAMES
    if unknown:
        return f"unknown options: {', '.join(sorted(unknown))}"
    return conversation_fault(body["context"]["messages"], signatures)


def conversation_fault(messages: Sequence[Mapping[str, Any]], signatures: Collection[str] | None = None) -> str | None:
    """What is wrong with the pairing of calls and results, with texts or signatures; None when nothing is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "toolResult":
            if message["toolCallId"] not in waiting:
                return f"result for unknown call {message['toolCallId']!r}"
            waiting.remove(message["toolCallId"])
        elif waiting:
            return f"calls without results: {', '.join(waiting)}"
        fault = _content_fault(message, signatures)
        if fault:
            return fault
        if message["role"] == "assistant":
            waiting = [block["id"] for block in message["content"] if block["type"] == "toolCall"]
            if "" in waiting or len(set(waiting)) < len(waiting) or seen & set(waiting):
                return "empty or repeated call id"
            seen |= set(waiting)
    return f"calls without results: {', '.join(waiting)}" if waiting else None


def _content_fault(message: Mapping[str, Any], signatures: Collection[str] | None) -> str | None:
    if message["role"] == "system":
        return None
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not blocks and message["role"] != "toolResult":
        return f"an empty {message['role']} message"
    if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
        return "a text is blank"
    given = [block["thinkingSignature"] for block in blocks if block.get("thinkingSignature")]
    if signatures is not None and not set(given) <= set(signatures):
        return "the signature of a thinking block is not valid"
    return None
