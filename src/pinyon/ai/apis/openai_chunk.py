"""Chunks of a chat-completions stream: decoded by type when they look as they should, leniently when they do not.

Servers differ in what they send: null for absent, objects where text belongs, whole messages in place of deltas, usage
at several places. Whatever arrives becomes a `Chunk`, or None where nothing in it is known.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pinyon._util import json as _json
from pinyon.ai.wire_value import DECODE_ERRORS, json_event


class FunctionDelta(msgspec.Struct):
    """Part of a function call: its name, and a fragment of the JSON text of its arguments."""

    name: str | None = None
    arguments: str | None = None


class CustomDelta(msgspec.Struct):
    """Part of a call of a custom tool: its name, and a fragment of its free text."""

    name: str | None = None
    input: str | None = None


class CallDelta(msgspec.Struct):
    """Part of a tool call."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None
    custom: CustomDelta | None = None


class Delta(msgspec.Struct):
    """What a chunk adds to the answer."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    tool_calls: list[CallDelta] | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    function_call: FunctionDelta | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    """One of the answers that were asked for; only the first is."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None


class Chunk(msgspec.Struct):
    """One event of the stream. `error` is what the server says went wrong, in whatever form."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(Chunk)


def decode_chunk(data: bytes) -> Chunk | None:
    """The chunk in the data of an event; None for JSON that is not an object.

    Raises `ProviderError` for what is not JSON.
    """
    try:
        chunk = _decoder.decode(data)
    except DECODE_ERRORS:
        return chunk_from(json_event(data))
    if chunk.choices is None and chunk.usage is None and chunk.error is None:
        return chunk_from(json_event(data))
    return chunk


def chunk_from(value: Any) -> Chunk | None:
    """A chunk from any JSON value; fields of a kind that means nothing count as absent."""
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    return Chunk(
        id=_text(value.get("id")),
        model=_text(value.get("model")),
        choices=[_choice(item) for item in choices if isinstance(item, dict)] if isinstance(choices, list) else None,
        usage=_object(value.get("usage")),
        error=_error_in(value),
    )


def _error_in(value: dict[str, Any]) -> Any:
    if value.get("error"):
        return value["error"]
    return value if value.get("object") == "error" else None


def error_event_message(data: bytes) -> str:
    """What an event that is named an error says, in whatever form."""
    text = data.decode("utf-8", "replace")
    try:
        value = _json.decode(text)
    except _json.JsonError:
        return text
    inner = value.get("error") if isinstance(value, dict) else None
    return error_message(inner or value)


def _choice(value: dict[str, Any]) -> Choice:
    delta, message = _object(value.get("delta")), _object(value.get("message"))
    return Choice(
        delta=None if delta is None else _delta(delta),
        message=None if message is None else _delta(message),
        finish_reason=_text(value.get("finish_reason")),
        usage=_object(value.get("usage")),
    )


def _delta(value: dict[str, Any]) -> Delta:
    content, thinking = _content(value.get("content"))
    calls, details = value.get("tool_calls"), value.get("reasoning_details")
    function = _object(value.get("function_call"))
    return Delta(
        content=content,
        reasoning_content=_text(value.get("reasoning_content")) or thinking,
        reasoning=_text(value.get("reasoning")),
        reasoning_text=_text(value.get("reasoning_text")),
        tool_calls=[_call(item) for item in calls if isinstance(item, dict)] if isinstance(calls, list) else None,
        reasoning_details=[item for item in details if isinstance(item, dict)] if isinstance(details, list) else None,
        function_call=None if function is None else _function(function),
        refusal=_text(value.get("refusal")),
    )


def _content(value: Any) -> tuple[str | None, str | None]:
    """Text and thinking of content that may be a list of parts."""
    if not isinstance(value, list):
        return _text(value), None
    texts: list[str] = []
    thinking: list[str] = []
    for part in value:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            thinking.append(_content(inner)[0] or "")
        elif isinstance(part, dict):
            texts.append(_text(part.get("text")) or "")
    return "".join(texts) or None, "".join(thinking) or None


def _call(value: dict[str, Any]) -> CallDelta:
    function, custom = _object(value.get("function")), _object(value.get("custom"))
    return CallDelta(
        index=_index(value.get("index")),
        id=_text(value.get("id")),
        function=None if function is None else _function(function),
        custom=None if custom is None else CustomDelta(_text(custom.get("name")), _text(custom.get("input"))),
    )


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _function(value: dict[str, Any]) -> FunctionDelta:
    arguments = value.get("arguments")
    if isinstance(arguments, dict | list):
        arguments = _json.encode_clean(arguments).decode()
    return FunctionDelta(_text(value.get("name")), _text(arguments))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def error_message(error: Any) -> str:
    """What a server's error object says: its message, the raw text of the server behind it, and the code."""
    if not isinstance(error, dict):
        return error if isinstance(error, str) and error else f"the server reported an error: {_shown(error)}"
    text = _text(error.get("message")) or _shown(error)
    metadata = _object(error.get("metadata")) or {}
    raw = metadata.get("raw")
    raw_text = raw if isinstance(raw, str) else _shown(raw) if raw is not None else ""
    if raw_text and raw_text not in text:
        text = f"{text}\n{raw_text}"
    code = error.get("code")
    if isinstance(code, int | str) and str(code) and str(code) not in text:
        text = f"{text} (code {code})"
    return text


def _shown(value: Any) -> str:
    return _json.encode_clean(value).decode()
