"""Scripted answers of the OpenAI Responses API for `FakeServer`, event by event as the real service sends them.

::

    look = responses_answer(reasoning("Let me look."), function_call("ls", {"path": "."}))
    with FakeServer([look, responses_answer(message("Done."))]) as server:
        ...  # a model whose base URL is server.url + "/v1"

A request without `"stream": true` gets the same answer as one JSON document, so that the vendor's own client works
with it in both ways. `strict_responses` refuses the conversations that the real service refuses.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from pinyon.testing.fake_server import Framing, RecordedRequest, Reply, ScriptedReply, Step

_numbers = itertools.count(1)

Event = dict[str, Any]


class WireItem(msgspec.Struct, kw_only=True):
    """One output item: how it is added, the deltas in between (without their index), and what it is when done.

    With `is_told_done` false the item never gets its `output_item.done`.
    """

    added: dict[str, Any]
    deltas: list[Event]
    done: dict[str, Any]
    is_told_done: bool = True


def reasoning(
    text: str = "",
    *,
    encrypted: str | None = "ZW5jcnlwdGVk",
    item_id: str | None = None,
    raw: bool = False,
    is_told_done: bool = True,
) -> WireItem:
    """A reasoning item with a summary; with `raw` its text is told in full instead. No `text`, no summary."""
    name = item_id or f"rs_{next(_numbers):04d}"
    head: dict[str, Any] = {"id": name, "type": "reasoning", "summary": []}
    part = {"type": "reasoning_text" if raw else "summary_text", "text": text}
    done = head | ({"content" if raw else "summary": [part]} if text else {}) | {"encrypted_content": encrypted}
    kind = "response.reasoning_text" if raw else "response.reasoning_summary_text"
    place = {"item_id": name, "content_index" if raw else "summary_index": 0}
    deltas: list[Event] = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in _halves(text)]
    if text and not raw:
        empty = {"type": "summary_text", "text": ""}
        deltas.insert(0, {"type": "response.reasoning_summary_part.added", **place, "part": empty})
        deltas.append({"type": f"{kind}.done", **place, "text": text})
        deltas.append({"type": "response.reasoning_summary_part.done", **place, "part": part})
    return WireItem(added=head, deltas=deltas, done=done, is_told_done=is_told_done)


def message(
    text: str, *, phase: str | None = None, item_id: str | None = None, is_told_done: bool = True, refuses: bool = False
) -> WireItem:
    """A message item; with `refuses` the text is a refusal."""
    name = item_id or f"msg_{next(_numbers):04d}"
    head: dict[str, Any] = {"id": name, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    head |= {"phase": phase} if phase else {}
    part = {"type": "refusal", "refusal": text} if refuses else _text_part(text)
    kind = "response.refusal" if refuses else "response.output_text"
    place = {"item_id": name, "content_index": 0}
    more: dict[str, Any] = {} if refuses else {"logprobs": []}
    deltas: list[Event] = [{"type": "response.content_part.added", **place, "part": _emptied(part)}]
    deltas += [{"type": f"{kind}.delta", **place, "delta": piece, **more} for piece in _halves(text)]
    deltas.append({"type": f"{kind}.done", **place, "refusal" if refuses else "text": text, **more})
    deltas.append({"type": "response.content_part.done", **place, "part": part})
    done = head | {"status": "completed", "content": [part]}
    return WireItem(added=head, deltas=deltas, done=done, is_told_done=is_told_done)


def function_call(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    call_id: str | None = None,
    raw: str | None = None,
    is_told_done: bool = True,
    **fields: Any,
) -> WireItem:
    """A function call; `raw` is sent instead of the JSON of the arguments, valid or not."""
    text = json.dumps(arguments or {}) if raw is None else raw
    number = next(_numbers)
    head = {"id": f"fc_{number:04d}", "type": "function_call", "call_id": call_id or f"call_{number:04d}"}
    head |= {"name": name, "arguments": "", "status": "in_progress", **fields}
    place = {"item_id": head["id"]}
    kind = "response.function_call_arguments"
    deltas: list[Event] = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in _halves(text)]
    deltas.append({"type": f"{kind}.done", **place, "name": name, "arguments": text})
    done = head | {"arguments": text, "status": "completed"}
    return WireItem(added=head, deltas=deltas, done=done, is_told_done=is_told_done)


def custom_call(name: str, text: str, *, call_id: str | None = None) -> WireItem:
    """A call of a custom tool with free text."""
    number = next(_numbers)
    head = {"id": f"ctc_{number:04d}", "type": "custom_tool_call", "call_id": call_id or f"call_{number:04d}"}
    head |= {"name": name, "input": "", "status": "in_progress"}
    place = {"item_id": head["id"]}
    kind = "response.custom_tool_call_input"
    deltas: list[Event] = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in _halves(text)]
    deltas.append({"type": f"{kind}.done", **place, "input": text})
    return WireItem(added=head, deltas=deltas, done=head | {"input": text, "status": "completed"})


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _emptied(part: dict[str, Any]) -> dict[str, Any]:
    return {name: "" if name in ("text", "refusal") else value for name, value in part.items()}


def _halves(value: str) -> list[str]:
    middle = (len(value) + 1) // 2
    return [piece for piece in (value[:middle], value[middle:]) if piece]


def usage(
    input_tokens: int = 100, output_tokens: int = 20, *, cached: int = 0, written: int = 0, reasoned: int = 0
) -> dict[str, Any]:
    """A usage object; the input counts include what was cached."""
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoned},
        "total_tokens": input_tokens + output_tokens,
    }


class ResponsesAnswer(msgspec.Struct, kw_only=True):
    """A whole answer; see `answer`."""

    items: tuple[WireItem, ...]
    status: str = "completed"
    final_event: str | None = None
    fields: dict[str, Any] = {}
    response_id: str = ""
    late_encrypted: dict[str, str] = {}

    def events(self, model: str) -> list[tuple[str, Event]]:
        """The events of the stream, as name and data."""
        begun = self._response(model) | {"status": "in_progress", "output": []}
        events: list[Event] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
        for index, item in enumerate(self.items):
            place = {"output_index": index}
            events.append({"type": "response.output_item.added", **place, "item": item.added})
            events += [{**delta, **place} for delta in item.deltas]
            if item.is_told_done:
                events.append({"type": "response.output_item.done", **place, "item": item.done})
        kind = self.final_event or ("completed" if self.status not in ("incomplete", "failed") else self.status)
        events.append({"type": f"response.{kind}", "response": self.document(model)})
        return [(str(event["type"]), {**event, "sequence_number": number}) for number, event in enumerate(events)]

    def document(self, model: str) -> dict[str, Any]:
        """The answer as one JSON document."""
        output = [item.done for item in self.items]
        output = [
            item | {"encrypted_content": self.late_encrypted[item["id"]]} if item["id"] in self.late_encrypted else item
            for item in output
        ]
        return self._response(model) | {"output": output}

    def _response(self, model: str) -> dict[str, Any]:
        head = {"id": self.response_id, "object": "response", "created_at": 1, "status": self.status, "model": model}
        head |= {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
        head |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0}
        return head | {"usage": usage()} | self.fields


def answer(
    *items: WireItem,
    status: str = "completed",
    final_event: str | None = None,
    response_id: str | None = None,
    late_encrypted: Mapping[str, str] | None = None,
    **fields: Any,
) -> ResponsesAnswer:
    """An answer. `late_encrypted` maps reasoning items to what only the final response tells; `fields` are further
    fields of the response, such as `usage`, `service_tier` or `incomplete_details`.
    """
    return ResponsesAnswer(
        items=items,
        status=status,
        final_event=final_event,
        fields=fields,
        response_id=response_id or f"resp_{next(_numbers):04d}",
        late_encrypted=dict(late_encrypted or {}),
    )


def responses_reply(
    scripted: ResponsesAnswer, *, piece_bytes: int | None = None, framing: Framing = "chunked"
) -> ScriptedReply:
    """The reply that sends an answer, as a stream or as a document, as the request asks."""

    def reply(request: RecordedRequest) -> Reply:
        body = request.json
        if not body.get("stream"):
            return Reply.json(scripted.document(body["model"]))
        return Reply.sse(scripted.events(body["model"]), piece_bytes=piece_bytes, framing=framing)

    return reply


def responses_answer(*items: WireItem, **fields: Any) -> ScriptedReply:
    """`responses_reply(answer(...))`, the usual case."""
    return responses_reply(answer(*items, **fields))


def broken_reply(
    scripted: ResponsesAnswer, keep_events: int, then: Sequence[Step | tuple[str, Any]] = (), model: str = "fake-1"
) -> Reply:
    """The first `keep_events` events of an answer, then whatever goes wrong."""
    events: Iterable[Any] = [*scripted.events(model)[:keep_events], *then]
    return Reply.sse(events)


def error_event(code: str = "server_error", text: str = "something broke") -> tuple[str, Event]:
    """An error in the middle of a stream."""
    return ("error", {"type": "error", "code": code, "message": text, "param": None, "sequence_number": 99})


def failed_answer(code: str = "server_error", text: str = "something broke", *items: WireItem) -> ScriptedReply:
    """A response that the server gives up."""
    return responses_answer(*items, status="failed", error={"code": code, "message": text})


def error_reply(status: int, text: str, code: str | None = None, **headers: str) -> Reply:
    """A refusal in the API's form."""
    error = {"message": text, "type": "invalid_request_error", "code": code, "param": None}
    return Reply.json({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


def strict_responses(accepted: ScriptedReply) -> ScriptedReply:
    """`accepted` for a conversation that the real service takes, a 400 that names the fault for any other."""

    def reply(request: RecordedRequest) -> Reply:
        fault = input_fault(request.json["input"])
        if fault is not None:
            return error_reply(400, fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def input_fault(items: Sequence[Mapping[str, Any]]) -> str | None:
    """What the real service would refuse in the input of a request; None when nothing is wrong.

    Calls and outputs must pair, ids must be unique and short, texts not blank, and reasoning needs an item after it.
    """
    waiting: set[str] = set()
    seen: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type") or "message"
        fault = _item_fault(item, kind, seen) or _reasoning_fault(items[number + 1 :], kind)
        if fault is not None:
            return fault
        if kind in ("function_call", "custom_tool_call"):
            waiting.add(item["call_id"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item["call_id"] not in waiting:
                return f"output for unknown call {item['call_id']!r}"
            waiting.discard(item["call_id"])
    return f"calls without output: {', '.join(sorted(waiting))}" if waiting else None


def _item_fault(item: Mapping[str, Any], kind: str, seen: set[str]) -> str | None:
    names = [item[name] for name in ("id", "call_id") if item.get(name)]
    if any(len(name) > 64 for name in names):
        return f"an id of {kind} is longer than 64 characters"
    unique = [item.get("id"), item.get("call_id") if kind in ("function_call", "custom_tool_call") else None]
    for name in filter(None, unique):
        if name in seen:
            return f"duplicate item {name!r}"
        seen.add(name)
    if kind == "message" and _is_blank(item.get("content")):
        return "a message holds a blank text"
    return None


def _is_blank(content: Any) -> bool:
    if isinstance(content, str):
        return not content.strip()
    texts = [part["text"] for part in content if "text" in part]
    return not content or any(not text.strip() for text in texts)


def _reasoning_fault(rest: Sequence[Mapping[str, Any]], kind: str) -> str | None:
    if kind != "reasoning":
        return None
    following = rest[0] if rest else {}
    is_answer = following.get("role") == "assistant"
    if following.get("type") in ("reasoning", "function_call", "custom_tool_call") or is_answer:
        return None
    return "nothing follows a reasoning item that it could belong to"
