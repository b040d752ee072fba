"""What a run is configured with: the model, request options, and the hooks through which a host steers the loop.

Every hook may be a plain or an async function. None of the hooks is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pinyon._util.abort import AbortSignal
from pinyon._util.clock import SYSTEM_CLOCK, Clock
from pinyon.agent.event import AgentEvent
from pinyon.agent.tool import AgentTool, AgentToolResult, ExecutionMode
from pinyon.ai.content import ToolCall, UserBlock
from pinyon.ai.message import AgentMessage, AssistantMessage, Message, ToolResultMessage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage

Value = TypeVar("Value")
Maybe: TypeAlias = Value | Awaitable[Value]
"""A value, or an awaitable of it."""

DEFAULT_ABORT_GRACE_S = 1.5
"""Seconds that tools, hooks of tool calls and streams have to return after an abort before they are cancelled."""


async def settled(value: Maybe[Value]) -> Value:
    """The value of a hook that may have been async."""
    if inspect.isawaitable(value):
        awaited: Value = await value
        return awaited
    return value


class AgentContext(msgspec.Struct):
    """What a request is made from: the transcript, whose system messages hold prompt and declarations, and the tools
    that can run.
    """

    messages: list[AgentMessage]
    tools: list[AgentTool] = msgspec.field(default_factory=list)


class TurnContext(msgspec.Struct):
    """A finished turn: the answer, its tool results, the context after them, and all new messages of the run."""

    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    context: AgentContext
    new_messages: list[AgentMessage]


class TurnUpdate(msgspec.Struct, kw_only=True):
    """Changes before the next turn; None keeps. `messages` come before queued ones and get their events."""

    context: AgentContext | None = None
    messages: Sequence[AgentMessage] = ()
    model: Model | None = None
    thinking_level: ThinkingLevel | None = None


class RequestState(msgspec.Struct):
    """What the next request is about to be made from."""

    context: AgentContext
    model: Model
    thinking_level: ThinkingLevel


class RequestUpdate(msgspec.Struct, kw_only=True):
    """Changes to the next request and all later ones of the run; None keeps."""

    context: AgentContext | None = None
    model: Model | None = None
    thinking_level: ThinkingLevel | None = None


TurnDecision = Literal["end", "continue"]
"""`end` stops the run after this turn; `continue` asks for one more answer where the run would stop."""


class BeforeToolCallContext(msgspec.Struct):
    """A call about to run. `args` are validated; the tool runs with this very object, changes included."""

    assistant_message: AssistantMessage
    tool_call: ToolCall
    args: Any
    context: AgentContext


class BeforeToolCallResult(msgspec.Struct, kw_only=True):
    """`block` refuses the call; the model reads `reason`. `terminate` counts as the refused call's own."""

    block: bool = False
    reason: str | None = None
    terminate: bool | UnsetType = UNSET


class AfterToolCallContext(msgspec.Struct):
    """A call that has run."""

    assistant_message: AssistantMessage
    tool_call: ToolCall
    args: Any
    result: AgentToolResult
    is_error: bool
    context: AgentContext


class AfterToolCallResult(msgspec.Struct, kw_only=True):
    """Replaces parts of a result, each as a whole; what is not set stays.

    New content without new structured content drops the old structured content.
    """

    content: list[UserBlock] | UnsetType = UNSET
    details: Any = UNSET
    structured_content: Any = UNSET
    usage: Usage | UnsetType = UNSET
    terminate: bool | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET


Emit = Callable[[AgentEvent], Awaitable[None] | None]
"""Receives the events of a run in order; the loop goes on when what it returned has settled."""

ConvertToLlm = Callable[[list[AgentMessage]], Maybe[list[Message]]]
TransformContext = Callable[[list[AgentMessage], AbortSignal], Maybe[list[AgentMessage]]]
GetApiKey = Callable[[str], Maybe[str | None]]
GetMessages = Callable[[], Maybe[Sequence[AgentMessage]]]
BeforeToolCall = Callable[[BeforeToolCallContext, AbortSignal], Maybe[BeforeToolCallResult | None]]
AfterToolCall = Callable[[AfterToolCallContext, AbortSignal], Maybe[AfterToolCallResult | None]]
FinishTurn = Callable[[TurnContext, AbortSignal], Maybe[TurnDecision | None]]
PrepareNextTurn = Callable[[TurnContext], Maybe[TurnUpdate | None]]
PrepareRequest = Callable[[RequestState, AbortSignal], Maybe[RequestUpdate | None]]


class LoopConfig(msgspec.Struct, kw_only=True):
    """How a run behaves.

    `options` go with every request; `options.reasoning` is the thinking level (None: off). `transform_context`, then
    `convert_to_llm`, make the messages of one request; what they return is not stored. `get_api_key` beats
    `options.api_key`. `get_steering_messages` is asked at the start, after each turn, and again before the next one
    if there were none; `get_follow_up_messages` when the run would end. `finish_turn` decides before `turn_end`;
    `prepare_next_turn` runs before the `turn_start` of each further turn, `prepare_request` before every request.
    `before_tool_call` and `after_tool_call` may raise, which makes an error result; the others should not.
    `abort_grace_s` is how long tools and streams may take to notice an abort.
    """

    model: Model
    options: StreamOptions = msgspec.field(default_factory=StreamOptions)
    convert_to_llm: ConvertToLlm | None = None
    transform_context: TransformContext | None = None
    get_api_key: GetApiKey | None = None
    get_steering_messages: GetMessages | None = None
    get_follow_up_messages: GetMessages | None = None
    before_tool_call: BeforeToolCall | None = None
    after_tool_call: AfterToolCall | None = None
    finish_turn: FinishTurn | None = None
    prepare_next_turn: PrepareNextTurn | None = None
    prepare_request: PrepareRequest | None = None
    tool_execution: ExecutionMode = "parallel"
    abort_grace_s: float = DEFAULT_ABORT_GRACE_S
    clock: Clock = SYSTEM_CLOCK
