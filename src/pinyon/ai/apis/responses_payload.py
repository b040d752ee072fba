"""The body of a request to the Responses API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from pinyon._util import json as _json
from pinyon.ai.apis.responses_call import with_distinct_calls
from pinyon.ai.apis.responses_input import InputBuilder
from pinyon.ai.apis.responses_item import Items, ItemWriter
from pinyon.ai.apis.responses_option import BASE_EFFORT, ResponsesRequest
from pinyon.ai.apis.responses_tool import grammar_inputs, wire_tools
from pinyon.ai.call_id import responses_id
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.transcript import ToolMode, collapse, place_tools, system_messages
from pinyon.ai.transform import transform_messages

REASONING_INCLUDE = "reasoning.encrypted_content"


class EncodingMemory:
    """What is kept between requests so that each message is adapted and encoded once."""

    def __init__(self) -> None:
        self.adapted: MessageMemo[Message] = MessageMemo()
        self.renamed: MessageMemo[Message] = MessageMemo()
        self.encoded: MessageMemo[Items] = MessageMemo()


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the making: its input items, encoded, and what the other fields are made from.

    `grammar_inputs` maps custom tools to the argument that holds their text; `next_position` is where the answer will
    stand in the conversation.
    """

    request: ResponsesRequest
    items: list[bytes]
    tools: list[dict[str, Any]]
    has_tools: bool
    grammar_inputs: dict[str, str]
    writer: ItemWriter
    next_position: int

    @property
    def input(self) -> msgspec.Raw:
        """The input items as one JSON list."""
        return joined(self.items)

    def reply_items(self, message: AssistantMessage) -> Items:
        """How the answer will stand in the next request."""
        return self.writer.items(message, self.next_position)


def joined(items: Sequence[bytes]) -> msgspec.Raw:
    """Encoded items as one JSON list."""
    return msgspec.Raw(b"[" + b",".join(items) + b"]")


def build_payload(request: ResponsesRequest, messages: Sequence[Message], memory: EncodingMemory) -> Payload:
    """Encode a transcript. Raises `SamplingError` for tools that cannot be declared as they require."""
    sent = _handed_over(request, messages, memory)
    if not request.compat.supports_mid_convo_system_messages:
        sent = cast("list[Message]", collapse(sent))
    placement = place_tools(sent, _tool_mode(request))
    declared = [tool for message in system_messages(sent) for tool in message.tools_added or ()]
    inputs = grammar_inputs(request, declared)
    writer = ItemWriter(request, inputs, memory.encoded)
    items = InputBuilder(request, writer, placement.in_place_from).build(sent)
    return Payload(
        request=request,
        items=items,
        tools=wire_tools(request, placement.tools),
        has_tools=bool(declared),
        grammar_inputs=inputs,
        writer=writer,
        next_position=len(sent) - (1 if sent and isinstance(sent[0], SystemMessage) else 0),
    )


def _handed_over(request: ResponsesRequest, messages: Sequence[Message], memory: EncodingMemory) -> list[Message]:
    model = request.model

    def normalized(call_id: str, source: AssistantMessage) -> str:
        is_own = (source.provider, source.api) == (model.provider, model.api)
        return responses_id(call_id, model.provider, same_provider=is_own, azure=request.flavour == "azure")

    sent = transform_messages(messages, model, normalized, memo=memory.adapted)
    return with_distinct_calls(sent, memory.renamed)


def _tool_mode(request: ResponsesRequest) -> ToolMode:
    if request.compat.declares_all_tools_in_place:
        return "changes"
    return "additions" if request.compat.loads_later_tools else "none"


def encoded_body(payload: Payload, model_name: str) -> bytes:
    """The body for the vendor's API and Azure's; `model_name` is what the server calls the model."""
    request = payload.request
    body: dict[str, Any] = {"model": model_name, "input": payload.input, "stream": True}
    body |= _cache_fields(request)
    if request.compat.supports_store:
        body["store"] = False
    body |= limit_fields(request)
    if payload.tools:
        body["tools"] = payload.tools
    choice = tool_choice(payload)
    if choice is not None:
        body["tool_choice"] = choice
    body |= reasoning_fields(request)
    if body.get("reasoning", {}).get("summary") or request.model.provider == "xai":
        body["include"] = [REASONING_INCLUDE]
    return _json.encode_clean(body | _sampling(request))


def tool_choice(payload: Payload) -> Any:
    """What the caller wants of the tools, None where it wants nothing or there are none."""
    choice = payload.request.own_option("tool_choice", payload.request.options.tool_choice)
    if choice is None or not payload.has_tools:
        return None
    return choice if isinstance(choice, str) else dict(choice)


def limit_fields(request: ResponsesRequest) -> dict[str, Any]:
    """Output limit, temperature and service tier, where they are sent."""
    options = request.options
    fields: dict[str, Any] = {}
    if request.max_tokens and request.compat.supports_max_output_tokens and not request.is_subscription:
        fields["max_output_tokens"] = request.max_tokens
    if options.temperature is not None and not request.is_subscription:
        fields["temperature"] = options.temperature
    tier = request.own_option("service_tier")
    return fields | ({"service_tier": tier} if tier is not None else {})


def reasoning_fields(request: ResponsesRequest) -> dict[str, Any]:
    """The `reasoning` field; a summary is asked for where the model is to reason."""
    if request.effort is None:
        return {}
    summary = {"summary": request.own_option("reasoning_summary", "auto")}
    if request.marks_effort:
        return {"reasoning": {"effort": BASE_EFFORT} | summary}
    is_on = request.level != "off" or request.own_option("reasoning_effort", "off") not in ("off", "none")
    return {"reasoning": {"effort": request.effort} | (summary if is_on else {})}


def _cache_fields(request: ResponsesRequest) -> dict[str, Any]:
    compat = request.compat
    fields: dict[str, Any] = {}
    if request.cache_key is not None:
        fields["prompt_cache_key"] = request.cache_key
    if request.flavour == "azure" or request.is_subscription:
        return fields
    keeps_long = request.retention == "long" and compat.supports_long_cache_retention
    if not compat.supports_explicit_prompt_cache_mode:
        return fields | ({"prompt_cache_retention": "24h"} if keeps_long else {})
    if request.retention == "none":
        return fields | {"prompt_cache_options": {"mode": "explicit"}}
    return fields | ({"prompt_cache_options": {"ttl": "30m"}} if keeps_long else {})


def _sampling(request: ResponsesRequest) -> dict[str, Any]:
    """Sampling parameters of the model, of its thinking level and of the caller; they override every other field."""
    model = request.model
    by_level = (model.sampling_params_by_thinking_level or {}).get(request.level)
    return {**(model.sampling_params or {}), **(by_level or {}), **(request.options.sampling_params or {})}
