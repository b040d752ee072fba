"""A conversation: the facade through which programs and modes prompt, steer, abort and watch one session.

The session tree is the authority: before every request the agent's context is projected from it. Each finished message
is appended after the listeners heard of it. The work is done by collaborators with one job each: the run control, the
prompt intake, the message queue, the toolset, the model selection, the automatic retry, the compactor and the record of
what a run leaves in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.agent import Agent
from pinyon.agent.event import AgentEnd, AgentEvent, AgentStart, MessageEnd, MessageStart, MessageUpdate
from pinyon.agent.hook import RequestState, RequestUpdate, TurnContext
from pinyon.agent.queue import QueueMode
from pinyon.ai.message import AgentMessage, AssistantMessage, UserMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.retry import RetryCallbacks
from pinyon.ai.session_resource import cleanup_session_resources
from pinyon.coding.answer import last_answer_text, last_assistant
from pinyon.coding.auto_retry import AutoRetry, retry_policy
from pinyon.coding.compaction.compactor import Compactor
from pinyon.coding.compaction.settings import compaction_settings
from pinyon.coding.compaction.summary import SummaryWriter
from pinyon.coding.event import CompactionResult, SessionInfoChanged
from pinyon.coding.event_hub import EventHub, Gate, SessionListener
from pinyon.coding.hooks import PromptInput, PromptSource, SessionHooks
from pinyon.coding.message_queue import MessageQueue
from pinyon.coding.prompt_images import fit_images
from pinyon.coding.prompt_intake import PromptImage, PromptIntake
from pinyon.coding.run_control import RunControl
from pinyon.coding.run_record import RunRecord
from pinyon.coding.run_result import FinishedMessages, RunResult, result_of
from pinyon.coding.selection import NO_MODEL, ModelSelection
from pinyon.coding.statistics import ContextUsage, SessionStats, context_usage, session_stats
from pinyon.coding.system_prompt import SystemPrompt
from pinyon.coding.toolset import Toolset
from pinyon.coding.user_shell import UserShell
from pinyon.errors import AgentBusyError, ModelError
from pinyon.resources.settings import SettingsManager
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.tools.operations import BashOperations
    from pinyon.tools.user_command import BashResult

Disposition = Literal["started", "queued", "handled"]
StreamingBehavior = Literal["steer", "followUp"]


class AgentSession:
    """One conversation. Made by `PiAgent.create_agent_session`; `events` go to `subscribe`d listeners in order.

    At most one run is in progress. Coroutines that run the model return when nothing automatic is left to do.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        session: Session,
        settings: SettingsManager,
        selection: ModelSelection,
        toolset: Toolset,
        system_prompt: SystemPrompt,
        events: EventHub,
        hooks: SessionHooks | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.agent = agent
        self.session = session
        self.settings = settings
        self.events = events
        self.toolset = toolset
        self.selection = selection
        self.hooks = hooks or SessionHooks()
        self._system_prompt = system_prompt
        self._clock = clock
        self._queue = MessageQueue(agent, events.emit)
        self._intake = PromptIntake(hooks=self.hooks, queue=self._queue, clock=clock)
        self._record = RunRecord(session=session, emit=events.emit, refresh=self._refresh_context)
        self._retry = AutoRetry(
            policy=lambda: retry_policy(settings),
            context_window=lambda: self.model.context_window if self.model else 0,
            omit_answer=self._record.omit_answer,
            emit=events.emit,
            clock=clock,
        )
        self._compactor = Compactor(
            session=session,
            settings=lambda: compaction_settings(settings, self.model),
            model=lambda: self.model,
            writer=self._summary_writer,
            emit=events.emit,
            omit_answer=self._record.omit_answer,
            refresh=self._refresh_context,
        )
        self._shell = UserShell(
            session=session,
            settings=settings,
            is_busy=lambda: self.is_streaming,
            emit=events.emit,
            refresh=self._refresh_context,
            clock=clock,
        )
        self._run = RunControl(
            agent=agent,
            emit=events.emit,
            follow_ons=(self._retry_answer, self._compactor.check, self._deliver_waiting),
            on_abort=self._abort_waiting,
            on_settling=self._settling,
        )
        self._has_context = False
        self._drive(agent)

    def _drive(self, agent: Agent) -> None:
        agent.prepare_request = self._prepare_request
        agent.prepare_next_turn_with_context = self._prepare_next_turn
        agent.subscribe(self._on_agent_event)

    # What the session is and does now.

    @property
    def messages(self) -> list[AgentMessage]:
        """The conversation as it will be projected for the next request."""
        if not self._has_context:
            self._refresh_context()
        return self.agent.state.messages

    @property
    def message_count(self) -> int:
        """How many messages the conversation has; a stored one is not decoded for it."""
        return self.session.build_session_projection().message_count

    @property
    def model(self) -> Model | None:
        """The model that answers next."""
        return self.selection.model

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level of the next request."""
        return self.selection.thinking_level

    @property
    def is_streaming(self) -> bool:
        """Whether a run is in progress."""
        return self._run.is_active

    @property
    def is_idle(self) -> bool:
        """Whether no run is in progress."""
        return not self._run.is_active

    @property
    def is_compacting(self) -> bool:
        """Whether earlier history is being summarised."""
        return self._compactor.is_running

    @property
    def is_retrying(self) -> bool:
        """Whether the pause before a repeated request is running."""
        return self._retry.is_waiting

    @property
    def retry_attempt(self) -> int:
        """How many times the present answer was asked for again."""
        return self._retry.attempt

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self.session.get_session_id()

    @property
    def session_file(self) -> Path | None:
        """Path of the session's file; None for one that is kept in memory."""
        return self.session.get_session_file()

    @property
    def session_name(self) -> str | None:
        """Display name of the session."""
        return self.session.get_session_name()

    @property
    def system_prompt(self) -> str:
        """The prompt that the next request will carry."""
        return self._system_prompt.text()

    @property
    def steering_messages(self) -> list[str]:
        """Texts that wait for the end of the present turn."""
        return list(self._queue.steering)

    @property
    def follow_up_messages(self) -> list[str]:
        """Texts that wait for the end of the present run."""
        return list(self._queue.follow_up)

    @property
    def pending_message_count(self) -> int:
        """How many texts wait."""
        return len(self._queue)

    def subscribe(self, listener: SessionListener) -> Callable[[], None]:
        """Call `listener(event)` for every event, in order; returns the function that ends it.

        Listeners run inline and must not block. A listener hears of a message before it stands in the session file.
        """
        return self.events.subscribe(listener)

    def add_gate(self, gate: Gate) -> Callable[[], None]:
        """Await `gate()` after each event of the agent, to hold it back while a consumer is slow."""
        return self.events.add_gate(gate)

    # Prompting.

    async def prompt(
        self,
        text: str,
        *,
        images: Sequence[PromptImage] = (),
        expand_prompt_templates: bool = True,
        streaming_behavior: StreamingBehavior | None = None,
        source: PromptSource = "sdk",
        preflight_result: Callable[[Disposition], None] | None = None,
    ) -> Disposition:
        """Send a prompt and return when the session has settled.

        During a run `streaming_behavior` says whether the prompt steers or follows up; without it `AgentBusyError` is
        raised. `preflight_result` is told as soon as it is clear what becomes of the prompt. Raises `AuthError` or
        `ModelError` when the model cannot be asked; failures of the model are answers, not exceptions.
        """
        report = preflight_result or _ignore
        if self._run.is_settling:
            self._run.defer(
                partial(
                    self.prompt,
                    text,
                    images=images,
                    expand_prompt_templates=expand_prompt_templates,
                    streaming_behavior=streaming_behavior,
                    source=source,
                    preflight_result=preflight_result,
                )
            )
            return "queued"
        prompt = await self._intake.accept(text, images, source, expand=expand_prompt_templates)
        if prompt is None:
            report("handled")
            return "handled"
        if self._run.is_active or self._compactor.is_running:
            self._queue_while_busy(prompt, streaming_behavior)
            report("queued")
            return "queued"
        self.selection.require_usable()
        await self._run.run(lambda: self._starting_messages(prompt), on_started=lambda: report("started"))
        return "started"

    async def steer(
        self,
        message: str | UserMessage,
        images: Sequence[PromptImage] = (),
        *,
        source: PromptSource = "sdk",
    ) -> Disposition:
        """Queue a message that the model sees after the tool calls of the present turn."""
        is_queued = await self._intake.accept_to_queue(message, images, source, "steer")
        return "queued" if is_queued else "handled"

    async def follow_up(
        self,
        message: str | UserMessage,
        images: Sequence[PromptImage] = (),
        *,
        source: PromptSource = "sdk",
    ) -> Disposition:
        """Queue a message that the model sees when it would otherwise stop."""
        is_queued = await self._intake.accept_to_queue(message, images, source, "followUp")
        return "queued" if is_queued else "handled"

    def clear_queue(self) -> tuple[list[str], list[str]]:
        """Drop the waiting messages; returns their texts, steering and follow-ups."""
        return self._queue.clear()

    async def abort(self) -> None:
        """Stop what runs and return when it has settled. Waiting messages stay queued."""
        await self._run.abort()
        await self._compactor.wait_for_idle()

    def abort_retry(self) -> None:
        """End the pause before a repeated request; the failed answer stands."""
        self._retry.abort()

    async def wait_for_idle(self) -> None:
        """Return when no run is in progress."""
        await self._run.wait_for_idle()

    async def compact(self, custom_instructions: str | None = None) -> CompactionResult:
        """Replace earlier history by a summary now, stopping a run in progress first.

        Messages that were queued meanwhile are delivered before this returns. Raises `SessionError` when there is
        nothing to compact, `SummaryError` when no usable summary came back, `OperationAbortedError` after an abort.
        """
        await self.abort()
        try:
            return await self._compactor.compact(custom_instructions)
        finally:
            if self.agent.has_queued_messages() and not self._run.is_active and not self._run.abort_requested:
                await self._run.resume()

    def abort_compaction(self) -> None:
        """Stop a compaction in progress; the session stays as it was."""
        self._compactor.abort()

    @property
    def is_bash_running(self) -> bool:
        """Whether a shell command of the user is running."""
        return self._shell.is_running

    async def execute_bash(
        self,
        command: str,
        on_chunk: Callable[[str], None] | None = None,
        *,
        exclude_from_context: bool = False,
        id: str | None = None,  # noqa: A002 - the field's own name
        operations: BashOperations | None = None,
    ) -> BashResult:
        """Run a shell command of the user in the session's directory and record it in the conversation.

        `on_chunk` gets the output as it comes; a command that is excluded from the context is stored but not sent.
        """
        return await self._shell.run(
            command,
            exclude_from_context=exclude_from_context,
            on_chunk=on_chunk,
            run_id=id,
            operations=operations,
        )

    def abort_bash(self) -> None:
        """Stop all shell commands of the user."""
        self._shell.abort()

    def get_session_stats(self) -> SessionStats:
        """Counts, tokens and cost over all entries of the session."""
        return session_stats(self.session, self.get_context_usage())

    def get_context_usage(self) -> ContextUsage | None:
        """How much of the model's window the context takes; None without a model or a window."""
        return context_usage(self.session, self.model)

    # Runs with a result.

    async def run(self, prompt: str, images: Sequence[PromptImage] = ()) -> RunResult:
        """Send a prompt and return what came of it. Start errors raise; a failed answer is in the result."""
        with FinishedMessages(self.events) as finished:
            await self.prompt(prompt, images=images)
        return result_of(finished.messages)

    async def run_messages(self, prompts: Sequence[AgentMessage]) -> RunResult:
        """Start a run with ready messages, such as several user messages or custom ones."""
        self.selection.require_usable()
        with FinishedMessages(self.events) as finished:
            await self._run.run(lambda: self._with_system_patch(list(prompts)))
        return result_of(finished.messages)

    async def continue_run(self) -> RunResult:
        """Ask the model to go on with the context as it is, for example after a resumed tool result."""
        self.selection.require_usable()
        self._refresh_context()
        with FinishedMessages(self.events) as finished:
            await self._run.resume()
        return result_of(finished.messages)

    # Model, tools, name.

    async def set_model(self, model: Model, api_key: str | None = None) -> None:
        """Answer with `model` from the next request on. Raises `AuthError` when it has no credentials."""
        self.selection.set_model(model, api_key)

    def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Change the thinking level, clamped to what the model supports."""
        self.selection.set_thinking_level(level)

    def get_active_tool_names(self) -> list[str]:
        """Names of the tools that the model is told of."""
        return self.toolset.active_names

    def set_active_tools_by_name(self, names: Sequence[str]) -> None:
        """Make exactly these tools active; unknown names are ignored."""
        self.toolset.set_active(names)

    @property
    def auto_compaction_enabled(self) -> bool:
        """Whether a context that grows too large is compacted by itself."""
        return self.settings.get_compaction_settings().enabled

    def set_auto_compaction_enabled(self, enabled: bool) -> None:
        """Switch automatic compaction for this process."""
        self.settings.apply_overrides({"compaction": {"enabled": enabled}})

    @property
    def auto_retry_enabled(self) -> bool:
        """Whether failed answers are asked for again by themselves."""
        return self.settings.get_retry_settings().enabled

    def set_auto_retry_enabled(self, enabled: bool) -> None:
        """Switch automatic retry for this process."""
        self.settings.apply_overrides({"retry": {"enabled": enabled}})

    def set_steering_mode(self, mode: QueueMode) -> None:
        """How many steering messages one turn takes."""
        self.agent.steering_mode = mode

    def set_follow_up_mode(self, mode: QueueMode) -> None:
        """How many follow-up messages one turn takes."""
        self.agent.follow_up_mode = mode

    def set_session_name(self, name: str) -> None:
        """Give the session a display name; a blank one clears it."""
        self.session.append_session_info(name)
        current = self.session_name
        self.events.emit(SessionInfoChanged(name=current) if current else SessionInfoChanged())

    def get_last_assistant_text(self) -> str | None:
        """Text of the latest complete answer; answers without text that did not end normally are skipped."""
        return last_answer_text(self.messages)

    async def dispose(self) -> None:
        """Abort what runs, forget the listeners and let go of the session's file."""
        self._shell.abort()
        await self.abort()
        cleanup_session_resources(self.session_id)
        self.session.close()
        self.events.clear()

    # How a prompt becomes a run.

    def _queue_while_busy(self, prompt: PromptInput, behavior: StreamingBehavior | None) -> None:
        if behavior is not None:
            self._queue.add(self._intake.user_message(prompt), behavior)
        elif self._run.is_active:
            raise AgentBusyError(
                "the session is working; pass streaming_behavior 'steer' or 'followUp' to queue this prompt"
            )
        else:
            raise AgentBusyError("the session is being compacted; wait for its end, or steer or queue a follow-up")

    async def _starting_messages(self, prompt: PromptInput) -> list[AgentMessage]:
        self._retry.reset()
        self._shell.flush()
        await self._compactor.check(last_assistant(self.messages), skip_aborted=False)
        added = await self.hooks.before_agent_start(prompt)
        message = self._intake.user_message(prompt)
        if prompt.images and not isinstance(message.content, str):
            message.content = await fit_images(message.content, self.model, self.settings)
        return await self._with_system_patch([message, *added])

    async def _with_system_patch(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        self.selection.record()
        patch = self._system_prompt.patch(self.messages, self._clock.now_ms())
        return [patch, *messages] if patch is not None else messages

    # What follows each run of the agent.

    async def _retry_answer(self, answer: AssistantMessage | None) -> bool:
        return answer is not None and await self._retry.wait_to_repeat(answer)

    async def _deliver_waiting(self, answer: AssistantMessage | None) -> bool:
        del answer
        return self.agent.has_queued_messages()

    def _settling(self) -> None:
        self._shell.flush()
        self._refresh_context()

    def _abort_waiting(self) -> None:
        self._retry.abort()
        self._compactor.abort()

    async def _prepare_next_turn(self, turn: TurnContext, signal: AbortSignal) -> None:
        del turn, signal
        await self._compactor.check_between_turns()

    def _summary_writer(self, signal: AbortSignal, callbacks: RetryCallbacks) -> SummaryWriter:
        model, stream_fn = self.model, self.agent.stream_fn
        if model is None or stream_fn is None:
            raise ModelError(NO_MODEL)
        return SummaryWriter(
            stream_fn=stream_fn,
            model=model,
            thinking_level=self.thinking_level,
            policy=retry_policy(self.settings),
            signal=signal,
            callbacks=callbacks,
        )

    # Events of the agent.

    async def _on_agent_event(self, event: AgentEvent, signal: AbortSignal | None) -> None:
        del signal
        if type(event) is not MessageUpdate:
            self._before_listeners(event)
        self.events.emit(event)
        if type(event) is MessageEnd:
            self._store(event.message)
        await self.events.pass_gates()

    def _before_listeners(self, event: AgentEvent) -> None:
        match event:
            case AgentStart():
                self._record.start_run()
                if self._run.abort_requested:
                    self.agent.abort()
            case MessageStart(message=UserMessage() as message):
                self._compactor.user_message_started()
                self._queue.delivered(message)
            case AgentEnd():
                answer = last_assistant(event.messages)
                event.will_retry = not self._run.abort_requested and self._retry.is_due(answer)
            case _:
                pass

    def _store(self, message: AgentMessage) -> None:
        if self._record.store(message) and isinstance(message, AssistantMessage):
            self._retry.answered(message)
            self._compactor.answered(message)

    # The projection is what a request is made of.

    def _refresh_context(self) -> None:
        self._has_context = True
        self.agent.state.messages = self.session.build_session_projection().messages

    async def _prepare_request(self, request: RequestState, signal: AbortSignal) -> RequestUpdate:
        del signal
        context = request.context
        context.messages = self.session.build_session_projection().messages
        return RequestUpdate(context=context, model=self.selection.model, thinking_level=self.selection.thinking_level)


def _ignore(disposition: Disposition) -> None:
    del disposition
