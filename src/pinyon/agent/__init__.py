"""The agent: the loop that alternates model answers and tool calls, and what it needs to know of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinyon._util.lazy import lazy_exports

if TYPE_CHECKING:
    from pinyon.agent.agent import (
        Agent,
    )
    from pinyon.agent.answer import (
        llm_messages,
    )
    from pinyon.agent.default_stream import (
        set_default_stream_fn,
    )
    from pinyon.agent.define_tool import (
        ToolFields,
        define_tool,
    )
    from pinyon.agent.delivery import (
        AgentListener,
    )
    from pinyon.agent.event import (
        AgentEnd,
        AgentEvent,
        AgentStart,
        MessageEnd,
        MessageStart,
        MessageUpdate,
        ToolExecutionEnd,
        ToolExecutionStart,
        ToolExecutionUpdate,
        TurnEnd,
        TurnStart,
    )
    from pinyon.agent.hook import (
        AfterToolCallContext,
        AfterToolCallResult,
        AgentContext,
        BeforeToolCallContext,
        BeforeToolCallResult,
        LoopConfig,
        RequestState,
        RequestUpdate,
        TurnContext,
        TurnDecision,
        TurnUpdate,
    )
    from pinyon.agent.loop import (
        NothingToContinueError,
        run_agent_loop,
        run_agent_loop_continue,
    )
    from pinyon.agent.loop_stream import (
        AgentEventStream,
        agent_loop,
        agent_loop_continue,
    )
    from pinyon.agent.queue import (
        QueueMode,
    )
    from pinyon.agent.run_tool import (
        ToolCallOutcome,
        run_tool_call,
    )
    from pinyon.agent.state import (
        AgentState,
        InitialState,
    )
    from pinyon.agent.stream_proxy import (
        stream_proxy,
    )
    from pinyon.agent.tool import (
        AgentTool,
        AgentToolResult,
        ExecutionMode,
        FixedToolContext,
        InvalidToolError,
        ToolContext,
        ToolDefinition,
        ToolExposure,
        ToolNamespace,
        ToolSession,
        ToolUpdate,
    )
    from pinyon.agent.validation import (
        InvalidArgumentsError,
        validate_arguments,
    )

__all__ = [
    "AfterToolCallContext",
    "AfterToolCallResult",
    "Agent",
    "AgentContext",
    "AgentEnd",
    "AgentEvent",
    "AgentEventStream",
    "AgentListener",
    "AgentStart",
    "AgentState",
    "AgentTool",
    "AgentToolResult",
    "BeforeToolCallContext",
    "BeforeToolCallResult",
    "ExecutionMode",
    "FixedToolContext",
    "InitialState",
    "InvalidArgumentsError",
    "InvalidToolError",
    "LoopConfig",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "NothingToContinueError",
    "QueueMode",
    "RequestState",
    "RequestUpdate",
    "ToolCallOutcome",
    "ToolContext",
    "ToolDefinition",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolExposure",
    "ToolFields",
    "ToolNamespace",
    "ToolSession",
    "ToolUpdate",
    "TurnContext",
    "TurnDecision",
    "TurnEnd",
    "TurnStart",
    "TurnUpdate",
    "agent_loop",
    "agent_loop_continue",
    "define_tool",
    "llm_messages",
    "run_agent_loop",
    "run_agent_loop_continue",
    "run_tool_call",
    "set_default_stream_fn",
    "stream_proxy",
    "validate_arguments",
]

__getattr__, __dir__, _ = lazy_exports(
    __name__,
    {
        "pinyon.agent.agent": ("Agent",),
        "pinyon.agent.answer": ("llm_messages",),
        "pinyon.agent.default_stream": ("set_default_stream_fn",),
        "pinyon.agent.define_tool": (
            "ToolFields",
            "define_tool",
        ),
        "pinyon.agent.delivery": ("AgentListener",),
        "pinyon.agent.event": (
            "AgentEnd",
            "AgentEvent",
            "AgentStart",
            "MessageEnd",
            "MessageStart",
            "MessageUpdate",
            "ToolExecutionEnd",
            "ToolExecutionStart",
            "ToolExecutionUpdate",
            "TurnEnd",
            "TurnStart",
        ),
        "pinyon.agent.hook": (
            "AfterToolCallContext",
            "AfterToolCallResult",
            "AgentContext",
            "BeforeToolCallContext",
            "BeforeToolCallResult",
            "LoopConfig",
            "RequestState",
            "RequestUpdate",
            "TurnContext",
            "TurnDecision",
            "TurnUpdate",
        ),
        "pinyon.agent.loop": (
            "NothingToContinueError",
            "run_agent_loop",
            "run_agent_loop_continue",
        ),
        "pinyon.agent.loop_stream": (
            "AgentEventStream",
            "agent_loop",
            "agent_loop_continue",
        ),
        "pinyon.agent.queue": ("QueueMode",),
        "pinyon.agent.run_tool": (
            "ToolCallOutcome",
            "run_tool_call",
        ),
        "pinyon.agent.state": (
            "AgentState",
            "InitialState",
        ),
        "pinyon.agent.stream_proxy": ("stream_proxy",),
        "pinyon.agent.tool": (
            "AgentTool",
            "AgentToolResult",
            "ExecutionMode",
            "FixedToolContext",
            "InvalidToolError",
            "ToolContext",
            "ToolDefinition",
            "ToolExposure",
            "ToolNamespace",
            "ToolSession",
            "ToolUpdate",
        ),
        "pinyon.agent.validation": (
            "InvalidArgumentsError",
            "validate_arguments",
        ),
    },
)
