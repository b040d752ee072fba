"""A conversation: the facade through which programs and modes prompt, steer, abort and watch one session.

The session tree is the authority: before every request the agent's context is projected from it. Each finished message
is appended after the listeners heard of it. The work is done by collaborators with one job each, which `RunDriver`
connects; what can be asked stands in `SessionView`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET

from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.agent import Agent
from pinyon.agent.event import MessageEnd
from pinyon.agent.queue import QueueMode
from pinyon.agent.tool import ToolDefinition
from pinyon.ai.content import ImageContent, TextContent, UserBlock
from pinyon.ai.message import AgentMessage, CustomMessage, SystemMessage, UserMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.resolver import ScopedModel
from pinyon.ai.session_resource import cleanup_session_resources
from pinyon.coding.core import SessionCore
from pinyon.coding.custom_message import DeliverAs
from pinyon.coding.event import CompactionResult, EntryAppended, SessionEvent, SessionInfoChanged
from pinyon.coding.event_hub import EventHub, Gate, SessionListener
from pinyon.coding.hooks import PromptInput, PromptSource, SessionHooks
from pinyon.coding.limit import Limits
from pinyon.coding.nested_call import NestedCaller
from pinyon.coding.prompt_expansion import Expansion
from pinyon.coding.prompt_intake import PromptImage
from pinyon.coding.run_driver import RunDriver
from pinyon.coding.selection import CycleDirection, ModelCycle, ModelSelection
from pinyon.coding.session_runs import COMPACTING, SessionRuns
from pinyon.coding.system_prompt import SystemPrompt
from pinyon.coding.toolset import Toolset
from pinyon.coding.tree_navigation import SummaryWish, TreeNavigation
from pinyon.errors import AgentBusyError, ModelError
from pinyon.resources import setting as _setting
from pinyon.resources.settings import CompactionSettings, SettingsManager
from pinyon.session.recorder import SessionRecorder
from pinyon.session.session import Session

if TYPE_CHECKING:
    from pinyon.tools.operations import BashOperations
    from pinyon.tools.user_command import BashResult

Disposition = Literal["started", "queued", "handled"]
StreamingBehavior = Literal["steer", "followUp"]


class AgentSession(SessionRuns):
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
        nested: NestedCaller | None = None,
        limits: Sequence[Limits] = (),
        expand: Expansion | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        core = SessionCore(
            agent=agent,
            session=session,
            settings=settings,
            selection=selection,
            toolset=toolset,
            system_prompt=system_prompt,
            events=events,
            hooks=hooks or SessionHooks(),
            clock=clock,
            expand=expand,
        )
        caller = nested or NestedCaller(agent=agent, callable_tools=lambda: toolset.callable_tools, emit=events.emit)
        super().__init__(core, RunDriver(core, caller, limits))

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
        `ModelError` when the model cannot be asked, `LimitError` when a limit is used up, and `SessionReadOnlyError`;
        failures of the model are answers, not exceptions.
        """
        report = preflight_result or _ignore
        driver = self._driver
        await driver.wait_for_left_runs()
        if driver.control.is_settling:
            driver.control.defer(
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
        prompt = await driver.intake.accept(text, images, source, expand=expand_prompt_templates)
        if prompt is None:
            report("handled")
            return "handled"
        if not self.is_idle or self.is_compacting:
            self._queue_while_busy(prompt, streaming_behavior)
            report("queued")
            return "queued"
        self._require_ready()
        await driver.start(prompt, lambda: report("started"))
        return "started"

    async def steer(
        self,
        message: str | UserMessage,
        images: Sequence[PromptImage] = (),
        *,
        source: PromptSource = "sdk",
    ) -> Disposition:
        """Queue a message that the model sees after the tool calls of the present turn."""
        is_queued = await self._driver.intake.accept_to_queue(message, images, source, "steer")
        return "queued" if is_queued else "handled"

    async def follow_up(
        self,
        message: str | UserMessage,
        images: Sequence[PromptImage] = (),
        *,
        source: PromptSource = "sdk",
    ) -> Disposition:
        """Queue a message that the model sees when it would otherwise stop."""
        is_queued = await self._driver.intake.accept_to_queue(message, images, source, "followUp")
        return "queued" if is_queued else "handled"

    def clear_queue(self) -> tuple[list[str], list[str]]:
        """Drop the waiting messages; returns their texts, steering and follow-ups."""
        return self._driver.queue.clear()

    async def send_custom_message(
        self,
        custom_type: str,
        content: str | list[UserBlock] | None,
        *,
        display: bool = True,
        details: Any = UNSET,
        trigger_turn: bool | None = None,
        deliver_as: DeliverAs | None = None,
    ) -> None:
        """Put a program's message into the conversation.

        With `deliver_as` `nextTurn` it goes with the next prompt. During a run it steers, or follows up if
        `deliver_as` says so; with `trigger_turn` False it is appended when the turn ends. When idle it is appended at
        once, or starts a run if `trigger_turn` is set; then this returns when the session has settled.
        """
        message = self._driver.custom.message(custom_type, content, display, details)
        if self._driver.custom.accept(message, trigger_turn=trigger_turn, deliver_as=deliver_as):
            if self.is_compacting:
                self._driver.custom.wait_in(message, deliver_as)
                return
            self._require_ready()
            await self._driver.start_messages([message])

    async def send_user_message(
        self,
        content: str | Sequence[UserBlock],
        *,
        deliver_as: StreamingBehavior | None = None,
        expand_prompt_templates: bool = False,
    ) -> Disposition:
        """Send what a program says in the user's place; like `prompt`, without expansion unless asked for."""
        blocks = [TextContent(text=content)] if isinstance(content, str) else list(content)
        return await self.prompt(
            "\n".join(block.text for block in blocks if isinstance(block, TextContent)),
            images=[block for block in blocks if isinstance(block, ImageContent)],
            expand_prompt_templates=expand_prompt_templates,
            streaming_behavior=deliver_as,
            source="extension",
        )

    async def abort(self) -> None:
        """Stop what runs and return when it has settled. Waiting messages stay queued."""
        await self._driver.control.abort()
        await self._driver.compactor.wait_for_idle()
        await self._driver.navigator.wait_for_idle()

    def abort_retry(self) -> None:
        """End the pause before a repeated request; the failed answer stands."""
        self._driver.retry.abort()

    async def wait_for_idle(self) -> None:
        """Return when no run is in progress."""
        await self._driver.control.wait_for_idle()

    def _queue_while_busy(self, prompt: PromptInput, behavior: StreamingBehavior | None) -> None:
        if behavior is not None:
            self._driver.queue.add(self._driver.intake.user_message(prompt), behavior)
        elif not self.is_idle:
            raise AgentBusyError(
                "the session is working; pass streaming_behavior 'steer' or 'followUp' to queue this prompt"
            )
        else:
            raise AgentBusyError(COMPACTING)

    # History: summaries, moves, entries.

    async def compact(self, custom_instructions: str | None = None) -> CompactionResult:
        """Replace earlier history by a summary now, stopping a run in progress first.

        Messages that were queued meanwhile are delivered before this returns. Raises `SessionError` when there is
        nothing to compact, `SummaryError` when no usable summary came back, `OperationAbortedError` after an abort.
        """
        await self.abort()
        while not self.is_idle or self.is_compacting:  # a prompt that waited for the run to settle has begun another
            await self.abort()
        self._require_open()
        self.session.require_writable()
        aborts = self._driver.control.abort_count
        try:
            return await self._driver.compactor.compact(custom_instructions)
        finally:
            await self._deliver_waiting(aborts)

    async def _deliver_waiting(self, aborts: int) -> None:
        """Run on what was queued meanwhile, unless the user stopped the session since it counted `aborts`."""
        control = self._driver.control
        if not self.agent.has_queued_messages() or not self.is_idle or control.abort_count != aborts:
            return
        has_begun = any(not isinstance(message, SystemMessage) for message in self.messages)
        if has_begun and self.model is not None:  # else they go with the next prompt
            await control.resume()

    def abort_compaction(self) -> None:
        """Stop a compaction in progress; the session stays as it was."""
        self._driver.compactor.abort()

    async def navigate_tree(
        self,
        target_id: str,
        *,
        summarize: bool = False,
        custom_instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
    ) -> TreeNavigation:
        """Go on from another entry of the tree, before it where it is a message of the user.

        With `summarize` the branch that is left is summarised for the other one. Model and thinking level stay as they
        are. Raises `AgentBusyError` while the session works, `EntryNotFoundError` for an unknown entry, `ModelError`
        where a summary has no model, `SummaryError` where it failed; then nothing has changed.
        """
        if not self.is_idle or self.is_compacting:
            raise AgentBusyError("the session is working; abort it or wait for its end before moving in the tree")
        if summarize and self.model is None:
            raise ModelError("a model is needed to summarise the branch; choose one or move without a summary")
        wish = SummaryWish(custom_instructions=custom_instructions, replace_instructions=replace_instructions)
        self._require_open()
        waiting, aborts = self.pending_message_count, self._driver.control.abort_count
        try:
            return await self._driver.navigator.navigate(target_id, summarize=summarize, wish=wish, label=label)
        finally:
            if self.pending_message_count > waiting:  # what came meanwhile is not left lying
                await self._deliver_waiting(aborts)

    def abort_branch_summary(self) -> None:
        """Stop a move in the tree that is summarising; the leaf stays where it was."""
        self._driver.navigator.abort()

    def refresh(self) -> None:
        """Project the tree again, after entries were added or the leaf was moved through `session`."""
        self._core.refresh()

    def set_label(self, entry_id: str, label: str | None) -> None:
        """Set or clear the label of an entry. Raises `EntryNotFoundError`."""
        self._appended(self.session.append_label_change(entry_id, label))

    def append_entry(self, custom_type: str, data: Any = None) -> str:
        """Store a program's own state beside the conversation; models never see it. Returns the id of the entry."""
        return self._appended(self.session.append_custom_entry(custom_type, data))

    def _appended(self, entry_id: str) -> str:
        entry = self.session.get_entry(entry_id)
        if entry is not None:
            self.events.emit(EntryAppended(entry=entry.to_wire()))
        return entry_id

    def load_history(self, messages: Iterable[AgentMessage]) -> None:
        """Append messages to the conversation without running the model. Raises `AgentBusyError` during a run."""
        self._require_idle("history cannot be loaded")
        for message in messages:
            self._driver.record.append(message)
        self._core.refresh()

    def reset(self) -> None:
        """Start over with an empty context; the entries stay in the file as another branch."""
        self._require_idle("the session cannot be reset")
        self.agent.clear_all_queues()
        self._driver.queue.clear()
        self.session.reset_leaf()
        self._core.refresh()

    def _require_idle(self, what: str) -> None:
        if not self.is_idle or self.is_compacting:
            raise AgentBusyError(f"{what} while the session works; abort it or wait for its end")

    def enable_compaction(self, settings: CompactionSettings) -> None:
        """Compact as `settings` say, in place of what the settings files do."""
        self._core.compaction = settings

    def attach_recorder(self, recorder: SessionRecorder) -> Callable[[], None]:
        """Append every finished message to another session file too; returns the function that ends it."""

        def record(event: SessionEvent) -> None:
            if type(event) is MessageEnd and not isinstance(event.message, CustomMessage):
                recorder.record_message(event.message)

        return self.subscribe(record)

    def set_session_name(self, name: str) -> None:
        """Give the session a display name; a blank one clears it."""
        self.session.append_session_info(name)
        current = self.session_name
        self.events.emit(SessionInfoChanged(name=current) if current else SessionInfoChanged())

    def export_to_jsonl(self, path: str | Path | None = None) -> Path:
        """Write the current branch as a session file of its own; returns its path."""
        from pinyon.session.transfer import export_session_to_jsonl

        return export_session_to_jsonl(self.session, path)

    def export_to_html(self, path: str | Path | None = None) -> Path:
        """Write the session as a page for people; returns its path. Raises `SessionError` for one without a file."""
        from pinyon.ai.known_secret import known_secrets
        from pinyon.export import PageExtras, export_session_to_html

        tools = [tool.declaration() for tool in self.toolset.active]
        secrets = known_secrets(self.selection.auth_storage)
        extras = PageExtras(system_prompt=self.system_prompt, tools=tools, secrets=secrets)
        return export_session_to_html(self.session, path, extras)

    # Shell commands of the user.

    async def execute_bash(
        self,
        command: str,
        on_chunk: Callable[[str], None] | None = None,
        *,
        exclude_from_context: bool = False,
        id: Any = None,  # noqa: A002 - the field's own name
        operations: BashOperations | None = None,
    ) -> BashResult:
        """Run a shell command of the user in the session's directory and record it in the conversation.

        `on_chunk` gets the output as it comes; a command that is excluded from the context is stored but not sent.
        `id` is any JSON value; it stands in the events of the output.
        """
        self._require_open()
        self.session.require_writable()
        return await self._driver.shell.run(
            command,
            exclude_from_context=exclude_from_context,
            on_chunk=on_chunk,
            run_id=id,
            operations=operations,
        )

    def abort_bash(self) -> None:
        """Stop all shell commands of the user."""
        self._driver.shell.abort()

    # Model, tools, modes.

    async def set_model(self, model: Model, api_key: str | None = None, *, persist: bool = False) -> None:
        """Answer with `model` from the next request on; `persist` makes it the user's default.

        Raises `AuthError` when it has no credentials.
        """
        previous = self.model
        with self._telling_level():
            self.selection.set_model(model, api_key, persist=persist)
        if previous is None or previous.key != model.key:
            await self.hooks.model_selected(model, previous)

    async def cycle_model(self, direction: CycleDirection = "forward") -> ModelCycle | None:
        """Step to the next usable model, of the scoped ones where there are any; None where there is no other."""
        previous = self.model
        with self._telling_level():
            cycle = self.selection.cycle_model(direction)
        if cycle is not None:
            await self.hooks.model_selected(cycle.model, previous)
        return cycle

    def set_scoped_models(self, models: Sequence[ScopedModel]) -> None:
        """Limit what `cycle_model` steps through; empty lifts the limit."""
        self.selection.scoped_models = list(models)

    def set_thinking_level(self, level: ThinkingLevel, *, persist: bool = False) -> None:
        """Change the thinking level, clamped to what the model supports; `persist` makes it the user's default."""
        with self._telling_level():
            self.selection.set_thinking_level(level, persist=persist)

    def cycle_thinking_level(self) -> ThinkingLevel | None:
        """Step to the next thinking level of the model; None where it does not reason."""
        with self._telling_level():
            return self.selection.cycle_thinking_level()

    @contextlib.contextmanager
    def _telling_level(self) -> Iterator[None]:
        previous = self.thinking_level
        yield
        if self.thinking_level != previous:
            self.hooks.thinking_level_selected(self.thinking_level, previous)

    def set_active_tools_by_name(self, names: Sequence[str]) -> None:
        """Make exactly these tools active; unknown names are ignored. The model is told with the next turn."""
        self.toolset.set_active(names)

    def get_all_tools(self) -> list[ToolDefinition]:
        """All registered tools that are not hidden."""
        return self.toolset.definitions

    def get_tool_definition(self, name: str) -> ToolDefinition | None:
        """A registered tool."""
        return self.toolset.get(name)

    def set_auto_compaction_enabled(self, enabled: bool) -> None:
        """Switch automatic compaction, here and in the user's settings."""
        self.settings.set(_setting.COMPACTION_ENABLED, enabled)

    def set_auto_retry_enabled(self, enabled: bool) -> None:
        """Switch automatic retry, here and in the user's settings."""
        self.settings.set(_setting.RETRY_ENABLED, enabled)

    def set_steering_mode(self, mode: QueueMode) -> None:
        """How many steering messages one turn takes, here and in the user's settings."""
        self.agent.steering_mode = mode
        self.settings.set(_setting.STEERING_MODE, mode)

    def set_follow_up_mode(self, mode: QueueMode) -> None:
        """How many follow-up messages one turn takes, here and in the user's settings."""
        self.agent.follow_up_mode = mode
        self.settings.set(_setting.FOLLOW_UP_MODE, mode)

    async def dispose(self) -> None:
        """Abort what runs, forget the listeners and let go of the session's file."""
        self._is_disposed = True
        try:
            self._driver.shell.abort()
            await self.abort()
            await self._driver.shell.wait_for_idle()
        finally:
            cleanup_session_resources(self.session_id)
            self.session.close()
            self.events.clear()


def _ignore(disposition: Disposition) -> None:
    del disposition
