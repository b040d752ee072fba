"""`Agent`: its state, queues and listeners, and how it is told to run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.agent.scripted import MODEL, EventLog, Reply, ScriptedModel, answer, tool, user

from pinyon._util.abort import AbortSignal
from pinyon.agent import (
    Agent,
    AgentContext,
    AgentEnd,
    AgentEvent,
    AgentStart,
    AgentTool,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    NothingToContinueError,
    RequestState,
    RequestUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnContext,
    TurnEnd,
    TurnUpdate,
    define_tool,
)
from pinyon.ai.content import ImageContent, TextContent
from pinyon.ai.message import AgentMessage, AssistantMessage, SystemMessage, ToolResultMessage, UserMessage
from pinyon.ai.option import Identity, StreamOptions
from pinyon.ai.tool import Tool
from pinyon.errors import AgentBusyError


def made(*replies: Any, **options: Any) -> tuple[Agent, ScriptedModel, EventLog]:
    script, log = ScriptedModel(*replies), EventLog()
    state = options.pop("state", {"model": MODEL})
    agent = Agent(stream_fn=script, initial_state=state, **options)
    agent.subscribe(log)
    return agent, script, log


def prompted(agent: Agent, *prompts: Any) -> None:
    async def go() -> None:
        for prompt in prompts or ("q",):
            await agent.prompt(prompt)

    asyncio.run(go())


def spoken(messages: list[AgentMessage]) -> list[str]:
    """Texts of the user's messages."""
    return [str(message.content) for message in messages if isinstance(message, UserMessage)]


# --- state


def test_an_agent_starts_with_what_it_is_given_and_defaults() -> None:
    bare = Agent().state
    assert (bare.model.id, bare.thinking_level, bare.tools, bare.messages) == ("unknown", "off", [], [])
    assert (bare.system_prompt, bare.is_streaming, bare.streaming_message) == ("", False, None)
    assert (bare.pending_tool_calls, bare.error_message) == (frozenset(), None)
    tools = [tool("t")]
    full = Agent(initial_state={"system_prompt": "SP", "model": MODEL, "thinking_level": "low", "tools": tools}).state
    assert (full.model, full.thinking_level, full.tools, full.system_prompt) == (MODEL, "low", tools, "SP")
    assert full.tools is not tools


def test_prompt_and_tools_become_a_leading_system_message_unless_there_is_one() -> None:
    leading = Agent(initial_state={"system_prompt": "SP", "tools": [tool("t")]}).state.messages
    assert [(type(m).__name__, m.timestamp) for m in leading if isinstance(m, SystemMessage)] == [("SystemMessage", 0)]
    only_tools = Agent(initial_state={"tools": [tool("t")], "messages": [user("old")]}).state.messages
    assert [type(message).__name__ for message in only_tools] == ["SystemMessage", "UserMessage"]
    given = SystemMessage(content="given", timestamp=5)
    kept = Agent(initial_state={"system_prompt": "SP", "messages": [given]}).state
    assert kept.messages == [given]
    assert kept.system_prompt == "given"


def test_the_prompt_is_what_the_system_messages_add_up_to() -> None:
    agent, _, _ = made(state={"model": MODEL, "system_prompt": "SP"})
    prompted(agent, [SystemMessage(content="more", timestamp=1), user("q")])
    assert agent.state.system_prompt == "SP\n\nmore"


def test_assigned_tools_and_messages_are_copied() -> None:
    agent, script, _ = made()
    messages: list[AgentMessage] = [user("old")]
    tools = [tool("t")]
    agent.state.messages, agent.state.tools = messages, tools
    messages.append(user("not seen"))
    tools.clear()
    prompted(agent)
    assert spoken(list(script.requests[0].messages)) == ["old", "[TextContent(text='q', text_signature=UNSET)]"]
    assert [declared.name for declared in agent.state.tools] == ["t"]


def test_definitions_are_tools_too() -> None:
    @define_tool
    async def greet(name: str) -> str:
        """Greet."""
        return f"hi {name}"

    agent, _, _ = made(Reply(calls=[("1", "greet", {"name": "x"})]), state={"model": MODEL, "tools": [greet]})
    prompted(agent)
    assert any(isinstance(message, ToolResultMessage) and not message.is_error for message in agent.state.messages)


def test_state_is_up_to_date_before_listeners_hear_of_it() -> None:
    agent, _, _ = made(Reply("hello", calls=[("1", "t", {})]), state={"model": MODEL, "tools": [tool("t")]})
    told: list[str] = []

    def listen(event: AgentEvent, signal: AbortSignal) -> None:
        state = agent.state
        match event:
            case AgentStart():
                assert state.is_streaming
                assert agent.signal is signal
            case MessageUpdate():
                assert state.streaming_message is event.message
                told.append("update")
            case MessageStart(message=AssistantMessage()):
                assert state.streaming_message is event.message
            case MessageEnd():
                assert state.streaming_message is None
                assert state.messages[-1] is event.message
                told.append("end")
            case ToolExecutionStart():
                assert event.tool_call_id in state.pending_tool_calls
            case ToolExecutionEnd():
                assert event.tool_call_id not in state.pending_tool_calls
            case AgentEnd():
                assert state.is_streaming
                assert state.streaming_message is None
            case _:
                pass

    agent.subscribe(listen)
    prompted(agent)
    assert {"update", "end"} <= set(told)
    assert not agent.state.is_streaming
    assert agent.signal is None


def test_each_change_of_the_pending_calls_makes_a_new_set() -> None:
    agent, _, _ = made(Reply(calls=[("1", "t", {}), ("2", "t", {})]), state={"model": MODEL, "tools": [tool("t")]})
    seen: list[frozenset[str]] = []

    def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, ToolExecutionStart | ToolExecutionEnd):
            seen.append(agent.state.pending_tool_calls)

    agent.subscribe(listen)
    prompted(agent)
    assert [sorted(ids) for ids in seen] == [["1"], ["1", "2"], ["2"], []]


def test_the_error_of_the_last_answer_is_kept_until_the_next_run() -> None:
    agent, _, _ = made(Reply("x", stop="error", error="boom"), Reply("fine"))
    prompted(agent)
    assert agent.state.error_message == "boom"
    errors: list[str | None] = []
    agent.subscribe(
        lambda event, _: errors.append(agent.state.error_message) if isinstance(event, AgentStart) else None
    )
    prompted(agent)
    assert errors == [None]
    assert not agent.state.error_message


# --- prompts


def test_a_text_with_images_becomes_one_user_message() -> None:
    agent, script, _ = made()
    image = ImageContent(data="AA==", mime_type="image/png")

    async def go() -> None:
        await agent.prompt("look", images=[image])

    asyncio.run(go())
    message = script.requests[0].messages[0]
    assert isinstance(message, UserMessage)
    assert message.content == [TextContent(text="look"), image]


@pytest.mark.parametrize("prompt", [user("a"), [user("a"), user("b")], (user("a"), user("b"))])
def test_messages_are_prompts_as_they_are(prompt: Any) -> None:
    agent, script, _ = made()
    prompted(agent, prompt)
    expected = list(prompt) if isinstance(prompt, list | tuple) else [prompt]
    assert script.requests[0].messages == expected


@pytest.mark.parametrize("what", ["prompt", "continue_", "resume", "reset"])
def test_a_running_agent_is_busy(what: str) -> None:
    agent, _, _ = made()
    errors: list[str] = []

    async def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, MessageUpdate) and not errors:
            try:
                refused = agent.prompt("q2") if what == "prompt" else getattr(agent, what)()
                await refused
            except AgentBusyError as error:
                errors.append(str(error))

    agent.subscribe(listen)
    prompted(agent)
    assert len(errors) == 1
    assert what.replace("resume", "continue_") in errors[0]
    assert len([message for message in agent.state.messages if isinstance(message, AssistantMessage)]) == 1


def test_options_of_the_agent_reach_the_request() -> None:
    hooks: dict[str, Any] = {
        "on_payload": lambda *_: None,
        "on_response": lambda *_: None,
        "on_provider_stream_event": lambda *_: None,
        "session_id": "s",
        "thinking_budgets": {"low": 5},
        "transport": "sse",
        "max_retry_delay_ms": 7,
        "identity": Identity(user_agent="short"),
    }
    state = {"model": MODEL, "thinking_level": "high"}
    agent, script, _ = made(state=state, stream_options=StreamOptions(temperature=0.1), **hooks)
    prompted(agent)
    options = script.requests[0].options
    assert {name: getattr(options, name) for name in hooks} == hooks
    assert (options.temperature, options.reasoning) == (0.1, "high")
    agent.session_id = "other"
    prompted(agent)
    assert script.requests[1].options.session_id == "other"
    plain, script, _ = made()
    prompted(plain)
    assert script.requests[0].options.max_retry_delay_ms == StreamOptions().max_retry_delay_ms
    assert script.requests[0].options.transport == "auto"


def test_hooks_are_attributes_that_the_next_run_uses() -> None:
    agent, script, _ = made()
    told: list[str] = []

    def prepare(state: RequestState, signal: AbortSignal) -> RequestUpdate:
        told.append("request")
        return RequestUpdate(context=AgentContext([user("projected")]))

    agent.prepare_request = prepare
    prompted(agent)
    agent.prepare_request = None
    agent.get_api_key = lambda provider: "key"
    prompted(agent)
    assert told == ["request"]
    assert spoken(list(script.requests[0].messages)) == ["projected"]
    assert script.requests[1].options.api_key == "key"


def test_the_hook_with_context_wins_over_the_one_without() -> None:
    told: list[str] = []

    def plain(signal: AbortSignal) -> TurnUpdate:
        told.append(f"plain {signal.aborted}")
        return TurnUpdate(messages=[user("p")])

    async def with_context(turn: TurnContext, signal: AbortSignal) -> None:
        told.append(f"context {len(turn.tool_results)} {signal.aborted}")

    state = {"model": MODEL, "tools": [tool("t")]}
    agent, _, _ = made(Reply(calls=[("1", "t", {})]), Reply("x"), state=state, prepare_next_turn=plain)
    prompted(agent)
    agent, _, _ = made(Reply(calls=[("1", "t", {})]), state=state, prepare_next_turn=plain,
                       prepare_next_turn_with_context=with_context)  # fmt: skip
    prompted(agent)
    assert told == ["plain False", "context 1 False"]


# --- queues


def test_queues_keep_their_order_and_show_what_comes_next() -> None:
    agent, _, _ = made()
    assert not agent.has_queued_messages()
    for text in ("f1", "f2"):
        agent.follow_up(user(text))
    assert spoken(agent.peek_queued_messages()) == ["f1"]
    for text in ("s1", "s2"):
        agent.steer(user(text))
    assert spoken(agent.peek_queued_messages()) == ["s1"]
    agent.steering_mode = "all"
    assert spoken(agent.peek_queued_messages()) == ["s1", "s2"]
    agent.clear_steering_queue()
    assert spoken(agent.peek_queued_messages()) == ["f1"]
    agent.clear_follow_up_queue()
    assert not agent.has_queued_messages()
    agent.steer(user("s"))
    agent.follow_up(user("f"))
    agent.clear_all_queues()
    assert (agent.has_queued_messages(), agent.peek_queued_messages()) == (False, [])


def test_a_change_of_mode_holds_from_the_next_drain() -> None:
    agent, script, _ = made()
    for text in ("f1", "f2", "f3"):
        agent.follow_up(user(text))

    def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, TurnEnd) and len(script.requests) == 2:
            agent.follow_up_mode = "all"

    agent.subscribe(listen)
    prompted(agent)
    assert [len(spoken(list(request.messages))) for request in script.requests] == [1, 2, 4]
    assert (agent.steering_mode, agent.follow_up_mode) == ("one-at-a-time", "all")


def test_continuing_after_an_answer_takes_queued_messages() -> None:
    state = {"model": MODEL, "messages": [user("old"), answer([TextContent(text="x")])]}
    agent, script, _ = made(state=state)
    for text in ("f1", "f2"):
        agent.follow_up(user(text))
    asyncio.run(agent.continue_())
    assert [spoken(list(request.messages))[-1] for request in script.requests] == ["f1", "f2"]


@pytest.mark.parametrize("messages", [[], [SystemMessage(content="x", timestamp=1)], [user("q"), answer([])]])
def test_continuing_from_nothing_is_an_error_and_leaves_the_agent_idle(messages: list[AgentMessage]) -> None:
    agent, script, log = made(state={"model": MODEL, "messages": messages})
    with pytest.raises(NothingToContinueError):
        asyncio.run(agent.continue_())
    assert (script.requests, log.events, agent.state.is_streaming) == ([], [], False)


def test_queued_messages_that_a_broken_run_had_taken_are_queued_again() -> None:
    def throw(*_: Any) -> Any:
        if script.requests:
            raise LookupError("hook")

    agent, script, _ = made(Reply("one"), prepare_next_turn=throw)
    agent.follow_up(user("f1"))
    agent.follow_up(user("f2"))
    prompted(agent)
    assert agent.state.error_message == "hook"
    assert "f1" not in spoken(agent.state.messages)
    agent.prepare_next_turn = None
    agent.follow_up_mode = "all"
    assert spoken(agent.peek_queued_messages()) == ["f1", "f2"]


def test_messages_of_a_queue_that_was_cleared_do_not_come_back() -> None:
    def clear_and_throw(*_: Any) -> Any:
        agent.clear_all_queues()
        raise LookupError("hook")

    agent, _, _ = made(Reply("one"), prepare_next_turn=clear_and_throw)
    agent.follow_up(user("f1"))
    prompted(agent)
    assert not agent.has_queued_messages()


# --- reset and idle


def test_reset_keeps_prompt_and_tools_only() -> None:
    state = {"model": MODEL, "system_prompt": "SP", "tools": [tool("t")]}
    agent, _, _ = made(Reply("x", stop="error", error="boom"), state=state)
    prompted(agent, [SystemMessage(content="more", timestamp=5), user("q")])
    agent.steer(user("s"))
    agent.reset()
    (baseline,) = agent.state.messages
    assert isinstance(baseline, SystemMessage)
    assert (agent.state.system_prompt, baseline.timestamp) == ("SP\n\nmore", 0)
    assert [declared.name for declared in baseline.tools_added or ()] == ["t"]
    assert (agent.has_queued_messages(), agent.state.error_message) == (False, None)
    bare, _, _ = made()
    prompted(bare)
    bare.reset()
    assert bare.state.messages == []


def test_waiting_for_idle_includes_the_last_listeners() -> None:
    agent, _, _ = made()
    told: list[str] = []

    async def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, AgentEnd):
            await asyncio.sleep(0.01)
            assert agent.state.is_streaming
            told.append("listener done")

    async def go() -> None:
        agent.subscribe(listen)
        await agent.wait_for_idle()
        running = asyncio.create_task(agent.prompt("q"))
        await asyncio.sleep(0)
        await agent.wait_for_idle()
        told.append("idle")
        assert not agent.state.is_streaming
        await running

    asyncio.run(go())
    assert told == ["listener done", "idle"]


# --- listeners


def test_listeners_are_called_in_order_and_awaited_one_after_another() -> None:
    agent, _, _ = made()
    told: list[str] = []

    async def slow(event: AgentEvent, signal: AbortSignal) -> None:
        await asyncio.sleep(0)
        told.append(f"slow {type(event).__name__}")

    agent.subscribe(slow)
    agent.subscribe(lambda event, _: told.append(f"fast {type(event).__name__}"))
    prompted(agent)
    assert told[::2] == [line.replace("fast", "slow") for line in told[1::2]]


def test_what_a_plain_listener_returns_does_not_matter() -> None:
    agent, _, _ = made()
    agent.subscribe(lambda *_: True)  # type: ignore[arg-type]
    prompted(agent)
    assert agent.state.error_message is None


def test_a_listener_that_left_hears_nothing_more_also_when_it_leaves_while_listening() -> None:
    agent, _, log = made()
    heard: list[AgentEvent] = []

    def once(event: AgentEvent, signal: AbortSignal) -> None:
        heard.append(event)
        leave()

    leave = agent.subscribe(once)
    prompted(agent)
    leave()
    assert len(heard) == 1
    assert len(log.events) > 1


def test_the_same_listener_may_subscribe_twice() -> None:
    agent, _, _ = made()
    log = EventLog()
    agent.subscribe(log)
    agent.subscribe(log)
    prompted(agent)
    assert log.types[:2] == ["agent_start", "agent_start"]


def test_events_of_calls_side_by_side_reach_an_async_listener_one_at_a_time() -> None:
    state = {"model": MODEL, "tools": [tool("t")]}
    agent, _, log = made(Reply(calls=[(str(index), "t", {}) for index in range(5)]), state=state)
    inside: list[AgentEvent] = []
    order: list[AgentEvent] = []

    async def listen(event: AgentEvent, signal: AbortSignal) -> None:
        assert not inside
        inside.append(event)
        await asyncio.sleep(0.001)
        order.append(inside.pop())

    agent.subscribe(listen)
    prompted(agent)
    assert order == log.events


class BrokenError(Exception):
    """What the listeners of these tests raise."""


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "kind", [AgentStart, MessageStart, MessageUpdate, ToolExecutionStart, ToolExecutionEnd, TurnEnd]
)
def test_a_listener_that_raises_once_turns_the_run_into_an_error_message(kind: type[Any], is_async: bool) -> None:
    state = {"model": MODEL, "tools": [tool("t"), tool("u", delay_s=0.001)]}
    agent, _, log = made(Reply("text", calls=[("1", "t", {}), ("2", "u", {})]), state=state)
    raised: list[AgentEvent] = []

    def listen(event: AgentEvent, signal: AbortSignal) -> Any:
        if isinstance(event, kind) and not raised:
            raised.append(event)
            if is_async:
                return broken()
            raise BrokenError("listener")
        return None

    async def broken() -> None:
        raise BrokenError("listener")

    agent.subscribe(listen)
    prompted(agent)
    last = agent.state.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.stop_reason, last.error_message) == ("error", "listener")
    assert last.content == [TextContent(text="")]
    assert (last.provider, last.model) == ("fake", "m")
    assert log.types[-4:] == ["message_start", "message_end", "turn_end", "agent_end"]
    assert not agent.state.is_streaming
    assert_one_result_for_each_call(agent.state.messages)
    prompted(agent)
    assert agent.state.error_message is None


def test_a_listener_that_always_raises_reaches_the_caller_and_leaves_a_complete_state() -> None:
    def listen(event: AgentEvent, signal: AbortSignal) -> None:
        raise BrokenError("always")

    agent, _, _ = made()
    agent.subscribe(listen)
    with pytest.raises(BrokenError):
        prompted(agent)
    assert agent.state.error_message == "always"
    assert not agent.state.is_streaming


def test_an_error_after_an_abort_counts_as_the_abort() -> None:
    def throw(*_: Any) -> Any:
        agent.abort()
        raise LookupError("late")

    agent, _, _ = made(transform_context=throw)
    prompted(agent)
    last = agent.state.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert (last.stop_reason, last.error_message) == ("aborted", "late")


def test_a_listener_may_replace_a_message_in_place() -> None:
    agent, script, _ = made(Reply(calls=[("1", "t", {})]), state={"model": MODEL, "tools": [tool("t")]})

    def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, ToolResultMessage):
            event.message.content = [TextContent(text="replaced")]

    agent.subscribe(listen)
    prompted(agent)
    assert agent.state.messages[-2] is script.requests[1].messages[-1]
    assert agent.state.messages[-2].content == [TextContent(text="replaced")]


def assert_one_result_for_each_call(messages: list[AgentMessage]) -> None:
    calls = [call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
    assert [message.tool_call_id for message in messages if isinstance(message, ToolResultMessage)] == calls


# --- tools over several runs


def test_tools_that_change_between_runs_are_declared_with_the_next_prompt() -> None:
    agent, script, _ = made(state={"model": MODEL, "system_prompt": "SP", "tools": [tool("a")]})
    prompted(agent)
    agent.state.tools = [tool("b")]
    prompted(agent)
    system = [message for message in script.requests[1].messages if isinstance(message, SystemMessage)]
    assert [[declared.name for declared in message.tools_added or ()] for message in system] == [["a"], ["b"]]
    assert [gone.name for gone in system[1].tools_removed or ()] == ["a"]


def test_a_declaration_holds_exactly_the_fields_for_the_model() -> None:
    sampled = AgentTool(
        name="n", description="d", parameters={"type": "object", "required": ("x",)}, label="L",
        output_schema={}, constrained_sampling=False, execute=lambda *_: None,  # type: ignore[arg-type]
    )  # fmt: skip
    expected = Tool(
        name="n", description="d", parameters={"type": "object", "required": ["x"]}, constrained_sampling=False
    )
    assert sampled.declaration() == expected
    assert not tool("t").declaration().constrained_sampling
