"""The body of a Mistral chat request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from pinyon.ai.apis.mistral_message import MessageWriter
from pinyon.ai.estimate import clamp_max_tokens
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import Message, SystemMessage
from pinyon.ai.model import Model, clamp_level
from pinyon.ai.option import StreamOptions, resolve_cache_retention
from pinyon.ai.strict_schema import strict_parameters
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import collapse, current_tools, system_text, update_text
from pinyon.ai.transform import transform_messages

_DEFAULT_EFFORT = "high"


class MistralCompat(msgspec.Struct, frozen=True, rename="camel"):
    """Flags of this API: system messages in the middle of a conversation, and strict argument schemas, with which some
    models stop answering.
    """

    supports_mid_convo_system_messages: bool = False
    supports_strict_mode: bool = False


class EncodingMemory:
    """What is kept between requests so that each message is adapted and encoded once."""

    def __init__(self) -> None:
        self.adapted: MessageMemo[Message] = MessageMemo()
        self.encoded: MessageMemo[bytes] = MessageMemo()


def mistral_compat(model: Model) -> MistralCompat:
    """The flags of `model`; what is not a boolean counts as unset."""
    flags = model.compat or {}
    fields = msgspec.structs.fields(MistralCompat)
    known = {field.name: flags.get(field.encode_name) for field in fields}
    return MistralCompat(**{name: value for name, value in known.items() if isinstance(value, bool)})


def cached_session(options: StreamOptions) -> str | None:
    """The session id, where the caller lets the provider cache for it."""
    return None if resolve_cache_retention(options) == "none" else options.session_id or None


def build_body(
    model: Model, messages: Sequence[Message], options: StreamOptions, memory: EncodingMemory
) -> dict[str, Any]:
    """The body for a transcript; its `messages` are encoded already.

    Raises `ContextFullError` when nothing is left for an answer and `SamplingError` for tools that cannot be declared
    as they require.
    """
    compat = mistral_compat(model)
    wire = _wire_messages(transform_messages(messages, model, memo=memory.adapted), compat, memory)
    body: dict[str, Any] = {"model": model.id, "stream": True, "messages": [msgspec.Raw(data) for data in wire]}
    body |= _tool_fields(current_tools(messages), compat, options)
    limit = model.max_tokens if options.max_tokens is None else options.max_tokens
    if limit > 0:
        body["max_tokens"] = clamp_max_tokens(model, messages, limit)
    if options.temperature is not None:
        body["temperature"] = options.temperature
    body |= _thinking_fields(model, options)
    session_id = cached_session(options)
    return body | {"prompt_cache_key": session_id} if session_id else body


def _wire_messages(sent: list[Message], compat: MistralCompat, memory: EncodingMemory) -> list[bytes]:
    if not compat.supports_mid_convo_system_messages:
        sent = cast("list[Message]", collapse(sent))
    writer = MessageWriter(memory.encoded)
    for index, message in enumerate(sent):
        if not isinstance(message, SystemMessage):
            writer.write(message)
            continue
        text = system_text(message) if index == 0 else update_text(message)
        if text.strip():
            writer.add({"role": "system", "content": text})
    return writer.messages


def _tool_fields(tools: Sequence[Tool], compat: MistralCompat, options: StreamOptions) -> dict[str, Any]:
    declared = [_declaration(tool, compat) for tool in tools]
    if not declared:
        return {}
    choice = (options.extra or {}).get("tool_choice", options.tool_choice)
    if isinstance(choice, Mapping):
        return {"tools": declared, "tool_choice": dict(choice)}
    return {"tools": declared} if choice is None else {"tools": declared, "tool_choice": choice}


def _declaration(tool: Tool, compat: MistralCompat) -> dict[str, Any]:
    strict = strict_parameters(tool, compat.supports_strict_mode)
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    function["parameters"] = tool.parameters if strict is None else strict
    function["strict"] = strict is not None
    return {"type": "function", "function": function}


def _thinking_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    """An effort for models with a level map; other models that reason have one mode for it."""
    extra = options.extra or {}
    own = {name: extra[name] for name in ("prompt_mode", "reasoning_effort") if extra.get(name)}
    if own or not model.reasoning:
        return own
    wanted = options.reasoning or "off"
    level = "off" if wanted == "off" else clamp_level(model, wanted)
    if not model.thinking_level_map:
        return {} if level == "off" else {"prompt_mode": "reasoning"}
    word = model.thinking_level_map.get(level)
    if level == "off":
        return {"reasoning_effort": word} if word else {}
    return {"reasoning_effort": word or _DEFAULT_EFFORT}
