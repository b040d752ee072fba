"""A model that answers from a script, and small tools; shared by the tests of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal
from pinyon.agent import AgentTool, AgentToolResult
from pinyon.agent.event import AgentEvent
from pinyon.agent.tool import ToolUpdate
from pinyon.ai.content import AssistantBlock, TextContent, ToolCall
from pinyon.ai.event import (
    AssistantMessageEvent,
    Done,
    Start,
    StreamError,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallEnd,
    ToolCallStart,
)
from pinyon.ai.message import AssistantMessage, Message, StopReason, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.ai.usage import Usage

MODEL = Model(id="m", name="m", api="fake", provider="fake", base_url="", context_window=1000, max_tokens=100)
NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}}
Bound = TypeVar("Bound", bound=StreamEvent)


class Reply(msgspec.Struct):
    """One scripted answer: text, calls as (id, name, arguments), and how it ends."""

    text: str = ""
    calls: Sequence[tuple[str, str, dict[str, Any]]] = ()
    stop: StopReason | None = None
    error: str | UnsetType = UNSET

    def message(self) -> AssistantMessage:
        blocks: list[AssistantBlock] = [TextContent(text=self.text)] if self.text else []
        blocks += [ToolCall(id=call_id, name=name, arguments=args) for call_id, name, args in self.calls]
        stop = self.stop or ("toolUse" if self.calls else "stop")
        return answer(blocks, stop, self.error)


def answer(
    content: list[AssistantBlock], stop: StopReason = "stop", error: str | UnsetType = UNSET
) -> AssistantMessage:
    return AssistantMessage(
        content=content,
        api="fake",
        provider="fake",
        model="m",
        usage=Usage(input=1, output=1, total_tokens=2),
        stop_reason=stop,
        error_message=error,
        timestamp=1,
    )


class Snapshot:
    """The live message of a scripted stream; it is complete from the beginning except for its content."""

    def __init__(self, message: AssistantMessage) -> None:
        self.message = message

    def bind(self, event: Bound) -> Bound:
        event.bind(self)
        return event


async def stream_reply(final: AssistantMessage) -> AsyncIterator[AssistantMessageEvent]:
    """The events of an answer, block by block."""
    live = Snapshot(msgspec.structs.replace(final, content=[], stop_reason="pending"))
    yield live.bind(Start())
    for index, block in enumerate(final.content):
        if isinstance(block, TextContent):
            live.message.content.append(TextContent(text=""))
            yield live.bind(TextStart(index))
            live.message.content[index] = block
            yield live.bind(TextDelta(index, block.text))
            yield live.bind(TextEnd(index, block.text))
        elif isinstance(block, ToolCall):
            live.message.content.append(block)
            yield live.bind(ToolCallStart(index, block.id, block.name))
            yield live.bind(ToolCallEnd(index, block))
    if final.stop_reason in ("error", "aborted"):
        yield StreamError(final.stop_reason, final)
    else:
        yield Done(cast("Literal['stop', 'length', 'toolUse', 'deferred']", final.stop_reason), final)


async def stream_aborted() -> AsyncIterator[AssistantMessageEvent]:
    yield StreamError("aborted", answer([], "aborted", "aborted"))


class Request(msgspec.Struct):
    """A call of the stream function."""

    model: Model
    messages: list[Message]
    options: StreamOptions
    is_aborted: bool


class ScriptedModel:
    """A stream function: reply k answers request k, `end` every later one; aborted requests fail at once."""

    def __init__(self, *replies: Reply | Callable[[Request], AssistantMessageEventStream]) -> None:
        self.replies = replies
        self.requests: list[Request] = []

    def __call__(self, model: Model, messages: list[Message], options: StreamOptions) -> AssistantMessageEventStream:
        assert options.signal is not None
        request = Request(model, list(messages), options, options.signal.aborted)
        self.requests.append(request)
        if request.is_aborted:
            return AssistantMessageEventStream(stream_aborted())
        index = len(self.requests) - 1
        reply = self.replies[index] if index < len(self.replies) else Reply("end")
        if isinstance(reply, Reply):
            return AssistantMessageEventStream(stream_reply(reply.message()))
        return reply(request)


def user(text: str) -> UserMessage:
    return UserMessage(content=text, timestamp=1)


def result(text: str, **fields: Any) -> AgentToolResult:
    return AgentToolResult(content=[TextContent(text=text)], **fields)


def tool(
    name: str,
    run: Callable[[dict[str, Any], AbortSignal, ToolUpdate], Any] | str = "",
    *,
    delay_s: float = 0,
    **fields: Any,
) -> AgentTool:
    """A tool that returns a text, or what `run(params, signal, on_update)` gives, awaited or not."""

    async def execute(_: str, params: dict[str, Any], signal: AbortSignal, on_update: ToolUpdate) -> AgentToolResult:
        if delay_s:
            await asyncio.sleep(delay_s)
        if isinstance(run, str):
            return result(run or name.upper())
        value = run(params, signal, on_update)
        outcome: AgentToolResult = await value if asyncio.iscoroutine(value) else value
        return outcome

    return AgentTool(name=name, description=f"tool {name}", parameters=NUMBER, execute=execute, **fields)


class EventLog:
    """A listener that keeps the events it was given."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    def __call__(self, event: AgentEvent, signal: AbortSignal | None = None) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        return [str(type(event).__struct_config__.tag) for event in self.events]
