"""`AgentSession` for scripts without an event loop: the same names, as plain calls that return when they are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType, UnionType
from typing import Any, TypeVar, overload

from pinyon.coding.agent_session import AgentSession
from pinyon.coding.coding_session import SessionOptions, create_coding_session
from pinyon.coding.event import SessionEvent
from pinyon.coding.limit import Limits
from pinyon.coding.loop_thread import LoopThread
from pinyon.coding.prompt_intake import PromptImage
from pinyon.coding.run_result import DEFAULT_REPAIRS, OutputResult, RunResult
from pinyon.coding.sync_member import Calls, Reads, Twin, Waits

Output = TypeVar("Output")


class SyncSession(Twin[AgentSession]):
    """One conversation, driven by plain calls.

    Each member is that of `AgentSession`, which is `target`; it runs in a thread of its own, and so do listeners and
    tools. Those must not call what waits for the session. Ctrl+C aborts the call in progress and is raised when it has
    ended. A context manager that closes the session at its end.
    """

    # what waits

    prompt = Waits(AgentSession.prompt)
    run_messages = Waits(AgentSession.run_messages)
    continue_run = Waits(AgentSession.continue_run)
    run_print = Waits(AgentSession.run_print)
    steer = Waits(AgentSession.steer)
    follow_up = Waits(AgentSession.follow_up)
    send_custom_message = Waits(AgentSession.send_custom_message)
    send_user_message = Waits(AgentSession.send_user_message)
    abort = Waits(AgentSession.abort)
    wait_for_idle = Waits(AgentSession.wait_for_idle)
    compact = Waits(AgentSession.compact)
    navigate_tree = Waits(AgentSession.navigate_tree)
    execute_bash = Waits(AgentSession.execute_bash)
    set_model = Waits(AgentSession.set_model)
    cycle_model = Waits(AgentSession.cycle_model)
    dispose = Waits(AgentSession.dispose)

    @overload
    def run(
        self, prompt: str, images: Sequence[PromptImage] = (), *, limits: Limits | None = None, output: None = None
    ) -> RunResult: ...

    @overload
    def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: type[Output],
        repairs: int = DEFAULT_REPAIRS,
    ) -> OutputResult[Output]: ...

    @overload
    def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: UnionType,
        repairs: int = DEFAULT_REPAIRS,
    ) -> OutputResult[Any]: ...

    def run(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
        output: Any = None,
        repairs: int = DEFAULT_REPAIRS,
    ) -> RunResult:
        """Send a prompt and return what came of it; see `AgentSession.run`."""
        return self.loop.run(self.target.run(prompt, images, limits=limits, output=output, repairs=repairs))

    def stream(
        self,
        prompt: str,
        images: Sequence[PromptImage] = (),
        *,
        limits: Limits | None = None,
    ) -> Iterator[SessionEvent]:
        """The events of a run, for `for`. The agent waits for a slow reader; leaving the loop aborts the run."""
        stream = self.target.stream(prompt, images, limits=limits)
        events = aiter(stream)

        async def following() -> SessionEvent | None:
            return await anext(events, None)

        try:
            while (event := self.loop.run(following())) is not None:
                yield event
        finally:
            self.loop.run(stream.aclose())

    def __enter__(self) -> SyncSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Abort what runs and end the thread, with everything else that lives in it."""
        self.loop.close()

    # what is done at once

    subscribe = Calls(AgentSession.subscribe)
    get_active_tool_names = Calls(AgentSession.get_active_tool_names)
    get_callable_tool_names = Calls(AgentSession.get_callable_tool_names)
    get_session_stats = Calls(AgentSession.get_session_stats)
    get_context_usage = Calls(AgentSession.get_context_usage)
    get_cost_breakdown = Calls(AgentSession.get_cost_breakdown)
    get_cache_waste = Calls(AgentSession.get_cache_waste)
    get_last_assistant_text = Calls(AgentSession.get_last_assistant_text)
    get_user_messages_for_forking = Calls(AgentSession.get_user_messages_for_forking)
    clear_queue = Calls(AgentSession.clear_queue)
    abort_retry = Calls(AgentSession.abort_retry)
    abort_compaction = Calls(AgentSession.abort_compaction)
    abort_branch_summary = Calls(AgentSession.abort_branch_summary)
    refresh = Calls(AgentSession.refresh)
    set_label = Calls(AgentSession.set_label)
    append_entry = Calls(AgentSession.append_entry)
    load_history = Calls(AgentSession.load_history)
    reset = Calls(AgentSession.reset)
    enable_compaction = Calls(AgentSession.enable_compaction)
    attach_recorder = Calls(AgentSession.attach_recorder)
    set_session_name = Calls(AgentSession.set_session_name)
    export_to_jsonl = Calls(AgentSession.export_to_jsonl)
    export_to_html = Calls(AgentSession.export_to_html)
    abort_bash = Calls(AgentSession.abort_bash)
    set_scoped_models = Calls(AgentSession.set_scoped_models)
    set_thinking_level = Calls(AgentSession.set_thinking_level)
    cycle_thinking_level = Calls(AgentSession.cycle_thinking_level)
    set_active_tools_by_name = Calls(AgentSession.set_active_tools_by_name)
    get_all_tools = Calls(AgentSession.get_all_tools)
    get_tool_definition = Calls(AgentSession.get_tool_definition)
    set_auto_compaction_enabled = Calls(AgentSession.set_auto_compaction_enabled)
    set_auto_retry_enabled = Calls(AgentSession.set_auto_retry_enabled)
    set_steering_mode = Calls(AgentSession.set_steering_mode)
    set_follow_up_mode = Calls(AgentSession.set_follow_up_mode)

    # what can be asked

    agent = Reads(lambda session: _s(session).agent)
    session = Reads(lambda session: _s(session).session)
    settings = Reads(lambda session: _s(session).settings)
    selection = Reads(lambda session: _s(session).selection)
    toolset = Reads(lambda session: _s(session).toolset)
    events = Reads(lambda session: _s(session).events)
    hooks = Reads(lambda session: _s(session).hooks)
    limits = Reads(lambda session: _s(session).limits)
    state = Reads(lambda session: _s(session).state)
    cwd = Reads(lambda session: _s(session).cwd)
    messages = Reads(lambda session: _s(session).messages)
    message_count = Reads(lambda session: _s(session).message_count)
    model = Reads(lambda session: _s(session).model)
    thinking_level = Reads(lambda session: _s(session).thinking_level)
    scoped_models = Reads(lambda session: _s(session).scoped_models)
    is_streaming = Reads(lambda session: _s(session).is_streaming)
    is_idle = Reads(lambda session: _s(session).is_idle)
    is_compacting = Reads(lambda session: _s(session).is_compacting)
    is_retrying = Reads(lambda session: _s(session).is_retrying)
    retry_attempt = Reads(lambda session: _s(session).retry_attempt)
    is_bash_running = Reads(lambda session: _s(session).is_bash_running)
    is_read_only = Reads(lambda session: _s(session).is_read_only)
    session_id = Reads(lambda session: _s(session).session_id)
    session_file = Reads(lambda session: _s(session).session_file)
    session_name = Reads(lambda session: _s(session).session_name)
    system_prompt = Reads(lambda session: _s(session).system_prompt)
    steering_mode = Reads(lambda session: _s(session).steering_mode)
    follow_up_mode = Reads(lambda session: _s(session).follow_up_mode)
    auto_compaction_enabled = Reads(lambda session: _s(session).auto_compaction_enabled)
    auto_retry_enabled = Reads(lambda session: _s(session).auto_retry_enabled)
    steering_messages = Reads(lambda session: _s(session).steering_messages)
    follow_up_messages = Reads(lambda session: _s(session).follow_up_messages)
    pending_message_count = Reads(lambda session: _s(session).pending_message_count)


def _s(session: AgentSession) -> AgentSession:
    """Tells the type checker what the readers above read from."""
    return session


def create_sync_session(options: SessionOptions | None = None) -> SyncSession:
    """`create_coding_session` for scripts: a session from explicit parts in a thread of its own."""
    loop = LoopThread()
    try:
        session = loop.run(create_coding_session(options))
    except BaseException:
        loop.close()
        raise
    loop.before_close(session.dispose)
    return SyncSession(session, loop)
