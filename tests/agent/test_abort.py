"""Stopping a run: by its signal or by cancelling whoever waits for it, at any moment, with a complete transcript."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.agent.scripted import MODEL, EventLog, Reply, Request, ScriptedModel, Snapshot, answer, result, tool, user

from pinyon._util.abort import AbortSignal, OperationAbortedError
from pinyon.agent import Agent, AgentEvent, AgentTool, ToolCallOutcome, ToolExecutionStart, define_tool
from pinyon.agent.event import MessageUpdate
from pinyon.agent.run_tool import ABORTED_TEXT, CANCELLED_TEXT
from pinyon.ai.content import TextContent
from pinyon.ai.event import AssistantMessageEvent, Start, StreamError, TextDelta, TextStart
from pinyon.ai.message import AssistantMessage, ToolResultMessage
from pinyon.ai.stream import AssistantMessageEventStream

SHORT_S = 0.02


class Stage:
    """An agent with a short grace period, and what it told."""

    def __init__(self, *replies: Any, tools: list[Any] | None = None, **options: Any) -> None:
        self.model = ScriptedModel(*replies)
        state: Any = {"model": MODEL, "tools": tools or []}
        self.agent = Agent(stream_fn=self.model, initial_state=state, abort_grace_s=SHORT_S, **options)
        self.log = EventLog()
        self.agent.subscribe(self.log)

    def when(self, kind: type[AgentEvent], act: Callable[[], object]) -> None:
        def listen(event: AgentEvent, signal: AbortSignal) -> None:
            if isinstance(event, kind):
                act()

        self.agent.subscribe(listen)

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.agent.state.messages if isinstance(message, ToolResultMessage)]

    @property
    def last(self) -> AssistantMessage:
        message = self.agent.state.messages[-1]
        assert isinstance(message, AssistantMessage)
        return message

    def is_settled(self) -> bool:
        state = self.agent.state
        return (state.is_streaming, state.pending_tool_calls, self.agent.signal) == (False, frozenset(), None)


def text_of(message: ToolResultMessage) -> str:
    return "".join(block.text for block in message.content if isinstance(block, TextContent))


def calls(*names: str) -> Reply:
    return Reply(calls=[(str(index), name, {}) for index, name in enumerate(names)])


async def sleep_for_ever(params: Any, signal: AbortSignal, on_update: Any) -> Any:
    await asyncio.Event().wait()


async def wait_for_abort(params: Any, signal: AbortSignal, on_update: Any) -> Any:
    await signal.wait()
    return result("what I have")


class SlowStream:
    """Sends a little text, then waits: for the abort, or for ever if it `ignores` that."""

    def __init__(self, *, ignores: bool) -> None:
        self.ignores = ignores
        self.is_closed = False

    def __call__(self, request: Request) -> AssistantMessageEventStream:
        return AssistantMessageEventStream(self.events(request))

    async def events(self, request: Request) -> AsyncIterator[AssistantMessageEvent]:
        live = Snapshot(answer([TextContent(text="par")], "pending"))
        try:
            yield live.bind(Start())
            yield live.bind(TextStart(0))
            yield live.bind(TextDelta(0, "par"))
            if self.ignores:
                await asyncio.Event().wait()
            assert request.options.signal is not None
            await request.options.signal.wait()
            yield StreamError("aborted", answer([TextContent(text="par")], "aborted", "stopped by user"))
        finally:
            self.is_closed = True


# --- while the model answers


def test_an_abort_while_streaming_keeps_what_arrived_and_the_queues() -> None:
    stage = Stage(SlowStream(ignores=False))
    stage.agent.follow_up(user("f"))
    stage.when(MessageUpdate, stage.agent.abort)
    asyncio.run(stage.agent.prompt("q"))
    assert (stage.last.stop_reason, stage.last.error_message, stage.last.text) == ("aborted", "stopped by user", "par")
    assert stage.agent.state.error_message == "stopped by user"
    assert stage.agent.has_queued_messages()
    assert stage.log.types[-3:] == ["message_end", "turn_end", "agent_end"]
    assert stage.is_settled()


def test_a_stream_that_ignores_the_abort_is_left_and_closed() -> None:
    stream = SlowStream(ignores=True)
    stage = Stage(stream)
    stage.when(MessageUpdate, stage.agent.abort)
    asyncio.run(stage.agent.prompt("q"))
    assert (stage.last.stop_reason, stage.last.error_message, stage.last.text) == ("aborted", ABORTED_TEXT, "par")
    assert stream.is_closed
    assert stage.log.types.count("message_start") == stage.log.types.count("message_end")


@pytest.mark.parametrize("hook", ["transform_context", "convert_to_llm", "get_api_key", "stream_fn"])
def test_hooks_of_a_request_that_ignore_the_abort_do_not_hold_the_run(hook: str) -> None:
    async def hang(*_: Any) -> Any:
        stage.agent.abort()
        await asyncio.Event().wait()

    stage = Stage()
    setattr(stage.agent, hook, hang)
    asyncio.run(stage.agent.prompt("q"))
    assert (stage.last.stop_reason, stage.last.content) == ("aborted", [])
    assert stage.log.types[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]


def test_listeners_may_take_longer_than_the_grace_period() -> None:
    finished: list[str] = []

    async def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, MessageUpdate):
            stage.agent.abort()
            await asyncio.sleep(3 * SHORT_S)
            finished.append("listener")

    stage = Stage(SlowStream(ignores=False))
    stage.agent.subscribe(listen)
    asyncio.run(stage.agent.prompt("q"))
    assert finished == ["listener"] * 2
    assert stage.last.error_message == "stopped by user"


# --- while tools run


def test_tools_return_what_they_have_and_the_next_request_fails_at_once() -> None:
    stage = Stage(calls("t"), tools=[tool("t", wait_for_abort)])
    stage.when(ToolExecutionStart, lambda: asyncio.get_running_loop().call_soon(stage.agent.abort))
    asyncio.run(stage.agent.prompt("q"))
    assert [text_of(message) for message in stage.results] == ["what I have"]
    assert [request.is_aborted for request in stage.model.requests] == [False, True]
    assert stage.log.types[-6:] == [
        "turn_end", "turn_start", "message_start", "message_end", "turn_end", "agent_end",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_every_call_of_an_aborted_batch_has_one_result_in_order(mode: Any) -> None:
    tools = [tool("sleep", sleep_for_ever), tool("ls")]

    async def play() -> None:
        asyncio.get_running_loop().call_later(SHORT_S, stage.agent.abort)
        await stage.agent.prompt("q")
        await stage.agent.prompt("more")

    stage = Stage(calls("sleep", "sleep", "ls"), tools=tools, tool_execution=mode)
    asyncio.run(play())
    assert [message.tool_call_id for message in stage.results] == ["0", "1", "2"]
    ls = "LS" if mode == "parallel" else ABORTED_TEXT
    assert [text_of(message) for message in stage.results] == [ABORTED_TEXT, ABORTED_TEXT, ls]
    assert all(message.is_error for message in stage.results[:2])
    roles = [type(message).__name__ for message in stage.model.requests[-1].messages]
    assert roles[2:6] == ["AssistantMessage"] + ["ToolResultMessage"] * 3
    assert roles[-1] == "UserMessage"
    assert stage.is_settled()


def test_a_tool_that_ignores_the_abort_is_cancelled_after_the_grace_period() -> None:
    ended: list[str] = []

    async def stubborn(params: Any, signal: AbortSignal, on_update: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    stage = Stage(calls("t"), tools=[tool("t", stubborn)])
    stage.when(ToolExecutionStart, lambda: asyncio.get_running_loop().call_soon(stage.agent.abort))
    asyncio.run(stage.agent.prompt("q"))
    assert ended == ["cleaned up"]
    assert (stage.results[0].is_error, text_of(stage.results[0])) == (True, ABORTED_TEXT)
    assert isinstance(stage.results[0].duration_ms, int)


def test_a_blocking_function_does_not_hold_an_aborted_run() -> None:
    import threading

    release = threading.Event()

    @define_tool
    def block() -> str:
        release.wait(5)
        return "late"

    async def play() -> None:
        asyncio.get_running_loop().call_later(SHORT_S, stage.agent.abort)
        await stage.agent.prompt("q")
        release.set()

    stage = Stage(calls("block"), tools=[block])
    asyncio.run(play())
    assert text_of(stage.results[0]) == ABORTED_TEXT


def test_a_tool_may_raise_the_abort_in_its_own_words() -> None:
    async def words(params: Any, signal: AbortSignal, on_update: Any) -> Any:
        await signal.wait()
        raise OperationAbortedError("put down the pen")

    stage = Stage(calls("t"), tools=[tool("t", words)])
    stage.when(ToolExecutionStart, lambda: asyncio.get_running_loop().call_soon(stage.agent.abort))
    asyncio.run(stage.agent.prompt("q"))
    assert text_of(stage.results[0]) == "put down the pen"


@pytest.mark.parametrize("where", ["prepare_arguments", "before", "execute", "after"])
def test_a_cancellation_from_inside_a_call_is_an_error_result_and_no_abort(where: str) -> None:
    async def cancelled(*_: Any) -> Any:
        inner = asyncio.ensure_future(asyncio.sleep(10))
        inner.cancel()
        await inner

    agent_tool = tool("t", cancelled if where == "execute" else "")
    agent_tool.prepare_arguments = cancelled if where == "prepare_arguments" else None
    stage = Stage(calls("t"), tools=[agent_tool])
    stage.agent.before_tool_call = cancelled if where == "before" else None
    stage.agent.after_tool_call = cancelled if where == "after" else None
    asyncio.run(stage.agent.prompt("q"))
    assert (stage.results[0].is_error, text_of(stage.results[0])) == (True, CANCELLED_TEXT)
    assert stage.last.text == "end"


# --- while hooks of a call run


def test_an_abort_in_the_hook_before_stops_the_call() -> None:
    def before(*_: Any) -> None:
        stage.agent.abort()

    seen: list[Any] = []
    stage = Stage(calls("t", "t"), tools=[tool("t", lambda params, *_: seen.append(params))], before_tool_call=before)
    asyncio.run(stage.agent.prompt("q"))
    assert seen == []
    assert [text_of(message) for message in stage.results] == [ABORTED_TEXT] * 2


def test_a_call_that_was_prepared_before_the_abort_does_not_run() -> None:
    seen: list[str] = []

    def before(context: Any, signal: AbortSignal) -> None:
        if context.tool_call.id == "1":
            stage.agent.abort()

    def note(params: Any, *_: Any) -> Any:
        seen.append("ran")
        return result("ran")

    stage = Stage(calls("t", "t"), tools=[tool("t", note)], before_tool_call=before)
    asyncio.run(stage.agent.prompt("q"))
    assert seen == []
    assert [text_of(message) for message in stage.results] == [ABORTED_TEXT] * 2


@pytest.mark.parametrize("hook", ["before_tool_call", "after_tool_call"])
def test_a_hook_that_ignores_the_abort_is_cancelled_and_its_call_fails(hook: str) -> None:
    async def hang(*_: Any) -> None:
        stage.agent.abort()
        await asyncio.Event().wait()

    stage = Stage(calls("t"), tools=[tool("t")])
    setattr(stage.agent, hook, hang)
    asyncio.run(stage.agent.prompt("q"))
    assert (stage.results[0].is_error, text_of(stage.results[0])) == (True, ABORTED_TEXT)
    assert stage.is_settled()


# --- cancelling the caller


def cancelled_run(stage: Stage, *, times: int = 1) -> None:
    """Cancel the task that waits in `prompt` once a tool runs or text arrives."""

    async def play() -> None:
        task = asyncio.create_task(stage.agent.prompt("q"))
        await asyncio.sleep(SHORT_S)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert stage.is_settled()
        await stage.agent.wait_for_idle()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(play())


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_cancelling_the_caller_ends_the_run_in_order(mode: Any, times: int) -> None:
    stage = Stage(calls("sleep", "sleep", "wait"), tools=[
        tool("sleep", sleep_for_ever), tool("wait", wait_for_abort),
    ], tool_execution=mode)  # fmt: skip
    cancelled_run(stage, times=times)
    assert [message.tool_call_id for message in stage.results] == ["0", "1", "2"]
    assert stage.last.stop_reason == "aborted"
    assert stage.log.types[-1] == "agent_end"
    assert stage.log.types.count("agent_end") == 1


def test_cancelling_the_caller_while_text_arrives_keeps_the_text() -> None:
    stage = Stage(SlowStream(ignores=False))
    cancelled_run(stage)
    assert (stage.last.stop_reason, stage.last.text) == ("aborted", "par")


def test_a_cancelled_agent_goes_on_with_the_next_prompt() -> None:
    stage = Stage(calls("sleep"), tools=[tool("sleep", sleep_for_ever)])
    cancelled_run(stage)
    asyncio.run(stage.agent.prompt("again"))
    assert stage.last.text == "end"
    assert stage.agent.state.error_message is None


def test_an_event_loop_that_shuts_down_leaves_a_complete_transcript() -> None:
    stage = Stage(calls("sleep", "sleep"), tools=[tool("sleep", sleep_for_ever)])

    async def main() -> None:
        task = asyncio.create_task(stage.agent.prompt("q"))
        await asyncio.sleep(SHORT_S)
        assert not task.done()

    asyncio.run(main())
    assert [message.tool_call_id for message in stage.results] == ["0", "1"]
    assert stage.last.stop_reason == "aborted"
    assert stage.is_settled()


def test_a_timeout_around_a_prompt_works_as_usual() -> None:
    stage = Stage(calls("sleep"), tools=[tool("sleep", sleep_for_ever)])

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SHORT_S):
                await stage.agent.prompt("q")

    asyncio.run(main())
    assert stage.is_settled()


def test_a_user_abort_never_looks_like_a_cancellation() -> None:
    stage = Stage(calls("sleep"), tools=[tool("sleep", sleep_for_ever)])

    async def main() -> int:
        task = asyncio.create_task(stage.agent.prompt("q"))
        await asyncio.sleep(SHORT_S)
        stage.agent.abort("enough")
        assert stage.agent.signal is not None
        assert stage.agent.signal.reason == "enough"
        await task
        return task.cancelling()

    assert asyncio.run(main()) == 0


def test_aborting_an_idle_agent_does_nothing() -> None:
    stage = Stage()
    stage.agent.abort()
    asyncio.run(stage.agent.prompt("q"))
    assert stage.last.text == "end"


def test_a_nested_call_is_bounded_like_any_other() -> None:
    from pinyon._util.abort import AbortController
    from pinyon.agent import AgentContext, run_tool_call
    from pinyon.ai.content import ToolCall

    async def play() -> ToolCallOutcome:
        controller = AbortController()
        asyncio.get_running_loop().call_soon(controller.abort)
        call = ToolCall(id="1", name="t", arguments={})
        known: list[AgentTool] = [tool("t", sleep_for_ever)]
        return await run_tool_call(
            call,
            assistant_message=answer([call]),
            context=AgentContext([], known),
            signal=controller.signal,
            abort_grace_s=SHORT_S,
        )

    assert asyncio.run(play()).is_error
