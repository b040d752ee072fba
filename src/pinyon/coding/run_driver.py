"""How prompts become runs of the agent and what surrounds them: recording, retry, compaction, limits and held messages.

For every event of the agent: what belongs to it is prepared, hooks hear it, listeners hear it, then it is stored. The
context of each request is projected from the tree.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal
from pinyon.agent.event import AgentEnd, AgentEvent, AgentStart, MessageEnd, MessageStart, MessageUpdate, TurnEnd
from pinyon.agent.hook import RequestState, RequestUpdate, TurnContext, TurnDecision
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
    message_role,
)
from pinyon.ai.transcript import current_system_message, current_tools
from pinyon.coding.answer import last_assistant
from pinyon.coding.auto_retry import AutoRetry, retry_policy
from pinyon.coding.compaction.compactor import Compactor
from pinyon.coding.compaction.notice import retry_notices
from pinyon.coding.custom_message import CustomMessages
from pinyon.coding.event import CompactionEnd, SessionEvent
from pinyon.coding.hooks import PromptInput, RunStart, SessionHooks
from pinyon.coding.limit import LimitGuard, Limits, Totals
from pinyon.coding.message_queue import MessageQueue
from pinyon.coding.prompt_images import fit_images
from pinyon.coding.prompt_intake import PromptIntake
from pinyon.coding.run_control import RunControl
from pinyon.coding.run_record import RunRecord
from pinyon.coding.tree_navigation import TreeNavigator
from pinyon.coding.user_shell import UserShell

if TYPE_CHECKING:
    from pinyon.coding.core import SessionCore
    from pinyon.coding.nested_call import NestedCaller
    from pinyon.coding.output import OutputRequest


class RunDriver:
    """Owns the collaborators of a session that act while it runs, and connects them to the agent."""

    def __init__(self, core: SessionCore, nested: NestedCaller, limits: Sequence[Limits] = ()) -> None:
        self._core = core
        self._nested = nested
        agent, session, emit = core.agent, core.session, core.events.emit
        self.queue = MessageQueue(agent, emit)
        self.intake = PromptIntake(hooks=core.hooks, queue=self.queue, clock=core.clock, expand=core.expand)
        self.record = RunRecord(session=session, emit=emit, refresh=core.refresh)
        self.retry = AutoRetry(
            policy=lambda: retry_policy(core.settings),
            context_window=lambda: core.model.context_window if core.model else 0,
            omit_answer=self.record.omit_answer,
            emit=emit,
            clock=core.clock,
        )
        self.compactor = Compactor(
            session=session,
            settings=core.compaction_settings,
            model=lambda: core.model,
            writer=core.summary_writer,
            emit=self._emit_compaction,
            omit_answer=self.record.omit_answer,
            refresh=core.refresh,
            hooks=core.hooks,
        )
        self.navigator = TreeNavigator(
            session=session,
            hooks=core.hooks,
            writer=core.summary_writer,
            callbacks=lambda: retry_notices(emit, "branchSummary"),
            reserve_tokens=core.settings.get_branch_summary_reserve_tokens,
            refresh=self._moved,
        )
        self.shell = UserShell(
            session=session,
            settings=core.settings,
            is_busy=lambda: self.control.is_active,
            emit=emit,
            refresh=core.refresh,
            clock=core.clock,
            hooks=core.hooks,
        )
        self.custom = CustomMessages(
            queue=self.queue,
            is_busy=lambda: self.control.is_active,
            store=self.record.append,
            emit=emit,
            refresh=core.refresh,
            clock=core.clock,
        )
        self.limits = LimitGuard(
            limits,
            stored=lambda: stored_totals(core),
            emit=emit,
            stop=lambda: self.control.request_abort(),  # noqa: PLW0108 - made below
            clock=core.clock,
        )
        self.control = RunControl(
            agent=agent,
            emit=emit,
            follow_ons=(self._retry_answer, self._compact, self._deliver_waiting, self._before_settle),
            on_abort=self.stop_waiting,
            on_settling=self._settling,
            on_begin=self._begin,
            on_end=self.limits.end,
        )
        self.run_limits: Limits | None = None
        self.run_output: OutputRequest[Any] | None = None
        self._output: OutputRequest[Any] | None = None
        self._left_runs: set[asyncio.Task[Any]] = set()
        self._pending_tools: list[str] = []
        self._forced_prompt: str | None = None
        self._connect(core.hooks)
        self.restore_tools()

    def _connect(self, hooks: SessionHooks) -> None:
        agent, kind = self._core.agent, type(hooks)
        agent.prepare_request = self._prepare_request
        agent.prepare_next_turn_with_context = self._prepare_next_turn
        agent.finish_turn = self._finish_turn
        # what nobody overrides is not called: some of these come with every delta or message
        self._hears_events = kind.on_agent_event is not SessionHooks.on_agent_event
        self._transforms = kind.transform_context is not SessionHooks.transform_context
        agent.transform_context = self._transform
        if kind.before_tool_call is not SessionHooks.before_tool_call:
            agent.before_tool_call = hooks.before_tool_call
        if kind.after_tool_call is not SessionHooks.after_tool_call:
            agent.after_tool_call = hooks.after_tool_call
        agent.subscribe(self._on_agent_event)

    # How a prompt becomes a run.

    @property
    def abort_signal(self) -> AbortSignal | None:
        """The abort of the agent's run in progress; None between runs."""
        return self._core.agent.signal

    def leave_behind(self, run: asyncio.Task[Any]) -> None:
        """Remember a run that nobody waits for and that is ending; the next one begins after it."""
        self._left_runs.add(run)
        run.add_done_callback(self._left_runs.discard)

    async def wait_for_left_runs(self) -> None:
        """Return when the runs that were left behind have ended."""
        while self._left_runs:
            await asyncio.wait(set(self._left_runs))

    def _begin(self) -> None:
        self._output = self.run_output
        self.limits.start(self.run_limits)

    async def start(self, prompt: PromptInput, on_started: Callable[[], None]) -> None:
        """Run a prompt and everything that follows from it."""
        await self.control.run(lambda: self._starting_messages(prompt), on_started=on_started)

    async def start_messages(self, messages: Sequence[AgentMessage]) -> None:
        """Run ready messages and everything that follows from them."""
        await self.control.run(lambda: self._with_system_patch(list(messages)))

    async def _starting_messages(self, prompt: PromptInput) -> list[AgentMessage]:
        self.retry.reset()
        self.shell.flush()
        self.custom.flush()
        await self.compactor.check(last_assistant(self._core.messages), skip_aborted=False)
        added = await self._core.hooks.before_agent_start(prompt)
        start = added if isinstance(added, RunStart) else RunStart(messages=added)
        self._forced_prompt = start.system_prompt
        message = self.intake.user_message(prompt)
        if prompt.images and not isinstance(message.content, str):
            message.content = await fit_images(message.content, self._core.model, self._core.settings)
        wish = [] if self._output is None else [self._output.instruction(self._core.clock.now_ms())]
        return await self._with_system_patch([message, *wish, *self.custom.take_next_turn(), *start.messages])

    async def _with_system_patch(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        core = self._core
        if self._pending_tools:
            core.toolset.set_active([*self._pending_tools, *core.toolset.active_names])
            self._pending_tools = []
        core.selection.record()
        patch = core.system_prompt.patch(core.messages, core.clock.now_ms())
        return [patch, *messages] if patch is not None else messages

    def restore_tools(self) -> None:
        """Activate the tools that the branch has declared, where the user left the choice to the defaults."""
        system = self._core.session.build_session_projection().system_messages
        if system and self._core.toolset.uses_defaults:
            self._pending_tools = self._core.toolset.restore([tool.name for tool in current_tools(system)])

    def _moved(self) -> None:
        self._core.refresh()
        self.restore_tools()

    # What follows each run of the agent, and what stops it.

    async def _retry_answer(self, answer: AssistantMessage | None) -> bool:
        if answer is None or (self.retry.is_due(answer) and self.limits.is_over()):
            return False
        return await self.retry.wait_to_repeat(answer)

    async def _compact(self, answer: AssistantMessage | None) -> bool:
        return not self.limits.is_used_up and await self.compactor.check(answer)

    async def _deliver_waiting(self, answer: AssistantMessage | None) -> bool:
        del answer
        return self._core.agent.has_queued_messages() and not self.limits.is_over()

    async def _before_settle(self, answer: AssistantMessage | None) -> bool:
        if await self._core.hooks.before_settle():
            return not self.limits.is_over()
        repair = None if self._output is None else self._output.repair(answer, self._core.clock.now_ms())
        if repair is None or self.limits.is_over():
            return False
        self._core.agent.follow_up(repair)
        return True

    def _settling(self) -> None:
        self._forced_prompt = None
        self._nested.forget()
        self.shell.flush()
        self.custom.flush()
        self._core.refresh()

    def stop_waiting(self) -> None:
        """Stop what may be in progress beside the agent: the pause before a retry, and summaries."""
        self.retry.abort()
        self.compactor.abort()
        self.navigator.abort()

    async def _finish_turn(self, turn: TurnContext, signal: AbortSignal) -> TurnDecision | None:
        del signal
        decision = await self._core.hooks.finish_turn(turn)
        goes_on = bool(turn.tool_results) or decision == "continue" or self._core.agent.has_queued_messages()
        if goes_on and decision != "end" and self.limits.is_over():
            return "end"
        return decision

    async def _prepare_next_turn(self, turn: TurnContext, signal: AbortSignal) -> None:
        del turn, signal
        await self.compactor.check_between_turns()

    async def _prepare_request(self, request: RequestState, signal: AbortSignal) -> RequestUpdate:
        del signal
        context, selection = request.context, self._core.selection
        context.messages = self._core.session.build_session_projection().messages
        if self._forced_prompt is not None:
            context.messages = _with_prompt(context.messages, self._forced_prompt)
        return RequestUpdate(context=context, model=selection.model, thinking_level=selection.thinking_level)

    async def _transform(self, messages: list[AgentMessage], signal: AbortSignal) -> list[AgentMessage]:
        del signal
        active = self._core.toolset.active
        if any(tool.prepare_loadout is not None for tool in active):
            from pinyon.coding.loadout import prepared_messages

            messages = await prepared_messages(messages, active)
        return await self._core.hooks.transform_context(messages) if self._transforms else messages

    def _emit_compaction(self, event: SessionEvent) -> None:
        self._core.events.emit(event)
        if isinstance(event, CompactionEnd) and event.result and event.result.usage:
            self.limits.add_usage(event.result.usage)

    # Events of the agent.

    async def _on_agent_event(self, event: AgentEvent, signal: AbortSignal | None) -> None:
        del signal
        if type(event) is not MessageUpdate:
            self._before_listeners(event)
        if self._hears_events:
            await self._core.hooks.on_agent_event(event)
        if type(event) is MessageEnd:
            await self._replace(event.message)
        self._core.events.emit(event)
        if type(event) is MessageEnd:
            self._store(event.message)
        elif type(event) is TurnEnd:
            self.custom.flush()
        await self._core.events.pass_gates()

    def _before_listeners(self, event: AgentEvent) -> None:
        match event:
            case AgentStart():
                self.record.start_run()
                if self.control.abort_requested:
                    self._core.agent.abort()
            case MessageStart(message=UserMessage() as message):
                self.compactor.user_message_started()
                self.queue.delivered(message)
            case MessageStart(message=ToolResultMessage() as result):
                self._nested.attach(result)
            case AgentEnd():
                answer = last_assistant(event.messages)
                event.will_retry = (
                    not self.control.abort_requested and not self.limits.is_used_up and self.retry.is_due(answer)
                )
            case _:
                pass

    async def _replace(self, message: AgentMessage) -> None:
        """Let a hook replace a message: the new fields go into the same object, which all others keep."""
        other = await self._core.hooks.message_end(message)
        if other is None or other is message or message_role(other) != message_role(message):
            return
        if isinstance(message, msgspec.Struct) and type(other) is type(message):
            for name in message.__struct_fields__:
                setattr(message, name, getattr(other, name))

    def _store(self, message: AgentMessage) -> None:
        is_stored = self.record.store(message)
        self.limits.add_message(message)
        if is_stored and isinstance(message, AssistantMessage):
            self.retry.answered(message)
            self.compactor.answered(message)


def stored_totals(core: SessionCore) -> Totals:
    """What the entries of a session have used already."""
    from pinyon.coding.statistics import usage_of

    totals = Totals()
    for entry in core.session.get_entries():
        if entry.message is not None:
            totals.add_message(entry.message)
        elif (usage := usage_of(entry)) is not None:
            totals.add(usage)
    return totals


def _with_prompt(messages: list[AgentMessage], prompt: str) -> list[AgentMessage]:
    """The messages with one system message of this text at their head, which declares the current tools."""
    current = current_system_message(messages)
    head = SystemMessage(
        content=prompt,
        tools_added=UNSET if current is None else current.tools_added,
        timestamp=0 if current is None else current.timestamp,
    )
    return [head, *(message for message in messages if not isinstance(message, SystemMessage))]
