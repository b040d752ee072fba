"""All tool calls of one answer: their order, their events, and one result message for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from pinyon.agent.event import MessageEnd, MessageStart, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pinyon.agent.hook import Emit
from pinyon.agent.run_tool import PreparedCall, ToolCallOutcome, ToolRunner, failed_call
from pinyon.agent.tool import AgentToolResult, ExecutionMode
from pinyon.agent.tool_result import checked_result
from pinyon.ai.content import ToolCall
from pinyon.ai.message import ToolResultMessage


class ToolBatch:
    """Runs the calls of `runner.assistant_message`; `emit` gets the events.

    Sequential: each call is prepared, run and reported before the next. Parallel: all calls are prepared in order, then
    run together; ends are emitted as they come, the messages after all of them in the order of the calls. A tool that
    asks for `sequential` makes the whole batch so.
    """

    def __init__(self, runner: ToolRunner, emit: Emit, mode: ExecutionMode) -> None:
        self._runner = runner
        self._emit = emit
        self._calls = runner.assistant_message.tool_calls
        self._mode = self._effective_mode(mode)
        self._outcomes: list[ToolCallOutcome] = []

    def _effective_mode(self, mode: ExecutionMode) -> ExecutionMode:
        called = {call.name for call in self._calls}
        wants = any(tool.execution_mode == "sequential" and tool.name in called for tool in self._runner.context.tools)
        return "sequential" if wants else mode

    @property
    def terminates(self) -> bool:
        """Whether every result asks the run to stop."""
        return bool(self._outcomes) and all(outcome.result.terminate is True for outcome in self._outcomes)

    async def run(self) -> list[ToolResultMessage]:
        """Run all calls; the result messages stand in the order of the calls."""
        try:
            async with asyncio.TaskGroup() as group:
                if self._mode == "sequential":
                    return [await self._run_alone(call, group) for call in self._calls]
                await self._run_together(group)
        except BaseExceptionGroup as failures:
            raise _first_failure(failures) from None
        return [await self._report(outcome) for outcome in self._outcomes]

    async def refuse(self) -> list[ToolResultMessage]:
        """Report every call of an answer that the output limit cut as not run; only the first is told at length."""
        messages = []
        for index, call in enumerate(self._calls):
            await self._started(call)
            outcome = failed_call(call, _cut_text(call.name, is_first=index == 0))
            await self._ended(outcome)
            messages.append(await self._report(outcome))
        return messages

    async def _run_alone(self, call: ToolCall, group: asyncio.TaskGroup) -> ToolResultMessage:
        await self._started(call)
        prepared = await self._runner.prepare(call)
        outcome = prepared if isinstance(prepared, ToolCallOutcome) else await self._execute(prepared, group)
        await self._ended(outcome)
        self._outcomes.append(outcome)
        return await self._report(outcome)

    async def _run_together(self, group: asyncio.TaskGroup) -> None:
        slots: list[ToolCallOutcome | None] = []
        waiting: list[tuple[int, PreparedCall]] = []
        for call in self._calls:
            await self._started(call)
            prepared = await self._runner.prepare(call)
            if isinstance(prepared, ToolCallOutcome):
                await self._ended(prepared)
                slots.append(prepared)
            else:
                waiting.append((len(slots), prepared))
                slots.append(None)

        async def finish(index: int, prepared: PreparedCall) -> None:
            outcome = slots[index] = await self._execute(prepared, group)
            await self._ended(outcome)

        if len(waiting) == 1:
            await finish(*waiting[0])
        else:
            tasks = [group.create_task(finish(index, prepared)) for index, prepared in waiting]
            await asyncio.gather(*tasks)
        self._outcomes = [outcome for outcome in slots if outcome is not None]

    async def _execute(self, prepared: PreparedCall, group: asyncio.TaskGroup) -> ToolCallOutcome:
        """Run a call and pass on its updates; the outcome comes after the last of them was delivered."""
        call = prepared.call
        deliveries: list[asyncio.Task[None]] = []
        is_running = True

        def update(partial: AgentToolResult) -> None:
            if not is_running:
                return
            event = ToolExecutionUpdate(
                tool_call_id=call.id, tool_name=call.name, args=call.arguments, partial_result=checked_result(partial)
            )
            delivery = self._emit(event)
            if delivery is not None:
                deliveries.append(group.create_task(_wait_for(delivery)))

        outcome = await self._runner.execute(prepared, update)
        is_running = False
        if deliveries:
            await asyncio.gather(*deliveries)
        return outcome

    async def _started(self, call: ToolCall) -> None:
        delivery = self._emit(ToolExecutionStart(tool_call_id=call.id, tool_name=call.name, args=call.arguments))
        if delivery is not None:
            await delivery

    async def _ended(self, outcome: ToolCallOutcome) -> None:
        event = ToolExecutionEnd(
            tool_call_id=outcome.call.id,
            tool_name=outcome.call.name,
            result=outcome.result,
            is_error=outcome.is_error,
            duration_ms=outcome.duration_ms,
        )
        delivery = self._emit(event)
        if delivery is not None:
            await delivery

    async def _report(self, outcome: ToolCallOutcome) -> ToolResultMessage:
        message = result_message(outcome, self._runner.clock.now_ms())
        for event in (MessageStart(message=message), MessageEnd(message=message)):
            delivery = self._emit(event)
            if delivery is not None:
                await delivery
        return message


def result_message(outcome: ToolCallOutcome, timestamp: int) -> ToolResultMessage:
    """The transcript's message for an outcome."""
    result = outcome.result
    return ToolResultMessage(
        tool_call_id=outcome.call.id,
        tool_name=outcome.call.name,
        content=result.content,
        details=result.details,
        usage=result.usage,
        is_error=outcome.is_error,
        duration_ms=outcome.duration_ms,
        timestamp=timestamp,
    )


def _cut_text(name: str, *, is_first: bool) -> str:
    if not is_first:
        return f"{name!r} was not run either."
    return (
        f"{name!r} was not run: the answer hit the output limit, so its arguments may be cut off. "
        "Send the call again, in smaller pieces if it is long."
    )


async def _wait_for(delivery: Awaitable[None]) -> None:
    await delivery


def _first_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The exception that ended a group of tasks, out of its wrappings."""
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
