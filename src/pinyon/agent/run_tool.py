"""One tool call from the model's words to its outcome: preparation, checks, hooks, execution.

A call always ends in exactly one outcome; whatever a tool or a hook raises becomes an error result for the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.grace import AbortGrace
from pinyon.agent.hook import (
    DEFAULT_ABORT_GRACE_S,
    AfterToolCall,
    AfterToolCallContext,
    AfterToolCallResult,
    AgentContext,
    BeforeToolCall,
    BeforeToolCallContext,
    settled,
)
from pinyon.agent.tool import AgentTool, AgentToolResult, ToolUpdate
from pinyon.agent.tool_result import checked_result, error_result
from pinyon.ai.content import ToolCall
from pinyon.ai.message import AssistantMessage

ABORTED_TEXT = "Operation aborted"
CANCELLED_TEXT = "The tool call was cancelled"
MAX_SHOWN_NAMES = 40


class ToolCallOutcome(msgspec.Struct):
    """What became of a call. `duration_ms` is absent when the tool never ran."""

    call: ToolCall
    result: AgentToolResult
    is_error: bool
    duration_ms: int | UnsetType = UNSET


class PreparedCall(msgspec.Struct):
    """A call that may run: its tool and its validated arguments."""

    call: ToolCall
    tool: AgentTool
    args: Any


def failed_call(call: ToolCall, text: str) -> ToolCallOutcome:
    """The outcome of a call that did not run."""
    return ToolCallOutcome(call=call, result=error_result(text), is_error=True)


def error_text(error: BaseException) -> str:
    """What an exception says; its type's name where it says nothing."""
    return str(error) or type(error).__name__


def ignore_update(result: AgentToolResult) -> None:
    """The update callback of a call that nobody watches."""


class ToolRunner(msgspec.Struct):
    """Runs the calls of one assistant message."""

    assistant_message: AssistantMessage
    context: AgentContext
    signal: AbortSignal
    before_tool_call: BeforeToolCall | None = None
    after_tool_call: AfterToolCall | None = None
    abort_grace_s: float = DEFAULT_ABORT_GRACE_S
    clock: Clock = SYSTEM_CLOCK

    async def prepare(self, call: ToolCall) -> PreparedCall | ToolCallOutcome:
        """Find the tool, repair and check the arguments, ask the hook; an outcome where the call must not run."""
        if self.signal.aborted:
            return failed_call(call, ABORTED_TEXT)
        tool = next((tool for tool in reversed(self.context.tools) if tool.name == call.name), None)
        if tool is None:
            return failed_call(call, self._unknown_tool_text(call.name))
        async with AbortGrace(self.signal, self.abort_grace_s) as grace:
            try:
                return await self._prepare(tool, call)
            except Exception as error:  # noqa: BLE001 - the tool-call border: every failure is told to the model
                return failed_call(call, error_text(error))
            except asyncio.CancelledError:
                if grace.is_cancelled:
                    raise
                return failed_call(call, CANCELLED_TEXT)
        return failed_call(call, ABORTED_TEXT)

    async def _prepare(self, tool: AgentTool, call: ToolCall) -> PreparedCall | ToolCallOutcome:
        from pinyon.agent.validation import copied, validate_arguments

        arguments: Any = call.arguments
        if tool.prepare_arguments is not None and not call.arguments_error:
            arguments = await settled(tool.prepare_arguments(copied(call.arguments)))
        prepared = PreparedCall(call=call, tool=tool, args=validate_arguments(tool, call, arguments))
        if self.before_tool_call is None:
            return prepared
        asked = BeforeToolCallContext(
            assistant_message=self.assistant_message, tool_call=call, args=prepared.args, context=self.context
        )
        answer = await settled(self.before_tool_call(asked, self.signal))
        if self.signal.aborted:
            return failed_call(call, ABORTED_TEXT)
        if answer is None or not answer.block:
            return prepared
        refused = failed_call(call, answer.reason or f"The call of {call.name!r} was not allowed.")
        refused.result.terminate = answer.terminate
        return refused

    def _unknown_tool_text(self, name: str) -> str:
        names = [tool.name for tool in self.context.tools]
        shown = ", ".join(names[:MAX_SHOWN_NAMES]) + (", …" if len(names) > MAX_SHOWN_NAMES else "")
        return f"There is no tool {name!r}. " + (f"Tools: {shown}" if names else "No tools are available.")

    async def execute(self, prepared: PreparedCall, on_update: ToolUpdate) -> ToolCallOutcome:
        """Run a prepared call, then the hook that may change its result."""
        if self.signal.aborted:
            return failed_call(prepared.call, ABORTED_TEXT)
        started = self.clock.monotonic_ms()
        result, is_error = await self._execute(prepared, on_update)
        duration_ms = max(0, round(self.clock.monotonic_ms() - started))
        if self.after_tool_call is not None:
            result, is_error = await self._after(self.after_tool_call, prepared, result, is_error)
        return ToolCallOutcome(call=prepared.call, result=result, is_error=is_error, duration_ms=duration_ms)

    async def _execute(self, prepared: PreparedCall, on_update: ToolUpdate) -> tuple[AgentToolResult, bool]:
        async with AbortGrace(self.signal, self.abort_grace_s) as grace:
            try:
                running = prepared.tool.execute(prepared.call.id, prepared.args, self.signal, on_update)
                result = checked_result(await settled(running))
                return result, result.is_error is True
            except Exception as error:  # noqa: BLE001 - the tool-call border: every failure is told to the model
                return error_result(error_text(error)), True
            except asyncio.CancelledError:
                if grace.is_cancelled:
                    raise
                return error_result(CANCELLED_TEXT), True
        return error_result(ABORTED_TEXT), True

    async def _after(
        self, hook: AfterToolCall, prepared: PreparedCall, result: AgentToolResult, is_error: bool
    ) -> tuple[AgentToolResult, bool]:
        asked = AfterToolCallContext(
            assistant_message=self.assistant_message,
            tool_call=prepared.call,
            args=prepared.args,
            result=result,
            is_error=is_error,
            context=self.context,
        )
        async with AbortGrace(self.signal, self.abort_grace_s) as grace:
            try:
                answer = await settled(hook(asked, self.signal))
                return (result, is_error) if answer is None else _merged(result, is_error, answer)
            except Exception as error:  # noqa: BLE001 - the tool-call border: every failure is told to the model
                return error_result(error_text(error)), True
            except asyncio.CancelledError:
                if grace.is_cancelled:
                    raise
                return error_result(CANCELLED_TEXT), True
        return error_result(ABORTED_TEXT), True


def _merged(result: AgentToolResult, is_error: bool, answer: AfterToolCallResult) -> tuple[AgentToolResult, bool]:
    changes = {name: value for name in answer.__struct_fields__ if (value := getattr(answer, name)) is not UNSET}
    if "content" in changes and "structured_content" not in changes:
        changes["structured_content"] = UNSET
    merged = checked_result(msgspec.structs.replace(result, **changes))
    return merged, is_error if answer.is_error is UNSET else answer.is_error


async def run_tool_call(
    call: ToolCall,
    *,
    assistant_message: AssistantMessage,
    context: AgentContext,
    tools: Sequence[AgentTool] | None = None,
    before_tool_call: BeforeToolCall | None = None,
    after_tool_call: AfterToolCall | None = None,
    signal: AbortSignal | None = None,
    on_update: ToolUpdate = ignore_update,
    abort_grace_s: float = DEFAULT_ABORT_GRACE_S,
    clock: Clock = SYSTEM_CLOCK,
) -> ToolCallOutcome:
    """Run one call with all checks and hooks, without events or messages, as tools do that call other tools.

    `tools` replaces those of `context`. Failures of the tool are an outcome with `is_error`, never raised.
    """
    runner = ToolRunner(
        assistant_message=assistant_message,
        context=context if tools is None else AgentContext(messages=context.messages, tools=list(tools)),
        signal=signal or AbortSignal(),
        before_tool_call=before_tool_call,
        after_tool_call=after_tool_call,
        abort_grace_s=abort_grace_s,
        clock=clock,
    )
    prepared = await runner.prepare(call)
    if isinstance(prepared, ToolCallOutcome):
        return prepared
    is_running = True

    def update(partial: AgentToolResult) -> None:
        if is_running:
            on_update(partial)

    try:
        return await runner.execute(prepared, update)
    finally:
        is_running = False
