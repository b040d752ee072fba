"""The body of a request to the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from pinyon.ai.apis.anthropic_header import betas_of
from pinyon.ai.apis.anthropic_option import AnthropicRequest
from pinyon.ai.apis.anthropic_tool import deferred_placeholder, wire_tool, wire_tools
from pinyon.ai.apis.anthropic_turn import TurnWriter, mark_last_turn
from pinyon.ai.call_id import safe_id
from pinyon.ai.memo import MessageMemo
from pinyon.ai.message import AssistantMessage, Message, SystemMessage
from pinyon.ai.tool import Tool
from pinyon.ai.transcript import collapse, current_tools, system_text
from pinyon.ai.transform import transform_messages

_HANDED_OVER: MessageMemo[Message] = MessageMemo()


class Payload(msgspec.Struct, kw_only=True):
    """A request in the making.

    `turns` are the encoded messages without any cache mark; `head` and `tail` are the fields before and after the
    system prompt and the tools, in the order in which they are sent.
    """

    request: AnthropicRequest
    turns: list[bytes]
    head: dict[str, Any]
    system: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tail: dict[str, Any]
    betas: list[str]
    writer: TurnWriter

    def body(self, *, skip_turns: int = 0, thread: dict[str, Any] | None = None) -> dict[str, Any]:
        """The body; of a continued thread only the turns after the first `skip_turns`, without system and tools."""
        turns = self.turns[skip_turns:]
        mark = self.request.cache_control
        if mark is not None:
            mark_last_turn(turns, mark)
        body: dict[str, Any] = {"model": self.head["model"], "messages": msgspec.Raw(b"[" + b",".join(turns) + b"]")}
        body |= self.head
        if not skip_turns:
            body |= {"system": self.system} if self.system else {}
            body |= {"tools": self.tools} if self.tools else {}
        body |= self.tail
        return body if thread is None else body | {"thread": thread}

    def reply_turn(self, message: AssistantMessage) -> bytes:
        """How the answer will stand in the next request."""
        return self.writer.encoded(message)


def build_payload(request: AnthropicRequest, messages: Sequence[Message], *, may_prefer_strict: bool = True) -> Payload:
    """Encode a transcript. Raises `SamplingError` for tools that cannot be declared as they require."""
    sent = transform_messages(messages, request.model, lambda call_id, _: safe_id(call_id), memo=_HANDED_OVER)
    if not request.compat.mid_convo_system_messages:
        sent = cast("list[Message]", collapse(sent))
    leading = sent[0] if sent and isinstance(sent[0], SystemMessage) else None
    initial = list(leading.tools_added or ()) if leading is not None else []
    changes_tools = request.compat.mid_convo_system_messages and request.compat.mid_convo_tool_changes and bool(initial)
    tools = initial if changes_tools else current_tools(sent)
    declared = wire_tools(request, tools, may_prefer_strict=may_prefer_strict)
    if changes_tools:
        declared.append(deferred_placeholder())
    writer = TurnWriter(
        request,
        lambda message: _tool_blocks(request, message, may_prefer_strict) if changes_tools else [],
    )
    return Payload(
        request=request,
        turns=writer.write(sent[1:] if leading is not None else sent),
        head={"model": request.model.id, "max_tokens": request.max_tokens, "stream": True},
        system=_system_blocks(request, system_text(leading) if leading is not None else ""),
        tools=declared,
        tail=_tail(request, tools),
        betas=betas_of(request, has_tools=bool(tools), changes_tools=changes_tools),
        writer=writer,
    )


def _system_blocks(request: AnthropicRequest, text: str) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    block: dict[str, Any] = {"type": "text", "text": text}
    mark = request.cache_control
    return [block if mark is None else block | {"cache_control": mark}]


def _tool_blocks(request: AnthropicRequest, message: SystemMessage, may_prefer_strict: bool) -> list[dict[str, Any]]:
    added = message.tools_added or []
    redeclared = {tool.name for tool in added}
    blocks: list[dict[str, Any]] = [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": removed.name}}
        for removed in message.tools_removed or ()
        if removed.name not in redeclared
    ]
    for tool in added:
        definition = wire_tool(request, tool, may_prefer_strict=may_prefer_strict)
        blocks.append({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}})
    return blocks


def _tail(request: AnthropicRequest, tools: Sequence[Tool]) -> dict[str, Any]:
    options = request.options
    tail: dict[str, Any] = {}
    thinking = _thinking_field(request)
    if thinking is not None:
        tail["thinking"] = thinking
    if request.output_effort:
        tail["output_config"] = {"effort": request.output_effort}
    thinks = request.thinking.mode in ("budget", "adaptive")
    if options.temperature is not None and not thinks and request.compat.temperature:
        tail["temperature"] = options.temperature
    user_id = (options.metadata or {}).get("user_id")
    if isinstance(user_id, str):
        tail["metadata"] = {"user_id": user_id}
    choice = (options.extra or {}).get("tool_choice", options.tool_choice)
    if choice is not None and tools:
        tail["tool_choice"] = {"type": choice} if isinstance(choice, str) else dict(choice)
    if request.compat.fallback_models:
        tail["fallbacks"] = [{"model": fallback.model} for fallback in request.compat.fallback_models]
    return tail


def _thinking_field(request: AnthropicRequest) -> dict[str, Any] | None:
    thinking = request.thinking
    match thinking.mode:
        case "none":
            return None
        case "disabled":
            return {"type": "disabled"}
        case "budget":
            return {"type": "enabled", "budget_tokens": thinking.budget_tokens, "display": thinking.display}
        case "adaptive":
            field: dict[str, Any] = {"type": "adaptive", "display": thinking.display}
            if request.marks_effort:
                field["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
            return field
