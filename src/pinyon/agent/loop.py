"""The agent loop: it asks the model, runs the tool calls of the answer, and asks again until nothing is left to do.

A run works on a copy of the message list that it is given and reports through events; whoever keeps the transcript
appends at `message_end`. Prompt and tools are told to the model by system messages in the transcript, which the loop
adds when the tools of the context differ from what the transcript declares.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence

from pinyon._util.abort import AbortSignal
from pinyon.agent.answer import AnswerRequest, AnswerStream
from pinyon.agent.call_id import CallIds
from pinyon.agent.default_stream import default_stream_fn
from pinyon.agent.event import AgentEnd, AgentEvent, AgentStart, MessageEnd, MessageStart, TurnEnd, TurnStart
from pinyon.agent.hook import (
    AgentContext,
    Emit,
    GetMessages,
    LoopConfig,
    RequestState,
    RequestUpdate,
    TurnContext,
    TurnDecision,
    TurnUpdate,
    settled,
)
from pinyon.agent.run_tool import ToolRunner
from pinyon.agent.tool_batch import ToolBatch
from pinyon.ai.message import AgentMessage, AssistantMessage, ToolResultMessage
from pinyon.ai.stream import StreamFn
from pinyon.ai.transcript import declare_tool_changes
from pinyon.errors import PinyonError


class NothingToContinueError(PinyonError):
    """Raised when a run is to go on from a transcript that leaves nothing to answer."""


class _Run:
    """State of one run; `prompt` or `resume` is called once."""

    def __init__(
        self, context: AgentContext, config: LoopConfig, emit: Emit, signal: AbortSignal | None, stream_fn: StreamFn
    ) -> None:
        self._context = _own(context)
        self._config = config
        self._emit_event = _awaitable_or_none(emit)
        self._signal = signal or AbortSignal()
        self._stream_fn = stream_fn
        self._model = config.model
        self._thinking_level = config.options.reasoning or "off"
        self._new_messages: list[AgentMessage] = []
        self._call_ids = CallIds()

    async def prompt(self, prompts: Sequence[AgentMessage]) -> list[AgentMessage]:
        initial = self._declared(prompts)
        await self._emit(AgentStart())
        await self._emit(TurnStart())
        await self._take(initial)
        return await self._loop()

    async def resume(self) -> list[AgentMessage]:
        await self._emit(AgentStart())
        await self._emit(TurnStart())
        return await self._loop()

    async def _loop(self) -> list[AgentMessage]:
        pending = await self._poll(self._config.get_steering_messages)
        turn: TurnContext | None = None
        goes_on = True
        while goes_on:
            turn, more_tools, decision = await self._turn(turn, pending)
            if decision == "end":
                break
            pending = await self._poll(self._config.get_steering_messages)
            if not more_tools and not pending:
                pending = await self._poll(self._config.get_follow_up_messages)
            goes_on = more_tools or bool(pending) or decision == "continue"
        await self._emit(AgentEnd(messages=self._new_messages))
        return self._new_messages

    async def _turn(
        self, previous: TurnContext | None, pending: Sequence[AgentMessage]
    ) -> tuple[TurnContext, bool, TurnDecision | None]:
        """One answer with its tool calls: the turn, whether its results ask for another, and what the hook decided."""
        if previous is not None:
            pending = await self._prepare_next_turn(previous, pending)
            await self._emit(TurnStart())
        await self._take(self._declared(pending))
        message = await self._answer()
        has_failed = message.stop_reason in ("error", "aborted")
        results, more_tools = ([], False) if has_failed else await self._run_tools(message)
        turn = TurnContext(
            message=message, tool_results=results, context=self._context, new_messages=self._new_messages
        )
        decision = await self._finish_turn(turn)
        await self._emit(TurnEnd(message=message, tool_results=results))
        return turn, more_tools, "end" if has_failed else decision

    async def _prepare_next_turn(self, turn: TurnContext, pending: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        hook = self._config.prepare_next_turn
        update = None if hook is None else await settled(hook(turn))
        prepared: Sequence[AgentMessage] = ()
        if update is not None:
            self._adopt(update)
            prepared = update.messages
        return [*prepared, *(pending or await self._poll(self._config.get_steering_messages))]

    async def _answer(self) -> AssistantMessage:
        if self._config.prepare_request is not None:
            state = RequestState(context=self._context, model=self._model, thinking_level=self._thinking_level)
            update = await settled(self._config.prepare_request(state, self._signal))
            if update is not None:
                self._adopt(update)
        request = AnswerRequest(
            context=self._context,
            model=self._model,
            thinking_level=self._thinking_level,
            config=self._config,
            signal=self._signal,
            stream_fn=self._stream_fn,
        )
        message = await AnswerStream(request, self._emit_event).complete()
        self._call_ids.make_unique(message, self._context.messages)
        await self._emit(MessageEnd(message=message))
        self._append(message)
        return message

    async def _run_tools(self, message: AssistantMessage) -> tuple[list[ToolResultMessage], bool]:
        """Results of the answer's calls, and whether the model is to be asked again because of them."""
        if not message.tool_calls:
            return [], False
        runner = ToolRunner(
            assistant_message=message,
            context=self._context,
            signal=self._signal,
            before_tool_call=self._config.before_tool_call,
            after_tool_call=self._config.after_tool_call,
            abort_grace_s=self._config.abort_grace_s,
            clock=self._config.clock,
        )
        batch = ToolBatch(runner, self._emit_event, self._config.tool_execution)
        results = await (batch.refuse() if message.stop_reason == "length" else batch.run())
        for result in results:
            self._append(result)
        return results, not batch.terminates

    async def _finish_turn(self, turn: TurnContext) -> TurnDecision | None:
        hook = self._config.finish_turn
        return None if hook is None else await settled(hook(turn, self._signal))

    def _adopt(self, update: TurnUpdate | RequestUpdate) -> None:
        if update.context is not None:
            self._context = _own(update.context)
        self._model = update.model or self._model
        self._thinking_level = update.thinking_level or self._thinking_level

    def _declared(self, messages: Sequence[AgentMessage]) -> list[AgentMessage]:
        tools = [tool.declaration() for tool in self._context.tools]
        return declare_tool_changes(tools, self._context.messages, messages, self._config.clock.now_ms)

    async def _take(self, messages: Sequence[AgentMessage]) -> None:
        for message in messages:
            await self._emit(MessageStart(message=message))
            await self._emit(MessageEnd(message=message))
            self._append(message)

    def _append(self, message: AgentMessage) -> None:
        self._context.messages.append(message)
        self._new_messages.append(message)

    async def _poll(self, source: GetMessages | None) -> Sequence[AgentMessage]:
        return () if source is None else await settled(source())

    async def _emit(self, event: AgentEvent) -> None:
        delivery = self._emit_event(event)
        if delivery is not None:
            await delivery


def _awaitable_or_none(emit: Emit) -> Emit:
    """`emit` with answers that nobody can await left out."""

    def deliver(event: AgentEvent) -> Awaitable[None] | None:
        answer = emit(event)
        return answer if answer is not None and inspect.isawaitable(answer) else None

    return deliver


def _own(context: AgentContext) -> AgentContext:
    """The context with lists that the run may append to."""
    return AgentContext(messages=list(context.messages), tools=list(context.tools))


def check_can_continue(messages: Sequence[AgentMessage]) -> None:
    """Raise `NothingToContinueError` unless the transcript ends with something to answer."""
    if not messages:
        raise NothingToContinueError("cannot continue: the transcript is empty; send a prompt")
    if isinstance(messages[-1], AssistantMessage):
        raise NothingToContinueError("cannot continue: the last message is the model's own answer; send a prompt")


async def run_agent_loop(
    prompts: Sequence[AgentMessage],
    context: AgentContext,
    config: LoopConfig,
    emit: Emit,
    signal: AbortSignal | None = None,
    stream_fn: StreamFn | None = None,
) -> list[AgentMessage]:
    """Run from new messages; returns all new messages, the prompts included. `context` itself is not changed.

    Failures of the model are messages. What hooks, `emit` or a raising stream function throw is passed on.
    """
    run = _Run(context, config, emit, signal, stream_fn or default_stream_fn())
    return await run.prompt(prompts)


async def run_agent_loop_continue(
    context: AgentContext,
    config: LoopConfig,
    emit: Emit,
    signal: AbortSignal | None = None,
    stream_fn: StreamFn | None = None,
) -> list[AgentMessage]:
    """Run from the context as it stands, such as after a failed answer was taken away; returns the new messages.

    Raises `NothingToContinueError` if the context is empty or ends with an answer.
    """
    check_can_continue(context.messages)
    return await _Run(context, config, emit, signal, stream_fn or default_stream_fn()).resume()
