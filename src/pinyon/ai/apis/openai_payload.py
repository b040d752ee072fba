"""The body of a chat-completions request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.openai_compat import OpenAICompletionsCompat, is_vendor_host
from pinyon.ai.apis.openai_json_call import (
    JsonCallWriter,
    json_call_fields,
    json_call_instructions,
    may_answer,
    offered_tools,
)
from pinyon.ai.apis.openai_message import MessageWriter
from pinyon.ai.apis.openai_thinking import thinking_fields, thinking_request
from pinyon.ai.apis.openai_tool import grammar_inputs, wire_tools
from pinyon.ai.call_id import completions_id
from pinyon.ai.estimate import clamp_max_tokens
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage, ToolResultMessage
from pinyon.ai.model import Model, ThinkingLevel, clamp_level
from pinyon.ai.option import CacheRetention, StreamOptions, resolve_cache_retention
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import collapse, place_tools, system_messages, system_text, update_text
from pinyon.ai.transform import transform_messages

_CACHE_KEY_LIMIT = 64  # characters that the API accepts
_SYSTEM_BEGINNINGS = (b'{"role":"system"', b'{"role":"developer"')


class CompletionsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a request depends on, resolved."""

    model: Model
    compat: OpenAICompletionsCompat
    options: StreamOptions
    level: ThinkingLevel
    max_tokens: int
    retention: CacheRetention
    grammar_inputs: Mapping[str, str]
    calls_by_json: bool

    @property
    def cached_session_id(self) -> str | None:
        """The session id, where the caller lets the provider cache for it."""
        return None if self.retention == "none" else self.options.session_id or None

    @property
    def keeps_long(self) -> bool:
        """Whether the provider is asked to keep its cache for long."""
        return self.retention == "long" and self.compat.supports_long_cache_retention

    def own_option(self, name: str, default: Any = None) -> Any:
        """An option of this API only."""
        value = (self.options.extra or {}).get(name)
        return default if value is None else value


class EncodingMemory:
    """What is kept between requests so that each message is adapted and encoded once."""

    def __init__(self) -> None:
        self.adapted: MessageMemo[Message] = MessageMemo()
        self.encoded: MessageMemo[bytes] = MessageMemo()


class Payload(msgspec.Struct, frozen=True):
    """A request with its body."""

    request: CompletionsRequest
    body: dict[str, Any]


def build_payload(
    model: Model,
    compat: OpenAICompletionsCompat,
    messages: Sequence[Message],
    options: StreamOptions,
    memory: EncodingMemory,
) -> Payload:
    """The body for a transcript; its `messages` are encoded already.

    Raises `ContextFullError` when nothing is left for an answer and `SamplingError` for tools that cannot be declared
    as they require.
    """
    sent = transform_messages(
        messages,
        model,
        lambda call_id, _source: completions_id(call_id, model.provider),
        memo=memory.adapted,
    )
    if not compat.supports_mid_convo_system_messages or compat.tool_call_format == "json-schema":
        sent = cast("list[Message]", collapse(sent))
    placement = place_tools(sent, "additions" if compat.declares_tools_in_place else "none")
    tools = placement.tools
    if compat.tool_call_format == "json-schema":
        tools = offered_tools(tools, options.tool_choice)
    request = CompletionsRequest(
        model=model,
        compat=compat,
        options=options,
        level=_level(model, options),
        max_tokens=_max_tokens(model, messages, options),
        retention=resolve_cache_retention(options),
        grammar_inputs=grammar_inputs(_all_tools(sent), compat),
        calls_by_json=compat.tool_call_format == "json-schema" and bool(tools),
    )
    wire = _wire_messages(request, sent, tools, placement.in_place_from, memory.encoded)
    declared = [] if compat.tool_call_format == "json-schema" else wire_tools(tools, compat)
    mark = _cache_mark(request)
    if mark is not None:
        _mark_messages(wire, mark)
        _mark_last_tool(declared, mark)
    head = {"model": model.id, "messages": [msgspec.Raw(data) for data in wire], "stream": True}
    return Payload(request, head | _fields(request, sent, tools, declared))


def _level(model: Model, options: StreamOptions) -> ThinkingLevel:
    wanted = (options.extra or {}).get("reasoning_effort") or options.reasoning
    if not model.reasoning or wanted in (None, "off"):
        return "off"
    return clamp_level(model, wanted)


def _max_tokens(model: Model, messages: Sequence[Message], options: StreamOptions) -> int:
    """The output limit, 0 where none is sent."""
    wanted = model.max_tokens if options.max_tokens is None else options.max_tokens
    return clamp_max_tokens(model, messages, wanted) if wanted > 0 else 0


def _all_tools(messages: Sequence[Message]) -> list[Tool]:
    return [tool for message in system_messages(messages) for tool in message.tools_added or ()]


def _wire_messages(
    request: CompletionsRequest,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    in_place_from: int,
    encoded: MessageMemo[bytes],
) -> list[bytes]:
    writer_type = JsonCallWriter if request.compat.tool_call_format == "json-schema" else MessageWriter
    writer = writer_type(request.model, request.compat, request.grammar_inputs, encoded)
    for index, message in enumerate(messages):
        if not isinstance(message, SystemMessage):
            writer.write(message)
            continue
        if index >= in_place_from and message.tools_added:
            writer.add({"role": "system", "tools": wire_tools(message.tools_added, request.compat)})
        text = system_text(message) if index == 0 else update_text(message)
        if index == 0 and request.calls_by_json:
            text = json_call_instructions(text, tools)
        if text.strip():
            writer.add({"role": _system_role(request), "content": text})
    return writer.finish()


def _system_role(request: CompletionsRequest) -> str:
    return "developer" if request.compat.supports_developer_role and request.model.reasoning else "system"


def _fields(
    request: CompletionsRequest, messages: Sequence[Message], tools: Sequence[Tool], declared: list[dict[str, Any]]
) -> dict[str, Any]:
    compat, options = request.compat, request.options
    fields = _cache_fields(request)
    if compat.supports_usage_in_streaming:
        fields["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        fields["store"] = False
    if request.max_tokens:
        fields[compat.max_tokens_field] = request.max_tokens
    if options.temperature is not None:
        fields["temperature"] = options.temperature
    fields |= _tool_fields(request, messages, tools, declared)
    if compat.vllm_priority is not None:
        fields["priority"] = compat.vllm_priority
    fields |= _thinking(request)
    if compat.open_router_routing:
        fields["provider"] = compat.open_router_routing
    routing = compat.vercel_gateway_routing
    gateway = {name: routing[name] for name in ("only", "order") if name in routing}
    if gateway:
        fields["providerOptions"] = {"gateway": gateway}
    return fields | _sampling(request)


def _cache_fields(request: CompletionsRequest) -> dict[str, Any]:
    compat, session_id = request.compat, request.cached_session_id
    fields: dict[str, Any] = {}
    wants_key = {
        "enabled": True,
        "disabled": False,
        "auto": is_vendor_host(request.model) or request.keeps_long,
    }[compat.prompt_cache_key_mode]
    if session_id is not None and wants_key:
        fields["prompt_cache_key"] = session_id[:_CACHE_KEY_LIMIT]
    if request.keeps_long:
        fields["prompt_cache_retention"] = "24h"
    return fields


def _tool_fields(
    request: CompletionsRequest, messages: Sequence[Message], tools: Sequence[Tool], declared: list[dict[str, Any]]
) -> dict[str, Any]:
    if request.calls_by_json:
        return json_call_fields(tools, may_answer=may_answer(request.options.tool_choice))
    if not declared:
        needs_list = request.compat.requires_tools_with_tool_history and _has_tool_history(messages)
        return {"tools": []} if needs_list else {}
    fields: dict[str, Any] = {"tools": declared}
    if request.compat.zai_tool_stream:
        fields["tool_stream"] = True
    choice = request.own_option("tool_choice", request.options.tool_choice)
    if choice is not None:
        fields["tool_choice"] = choice if isinstance(choice, str) else dict(choice)
    return fields


def _has_tool_history(messages: Sequence[Message]) -> bool:
    return any(
        isinstance(message, ToolResultMessage) or (isinstance(message, AssistantMessage) and message.tool_calls)
        for message in messages
    )


def _thinking(request: CompletionsRequest) -> dict[str, Any]:
    if not request.model.reasoning:
        return {}
    budgets = request.own_option("thinking_budgets", request.options.thinking_budgets)
    return thinking_fields(thinking_request(request.model, request.compat, request.level, request.max_tokens, budgets))


def _sampling(request: CompletionsRequest) -> dict[str, Any]:
    """Sampling parameters of the model, of its thinking level and of the caller; they override every other field."""
    model = request.model
    by_level = (model.sampling_params_by_thinking_level or {}).get(request.level)
    return {**(model.sampling_params or {}), **(by_level or {}), **(request.options.sampling_params or {})}


def _cache_mark(request: CompletionsRequest) -> dict[str, str] | None:
    if request.compat.cache_control_format is None or request.retention == "none":
        return None
    return {"type": "ephemeral", "ttl": "1h"} if request.keeps_long else {"type": "ephemeral"}


def _mark_messages(wire: list[bytes], mark: dict[str, str]) -> None:
    """Mark the first system message, and the last message with text."""
    first = next((index for index, data in enumerate(wire) if data.startswith(_SYSTEM_BEGINNINGS)), None)
    if first is not None:
        message = _json.decode(wire[first])
        if _mark_text(message, mark):
            wire[first] = _json.encode_clean(message)
    for index in range(len(wire) - 1, -1, -1):
        message = _json.decode(wire[index])
        if message["role"] in ("user", "assistant", "tool") and _mark_text(message, mark):
            wire[index] = _json.encode_clean(message)
            break


def _mark_text(message: dict[str, Any], mark: dict[str, str]) -> bool:
    """Mark the last text of a message; whether it has one."""
    content = message.get("content")
    if isinstance(content, str):
        if not content:
            return False
        message["content"] = [{"type": "text", "text": content, "cache_control": mark}]
        return True
    for part in reversed(content or []):
        if part.get("type") == "text":
            part["cache_control"] = mark
            return True
    return False


def _mark_last_tool(declared: list[dict[str, Any]], mark: dict[str, str]) -> None:
    if declared:
        declared[-1] = {**declared[-1], "cache_control": mark}
