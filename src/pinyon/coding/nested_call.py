"""Tool calls that tools make: the same checks, hooks and events as calls of the model, and a record with their parent.

A nested call has the id `<parent>/<n>`. Its result goes back to the tool that asked; the transcript keeps only the
record, which is bounded, and the usage.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util import json as _json
from pinyon._util.abort import AbortSignal
from pinyon.agent.agent import Agent
from pinyon.agent.event import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pinyon.agent.hook import AgentContext
from pinyon.agent.run_tool import ToolCallOutcome, run_tool_call
from pinyon.agent.tool import AgentTool, AgentToolResult
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import AssistantMessage, NestedCall, NestedCalls, ToolResultMessage
from pinyon.ai.usage import Usage
from pinyon.coding.answer import last_assistant
from pinyon.coding.event import SessionEvent
from pinyon.coding.usage import combine_usage

MAX_CALLS = 256
"""Calls of one parent that are recorded."""

MAX_ARGUMENT_BYTES = 8 * 1024
"""Arguments of one call that are recorded, as JSON."""

MAX_TOTAL_ARGUMENT_BYTES = 32 * 1024
"""Arguments of all calls of one parent that are recorded, as JSON."""

MAX_ERROR_CHARS = 500
"""Length of a recorded error text."""


class _Record(msgspec.Struct):
    """What one parent has called so far."""

    calls: list[NestedCall] = msgspec.field(default_factory=list)
    usage: Usage | None = None
    argument_bytes: int = 0
    count: int = 0
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class NestedCaller:
    """Runs the calls that tools make and records them until the result of their parent is stored.

    `callable_tools` gives the tools that tools may call.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        callable_tools: Callable[[], list[AgentTool]],
        emit: Callable[[SessionEvent], None],
    ) -> None:
        self._agent = agent
        self._callable_tools = callable_tools
        self._emit = emit
        self._records: dict[str, _Record] = {}

    async def call(self, parent_id: str, signal: AbortSignal, name: str, args: Mapping[str, Any]) -> AgentToolResult:
        """Call the tool `name` for the call `parent_id`; failures are results with `is_error`."""
        record = self._records.setdefault(parent_id, _Record())
        record.count += 1
        call = ToolCall(id=f"{parent_id}/{record.count}", name=name, arguments=dict(args))
        tools = self._callable_tools()
        entry = self._note(record, call)
        async with contextlib.AsyncExitStack() as turn:
            if self._is_sequential(name, tools):
                await turn.enter_async_context(record.lock)
            outcome = await self._run(parent_id, call, tools, signal)
        self._finish(record, entry, outcome)
        outcome.result.is_error = outcome.is_error
        return outcome.result

    def attach(self, message: ToolResultMessage) -> None:
        """Put the record and usage of the calls that a tool made into the message of its result."""
        record = self._records.pop(message.tool_call_id, None)
        if record is None:
            return
        message.nested_calls = NestedCalls(calls=record.calls, complete=record.count == len(record.calls))
        if record.usage is not None:
            message.usage = combine_usage(message.usage, record.usage) if message.usage else record.usage

    def forget(self) -> None:
        """Drop what was recorded for calls whose result never came."""
        self._records.clear()

    def _is_sequential(self, name: str, tools: list[AgentTool]) -> bool:
        mode = next((tool.execution_mode for tool in tools if tool.name == name), None)
        return "sequential" in (self._agent.tool_execution, mode)

    async def _run(
        self, parent_id: str, call: ToolCall, tools: list[AgentTool], signal: AbortSignal
    ) -> ToolCallOutcome:
        head: dict[str, Any] = {"tool_call_id": call.id, "tool_name": call.name, "parent_tool_call_id": parent_id}
        self._emit(ToolExecutionStart(args=call.arguments, **head))
        state = self._agent.state
        outcome = await run_tool_call(
            call,
            assistant_message=_asking(last_assistant(state.messages), call),
            context=AgentContext(messages=state.messages, tools=tools),
            before_tool_call=self._agent.before_tool_call,
            after_tool_call=self._agent.after_tool_call,
            signal=signal,
            on_update=lambda partial: self._emit(
                ToolExecutionUpdate(args=call.arguments, partial_result=partial, **head)
            ),
            abort_grace_s=self._agent.abort_grace_s,
            clock=self._agent.clock,
        )
        self._emit(
            ToolExecutionEnd(result=outcome.result, is_error=outcome.is_error, duration_ms=outcome.duration_ms, **head)
        )
        return outcome

    def _note(self, record: _Record, call: ToolCall) -> NestedCall | None:
        """Record a call that begins; None where the record is full."""
        if len(record.calls) >= MAX_CALLS:
            return None
        size = len(_json.encode(call.arguments))
        fits = size <= MAX_ARGUMENT_BYTES and record.argument_bytes + size <= MAX_TOTAL_ARGUMENT_BYTES
        if fits:
            record.argument_bytes += size
        entry = NestedCall(
            id=call.id,
            name=call.name,
            status="unfinished",
            arguments=call.arguments if fits else UNSET,
            arguments_bytes=UNSET if fits else size,
        )
        record.calls.append(entry)
        return entry

    def _finish(self, record: _Record, entry: NestedCall | None, outcome: ToolCallOutcome) -> None:
        usage: Usage | UnsetType = outcome.result.usage
        if usage is not UNSET:
            record.usage = combine_usage(record.usage, usage) if record.usage is not None else usage
        if entry is None:
            return
        entry.status = "error" if outcome.is_error else "ok"
        entry.duration_ms = outcome.duration_ms
        if outcome.is_error:
            entry.error = _text(outcome.result)[:MAX_ERROR_CHARS]


def _text(result: AgentToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _asking(answer: AssistantMessage | None, call: ToolCall) -> AssistantMessage:
    """The answer that the hooks of a nested call see: the one whose call is running."""
    if answer is not None:
        return answer
    return AssistantMessage(
        content=[call], api="", provider="", model="", usage=Usage(), stop_reason="toolUse", timestamp=0
    )
