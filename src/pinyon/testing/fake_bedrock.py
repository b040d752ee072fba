"""Scripted answers of the Amazon Bedrock Converse API for `FakeServer`, and the checks that the real service makes.

::

    look = bedrock_answer(thinking("Let me look."), tool_use("ls", {"path": "."}))
    with FakeServer([strict_bedrock(look), strict_bedrock(bedrock_answer(text("Done.")))]) as server:
        ...  # a model whose base URL is server.url

`strict_bedrock` refuses what the service refuses: unsigned requests, unpaired calls and results, blank texts, foreign
signatures, more than four cache points.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from pinyon.testing.fake_server import RecordedRequest, Reply, ScriptedReply, Step

MAX_CACHE_POINTS = 4
MODEL_PATH = re.compile(r"^/model/([^/]+)/converse-stream$")

_numbers = itertools.count(1)
_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Part(msgspec.Struct):
    """One content block: its start (None for kinds that have none) and its deltas."""

    start: dict[str, Any] | None
    deltas: list[dict[str, Any]]


def text(value: str, *, pieces: int = 2) -> Part:
    """A text block in `pieces` deltas."""
    return Part(None, [{"text": piece} for piece in _pieces(value, pieces)])


def thinking(value: str, signature: str = "c2lnbmF0dXJl", *, pieces: int = 2) -> Part:
    """A thinking block; the signature follows the text. An empty signature is not sent."""
    deltas: list[dict[str, Any]] = [{"reasoningContent": {"text": piece}} for piece in _pieces(value, pieces)]
    return Part(None, deltas + ([{"reasoningContent": {"signature": signature}}] if signature else []))


def redacted_thinking(payload: bytes, *, pieces: int = 1) -> Part:
    """Encrypted thinking."""
    size = max(1, -(-len(payload) // pieces))
    cut = [payload[start : start + size] for start in range(0, len(payload), size)]
    return Part(None, [{"reasoningContent": {"redactedContent": base64.b64encode(piece).decode()}} for piece in cut])


def tool_use(name: str, arguments: Any, *, call_id: str | None = None, raw: str | None = None, pieces: int = 2) -> Part:
    """A tool call. `raw` is sent instead of the JSON of the arguments, valid or not."""
    call_id = f"tooluse_{next(_numbers):04d}" if call_id is None else call_id
    partial = json.dumps(arguments) if raw is None else raw
    deltas = [{"toolUse": {"input": piece}} for piece in _pieces(partial, pieces)]
    return Part({"toolUse": {"toolUseId": call_id, "name": name}}, deltas)


def _pieces(value: str, count: int) -> list[str]:
    size = max(1, -(-len(value) // count))
    return [value[start : start + size] for start in range(0, len(value), size)]


def usage(
    input_tokens: int = 100, output_tokens: int = 20, cache_read: int = 0, cache_write: int = 0, **more: Any
) -> Any:
    """Token counts in the service's names."""
    total = input_tokens + output_tokens + cache_read + cache_write
    counts = {"inputTokens": input_tokens, "outputTokens": output_tokens, "totalTokens": total}
    return counts | {"cacheReadInputTokens": cache_read, "cacheWriteInputTokens": cache_write, **more}


def answer_events(
    *parts: Part, stop_reason: str | None = None, counts: Mapping[str, Any] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """The events of a whole answer, as type and payload; the stop reason follows from the content."""
    calls = any(part.start is not None for part in parts)
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    for index, part in enumerate(parts):
        place = {"contentBlockIndex": index}
        if part.start is not None:
            events.append(("contentBlockStart", {"start": part.start, **place}))
        events += [("contentBlockDelta", {"delta": delta, **place}) for delta in part.deltas]
        events.append(("contentBlockStop", place))
    events.append(("messageStop", {"stopReason": stop_reason or ("tool_use" if calls else "end_turn")}))
    events.append(("metadata", {"usage": dict(counts or usage()), "metrics": {"latencyMs": 5}}))
    return events


def bedrock_answer(
    *parts: Part,
    stop_reason: str | None = None,
    counts: Mapping[str, Any] | None = None,
    piece_bytes: int | None = None,
) -> Reply:
    """A whole answer; `piece_bytes` cuts its bytes into pieces of that size."""
    return stream_reply(answer_events(*parts, stop_reason=stop_reason, counts=counts), piece_bytes=piece_bytes)


def stream_reply(events: Sequence[tuple[str, Any] | Step], *, piece_bytes: int | None = None) -> Reply:
    """A stream of ready events; a step stands for itself."""
    steps: list[Step] = [event_frame(*event) if isinstance(event, tuple) else event for event in events]
    if piece_bytes is not None:
        whole = b"".join(step for step in steps if isinstance(step, bytes))
        steps = [whole[start : start + piece_bytes] for start in range(0, len(whole), piece_bytes)]
    headers = {"content-type": "application/vnd.amazon.eventstream", "x-amzn-requestid": f"req-{next(_numbers):04d}"}
    return Reply(headers=headers, body=steps)


def event_frame(kind: str, payload: Any) -> bytes:
    """The bytes of one event."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_frame(headers, json.dumps(payload).encode())


def exception_frame(kind: str, message: str, **fields: Any) -> bytes:
    """The bytes of a failure in the middle of a stream, such as `throttlingException`."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return encode_frame(headers, json.dumps({"message": message, **fields}).encode())


def encode_frame(headers: Mapping[str, Any], payload: bytes) -> bytes:
    """A message of the event stream encoding. Header values are text, or `(type number, value bytes)`."""
    encoded = b"".join(_header(name, value) for name, value in headers.items())
    head = struct.pack(">II", len(encoded) + len(payload) + 16, len(encoded))
    head += struct.pack(">I", zlib.crc32(head))
    return head + encoded + payload + struct.pack(">I", zlib.crc32(head + encoded + payload))


def _header(name: str, value: Any) -> bytes:
    if isinstance(value, tuple):
        kind, data = int(value[0]), bytes(value[1])
    else:
        kind, data = 7, struct.pack(">H", len(str(value).encode())) + str(value).encode()
    return bytes([len(name)]) + name.encode() + bytes([kind]) + data


def error_reply(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """A refusal in the service's form."""
    own = {"x-amzn-errortype": f"{code}:http://internal.amazon.com/", "x-amzn-requestid": f"req-{next(_numbers):04d}"}
    return Reply.json({"message": message}, status, {**own, **(headers or {})})


def strict_bedrock(
    accepted: ScriptedReply,
    *,
    token: str | None = None,
    keys: tuple[str, str] | None = None,
    signatures: Collection[str] | None = None,
) -> ScriptedReply:
    """`accepted` for a request that the service would take, its refusal for any other.

    `token` is the only bearer token that is let in, `keys` (id and secret) those that signatures must be made with.
    `signatures` are those of thinking that the service knows; None takes all.
    """

    def reply(request: RecordedRequest) -> Reply:
        refused = _unsigned(request, token, keys)
        if refused:
            return error_reply(403, "AccessDeniedException", refused)
        fault = request_fault(request, signatures)
        if fault:
            return error_reply(400, "ValidationException", fault)
        return accepted(request) if callable(accepted) else accepted

    return reply


def _unsigned(request: RecordedRequest, token: str | None, keys: tuple[str, str] | None) -> str | None:
    given = request.headers.get("authorization", "")
    if keys is not None:
        return None if given == expected_signature(request, *keys) else "The request signature we calculated differs."
    if token is not None:
        return None if given == f"Bearer {token}" else "The bearer token is not valid."
    return None if given else "Missing Authentication Token"


def expected_signature(request: RecordedRequest, key_id: str, secret: str) -> str:
    """The `Authorization` header that the vendor's own signer gives for the request as it arrived.

    Needs the extra `bedrock`.
    """
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = request.headers.get("authorization", "")
    match = re.search(r"Credential=([^/]+)/\d{8}/([^/]+)/bedrock/aws4_request, SignedHeaders=([^,]+),", given)
    if match is None or match[1] != key_id:
        return ""
    signer = SigV4Auth(Credentials(key_id, secret, request.headers.get("x-amz-security-token")), "bedrock", match[2])
    headers = {name: request.headers[name] for name in match[3].split(";") if name in request.headers}
    url = f"http://{request.headers['host']}{request.path}"
    signed = AWSRequest(method=request.method, url=url, data=request.body, headers=headers)
    signed.context["timestamp"] = request.headers["x-amz-date"]
    canonical = signer.canonical_request(signed)
    text_to_sign = signer.string_to_sign(signed, canonical)
    signature: str = signer.signature(text_to_sign, signed)
    return f"{given[: given.index('Signature=')]}Signature={signature}"


def request_fault(request: RecordedRequest, signatures: Collection[str] | None = None) -> str | None:
    """What the service would refuse in a request; None for nothing."""
    if request.method != "POST" or not MODEL_PATH.match(request.path):
        return f"no such operation: {request.method} {request.path}"
    body = request.json
    points = json.dumps(body).count('"cachePoint"')
    if points > MAX_CACHE_POINTS:
        return f"{points} cache points are more than {MAX_CACHE_POINTS}"
    if any(not block.get("text", "x").strip() for block in body.get("system", ())):
        return "the system prompt is blank"
    return conversation_fault(body["messages"], has_tools=bool(body.get("toolConfig")), signatures=signatures)


def model_of(request: RecordedRequest) -> str:
    """The id of the model that a request asks."""
    match = MODEL_PATH.match(request.path)
    return unquote(match[1]) if match else ""


def conversation_fault(
    messages: Sequence[Mapping[str, Any]], *, has_tools: bool, signatures: Collection[str] | None = None
) -> str | None:
    """What is wrong with turns, blocks, or the pairing of calls and results; None when nothing is."""
    waiting: list[str] = []
    seen: set[str] = set()
    role = "assistant"
    for message in messages:
        if message["role"] == role:
            return "roles must alternate between user and assistant, beginning with user"
        role = message["role"]
        for block in message["content"]:
            fault = _block_fault(block, role, signatures)
            if fault:
                return fault
        if not message["content"]:
            return "a message is empty"
        results = [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block]
        if sorted(results) != sorted(waiting):
            return f"results {results} do not answer the calls {waiting}"
        waiting = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        if seen & set(waiting) or len(set(waiting)) < len(waiting):
            return "a call id is repeated"
        seen |= set(waiting)
    if seen and not has_tools:
        return "toolConfig must be defined when messages hold toolUse or toolResult"
    return f"calls without results: {waiting}" if waiting else None


def _block_fault(block: Mapping[str, Any], role: str, signatures: Collection[str] | None) -> str | None:
    if "text" in block and not block["text"].strip():
        return "a text is blank"
    if "toolUse" in block and not (
        role == "assistant"
        and _ID.fullmatch(block["toolUse"]["toolUseId"])
        and _NAME.fullmatch(block["toolUse"]["name"])
    ):
        return "a tool call is not valid"
    if "toolResult" in block and not block["toolResult"]["content"]:
        return "a tool result is empty"
    if "toolResult" in block:
        return next((f for b in block["toolResult"]["content"] if (f := _block_fault(b, "user", None))), None)
    thought = block.get("reasoningContent", {})
    signature = thought.get("redactedContent") or thought.get("reasoningText", {}).get("signature")
    if thought and signatures is not None and signature not in signatures:
        return f"the signature {signature!r} of a thinking block is not valid"
    return None
