"""Replays the recorded traces of the bare loop: the same events, requests, hooks and final state."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.scripted import MODEL, Reply, ScriptedModel, answer, result, tool, user

from pinyon._util.abort import AbortSignal
from pinyon.agent import (
    AfterToolCallResult,
    Agent,
    AgentContext,
    AgentTool,
    AgentToolResult,
    BeforeToolCallContext,
    BeforeToolCallResult,
    TurnContext,
    TurnUpdate,
)
from pinyon.agent.event import (
    AgentEnd,
    AgentEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
)
from pinyon.agent.tool import ToolUpdate
from pinyon.ai.content import AssistantBlock, TextContent, ToolCall
from pinyon.ai.message import AgentMessage, AssistantMessage, SystemMessage, ToolResultMessage, UserMessage
from pinyon.errors import PinyonError

RECORDED = Path(__file__).parents[1] / "data" / "agent_traces" / "traces.json"
TRACES: dict[str, dict[str, Any]] = {trace["name"]: trace for trace in json.loads(RECORDED.read_text("utf-8"))}

A_AND_B = Reply(calls=[("1", "a", {}), ("2", "b", {})])
B_ALONE = Reply(calls=[("1", "b", {})])


def tools_a_b() -> list[AgentTool]:
    return [tool("a", delay_s=0.03), tool("b")]


class Scene:
    """An agent with a script, and everything that a trace tells about it."""

    def __init__(self, *replies: Reply, tools: list[AgentTool] | None = None, messages: Any = (), **options: Any):
        self.hooks: list[str] = []
        self.trace: list[str] = []
        self.error: str | None = None
        self.model = ScriptedModel(*replies)
        state: Any = {"system_prompt": "SP", "model": MODEL, "tools": tools or [], "messages": messages}
        self.agent = Agent(stream_fn=self.model, initial_state=state, **options)
        self.agent.subscribe(lambda event, _: self.trace.append(shown_event(event)))

    def on(self, kind: type[AgentEvent], act: Callable[[Any], None]) -> None:
        self.agent.subscribe(lambda event, _: act(event) if isinstance(event, kind) else None)

    async def attempt(self, action: Awaitable[None]) -> None:
        try:
            await action
        except PinyonError as error:
            self.error = str(error)

    def told(self, name: str) -> dict[str, Any]:
        state = self.agent.state
        requests = [
            {
                "model": request.model.id,
                "roles": [role_of(message) for message in request.messages],
                "reasoning": request.options.reasoning,
                "aborted": request.is_aborted,
            }
            for request in self.model.requests
        ]
        return {
            "name": name,
            "trace": self.trace,
            "requests": requests,
            "hooks": self.hooks,
            "error": self.error,
            "finalMessages": [shown(message) for message in state.messages],
            "errorMessage": state.error_message,
            "isStreaming": state.is_streaming,
            "pending": sorted(state.pending_tool_calls),
            "queued": self.agent.has_queued_messages(),
        }


def text_of(message: UserMessage) -> str:
    return message.content if isinstance(message.content, str) else "".join(b.text for b in message.content)  # type: ignore[union-attr]


def role_of(message: AgentMessage) -> str:
    return shown(message) if isinstance(message, UserMessage) else shown(message).partition("(")[0]


def part_of(block: AssistantBlock) -> str:
    return f"toolCall:{block.name}" if isinstance(block, ToolCall) else getattr(block, "text", "")


def shown(message: AgentMessage) -> str:
    match message:
        case UserMessage():
            return f"user:{text_of(message)}"
        case AssistantMessage():
            parts = [
                f"toolCall:{b.name}" if isinstance(b, ToolCall) else getattr(b, "text", "") for b in message.content
            ]
            return f"assistant({message.stop_reason})[{','.join(parts)}]" + ("!" if message.error_message else "")
        case ToolResultMessage():
            return f"toolResult({message.tool_name},{'err' if message.is_error else 'ok'})"
        case SystemMessage():
            added = ",".join(declared.name for declared in message.tools_added or ())
            return f"system(+{added};-{','.join(gone.name for gone in message.tools_removed or ())})"
        case _:
            raise AssertionError(message)


def shown_event(event: AgentEvent) -> str:
    kind = str(type(event).__struct_config__.tag)
    match event:
        case MessageStart() | MessageEnd():
            return f"{kind} {shown(event.message)}"
        case MessageUpdate():
            return f"{kind} {type(event.assistant_message_event).__struct_config__.tag}"
        case TurnEnd():
            return f"{kind} {shown(event.message)} results={len(event.tool_results)}"
        case AgentEnd():
            return f"{kind} n={len(event.messages)}"
        case ToolExecutionEnd():
            block = event.result.content[0]
            assert isinstance(block, TextContent)
            return f"{kind} {event.tool_call_id} {'err' if event.is_error else 'ok'} {block.text[:40]}"
        case ToolExecutionStart() | ToolExecutionUpdate():
            return f"{kind} {event.tool_call_id}"
        case _:
            return kind


def agrees(expected: Any, got: Any) -> bool:
    """Equality in which `<<name words>>` stands for any text that holds the words."""
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(agrees, expected, got))
    if isinstance(expected, str) and isinstance(got, str) and "<<" in expected:
        pattern = "(.+)".join(map(re.escape, re.split("<<[^<>]+>>", expected)))
        words = re.findall("<<[^<>]+>>", expected)[0][2:-2].split()[1:]
        found = re.fullmatch(pattern, got, re.DOTALL)
        return found is not None and all(word in found[1] for word in words)
    return bool(expected == got)


def is_answer(message: AgentMessage) -> bool:
    return isinstance(message, AssistantMessage)


Setup = Callable[[], Awaitable[Scene]]
SETUPS: dict[str, Setup] = {}


def setup(name: str) -> Callable[[Setup], Setup]:
    def register(function: Setup) -> Setup:
        SETUPS[name] = function
        return function

    return register


async def prompted(scene: Scene) -> Scene:
    await scene.attempt(scene.agent.prompt("q"))
    return scene


@setup("plain")
async def plain() -> Scene:
    return await prompted(Scene(Reply("hi")))


@setup("parallel-two-tools")
async def parallel() -> Scene:
    return await prompted(Scene(A_AND_B, tools=tools_a_b()))


@setup("sequential-config")
async def sequential() -> Scene:
    return await prompted(Scene(A_AND_B, tools=tools_a_b(), tool_execution="sequential"))


def queue_at_first_call(scene: Scene) -> None:
    def queue(event: ToolExecutionStart) -> None:
        if event.tool_call_id == "1":
            for text in ("s1", "s2"):
                scene.agent.steer(user(text))
            for text in ("f1", "f2"):
                scene.agent.follow_up(user(text))

    scene.on(ToolExecutionStart, queue)


@setup("steer-during-tools-one-at-a-time")
async def steer_one() -> Scene:
    scene = Scene(A_AND_B, tools=tools_a_b())
    queue_at_first_call(scene)
    return await prompted(scene)


@setup("steer-during-tools-all")
async def steer_all() -> Scene:
    scene = Scene(A_AND_B, tools=tools_a_b(), steering_mode="all", follow_up_mode="all")
    queue_at_first_call(scene)
    return await prompted(scene)


@setup("steer-queued-before-prompt")
async def steer_before() -> Scene:
    scene = Scene()
    scene.agent.steer(user("pre"))
    return await prompted(scene)


@setup("steer-on-text-only-turn")
async def steer_on_text() -> Scene:
    scene = Scene(Reply("one"), Reply("two"))
    steered: list[int] = []

    def steer(event: MessageUpdate) -> None:
        if not steered:
            steered.append(1)
            scene.agent.steer(user("s1"))

    scene.on(MessageUpdate, steer)
    return await prompted(scene)


@setup("error-response")
async def error_response() -> Scene:
    scene = Scene(Reply("par", stop="error", error="boom"))
    scene.on(MessageStart, lambda event: scene.agent.follow_up(user("f")) if is_answer(event.message) else None)
    return await prompted(scene)


@setup("streamFn-throws")
async def stream_throws() -> Scene:
    def throw(request: Any) -> Any:
        raise RuntimeError("sync throw")

    scene = Scene()
    scene.model.replies = (throw,)
    return await prompted(scene)


@setup("convertToLlm-throws")
async def convert_throws() -> Scene:
    def convert(messages: Any) -> Any:
        raise RuntimeError("cv")

    return await prompted(Scene(convert_to_llm=convert))


@setup("tool-throws-and-unknown")
async def tool_throws() -> Scene:
    def fail(params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        raise RuntimeError("fail " + json.dumps(params, separators=(",", ":")))

    calls = [("1", "zzz", {}), ("2", "t", {"n": "7"}), ("3", "t", {"n": "x"})]
    return await prompted(Scene(Reply(calls=calls), tools=[tool("t", fail)]))


@setup("before-block-terminate")
async def before_block() -> Scene:
    def block(context: BeforeToolCallContext, signal: AbortSignal) -> BeforeToolCallResult:
        scene.hooks.append(f"before {context.tool_call.name} {json.dumps(context.args)}")
        return BeforeToolCallResult(block=True, reason="denied", terminate=True)

    scene: Scene = Scene(Reply(calls=[("1", "a", {})]), tools=tools_a_b(), before_tool_call=block)
    return await prompted(scene)


@setup("after-override")
async def after_override() -> Scene:
    def override(context: Any, signal: AbortSignal) -> AfterToolCallResult:
        scene.hooks.append(f"after {str(context.is_error).lower()}")
        return AfterToolCallResult(content=[TextContent(text="OVERRIDE")], is_error=True, details={"x": 1})

    scene: Scene = Scene(B_ALONE, tools=tools_a_b(), after_tool_call=override)
    return await prompted(scene)


@setup("after-throws")
async def after_throws() -> Scene:
    async def throw(context: Any, signal: AbortSignal) -> None:
        raise RuntimeError("after boom")

    return await prompted(Scene(B_ALONE, tools=tools_a_b(), after_tool_call=throw))


def tool_x() -> AgentTool:
    return tool("x", lambda *_: result("X", terminate=True))


@setup("terminate-one-of-two")
async def terminate_one() -> Scene:
    return await prompted(Scene(Reply(calls=[("1", "x", {}), ("2", "y", {})]), tools=[tool_x(), tool("y")]))


@setup("terminate-all-with-followup")
async def terminate_all() -> Scene:
    scene = Scene(Reply(calls=[("1", "x", {})]), tools=[tool_x()])
    scene.on(ToolExecutionStart, lambda _: scene.agent.follow_up(user("f")))
    return await prompted(scene)


@setup("length-with-tools")
async def length() -> Scene:
    return await prompted(Scene(Reply(calls=B_ALONE.calls, stop="length"), tools=tools_a_b()))


@setup("abort-in-tool-parallel")
async def abort_parallel() -> Scene:
    async def wait(params: Any, signal: AbortSignal, on_update: Any) -> AgentToolResult:
        await signal.wait()
        raise RuntimeError("aborted by signal")

    scene = Scene(A_AND_B, tools=[tool("a", wait), tool("b")])
    scene.on(ToolExecutionEnd, lambda _: scene.agent.abort())
    return await prompted(scene)


@setup("abort-before-second-tool-sequential")
async def abort_sequential() -> Scene:
    scene = Scene(A_AND_B, tools=tools_a_b(), tool_execution="sequential")
    scene.on(ToolExecutionEnd, lambda event: scene.agent.abort() if event.tool_call_id == "1" else None)
    return await prompted(scene)


@setup("abort-on-message_end-before-tools")
async def abort_before_tools() -> Scene:
    scene = Scene(A_AND_B, tools=tools_a_b())
    scene.on(MessageEnd, lambda event: scene.agent.abort() if is_answer(event.message) else None)
    return await prompted(scene)


@setup("continue-from-user")
async def continue_from_user() -> Scene:
    scene = Scene(Reply("c"), messages=[user("old")])
    await scene.attempt(scene.agent.continue_())
    return scene


def after_answer() -> Scene:
    return Scene(messages=[user("old"), answer([TextContent(text="x")])])


@setup("continue-from-assistant-no-queue")
async def continue_no_queue() -> Scene:
    scene = after_answer()
    await scene.attempt(scene.agent.continue_())
    return scene


@setup("continue-from-assistant-with-steer-and-followup")
async def continue_with_queue() -> Scene:
    scene = after_answer()
    scene.agent.steer(user("s1"))
    scene.agent.steer(user("s2"))
    scene.agent.follow_up(user("f1"))
    await scene.attempt(scene.agent.resume())
    return scene


@setup("continue-empty")
async def continue_empty() -> Scene:
    scene = Scene()
    await scene.attempt(scene.agent.continue_())
    return scene


@setup("prompt-while-running")
async def prompt_while_running() -> Scene:
    scene = Scene(Reply("x"))
    first = asyncio.create_task(scene.agent.prompt("q"))
    await asyncio.sleep(0)
    await scene.attempt(scene.agent.prompt("q2"))
    await first
    return scene


@setup("transform-and-convert-order")
async def hook_order() -> Scene:
    def note(text: str) -> Callable[..., None]:
        return lambda *_: scene.hooks.append(text)

    def transform(messages: list[AgentMessage], signal: AbortSignal) -> list[AgentMessage]:
        scene.hooks.append(f"transform {len(messages)}")
        return [*messages, user("injected")]

    async def convert(messages: list[AgentMessage]) -> Any:
        scene.hooks.append(f"convert {len(messages)}")
        return messages

    scene: Scene = Scene(
        Reply("x"),
        transform_context=transform,
        convert_to_llm=convert,
        get_api_key=lambda provider: scene.hooks.append(f"getApiKey {provider}"),
        prepare_next_turn=note("prepareNextTurn"),
        prepare_request=note("prepareRequest"),
        finish_turn=note("finishTurn"),
    )
    return await prompted(scene)


@setup("finishTurn-continue-once")
async def finish_continue() -> Scene:
    decisions = ["continue"]
    finish: Any = lambda *_: decisions.pop() if decisions else None  # noqa: E731
    return await prompted(Scene(Reply("x"), Reply("y"), finish_turn=finish))


@setup("finishTurn-end-with-tools-and-queue")
async def finish_end() -> Scene:
    scene = Scene(A_AND_B, tools=tools_a_b(), finish_turn=lambda *_: "end")
    scene.on(ToolExecutionStart, lambda _: scene.agent.steer(user("s")))
    return await prompted(scene)


@setup("tools-changed-mid-run")
async def tools_changed() -> Scene:
    def change(turn: TurnContext, signal: AbortSignal) -> TurnUpdate:
        return TurnUpdate(context=AgentContext(messages=turn.context.messages, tools=[tool("b"), tool("c")]))

    return await prompted(Scene(B_ALONE, Reply("ok"), tools=tools_a_b(), prepare_next_turn_with_context=change))


@setup("system-message-prompt")
async def system_prompt() -> Scene:
    scene = Scene(Reply("ok"), tools=tools_a_b())
    await scene.attempt(scene.agent.prompt([SystemMessage(content="extra", timestamp=1), user("q")]))
    return scene


def test_every_recorded_trace_has_a_set_up() -> None:
    assert sorted(SETUPS) == sorted(TRACES)


@pytest.mark.parametrize("name", TRACES)
def test_a_run_tells_and_does_what_was_recorded(name: str) -> None:
    expected = TRACES[name]
    got = asyncio.run(told(name))
    if name in ("tool-throws-and-unknown", "terminate-one-of-two"):
        expected, got = ({**told, "trace": _ends_sorted(told["trace"])} for told in (expected, got))
    for key in expected:
        assert agrees(expected[key], got[key]), f"{key}: {expected[key]!r} != {got[key]!r}"


async def told(name: str) -> dict[str, Any]:
    return (await SETUPS[name]()).told(name)


def _ends_sorted(trace: list[str]) -> list[str]:
    """Ends of calls that finish at the same moment come in the scheduler's order."""
    places = [index for index, line in enumerate(trace) if line.startswith("tool_execution_end")]
    ends = sorted((trace[index] for index in places), key=lambda line: line.split()[1])
    ordered = list(trace)
    for index, line in zip(places, ends, strict=True):
        ordered[index] = line
    return ordered
