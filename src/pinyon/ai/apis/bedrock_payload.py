"""The body of a request to the Bedrock Converse API, and its headers before they are signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.bedrock_option import BedrockRequest
from pinyon.ai.apis.bedrock_turn import TurnWriter, encode_turns, uses_tools
from pinyon.ai.identity import identity_headers, merge_headers
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import Message, SystemMessage
from pinyon.ai.strict_schema import anthropic_unsupported, strict_parameters
from pinyon.ai.tool import JsonSchemaSampling, Tool
from pinyon.ai.transcript import collapse, current_tools, system_text
from pinyon.ai.transform import plain_call_id, transform_messages

PLACEHOLDER_NAME = "__pi_placeholder__"

_HANDED_OVER: MessageMemo[Message] = MessageMemo()
_OWN_HEADERS = frozenset({"authorization", "host"})


def request_headers(request: BedrockRequest) -> dict[str, str]:
    """Identity, protocol, and what model and caller add, except headers that belong to the signature."""
    model, options = request.model, request.options
    added = merge_headers(model.headers or None, options.headers)
    return merge_headers(
        identity_headers(model.provider, options.identity),
        {"accept": "application/vnd.amazon.eventstream", "content-type": "application/json"},
        {name: value for name, value in added.items() if not _is_reserved(name)},
    )


def _is_reserved(name: str) -> bool:
    name = name.lower()
    return name in _OWN_HEADERS or name.startswith("x-amz-")


def encode_body(request: BedrockRequest, messages: Sequence[Message], *, may_prefer_strict: bool = True) -> bytes:
    """The JSON of a request. Raises `SamplingError` for tools that cannot be declared as they require."""
    sent = transform_messages(messages, request.model, plain_call_id, memo=_HANDED_OVER)
    sent = cast("list[Message]", collapse(sent))
    leading = sent[0] if sent and isinstance(sent[0], SystemMessage) else None
    rest = sent[1:] if leading is not None else sent
    turns = TurnWriter(is_claude=request.is_claude).write(rest)
    body: dict[str, Any] = {"messages": msgspec.Raw(encode_turns(turns, request.cache_point))}
    text = system_text(leading) if leading is not None else ""
    if text.strip():
        body["system"] = [{"text": text}, *([request.cache_point] if request.cache_point else [])]
    body["inferenceConfig"] = _inference(request)
    tools = _tool_config(
        request, current_tools(sent), may_prefer_strict=may_prefer_strict, needs_tools=uses_tools(rest)
    )
    if tools is not None:
        body["toolConfig"] = tools
    if request.model_fields:
        body["additionalModelRequestFields"] = request.model_fields
    metadata = (request.options.extra or {}).get("request_metadata")
    if isinstance(metadata, Mapping) and metadata:
        body["requestMetadata"] = {str(name): str(value) for name, value in metadata.items()}
    return _json.encode_clean(body)


def _inference(request: BedrockRequest) -> dict[str, Any]:
    inference: dict[str, Any] = {"maxTokens": request.max_tokens}
    if request.options.temperature is not None and not request.thinks:
        inference["temperature"] = request.options.temperature
    return inference


def _tool_config(
    request: BedrockRequest, tools: Sequence[Tool], *, may_prefer_strict: bool, needs_tools: bool
) -> dict[str, Any] | None:
    """The declarations; a reserved one where the history holds calls and nothing may be called now."""
    options = request.options
    choice = (options.extra or {}).get("tool_choice", options.tool_choice)
    if not tools or choice == "none":
        return {"tools": [_placeholder()]} if needs_tools else None
    config: dict[str, Any] = {"tools": [_wire_tool(request, tool, may_prefer_strict) for tool in tools]}
    wire_choice = _wire_choice(choice)
    return config | {"toolChoice": wire_choice} if wire_choice else config


def _wire_choice(choice: Any) -> dict[str, Any] | None:
    if choice in ("auto", "any"):
        return {choice: {}}
    if isinstance(choice, Mapping) and isinstance(choice.get("name"), str):
        return {"tool": {"name": choice["name"]}}
    return None


def _wire_tool(request: BedrockRequest, tool: Tool, may_prefer_strict: bool) -> dict[str, Any]:
    strict = _strict_schema(request, tool, may_prefer_strict)
    schema = {"type": "object", **tool.parameters} if strict is None else strict
    spec: dict[str, Any] = {"name": tool.name, "description": tool.description.strip() or tool.name}
    spec["inputSchema"] = {"json": schema}
    if strict is not None:
        spec["strict"] = True
    return {"toolSpec": spec}


def _strict_schema(request: BedrockRequest, tool: Tool, may_prefer_strict: bool) -> dict[str, Any] | None:
    sampling = tool.constrained_sampling
    if isinstance(sampling, JsonSchemaSampling) and sampling.strict == "prefer" and not may_prefer_strict:
        return None
    return strict_parameters(tool, request.strict_tools, anthropic_unsupported if request.is_claude else None)


def _placeholder() -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    spec = {"name": PLACEHOLDER_NAME, "description": "Reserved. Never call this.", "inputSchema": {"json": schema}}
    return {"toolSpec": spec}
