"""Scripted answers of the Anthropic Messages API for `FakeServer`, event by event as the real service sends them.

::

    look = anthropic_answer(thinking("Let me look."), tool_use("ls", {"path": "."}))
    with FakeServer([look, anthropic_answer(text("Done."))]) as server:
        ...  # a model whose base URL is server.url

A request without `"stream": true` gets the same answer as one JSON document, so that the vendor's own client works
with it in both ways.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.testing.fake_server import Framing, RecordedRequest, Reply, ScriptedReply, Step

MAX_CACHE_MARKS = 4

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_numbers = itertools.count(1)


class WireContent(msgspec.Struct):
    """One content block: how it starts, how it grows, and what it is when it is whole."""

    start: dict[str, Any]
    deltas: list[dict[str, Any]]
    whole: dict[str, Any]


def text(value: str, *, pieces: int = 2) -> WireContent:
    """A text block, sent in `pieces` deltas."""
    deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(value, pieces)]
    return WireContent({"type": "text", "text": ""}, deltas, {"type": "text", "text": value})


def thinking(value: str, signature: str = "c2lnbmF0dXJl", *, pieces: int = 2) -> WireContent:
    """A thinking block; the signature follows the text. An empty signature is not sent."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(value, pieces)]
    deltas += [{"type": "signature_delta", "signature": signature}] if signature else []
    whole = {"type": "thinking", "thinking": value, "signature": signature}
    return WireContent({"type": "thinking", "thinking": "", "signature": ""}, deltas, whole)


def redacted_thinking(data: str) -> WireContent:
    """An encrypted thinking block, whole from the start."""
    block = {"type": "redacted_thinking", "data": data}
    return WireContent(block, [], block)


def tool_use(
    name: str,
    arguments: dict[str, Any],
    *,
    call_id: str | None = None,
    raw: str | None = None,
    pieces: int = 2,
) -> WireContent:
    """A tool call. `raw` is sent instead of the JSON of the arguments, valid or not."""
    call_id = f"toolu_{next(_numbers):04d}" if call_id is None else call_id
    partial = json.dumps(arguments) if raw is None else raw
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(partial, pieces)]]
    head = {"type": "tool_use", "id": call_id, "name": name}
    return WireContent({**head, "input": {}}, deltas, {**head, "input": arguments})


def _pieces(value: str, count: int) -> list[str]:
    size = max(1, -(-len(value) // count))
    return [value[start : start + size] for start in range(0, len(value), size)]


def usage(
    input_tokens: int = 100, output_tokens: int = 20, cache_read: int = 0, cache_write: int = 0, **more: Any
) -> dict[str, Any]:
    """Token counts in the service's names."""
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
        **more,
    }


class AnthropicAnswer(msgspec.Struct, kw_only=True):
    """A whole answer; see `anthropic_answer`."""

    contents: tuple[WireContent, ...]
    stop_reason: str
    counts: dict[str, Any]
    message_id: str
    model: str | None
    stop_details: dict[str, Any] | None = None

    def events(self, model: str) -> list[tuple[str, dict[str, Any]]]:
        """The events of the stream, as name and data."""
        head: dict[str, Any] = {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model or model,
        }
        head |= {"content": [], "stop_reason": None, "stop_sequence": None}
        head |= {"usage": self.counts | {"output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": head}]
        for index, content in enumerate(self.contents):
            events.append({"type": "content_block_start", "index": index, "content_block": content.start})
            if index == 0:
                events.append({"type": "ping"})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in content.deltas]
            events.append({"type": "content_block_stop", "index": index})
        change: dict[str, Any] = {"stop_reason": self.stop_reason, "stop_sequence": None}
        change |= {"stop_details": self.stop_details} if self.stop_details else {}
        events.append({"type": "message_delta", "delta": change, "usage": self.counts})
        events.append({"type": "message_stop"})
        return [(str(event["type"]), event) for event in events]

    def document(self, model: str) -> dict[str, Any]:
        """The answer as one JSON document."""
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model or model,
            "content": [content.whole for content in self.contents],
            "stop_reason": self.stop_reason,
            "stop_sequence": None,
            "usage": self.counts,
        }


def answer(
    *contents: WireContent,
    stop_reason: str | None = None,
    counts: dict[str, Any] | None = None,
    message_id: str | None = None,
    model: str | None = None,
    stop_details: dict[str, Any] | None = None,
) -> AnthropicAnswer:
    """An answer; the stop reason follows from the content and the model from the request unless they are given."""
    calls = any(content.start["type"] == "tool_use" for content in contents)
    return AnthropicAnswer(
        contents=contents,
        stop_reason=stop_reason or ("tool_use" if calls else "end_turn"),
        counts=counts or usage(),
        message_id=message_id or f"msg_{next(_numbers):04d}",
        model=model,
        stop_details=stop_details,
    )


def anthropic_reply(
    scripted: AnthropicAnswer, *, piece_bytes: int | None = None, framing: Framing = "chunked"
) -> ScriptedReply:
    """The reply that sends an answer, as a stream or as a document, as the request asks."""

    def reply(request: RecordedRequest) -> Reply:
        body = request.json
        if not body.get("stream"):
            return Reply.json(scripted.document(body["model"]), headers=_request_id())
        events = scripted.events(body["model"])
        return Reply.sse(events, piece_bytes=piece_bytes, headers=_request_id(), framing=framing)

    return reply


def anthropic_answer(*contents: WireContent, **fields: Any) -> ScriptedReply:
    """`anthropic_reply(answer(...))`, the usual case."""
    return anthropic_reply(answer(*contents, **fields))


def broken_reply(
    scripted: AnthropicAnswer, keep_events: int, then: Sequence[Step | tuple[str, Any]] = (), model: str = "fake"
) -> Reply:
    """The first `keep_events` events of an answer, then whatever goes wrong."""
    events: Iterable[Any] = [*scripted.events(model)[:keep_events], *then]
    return Reply.sse(events, headers=_request_id())


def error_event(kind: str = "overloaded_error", message: str = "Overloaded") -> tuple[str, dict[str, Any]]:
    """An error in the middle of a stream."""
    return ("error", {"type": "error", "error": {"details": None, "type": kind, "message": message}})


def error_reply(
    status: int, kind: str, message: str, *, headers: dict[str, str] | None = None, error_code: str | None = None
) -> Reply:
    """An error instead of a stream."""
    error: dict[str, Any] = {"type": kind, "message": message}
    error |= {"details": {"error_code": error_code}} if error_code else {}
    return Reply.json({"type": "error", "error": error}, status=status, headers={**_request_id(), **(headers or {})})


def _request_id() -> dict[str, str]:
    return {"request-id": f"req_{next(_numbers):04d}"}


def strict_anthropic(accepted: ScriptedReply, signatures: Collection[str] | None = None) -> ScriptedReply:
    """`accepted` for a request that the real service takes, a 400 that names the fault for any other.

    `signatures` are those of thinking that the service made; None takes all.
    """

    def reply(request: RecordedRequest) -> Reply:
        fault = anthropic_fault(request.json, signatures)
        if fault is not None:
            return error_reply(400, "invalid_request_error", fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def anthropic_fault(body: Mapping[str, Any], signatures: Collection[str] | None = None) -> str | None:
    """What the real service would refuse in a request; None when nothing is wrong."""
    marks = json.dumps(body).count('"cache_control"')
    if marks > MAX_CACHE_MARKS:
        return f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
    waiting: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        fault = "a message is empty" if not blocks else _first_fault(blocks, signatures)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if fault is None and sorted(results) != sorted(waiting):
            fault = f"tool results {results} do not answer the calls {waiting}"
        if fault is None and [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            fault = "tool results must stand first in their message"
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if fault is None and (seen & set(waiting) or len(set(waiting)) < len(waiting)):
            fault = "`tool_use` ids must be unique"
        if fault is not None:
            return fault
        seen |= set(waiting)
    return f"calls without results: {waiting}" if waiting else None


def _first_fault(blocks: Sequence[Mapping[str, Any]], signatures: Collection[str] | None) -> str | None:
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            return "text content blocks must contain non-whitespace text"
        given = block.get("signature") or block.get("data")
        if block["type"] in ("thinking", "redacted_thinking") and signatures is not None and given not in signatures:
            return f"Invalid `signature` in `thinking` block: {given!r}"
        if block["type"] == "tool_use" and not _CALL_ID.fullmatch(block["id"]):
            return f"the id {block['id']!r} of a call is not valid"
    return "an answer may not end in thinking" if "thinking" in blocks[-1]["type"] else None
