"""One call and one batch: preparation, hooks, results, and the order of what is told about them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from tests.agent.scripted import MODEL, NUMBER, EventLog, Reply, ScriptedModel, answer, result, tool

from pinyon._util.abort import AbortController, AbortSignal
from pinyon.agent import (
    AfterToolCallContext,
    AfterToolCallResult,
    Agent,
    AgentContext,
    AgentTool,
    AgentToolResult,
    BeforeToolCallContext,
    BeforeToolCallResult,
    ToolCallOutcome,
    ToolUpdate,
    run_tool_call,
)
from pinyon.agent.event import (
    AgentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from pinyon.agent.run_tool import ABORTED_TEXT
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import ToolResultMessage
from pinyon.ai.usage import Usage
from pinyon.errors import ToolError
from pinyon.testing.fake_clock import FakeClock


class Run:
    """A prompt whose first answer makes the given calls."""

    def __init__(self, calls: list[tuple[str, str, dict[str, Any]]], tools: list[AgentTool], **options: Any) -> None:
        self.log = EventLog()
        self.model = ScriptedModel(Reply(calls=calls, stop=options.pop("stop", None)))
        state: Any = {"model": MODEL, "tools": tools}
        self.agent = Agent(stream_fn=self.model, initial_state=state, **options)
        self.agent.subscribe(self.log)

    def go(self) -> Run:
        asyncio.run(self.agent.prompt("q"))
        return self

    @property
    def results(self) -> list[ToolResultMessage]:
        return [message for message in self.agent.state.messages if isinstance(message, ToolResultMessage)]

    @property
    def ends(self) -> list[ToolExecutionEnd]:
        return [event for event in self.log.events if isinstance(event, ToolExecutionEnd)]

    @property
    def order(self) -> list[str]:
        """Starts, ends and result messages as `start 1`, `end 1`, `message 1`."""
        told = []
        for event in self.log.events:
            if isinstance(event, ToolExecutionStart):
                told.append(f"start {event.tool_call_id}")
            elif isinstance(event, ToolExecutionEnd):
                told.append(f"end {event.tool_call_id}")
            elif type(event).__name__ == "MessageStart" and isinstance(event.message, ToolResultMessage):  # type: ignore[union-attr]
                told.append(f"message {event.message.tool_call_id}")  # type: ignore[union-attr]
        return told


def text_of(outcome: AgentToolResult | ToolResultMessage) -> str:
    return "".join(block.text for block in outcome.content if isinstance(block, TextContent))


def one(agent_tool: AgentTool, arguments: Any = None, **options: Any) -> Run:
    return Run([("1", agent_tool.name, arguments or {})], [agent_tool], **options).go()


def seen_by(name: str = "t", **fields: Any) -> tuple[AgentTool, list[Any]]:
    """A tool that notes the arguments it ran with."""
    seen: list[Any] = []

    def run(params: Any, *_: Any) -> AgentToolResult:
        seen.append(params)
        return result("ok")

    return tool(name, run, **fields), seen


# --- order


def test_parallel_calls_end_as_they_come_and_are_reported_in_the_order_of_the_calls() -> None:
    tools = [tool("slow", delay_s=0.02), tool("fast")]
    run = Run([("1", "slow", {}), ("2", "fast", {}), ("3", "nope", {}), ("4", "fast", {"n": "x"})], tools).go()
    assert run.order[:6] == ["start 1", "start 2", "start 3", "end 3", "start 4", "end 4"]
    assert run.order[6:] == ["end 2", "end 1", "message 1", "message 2", "message 3", "message 4"]


@pytest.mark.parametrize("mode", ["config", "one tool asks"])
def test_sequential_calls_are_prepared_run_and_reported_one_by_one(mode: str) -> None:
    sequential = "sequential" if mode == "one tool asks" else None
    tools = [tool("slow", delay_s=0.01), tool("fast", execution_mode=sequential)]
    options = {"tool_execution": "sequential"} if mode == "config" else {}
    run = Run([("1", "slow", {}), ("2", "nope", {}), ("3", "fast", {})], tools, **options).go()
    assert run.order == [f"{what} {call}" for call in "123" for what in ("start", "end", "message")]


def test_a_sequential_tool_that_is_not_called_slows_nobody() -> None:
    tools = [tool("a", delay_s=0.01), tool("b"), tool("c", execution_mode="sequential")]
    run = Run([("1", "a", {}), ("2", "b", {})], tools).go()
    assert run.order[:4] == ["start 1", "start 2", "end 2", "end 1"]


def test_parallel_calls_really_run_at_the_same_time() -> None:
    met = asyncio.Barrier(3)

    async def meet(*_: Any) -> AgentToolResult:
        await met.wait()
        return result("met")

    run = Run([(call, "t", {}) for call in "123"], [tool("t", meet)]).go()
    assert [text_of(message) for message in run.results] == ["met"] * 3


# --- updates


def test_updates_are_delivered_before_the_end_also_to_slow_listeners_and_late_ones_are_ignored() -> None:
    late: list[ToolUpdate] = []

    async def work(params: Any, signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        on_update(result("1"))
        on_update(result("2"))
        late.append(on_update)
        return result("done")

    run = Run([("1", "t", {"n": "5"})], [tool("t", work)])
    told: list[str] = []

    async def listen(event: AgentEvent, signal: AbortSignal) -> None:
        if isinstance(event, ToolExecutionUpdate | ToolExecutionEnd):
            await asyncio.sleep(0.005)
            told.append(text_of(event.partial_result if isinstance(event, ToolExecutionUpdate) else event.result))

    run.agent.subscribe(listen)
    run.go()
    late[0](result("too late"))
    assert told == ["1", "2", "done"]
    update = next(event for event in run.log.events if isinstance(event, ToolExecutionUpdate))
    assert (update.tool_call_id, update.tool_name, update.args) == ("1", "t", {"n": "5"})


# --- preparation


def test_events_show_the_raw_arguments_and_the_tool_gets_the_checked_ones() -> None:
    agent_tool, seen = seen_by()
    run = one(agent_tool, {"n": "7", "more": None})
    assert seen == [{"n": 7, "more": None}]
    start = next(event for event in run.log.events if isinstance(event, ToolExecutionStart))
    assert start.args == {"n": "7", "more": None}
    assert run.model.requests[1].messages[2].tool_calls[0].arguments == {"n": "7", "more": None}  # type: ignore[union-attr]


@pytest.mark.parametrize("is_async", [False, True])
def test_arguments_are_repaired_before_they_are_checked(is_async: bool) -> None:
    def repair(raw: dict[str, Any]) -> Any:
        raw["n"] = raw.pop("number")
        return later(raw) if is_async else raw

    async def later(raw: Any) -> Any:
        return raw

    agent_tool, seen = seen_by(prepare_arguments=repair)
    run = one(agent_tool, {"number": "3"})
    assert seen == [{"n": 3}]
    assert run.model.requests[1].messages[2].tool_calls[0].arguments == {"number": "3"}  # type: ignore[union-attr]


@pytest.mark.parametrize("raises", [ToolError("cannot repair"), KeyError("x"), ValueError()])
def test_a_repair_that_raises_is_an_error_result(raises: Exception) -> None:
    def repair(raw: Any) -> Any:
        raise raises

    agent_tool, seen = seen_by(prepare_arguments=repair)
    run = one(agent_tool)
    assert run.results[0].is_error
    assert text_of(run.results[0]) == (str(raises) or "ValueError")
    assert seen == []


@pytest.mark.parametrize("repaired", [None, "text", [1], 5])
def test_a_repair_that_gives_no_object_is_refused_by_the_check(repaired: Any) -> None:
    agent_tool, seen = seen_by(prepare_arguments=lambda _: repaired)
    assert one(agent_tool).results[0].is_error
    assert seen == []


@pytest.mark.parametrize("has_repair", [False, True])
def test_arguments_that_were_no_json_object_run_nothing_and_are_not_repaired(has_repair: bool) -> None:
    def repair(raw: Any) -> Any:
        raise AssertionError("there is nothing to repair")

    agent_tool, seen = seen_by(prepare_arguments=repair if has_repair else None)
    call = ToolCall(id="1", name="t", arguments={}, arguments_error='bad\n\nReceived: {"path":"q.txt",]')
    outcome = asyncio.run(call_alone(call, [agent_tool]))
    assert outcome.is_error
    assert '{"path":"q.txt",]' in text_of(outcome.result)
    assert seen == []


@pytest.mark.parametrize("name", ["nope", "multi_tool_use.parallel", ""])
def test_an_unknown_tool_is_an_error_result_that_names_it_and_what_there_is(name: str) -> None:
    run = Run([("1", name, {}), ("2", "ls", {})], [tool("ls")]).go()
    assert [message.is_error for message in run.results] == [True, False]
    text = text_of(run.results[0])
    assert repr(name) in text
    assert "ls" in text
    assert run.results[0].details == {}
    assert len(run.model.requests) == 2


def test_of_very_many_tools_only_the_first_are_named_to_the_model() -> None:
    known = [tool(f"t{number}") for number in range(41)]
    forty, more = (Run([("1", "nope", {})], known[:count]).go() for count in (40, 41))
    assert text_of(forty.results[0]).endswith(", t38, t39")
    assert text_of(more.results[0]).endswith(", t38, t39, …")


# --- hooks


@pytest.mark.parametrize("is_async", [False, True])
def test_the_hook_before_may_change_arguments_in_place(is_async: bool) -> None:
    async def nothing() -> None: ...

    def before(context: BeforeToolCallContext, signal: AbortSignal) -> Awaitable[None] | None:
        assert (context.tool_call.arguments, context.args) == ({"n": "1"}, {"n": 1})
        assert context.assistant_message.tool_calls[0] is context.tool_call
        assert context.context.tools[0].name == "t"
        context.args["n"] = 2
        return nothing() if is_async else None

    agent_tool, seen = seen_by()
    one(agent_tool, {"n": "1"}, before_tool_call=before)
    assert seen == [{"n": 2}]


@pytest.mark.parametrize(("reason", "expected"), [("denied", "denied"), (None, "'t'"), ("", "'t'")])
def test_a_blocked_call_does_not_run_and_says_why(reason: str | None, expected: str) -> None:
    agent_tool, seen = seen_by()
    run = one(agent_tool, before_tool_call=lambda *_: BeforeToolCallResult(block=True, reason=reason))
    assert seen == []
    assert run.results[0].is_error
    assert expected in text_of(run.results[0])
    assert not run.ends[0].duration_ms


def test_an_abort_counts_more_than_the_refusal_of_a_hook() -> None:
    controller = AbortController()

    def before(context: BeforeToolCallContext, signal: AbortSignal) -> BeforeToolCallResult:
        controller.abort()
        return BeforeToolCallResult(block=True, reason="denied")

    call = ToolCall(id="1", name="t", arguments={})
    outcome = asyncio.run(call_alone(call, [tool("t")], before_tool_call=before, signal=controller.signal))
    assert text_of(outcome.result) == ABORTED_TEXT


def test_a_result_without_block_lets_the_call_run() -> None:
    agent_tool, seen = seen_by()
    one(agent_tool, before_tool_call=lambda *_: BeforeToolCallResult(reason="ignored"))
    assert seen == [{}]


def test_a_raising_hook_before_stops_the_call_and_only_this_one() -> None:
    def before(context: BeforeToolCallContext, signal: AbortSignal) -> None:
        if context.tool_call.id == "1":
            raise RuntimeError("gate broke")

    agent_tool, seen = seen_by()
    run = Run([("1", "t", {"n": 1}), ("2", "t", {"n": 2})], [agent_tool], before_tool_call=before).go()
    assert [text_of(message) for message in run.results] == ["gate broke", "ok"]
    assert seen == [{"n": 2}]


FULL = AgentToolResult(
    content=[TextContent(text="old")], details={"d": 1}, structured_content="s", usage=Usage(input=1), terminate=True
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, {}),
        (AfterToolCallResult(), {}),
        (AfterToolCallResult(content=[TextContent(text="new")]), {"text": "new", "structured": None}),
        (
            AfterToolCallResult(content=[TextContent(text="new")], structured_content=2),
            {"text": "new", "structured": 2},
        ),
        (AfterToolCallResult(details=None), {"details": None}),
        (AfterToolCallResult(usage=Usage(input=2)), {"input": 2}),
        (AfterToolCallResult(terminate=False), {"terminate": False}),
        (AfterToolCallResult(is_error=True), {"is_error": True}),
    ],
)
def test_the_hook_after_replaces_whole_fields(change: AfterToolCallResult | None, expected: dict[str, Any]) -> None:
    contexts: list[AfterToolCallContext] = []

    def after(context: AfterToolCallContext, signal: AbortSignal) -> AfterToolCallResult | None:
        contexts.append(context)
        return change

    run = one(tool("t", lambda *_: FULL), {"n": "1"}, after_tool_call=after)
    end, message = run.ends[0], run.results[0]
    got = {
        "text": text_of(message),
        "structured": end.result.structured_content or None,
        "details": message.details,
        "input": message.usage.input if message.usage else None,
        "terminate": end.result.terminate,
        "is_error": (message.is_error, end.is_error) == (True, True),
    }
    before = {"text": "old", "structured": "s", "details": {"d": 1}, "input": 1, "terminate": True, "is_error": False}
    assert got == before | expected
    assert (contexts[0].args, contexts[0].is_error) == ({"n": 1}, False)
    assert contexts[0].result is FULL
    assert text_of(FULL) == "old"


def test_the_hook_after_may_turn_a_failure_into_success() -> None:
    def fail(*_: Any) -> AgentToolResult:
        raise RuntimeError("no")

    run = one(tool("t", fail), after_tool_call=lambda *_: AfterToolCallResult(is_error=False))
    assert (run.results[0].is_error, text_of(run.results[0])) == (False, "no")


def test_a_raising_hook_after_replaces_the_result() -> None:
    def after(*_: Any) -> None:
        raise RuntimeError("after broke")

    run = one(tool("t"), after_tool_call=after)
    assert (run.results[0].is_error, text_of(run.results[0]), run.results[0].details) == (True, "after broke", {})


# --- results


def test_a_result_goes_into_the_message_field_by_field() -> None:
    run = one(tool("t", lambda *_: FULL))
    message = run.results[0]
    assert (message.tool_call_id, message.tool_name, message.is_error) == ("1", "t", False)
    assert (message.details, message.usage) == ({"d": 1}, Usage(input=1))
    assert isinstance(message.duration_ms, int)
    assert message.timestamp > 1_600_000_000_000
    assert run.ends[0].result is FULL


def test_absent_fields_of_a_result_stay_absent() -> None:
    message = one(tool("t")).results[0]
    assert not message.details
    assert not message.usage


def test_a_tool_may_report_failure_without_raising() -> None:
    run = one(tool("t", lambda *_: result("bad", is_error=True)))
    assert (run.results[0].is_error, run.ends[0].is_error) == (True, True)


@pytest.mark.parametrize("error", [ToolError("clear words"), RuntimeError(), asyncio.CancelledError()])
def test_a_raising_tool_is_an_error_result(error: BaseException) -> None:
    def fail(*_: Any) -> AgentToolResult:
        raise error

    run = one(tool("t", fail))
    message = run.results[0]
    assert (message.is_error, message.details) == (True, {})
    assert text_of(message) == (str(error) or text_of(message))
    assert text_of(message)
    assert isinstance(run.ends[0].duration_ms, int)
    assert run.log.types[-1] == "agent_end"


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ({"content": [{"type": "text", "text": "wire"}], "details": {"a": 1}}, "wire"),
        ({"content": "just text"}, "just text"),
        ({}, ""),
        (AgentToolResult(content=[{"type": "text", "text": "mixed"}]), "mixed"),  # type: ignore[list-item]
        (AgentToolResult(content="text"), "text"),  # type: ignore[arg-type]
        (AgentToolResult(content=None), ""),  # type: ignore[arg-type]
    ],
)
def test_results_of_other_shapes_are_understood(returned: Any, text: str) -> None:
    message = one(tool("t", lambda *_: returned)).results[0]
    assert (message.is_error, text_of(message)) == (False, text)


@pytest.mark.parametrize(
    "returned",
    [None, 5, "text", {"content": 5}, {"content": [5]}, {"isError": "x"}, AgentToolResult(content=7)],  # type: ignore[arg-type]
)
def test_results_that_make_no_sense_are_error_results(returned: Any) -> None:
    assert one(tool("t", lambda *_: returned)).results[0].is_error


def test_of_two_tools_with_one_name_the_later_is_declared_and_called() -> None:
    run = Run([("1", "t", {})], [tool("t", "first"), tool("t", "second")]).go()
    assert text_of(run.results[0]) == "second"


def test_a_tool_need_not_be_async() -> None:
    plain = AgentTool(name="p", description="", parameters=NUMBER, execute=lambda *_: result("plain"))
    assert text_of(one(plain).results[0]) == "plain"


# --- terminate and the output limit


def terminating(name: str) -> AgentTool:
    return tool(name, lambda *_: result(name, terminate=True))


@pytest.mark.parametrize(
    ("calls", "requests"),
    [(["x"], 1), (["x", "x"], 1), (["x", "y"], 2), (["y"], 2), (["x", "nope"], 2)],
)
def test_a_batch_ends_the_run_only_if_every_result_asks(calls: list[str], requests: int) -> None:
    numbered: list[tuple[str, str, dict[str, Any]]] = [(str(index), name, {}) for index, name in enumerate(calls)]
    run = Run(numbered, [terminating("x"), tool("y")]).go()
    assert len(run.model.requests) == requests
    assert len(run.results) == len(calls)


def test_an_answer_cut_at_the_output_limit_runs_nothing_and_the_report_stays_short() -> None:
    agent_tool, seen = seen_by()
    run = Run([(str(i), "t", {"n": i}) for i in range(40)], [agent_tool], stop="length").go()
    assert seen == []
    assert run.order == [f"{what} {i}" for i in range(40) for what in ("start", "end", "message")]
    assert all(message.is_error and "'t'" in text_of(message) for message in run.results)
    assert all(not end.duration_ms for end in run.ends)
    assert sum(len(text_of(message)) for message in run.results) < 1500
    assert len(run.model.requests) == 2


# --- nested calls


async def call_alone(call: ToolCall, known: list[AgentTool], **options: Any) -> ToolCallOutcome:
    return await run_tool_call(
        call, assistant_message=answer([call], "toolUse"), context=AgentContext(messages=[], tools=known), **options
    )


def test_a_nested_call_goes_through_the_same_checks_and_hooks() -> None:
    agent_tool, seen = seen_by()
    asked: list[str] = []

    def before(context: BeforeToolCallContext, signal: AbortSignal) -> None:
        asked.append(context.tool_call.id)

    call = ToolCall(id="p/1", name="t", arguments={"n": "3"})
    change = AfterToolCallResult(content=[TextContent(text="changed")])
    outcome = asyncio.run(call_alone(call, [agent_tool], before_tool_call=before, after_tool_call=lambda *_: change))
    assert (seen, asked) == ([{"n": 3}], ["p/1"])
    assert (outcome.is_error, text_of(outcome.result)) == (False, "changed")
    assert isinstance(outcome.duration_ms, int)


def test_the_time_of_a_call_is_measured_without_its_hooks() -> None:
    clock = FakeClock()

    async def work(params: Any, signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        await clock.sleep(1.25)
        return result("done")

    def pass_time(*_: Any) -> None:
        clock.advance(1000)

    call = ToolCall(id="1", name="t", arguments={})
    hooks: dict[str, Any] = {"before_tool_call": pass_time, "after_tool_call": pass_time}
    outcome = asyncio.run(call_alone(call, [tool("t", work)], clock=clock, **hooks))
    assert outcome.duration_ms == 1250


def test_a_nested_call_uses_the_given_tools_and_passes_updates_on_while_it_runs() -> None:
    updates: list[str] = []
    late: list[ToolUpdate] = []

    def work(params: Any, signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        on_update(result("half"))
        late.append(on_update)
        return result("whole")

    async def go() -> ToolCallOutcome:
        call = ToolCall(id="1", name="other", arguments={})
        outcome = await call_alone(
            call, [tool("t")], tools=[tool("other", work)], on_update=lambda part: updates.append(text_of(part))
        )
        late[0](result("too late"))
        return outcome

    assert text_of(asyncio.run(go()).result) == "whole"
    assert updates == ["half"]


def test_failures_of_a_nested_call_are_outcomes() -> None:
    def fail(*_: Any) -> AgentToolResult:
        raise RuntimeError("inner")

    signal = AbortSignal()
    unknown = asyncio.run(call_alone(ToolCall(id="1", name="nope", arguments={}), []))
    raising = asyncio.run(call_alone(ToolCall(id="1", name="t", arguments={}), [tool("t", fail)]))
    signal._fire(None)
    aborted = asyncio.run(call_alone(ToolCall(id="1", name="t", arguments={}), [tool("t")], signal=signal))
    assert [unknown.is_error, raising.is_error, aborted.is_error] == [True, True, True]
    assert [text_of(raising.result), text_of(aborted.result)] == ["inner", ABORTED_TEXT]
    assert not aborted.duration_ms
