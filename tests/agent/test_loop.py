"""The loop itself: what is asked when, what goes into requests, and how a run ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from tests.agent.scripted import MODEL, EventLog, Reply, ScriptedModel, answer, result, tool, user

from pinyon._util.abort import AbortController, AbortSignal
from pinyon.agent import (
    AgentContext,
    AgentEvent,
    AgentTool,
    AgentToolResult,
    LoopConfig,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    NothingToContinueError,
    RequestState,
    RequestUpdate,
    ToolExecutionStart,
    ToolUpdate,
    TurnContext,
    TurnEnd,
    TurnUpdate,
    agent_loop,
    agent_loop_continue,
    run_agent_loop,
    run_agent_loop_continue,
    set_default_stream_fn,
)
from pinyon.agent.event import ToolExecutionUpdate
from pinyon.agent.run_tool import ABORTED_TEXT
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.event import Done
from pinyon.ai.message import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream, PushedEvents
from pinyon.errors import ProviderError

CALL_T = Reply(calls=[("1", "t", {})])


class Play:
    """A run of the low-level loop with a script."""

    def __init__(self, *replies: Any, tools: list[AgentTool] | None = None, **config: Any) -> None:
        self.model = ScriptedModel(*replies)
        self.log = EventLog()
        self.context = AgentContext(messages=[], tools=tools if tools is not None else [tool("t")])
        self.config = LoopConfig(model=config.pop("model", MODEL), **config)

    def go(self, *prompts: AgentMessage) -> list[AgentMessage]:
        asked = list(prompts) or [user("q")]
        return asyncio.run(run_agent_loop(asked, self.context, self.config, self.log, None, self.model))

    def sent(self, index: int) -> list[Message]:
        return self.model.requests[index].messages


def test_the_end_of_a_call_waits_for_the_delivery_of_its_updates() -> None:
    told: list[str] = []

    async def emit(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionUpdate):
            for _ in range(5):
                await asyncio.sleep(0)
        told.append(type(event).__name__)

    def work(params: Any, signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        on_update(result("half"))
        return result("whole")

    play = Play(CALL_T, tools=[tool("t", work)])
    asyncio.run(run_agent_loop([user("q")], play.context, play.config, emit, None, play.model))
    assert [name for name in told if name.startswith("Tool")] == [
        "ToolExecutionStart",
        "ToolExecutionUpdate",
        "ToolExecutionEnd",
    ]


def test_tools_get_the_grace_period_of_the_run() -> None:
    controller = AbortController()

    async def work(params: Any, signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        controller.abort()
        await asyncio.sleep(0.5)
        return result("in spite of it")

    play = Play(CALL_T, tools=[tool("t", work)], abort_grace_s=0)
    run = run_agent_loop([user("q")], play.context, play.config, play.log, controller.signal, play.model)
    (outcome,) = (message for message in asyncio.run(run) if isinstance(message, ToolResultMessage))
    assert outcome.content == [TextContent(text=ABORTED_TEXT)]


def texts(messages: list[Any]) -> list[str]:
    """User messages as their text, others as their role's type name."""
    return [
        str(message.content) if isinstance(message, UserMessage) else type(message).__name__ for message in messages
    ]


def queue(*messages: list[AgentMessage]) -> Callable[[], list[AgentMessage]]:
    """A source that gives one list at each poll, then nothing."""
    waiting = list(messages)
    return lambda: waiting.pop(0) if waiting else []


def test_a_run_returns_its_new_messages_and_leaves_the_given_context_alone() -> None:
    play = Play(Reply("hi"))
    play.context.messages.append(user("old"))
    new = play.go(user("q"))
    assert texts(new) == ["SystemMessage", "q", "AssistantMessage"]
    assert texts(play.context.messages) == ["old"]
    assert texts(play.sent(0)) == ["old", "SystemMessage", "q"]


def test_the_first_turn_starts_before_the_prompts_and_later_ones_after_the_hook() -> None:
    told: list[str] = []
    play = Play(CALL_T, prepare_next_turn=lambda turn: told.append("hook"))
    play.log = lambda event: told.append(type(event).__name__)  # type: ignore[assignment]
    play.go()
    assert told[:3] == ["AgentStart", "TurnStart", "MessageStart"]
    assert told[told.index("hook") + 1] == "TurnStart"
    assert told.count("hook") == 1


def test_the_model_is_asked_with_options_key_and_level() -> None:
    options = StreamOptions(api_key="own", temperature=0.5, reasoning="high", session_id="s")
    play = Play(Reply("hi"), options=options, get_api_key=lambda provider: f"key of {provider}")
    message = play.go()[-1]
    request = play.model.requests[0]
    assert (request.options.api_key, request.options.temperature) == ("key of fake", 0.5)
    assert (request.options.reasoning, request.options.session_id) == ("high", "s")
    assert isinstance(request.options.signal, AbortSignal)
    assert isinstance(message, AssistantMessage)
    assert message.thinking_level == "high"


@pytest.mark.parametrize("found", [None, ""])
def test_a_key_hook_that_finds_nothing_leaves_the_given_key(found: str | None) -> None:
    play = Play(options=StreamOptions(api_key="own"), get_api_key=lambda _: found)
    play.go()
    assert play.model.requests[0].options.api_key == "own"


@pytest.mark.parametrize("level", [None, "off"])
def test_thinking_off_is_no_reasoning_option_and_off_in_the_answer(level: Any) -> None:
    play = Play(options=StreamOptions(reasoning=level))
    message = play.go()[-1]
    assert play.model.requests[0].options.reasoning is None
    assert isinstance(message, AssistantMessage)
    assert message.thinking_level == "off"


def test_messages_of_the_host_are_not_sent_unless_converted() -> None:
    note = CustomMessage(custom_type="n", content="note", display=True, timestamp=1)
    bash = BashExecutionMessage(command="ls", output="", cancelled=False, truncated=False, timestamp=1)
    play = Play(tools=[])
    play.go(note, bash, user("q"))
    assert texts(play.sent(0)) == ["q"]
    converting = Play(tools=[], convert_to_llm=lambda messages: [user(str(len(messages)))])
    converting.go(note, bash, user("q"))
    assert texts(converting.sent(0)) == ["3"]


def test_a_transformed_context_holds_for_its_request_only() -> None:
    async def transform(messages: list[AgentMessage], signal: AbortSignal) -> list[AgentMessage]:
        messages.append(user("injected"))
        return messages

    play = Play(CALL_T, transform_context=transform)
    new = play.go()
    assert "injected" in texts(play.sent(0))
    assert texts(play.sent(1)).count("injected") == 1
    assert "injected" not in texts(new)


def test_prepared_requests_change_model_level_and_context_for_the_rest_of_the_run() -> None:
    states: list[RequestState] = []
    other = Model(id="m2", name="m2", api="fake", provider="fake", base_url="")

    def prepare(state: RequestState, signal: AbortSignal) -> RequestUpdate | None:
        states.append(RequestState(state.context, state.model, state.thinking_level))
        if len(states) > 1:
            return None
        context = AgentContext([state.context.messages[0], user("projected")], state.context.tools)
        return RequestUpdate(model=other, thinking_level="low", context=context)

    play = Play(CALL_T, prepare_request=prepare)
    new = play.go()
    assert [request.model.id for request in play.model.requests] == ["m2", "m2"]
    assert [request.options.reasoning for request in play.model.requests] == ["low", "low"]
    assert (states[1].model, states[1].thinking_level) == (other, "low")
    assert texts(play.sent(0)) == ["SystemMessage", "projected"]
    assert texts(play.sent(1)) == ["SystemMessage", "projected", "AssistantMessage", "ToolResultMessage"]
    assert texts(new)[:2] == ["SystemMessage", "q"]


def test_a_prepared_turn_may_bring_messages_model_and_level_before_queued_ones() -> None:
    other = Model(id="m2", name="m2", api="fake", provider="fake", base_url="")

    async def prepare(turn: TurnContext) -> TurnUpdate:
        assert (len(turn.tool_results), turn.new_messages[-1]) == (1, turn.tool_results[0])
        assert turn.context.messages[-2] is turn.message
        return TurnUpdate(messages=[user("prepared")], model=other, thinking_level="low")

    play = Play(CALL_T, prepare_next_turn=prepare, get_steering_messages=queue([], [user("steered")]))
    new = play.go()
    assert texts(new)[-3:] == ["prepared", "steered", "AssistantMessage"]
    assert play.model.requests[1].model is other
    assert play.model.requests[1].options.reasoning == "low"


def test_steering_is_polled_at_the_start_after_turns_and_once_more_before_the_next() -> None:
    polls: list[str] = []

    def note(what: str, answer: Any = None) -> Callable[..., Any]:
        def called(*_: Any) -> Any:
            polls.append(what)
            return answer

        return called

    play = Play(
        CALL_T,
        get_steering_messages=note("steering", ()),
        get_follow_up_messages=note("follow-up", ()),
        prepare_next_turn=note("next turn"),
        finish_turn=note("finish"),
    )
    play.go()
    expected = ["steering", "finish", "steering", "next turn", "steering", "finish", "steering", "follow-up"]
    assert polls == expected


def test_messages_steered_by_the_hook_before_a_turn_join_that_turn() -> None:
    waiting: list[AgentMessage] = []

    def drain() -> list[AgentMessage]:
        taken = list(waiting)
        waiting.clear()
        return taken

    play = Play(CALL_T, get_steering_messages=drain, prepare_next_turn=lambda _: waiting.append(user("late")))
    play.go()
    assert texts(play.sent(1))[-1] == "late"
    assert len(play.model.requests) == 2


def test_async_sources_are_awaited() -> None:
    async def steering() -> list[AgentMessage]:
        return [user("s")] if not play.model.requests else []

    async def follow_ups() -> list[AgentMessage]:
        return [user("f")] if len(play.model.requests) == 1 else []

    play = Play(get_steering_messages=steering, get_follow_up_messages=follow_ups)
    assert [text for text in texts(play.go()) if len(text) == 1] == ["q", "s", "f"]


def test_a_hook_that_asks_to_continue_gets_one_answer_more_only_where_the_run_would_stop() -> None:
    play: Play = Play(CALL_T, finish_turn=lambda turn, _: "continue" if len(play.model.requests) < 2 else None)
    play.go()
    assert len(play.model.requests) == 2


def test_a_hook_that_ends_the_run_leaves_the_queues_unasked() -> None:
    polls: list[int] = []

    def poll() -> list[AgentMessage]:
        polls.append(1)
        return []

    play = Play(
        CALL_T, finish_turn=lambda *_: "end", get_steering_messages=poll, get_follow_up_messages=lambda: [user("f")]
    )
    play.go()
    assert (len(play.model.requests), len(polls)) == (1, 1)
    assert play.log.types[-2:] == ["turn_end", "agent_end"]


@pytest.mark.parametrize("stop", ["error", "aborted"])
@pytest.mark.parametrize("decision", [None, "continue"])
def test_a_failed_answer_ends_the_run_without_tools_or_queues(stop: Any, decision: Any) -> None:
    turns: list[TurnContext] = []

    def finish(turn: TurnContext, signal: AbortSignal) -> Any:
        turns.append(turn)
        return decision

    play = Play(
        Reply(calls=CALL_T.calls, stop=stop, error="broken"),
        finish_turn=finish,
        get_steering_messages=queue([], [user("s")]),
        get_follow_up_messages=lambda: [user("f")],
    )
    new = play.go()
    assert len(play.model.requests) == len(turns) == 1
    assert not any(isinstance(message, ToolResultMessage) for message in new)
    assert play.log.types[-3:] == ["message_end", "turn_end", "agent_end"]


def test_calls_run_whatever_the_stop_reason_says() -> None:
    play = Play(Reply(calls=CALL_T.calls, stop="stop"))
    new = play.go()
    assert any(isinstance(message, ToolResultMessage) for message in new)


def test_a_deferred_answer_ends_the_run() -> None:
    play = Play(Reply("later", stop="deferred"))
    play.go()
    assert len(play.model.requests) == 1


def test_a_promised_call_that_is_missing_is_a_failed_answer() -> None:
    play = Play(Reply("I will look", stop="toolUse"))
    message = play.go()[-1]
    assert isinstance(message, AssistantMessage)
    assert message.stop_reason == "error"
    assert message.error_message
    assert "without a tool call" in message.error_message
    assert message.text == "I will look"


def test_call_ids_are_never_empty_and_never_twice() -> None:
    twice = Reply(calls=[("x", "nope", {}), ("x", "t", {}), ("", "t", {})])
    play = Play(twice, Reply(calls=[("x", "t", {}), ("x_2", "t", {})]))
    new = play.go()
    calls = [call.id for message in new if isinstance(message, AssistantMessage) for call in message.tool_calls]
    results = [message.tool_call_id for message in new if isinstance(message, ToolResultMessage)]
    assert calls == results
    assert len(set(calls)) == len(calls) == 5
    assert all(calls)
    assert calls[:2] == ["x", "x_2"]
    started = [event.tool_call_id for event in play.log.events if isinstance(event, ToolExecutionStart)]
    assert started == calls


def test_call_ids_of_earlier_messages_are_taken_too_and_long_ones_stay_short() -> None:
    play = Play(Reply(calls=[("a" * 64, "t", {})]))
    play.context.messages.append(answer([ToolCall(id="a" * 64, name="t", arguments={})], "toolUse"))
    new = play.go()
    call = next(message for message in new if isinstance(message, AssistantMessage)).tool_calls[0]
    assert call.id != "a" * 64
    assert len(call.id) <= 64


# --- streams


def test_the_live_message_is_shared_by_all_updates() -> None:
    play = Play(Reply("hello"))
    play.go()
    updates = [event for event in play.log.events if isinstance(event, MessageUpdate)]
    starts = [
        e.message for e in play.log.events if isinstance(e, MessageStart) and isinstance(e.message, AssistantMessage)
    ]
    assert {id(update.message) for update in updates} == {id(starts[0])}
    assert all(update.usage is starts[0].usage for update in updates)


def test_an_answer_without_start_gets_its_start_from_the_final_message() -> None:
    async def only_done() -> Any:
        yield Done("stop", answer([TextContent(text="x")]))

    play = Play(lambda request: AssistantMessageEventStream(only_done()))
    play.go()
    ends = [e.message for e in play.log.events if isinstance(e, MessageStart | MessageEnd)][-2:]
    assert isinstance(ends[0], AssistantMessage)
    assert ends[0] is ends[1]
    assert "message_update" not in play.log.types


def test_updates_before_a_start_are_ignored() -> None:
    from pinyon.ai.event import TextDelta

    async def headless() -> Any:
        yield TextDelta(0, "x")
        yield Done("stop", answer([TextContent(text="x")]))

    play = Play(lambda request: AssistantMessageEventStream(headless()))
    play.go()
    assert "message_update" not in play.log.types


def test_a_stream_may_be_awaited_for() -> None:
    script = ScriptedModel(Reply("hi"))

    async def stream_fn(model: Model, messages: list[Message], options: StreamOptions) -> AssistantMessageEventStream:
        return script(model, messages, options)

    config = LoopConfig(model=MODEL)
    new = asyncio.run(run_agent_loop([user("q")], AgentContext([]), config, lambda _: None, None, stream_fn))
    assert texts(new) == ["q", "AssistantMessage"]


def test_a_stream_that_ends_without_a_final_event_fails_the_run() -> None:
    def silent(request: Any) -> AssistantMessageEventStream:
        events = PushedEvents()
        events.end()
        return AssistantMessageEventStream(events)

    with pytest.raises(ProviderError):
        Play(silent).go()


def test_a_stream_is_closed_when_the_answer_is_complete() -> None:
    closed: list[str] = []

    async def events() -> Any:
        try:
            yield Done("stop", answer([TextContent(text="x")]))
            closed.append("read on")
        finally:
            closed.append("closed")

    Play(lambda request: AssistantMessageEventStream(events())).go()
    assert closed == ["closed"]


@pytest.mark.parametrize(
    "hook", ["transform_context", "convert_to_llm", "get_api_key", "prepare_request", "finish_turn"]
)
def test_what_a_hook_raises_leaves_the_loop(hook: str) -> None:
    def throw(*_: Any) -> Any:
        raise LookupError(hook)

    options: dict[str, Any] = {hook: throw}
    with pytest.raises(LookupError, match=hook):
        Play(**options).go()


def test_what_a_listener_raises_while_tools_run_side_by_side_leaves_the_loop_as_it_is() -> None:
    def listen(event: AgentEvent) -> None:
        if event.__class__.__name__ == "ToolExecutionEnd":
            raise LookupError("listener")

    play = Play(Reply(calls=[("1", "t", {}), ("2", "t", {})]))
    play.log = listen  # type: ignore[assignment]
    with pytest.raises(LookupError, match="listener"):
        play.go()


# --- tool declarations


def declared(message: Any) -> tuple[list[str], list[str]]:
    assert isinstance(message, SystemMessage)
    return [t.name for t in message.tools_added or ()], [t.name for t in message.tools_removed or ()]


def test_tools_are_declared_before_the_prompt_and_again_only_when_they_change() -> None:
    other = tool("u")

    def change(turn: TurnContext) -> TurnUpdate:
        return TurnUpdate(context=AgentContext(turn.context.messages, [other]), messages=[user("x")])

    play = Play(CALL_T, prepare_next_turn=change)
    new = play.go()
    assert [type(message).__name__ for message in new] == [
        "SystemMessage", "UserMessage", "AssistantMessage", "ToolResultMessage",
        "SystemMessage", "UserMessage", "AssistantMessage",
    ]  # fmt: skip
    assert [declared(new[0]), declared(new[4])] == [(["t"], []), (["u"], ["t"])]
    again = Play(Reply("hi"))
    again.context.messages = list(new)
    again.context.tools = [other]
    assert [type(message).__name__ for message in again.go()] == ["UserMessage", "AssistantMessage"]


def test_a_changed_definition_is_withdrawn_and_declared() -> None:
    play = Play(Reply("hi"))
    play.context.messages = play.go()
    play.context.tools = [AgentTool(name="t", description="new words", parameters={}, execute=lambda *_: result(""))]
    assert declared(play.go()[0]) == (["t"], ["t"])


# --- continuing


def test_a_run_continues_from_what_is_there() -> None:
    play = Play(Reply("c"), tools=[])
    play.context.messages.append(user("old"))
    new = asyncio.run(run_agent_loop_continue(play.context, play.config, play.log, None, play.model))
    assert texts(new) == ["AssistantMessage"]
    assert play.log.types[:3] == ["agent_start", "turn_start", "message_start"]


@pytest.mark.parametrize("messages", [[], [user("q"), answer([])]])
def test_nothing_to_answer_is_an_error(messages: list[AgentMessage]) -> None:
    context, config = AgentContext(messages), LoopConfig(model=MODEL)
    with pytest.raises(NothingToContinueError):
        agent_loop_continue(context, config)
    with pytest.raises(NothingToContinueError):
        asyncio.run(run_agent_loop_continue(context, config, lambda _: None))


# --- runs as streams


def test_a_run_can_be_read_as_a_stream() -> None:
    async def read() -> tuple[list[str], list[AgentMessage]]:
        play = Play(CALL_T)
        stream = agent_loop([user("q")], play.context, play.config, None, play.model)
        log = EventLog()
        async for event in stream:
            log(event)
        return log.types, await stream.result()

    types, new = asyncio.run(read())
    assert (types[0], types[-1]) == ("agent_start", "agent_end")
    assert texts(new)[-1] == "AssistantMessage"


def test_the_result_of_a_stream_needs_no_reader() -> None:
    async def read() -> list[AgentMessage]:
        play = Play(Reply("c"), tools=[])
        play.context.messages.append(user("old"))
        return await agent_loop_continue(play.context, play.config, None, play.model).result()

    assert texts(asyncio.run(read())) == ["AssistantMessage"]


@pytest.mark.parametrize("way", ["break", "aclose", "async with"])
def test_leaving_a_stream_early_aborts_its_run_and_leaves_no_task(way: str) -> None:
    async def wait(params: Any, signal: AbortSignal, on_update: Any) -> Any:
        await signal.wait()
        ended.append("tool saw the abort")
        return result("stopped")

    ended: list[str] = []

    async def read() -> int:
        play = Play(CALL_T, tools=[tool("t", wait)])
        stream = agent_loop([user("q")], play.context, play.config, None, play.model)
        if way == "break":
            async for event in stream:
                if isinstance(event, ToolExecutionStart):
                    break
        elif way == "aclose":
            iterator = aiter(stream)
            while not isinstance(await anext(iterator), ToolExecutionStart):
                pass
            await stream.aclose()
        else:
            async with stream:
                iterator = aiter(stream)
                while not isinstance(await anext(iterator), ToolExecutionStart):
                    pass
        async with asyncio.timeout(20):
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - the loop closes a left generator when it likes
                await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(read()) == 1
    assert ended == ["tool saw the abort"]


def test_a_reader_that_leaves_early_hears_nothing_more_of_a_broken_run() -> None:
    def fail(context: TurnContext) -> None:
        raise ValueError("broken")

    async def go() -> list[dict[str, Any]]:
        lost: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
        play = Play(CALL_T, prepare_next_turn=fail)
        stream = agent_loop([user("q")], play.context, play.config, None, play.model)
        await asyncio.wait([stream._running()])
        await stream.aclose()
        del stream
        gc.collect()
        await asyncio.sleep(0)
        return lost

    assert asyncio.run(go()) == []


def test_a_stream_that_is_over_does_not_listen_to_the_given_signal_any_more() -> None:
    async def go() -> AbortSignal:
        signal = AbortSignal()
        play = Play()
        await agent_loop([user("q")], play.context, play.config, signal, play.model).result()
        return signal

    assert asyncio.run(go())._listeners == []


def test_the_given_signal_aborts_a_stream() -> None:
    async def read() -> list[AgentMessage]:
        controller = AbortController()
        play = Play(CALL_T)
        controller.abort("why")
        return await agent_loop([user("q")], play.context, play.config, controller.signal, play.model).result()

    message = asyncio.run(read())[-1]
    assert isinstance(message, AssistantMessage)
    assert message.stop_reason == "aborted"


def test_a_stream_raises_what_ended_its_run() -> None:
    def throw(*_: Any) -> Any:
        raise LookupError("hook")

    async def read(way: str) -> None:
        play = Play(transform_context=throw)
        stream = agent_loop([user("q")], play.context, play.config, None, play.model)
        if way == "result":
            await stream.result()
        async for _ in stream:
            pass

    for way in ("result", "iterate"):
        with pytest.raises(LookupError, match="hook"):
            asyncio.run(read(way))


def test_the_default_stream_function_serves_loops_that_are_given_none() -> None:
    model = ScriptedModel(Reply("default"))
    set_default_stream_fn(model)
    try:
        play = Play()
        new = asyncio.run(run_agent_loop([user("q")], play.context, play.config, play.log))
    finally:
        set_default_stream_fn(None)
    assert isinstance(new[-1], AssistantMessage)
    assert new[-1].text == "default"


def test_turn_end_carries_the_answer_and_its_results() -> None:
    play = Play(CALL_T)
    new = play.go()
    ends = [event for event in play.log.events if isinstance(event, TurnEnd)]
    assert [len(end.tool_results) for end in ends] == [1, 0]
    assert ends[0].message is new[2]
    assert ends[0].tool_results[0] is new[3]
