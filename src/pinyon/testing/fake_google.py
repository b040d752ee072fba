"""Scripted answers of Google's `streamGenerateContent` for `FakeServer`, and a server that is strict as the real one.

::

    look = google_answer(thoughts="Let me look.", calls=[google_call("ls", {"path": "."})])
    with FakeServer([strict_google(look), strict_google(google_answer("Done."))]) as server:
        ...  # a model whose base URL is server.url + "/v1beta"

Signatures of thoughts name the model that they were made for; the strict server refuses all others.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pinyon.ai.apis.google_message import STAND_IN_SIGNATURE
from pinyon.ai.apis.google_model import is_gemini_3
from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply

_MODEL_IN_PATH = re.compile(r"/([^/:]+):streamGenerateContent\?alt=sse$")
_PARTS = ("text", "inlineData", "functionCall", "functionResponse")
_numbers = itertools.count(1)


class GoogleCall(msgspec.Struct):
    """A function call as the server sends it; `args` of a kind other than an object is what a broken server sends."""

    name: str
    args: Any
    id: str | None = None
    is_signed: bool = True


def google_call(name: str, args: Any = None, *, call_id: str | None = None, is_signed: bool = True) -> GoogleCall:
    """A function call; without an id as most models send it."""
    return GoogleCall(name, {} if args is None else args, call_id, is_signed)


def thought_signature(model_id: str) -> str:
    """A new signature of this model, in base64."""
    return base64.b64encode(f"fake:{model_id}:{next(_numbers):06d}".encode()).decode()


def google_usage(prompt: int = 100, candidates: int = 20, **counts: int) -> dict[str, int]:
    """A usage object; further counts by their names on the wire, such as `thoughtsTokenCount`."""
    total = prompt + candidates + counts.get("thoughtsTokenCount", 0)
    return {"promptTokenCount": prompt, "candidatesTokenCount": candidates, "totalTokenCount": total, **counts}


def google_answer(
    text: str = "",
    *,
    thoughts: str = "",
    calls: Sequence[GoogleCall] = (),
    finish_reason: str | None = "STOP",
    finish_message: str = "",
    usage: Mapping[str, int] | None = None,
    is_signed: bool = True,
) -> ScriptedReply:
    """An answer in several chunks; text is signed by an empty part after it, as the real server does."""
    counts = google_usage() if usage is None else usage

    def reply(request: RecordedRequest) -> Reply:
        model_id = requested_model(request)
        parts: list[dict[str, Any]] = [{"text": piece, "thought": True} for piece in _halves(thoughts)]
        parts += [{"text": piece} for piece in _halves(text)]
        if text and is_signed:
            parts.append({"text": "", "thoughtSignature": thought_signature(model_id)})
        parts += [_call_part(call, model_id) for call in calls]
        chunks = [google_chunk([part]) for part in parts]
        last = google_chunk([{"text": ""}], finish_reason)
        if finish_message:
            last["candidates"][0]["finishMessage"] = finish_message
        return google_stream([*chunks, last | {"usageMetadata": dict(counts)}])

    return reply


def google_chunk(parts: Sequence[Mapping[str, Any]], finish_reason: str | None = None) -> dict[str, Any]:
    """One chunk of a stream."""
    candidate: dict[str, Any] = {"content": {"parts": [dict(part) for part in parts], "role": "model"}, "index": 0}
    if finish_reason is not None:
        candidate["finishReason"] = finish_reason
    return {"candidates": [candidate], "modelVersion": "fake-version", "responseId": "response-0001"}


def google_stream(chunks: Sequence[Any]) -> Reply:
    """A stream of ready chunks."""
    return Reply.sse([(None, chunk) for chunk in chunks])


def google_error(status: int, message: str, kind: str = "INVALID_ARGUMENT", **headers: str) -> Reply:
    """A refusal in the API's form."""
    error = {"code": status, "message": message, "status": kind}
    return Reply.json({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


def requested_model(request: RecordedRequest) -> str:
    """The id of the model that a request asks. Raises `ValueError` for another address."""
    found = _MODEL_IN_PATH.search(request.path)
    if found is None:
        raise ValueError(f"{request.path!r} streams no answer")
    return found[1]


def strict_google(accepted: ScriptedReply) -> ScriptedReply:
    """`accepted` for a conversation that the real server takes, a 400 that names the fault for any other."""

    def reply(request: RecordedRequest) -> Reply:
        fault = google_fault(request.json["contents"], requested_model(request))
        if fault is not None:
            return google_error(400, fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def google_fault(contents: Sequence[Mapping[str, Any]], model_id: str) -> str | None:
    """What is wrong with a conversation for this model; None when nothing is."""
    if not contents or contents[0]["role"] != "user":
        return "contents must begin with a user turn"
    calls: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    for content in contents:
        parts = content["parts"]
        fault = next((fault for part in parts if (fault := _part_fault(part, model_id))), None)
        if fault is not None or not parts:
            return fault or "a turn without parts"
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        fault = _pairing_fault(calls, answers, has_other_parts=len(answers) != len(parts))
        if fault is not None:
            return fault
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if calls and content["role"] != "model":
            return "a function call outside a model turn"
        ids = [call["id"] for call in calls if "id" in call]
        if len(set(ids)) < len(ids) or seen & set(ids) or "" in ids:
            return "empty or repeated function call id"
        seen |= set(ids)
    if calls:
        return "function calls without responses"
    return _unsigned_fault(contents) if is_gemini_3(model_id) else None


def _unsigned_fault(contents: Sequence[Mapping[str, Any]]) -> str | None:
    """Whether a step since the user last spoke begins with a call that no signature vouches for."""
    for content in reversed(contents):
        if content["role"] == "user" and not any("functionResponse" in part for part in content["parts"]):
            return None
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is not None and "thoughtSignature" not in first:
            return "Function call is missing a thought_signature in functionCall parts."
    return None


def _part_fault(part: Mapping[str, Any], model_id: str) -> str | None:
    kinds = [name for name in _PARTS if name in part]
    if len(kinds) != 1:
        return f"a part must hold exactly one kind of data, not {kinds}"
    signature = part.get("thoughtSignature")
    if signature is not None and not _is_own(signature, model_id):
        return f"thought signature is not valid for {model_id}"
    if kinds == ["text"] and not part["text"].strip() and signature is None:
        return "a text part is empty"
    return None


def _is_own(signature: str, model_id: str) -> bool:
    if signature == STAND_IN_SIGNATURE:
        return True
    try:
        return base64.b64decode(signature, validate=True).startswith(f"fake:{model_id}:".encode())
    except binascii.Error:
        return False


def _pairing_fault(
    calls: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, Any]], *, has_other_parts: bool
) -> str | None:
    """What is wrong with the function responses of the turn after `calls`."""
    if not calls:
        return "a function response without a function call" if answers else None
    if has_other_parts or len(answers) != len(calls):
        return "the number of function response parts must equal that of function call parts"
    expected = sorted((call.get("name", ""), call.get("id", "")) for call in calls)
    if expected != sorted((answer["name"], answer.get("id", "")) for answer in answers):
        return "function responses do not match the function calls"
    return None


def _call_part(call: GoogleCall, model_id: str) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": call.name, "args": call.args}
    if call.id is not None:
        wire["id"] = call.id
    part: dict[str, Any] = {"functionCall": wire}
    return part | {"thoughtSignature": thought_signature(model_id)} if call.is_signed else part


def _halves(value: str) -> list[str]:
    middle = (len(value) + 1) // 2
    return [piece for piece in (value[:middle], value[middle:]) if piece]
