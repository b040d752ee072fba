"""`Agent`: a conversation that runs: transcript, queues and listeners around the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.active_run import ActiveRun
from pinyon.agent.answer import llm_messages
from pinyon.agent.default_stream import default_stream_fn
from pinyon.agent.delivery import AgentListener, EventDelivery
from pinyon.agent.event import AgentEvent, MessageEnd
from pinyon.agent.failure import failure_events
from pinyon.agent.hook import (
    DEFAULT_ABORT_GRACE_S,
    AfterToolCall,
    AgentContext,
    BeforeToolCall,
    ConvertToLlm,
    Emit,
    FinishTurn,
    GetApiKey,
    LoopConfig,
    Maybe,
    PrepareRequest,
    TransformContext,
    TurnContext,
    TurnUpdate,
    settled,
)
from pinyon.agent.loop import NothingToContinueError, run_agent_loop, run_agent_loop_continue
from pinyon.agent.queue import MessageQueue, QueueMode
from pinyon.agent.run_tool import ABORTED_TEXT, error_text
from pinyon.agent.state import AgentState, InitialState
from pinyon.agent.tool import ExecutionMode
from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.message import AgentMessage, AssistantMessage, SystemMessage, UserMessage
from pinyon.ai.option import (
    Identity,
    PayloadHook,
    ProviderEventHook,
    ResponseHook,
    StreamOptions,
    Transport,
)
from pinyon.ai.stream import StreamFn
from pinyon.errors import AgentBusyError

PrepareTurn = Callable[[AbortSignal], Maybe[TurnUpdate | None]]
PrepareTurnWithContext = Callable[[TurnContext, AbortSignal], Maybe[TurnUpdate | None]]


class Agent:
    """Keeps a conversation and runs it.

    `prompt` and `continue_` start a run and return when it is over, its listeners included; one run at a time. While
    it goes on, `steer` adds messages after the current turn, `follow_up` adds some for when it would end, `abort` stops
    it. Failures of the model, of hooks and of listeners end the run with an assistant message that tells them; they do
    not raise. Cancelling the task that waits in `prompt` aborts the run, lets it end in order, and then is passed on.

    All callbacks of the constructor are attributes and may be replaced; a run uses those that were there when it
    started. They may be plain or async functions; `pinyon.agent.hook` describes them. `stream_options` are the request
    options that have no argument of their own.
    """

    def __init__(
        self,
        *,
        stream_fn: StreamFn | None = None,
        initial_state: InitialState | None = None,
        convert_to_llm: ConvertToLlm | None = None,
        transform_context: TransformContext | None = None,
        get_api_key: GetApiKey | None = None,
        on_payload: PayloadHook | None = None,
        on_response: ResponseHook | None = None,
        on_provider_stream_event: ProviderEventHook | None = None,
        before_tool_call: BeforeToolCall | None = None,
        after_tool_call: AfterToolCall | None = None,
        finish_turn: FinishTurn | None = None,
        prepare_request: PrepareRequest | None = None,
        prepare_next_turn: PrepareTurn | None = None,
        prepare_next_turn_with_context: PrepareTurnWithContext | None = None,
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
        session_id: str | None = None,
        thinking_budgets: Mapping[str, int] | None = None,
        transport: Transport = "auto",
        max_retry_delay_ms: int | None = None,
        tool_execution: ExecutionMode = "parallel",
        identity: Identity | None = None,
        stream_options: StreamOptions | None = None,
        abort_grace_s: float = DEFAULT_ABORT_GRACE_S,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.stream_fn = stream_fn
        self.convert_to_llm: ConvertToLlm = convert_to_llm or llm_messages
        self.transform_context = transform_context
        self.get_api_key = get_api_key
        self.on_payload = on_payload
        self.on_response = on_response
        self.on_provider_stream_event = on_provider_stream_event
        self.before_tool_call = before_tool_call
        self.after_tool_call = after_tool_call
        self.finish_turn = finish_turn
        self.prepare_request = prepare_request
        self.prepare_next_turn = prepare_next_turn
        self.prepare_next_turn_with_context = prepare_next_turn_with_context
        self.session_id = session_id
        self.thinking_budgets = thinking_budgets
        self.transport: Transport = transport
        self.max_retry_delay_ms = max_retry_delay_ms
        self.tool_execution: ExecutionMode = tool_execution
        self.identity = identity
        self.stream_options = stream_options
        self.abort_grace_s = abort_grace_s
        self.clock = clock
        self._state = AgentState(initial_state or {})
        self._steering = MessageQueue(steering_mode)
        self._follow_ups = MessageQueue(follow_up_mode)
        self._taken: list[tuple[MessageQueue, AgentMessage]] = []
        self._listeners: list[AgentListener] = []
        self._active: ActiveRun | None = None

    @property
    def state(self) -> AgentState:
        """The agent's state."""
        return self._state

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the run in progress; None when idle."""
        return None if self._active is None else self._active.controller.signal

    # --- listeners

    def subscribe(self, listener: AgentListener) -> Callable[[], None]:
        """Call `listener(event, signal)` for every event; returns what removes it.

        Listeners are called in the order of their subscription, and each is waited for before the next. They must not
        wait for the end of the run.
        """
        self._listeners = [*self._listeners, listener]

        def unsubscribe() -> None:
            self._listeners = [other for other in self._listeners if other is not listener]

        return unsubscribe

    # --- queues

    @property
    def steering_mode(self) -> QueueMode:
        """How many steering messages one turn takes."""
        return self._steering.mode

    @steering_mode.setter
    def steering_mode(self, mode: QueueMode) -> None:
        self._steering.mode = mode

    @property
    def follow_up_mode(self) -> QueueMode:
        """How many follow-up messages one turn takes."""
        return self._follow_ups.mode

    @follow_up_mode.setter
    def follow_up_mode(self, mode: QueueMode) -> None:
        self._follow_ups.mode = mode

    def steer(self, message: AgentMessage) -> None:
        """Queue a message for after the current turn; when idle, for the next run, right after its own messages."""
        self._steering.push(message)

    def follow_up(self, message: AgentMessage) -> None:
        """Queue a message for when the agent would stop."""
        self._follow_ups.push(message)

    def clear_steering_queue(self) -> None:
        """Drop all steering messages."""
        self._clear(self._steering)

    def clear_follow_up_queue(self) -> None:
        """Drop all follow-up messages."""
        self._clear(self._follow_ups)

    def clear_all_queues(self) -> None:
        """Drop all queued messages."""
        self._clear(self._steering)
        self._clear(self._follow_ups)

    def _clear(self, queue: MessageQueue) -> None:
        queue.clear()
        self._taken = [(other, message) for other, message in self._taken if other is not queue]

    def has_queued_messages(self) -> bool:
        """Whether any message waits."""
        return bool(self._steering or self._follow_ups)

    def peek_queued_messages(self) -> list[AgentMessage]:
        """What the next turn would take: of the steering messages, else of the follow-ups."""
        return self._steering.peek() or self._follow_ups.peek()

    # --- runs

    async def prompt(
        self, message: str | AgentMessage | Sequence[AgentMessage], images: Sequence[ImageContent] | None = None
    ) -> None:
        """Run from a text (with images), a message or several. Raises `AgentBusyError` while a run is in progress."""
        self._check_idle("prompt() needs an idle agent; use steer() or follow_up() while it runs")
        prompts = self._prompt_messages(message, images or ())
        await self._run(lambda emit, signal: self._start(prompts, emit, signal))

    async def continue_(self) -> None:
        """Run from the transcript as it stands, or from queued messages where it ends with an answer.

        Raises `AgentBusyError` while a run is in progress and `NothingToContinueError` where nothing is to be answered.
        """
        self._check_idle("continue_() needs an idle agent; wait for the end of its run")
        spoken = [message for message in self._state.messages if not isinstance(message, SystemMessage)]
        if not spoken:
            raise NothingToContinueError("cannot continue: there is no message yet; send a prompt")
        if not isinstance(self._state.messages[-1], AssistantMessage):
            await self._run(self._resume)
            return
        steering = self._take(self._steering)
        prompts = steering or self._take(self._follow_ups)
        if not prompts:
            raise NothingToContinueError("cannot continue: the last message is an answer and no message is queued")
        await self._run(lambda emit, signal: self._start(prompts, emit, signal, skip_steering=bool(steering)))

    async def resume(self) -> None:
        """The same as `continue_`."""
        await self.continue_()

    def abort(self, reason: object = None) -> None:
        """Stop the run in progress; its `prompt` returns when everything has ended. Does nothing when idle."""
        if self._active is not None:
            self._active.controller.abort(reason)

    async def wait_for_idle(self) -> None:
        """Return when no run is in progress."""
        while self._active is not None:
            await self._active.is_over.wait()

    def reset(self) -> None:
        """Forget the conversation and all queued messages, but not the prompt and the declared tools.

        Raises `AgentBusyError` while a run is in progress.
        """
        self._check_idle("reset() needs an idle agent; abort() and wait for the end of its run")
        self._state.reset()
        self.clear_all_queues()

    # --- one run

    def _check_idle(self, text: str) -> None:
        if self._active is not None:
            raise AgentBusyError(text)

    def _prompt_messages(
        self, message: str | AgentMessage | Sequence[AgentMessage], images: Sequence[ImageContent]
    ) -> list[AgentMessage]:
        if isinstance(message, str):
            content: list[UserBlock] = [TextContent(text=message), *images]
            return [UserMessage(content=content, timestamp=self.clock.now_ms())]
        return list(message) if isinstance(message, list | tuple) else [cast("AgentMessage", message)]

    def _start(
        self, prompts: Sequence[AgentMessage], emit: Emit, signal: AbortSignal, *, skip_steering: bool = False
    ) -> Coroutine[Any, Any, list[AgentMessage]]:
        config = self._loop_config(signal, skip_steering=skip_steering)
        return run_agent_loop(prompts, self._context(), config, emit, signal, self.stream_fn or default_stream_fn())

    def _resume(self, emit: Emit, signal: AbortSignal) -> Coroutine[Any, Any, list[AgentMessage]]:
        config = self._loop_config(signal)
        return run_agent_loop_continue(self._context(), config, emit, signal, self.stream_fn or default_stream_fn())

    def _context(self) -> AgentContext:
        return AgentContext(messages=self._state.messages, tools=self._state.tools)

    async def _run(self, body: Callable[[Emit, AbortSignal], Coroutine[Any, Any, list[AgentMessage]]]) -> None:
        active = self._active = ActiveRun()
        self._state.begin_run()
        await active.shelter(self._drive(active, body))

    async def _drive(
        self, active: ActiveRun, body: Callable[[Emit, AbortSignal], Coroutine[Any, Any, list[AgentMessage]]]
    ) -> None:
        signal = active.controller.signal
        try:
            await body(self._deliver_in(signal), signal)
        except asyncio.CancelledError:
            active.controller.abort("cancelled")
            await self._end_failed(signal, ABORTED_TEXT)
            raise
        except Exception as error:  # noqa: BLE001 - the listener border: what escapes becomes a message of the run
            await self._end_failed(signal, error_text(error))
        finally:
            self._taken.clear()
            self._state.end_run()
            self._active = None
            active.is_over.set()

    def _deliver_in(self, signal: AbortSignal) -> EventDelivery:
        return EventDelivery(self._reduce, lambda: self._listeners, signal)

    def _reduce(self, event: AgentEvent) -> None:
        self._state.reduce(event)
        if self._taken and isinstance(event, MessageEnd):
            self._taken = [(queue, message) for queue, message in self._taken if message is not event.message]

    async def _end_failed(self, signal: AbortSignal, text: str) -> None:
        """End a run that broke off: queued messages go back, events tell what happened, whatever listeners do."""
        for queue, message in reversed(self._taken):
            queue.put_back([message])
        reason: Literal["error", "aborted"] = "aborted" if signal.aborted else "error"
        first_error: Exception | None = None
        for event in failure_events(self._state.messages, self._state.model, reason, text, self.clock.now_ms()):
            try:
                delivery = self._deliver_in(signal)(event)
                if delivery is not None:
                    await delivery
            except Exception as error:  # noqa: BLE001 - the listener border: the transcript must be complete first
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    # --- what the loop is configured with

    def _loop_config(self, signal: AbortSignal, *, skip_steering: bool = False) -> LoopConfig:
        return LoopConfig(
            model=self._state.model,
            options=self._request_options(),
            convert_to_llm=self.convert_to_llm,
            transform_context=self.transform_context,
            get_api_key=self.get_api_key,
            get_steering_messages=self._steering_source(skip_first=skip_steering),
            get_follow_up_messages=lambda: self._take(self._follow_ups),
            before_tool_call=self.before_tool_call,
            after_tool_call=self.after_tool_call,
            finish_turn=self.finish_turn,
            prepare_next_turn=self._next_turn_hook(signal),
            prepare_request=self.prepare_request,
            tool_execution=self.tool_execution,
            abort_grace_s=self.abort_grace_s,
            clock=self.clock,
        )

    def _request_options(self) -> StreamOptions:
        level = self._state.thinking_level
        changes: dict[str, Any] = {
            "reasoning": None if level == "off" else level,
            "session_id": self.session_id,
            "thinking_budgets": self.thinking_budgets,
            "max_retry_delay_ms": self.max_retry_delay_ms,
            "identity": self.identity,
            "on_payload": self.on_payload,
            "on_response": self.on_response,
            "on_provider_stream_event": self.on_provider_stream_event,
        }
        given = {name: value for name, value in changes.items() if value is not None or name == "reasoning"}
        base = self.stream_options or StreamOptions()
        return msgspec.structs.replace(base, transport=self.transport, **given)

    def _take(self, queue: MessageQueue) -> list[AgentMessage]:
        taken = queue.drain()
        self._taken += [(queue, message) for message in taken]
        return taken

    def _steering_source(self, *, skip_first: bool) -> Callable[[], list[AgentMessage]]:
        polls_to_skip = 1 if skip_first else 0

        def source() -> list[AgentMessage]:
            nonlocal polls_to_skip
            if polls_to_skip:
                polls_to_skip -= 1
                return []
            return self._take(self._steering)

        return source

    def _next_turn_hook(self, signal: AbortSignal) -> Callable[[TurnContext], Awaitable[TurnUpdate | None]] | None:
        with_context, plain = self.prepare_next_turn_with_context, self.prepare_next_turn
        if with_context is None and plain is None:
            return None

        async def prepare(turn: TurnContext) -> TurnUpdate | None:
            if with_context is not None:
                return await settled(with_context(turn, signal))
            return None if plain is None else await settled(plain(signal))

        return prepare
