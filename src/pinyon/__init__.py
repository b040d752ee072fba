"""Pinyon: an AI coding agent for the terminal, for scripts and inside Python programs.

These names are imported when they are first used, so that importing the package costs almost nothing.
"""

from __future__ import annotations

from pinyon._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pinyon._version import __version__
    from pinyon.agent import (
        Agent,
        AgentEnd,
        AgentEvent,
        AgentStart,
        AgentTool,
        AgentToolResult,
        MessageEnd,
        MessageStart,
        MessageUpdate,
        ToolContext,
        ToolDefinition,
        ToolExecutionEnd,
        ToolExecutionStart,
        ToolExecutionUpdate,
        TurnEnd,
        TurnStart,
        define_tool,
    )
    from pinyon.ai.auth_storage import AuthStorage
    from pinyon.ai.content import ImageContent, TextContent, ThinkingContent, ToolCall
    from pinyon.ai.event import AssistantMessageEvent, TextDelta, ThinkingDelta
    from pinyon.ai.message import AgentMessage, AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage
    from pinyon.ai.model import Model, ThinkingLevel
    from pinyon.ai.model_registry import ModelRegistry
    from pinyon.ai.option import StreamOptions
    from pinyon.ai.stream import AssistantMessageEventStream, StreamFn
    from pinyon.ai.usage import Cost, Usage
    from pinyon.coding.agent_session import AgentSession
    from pinyon.coding.coding_session import CodingSession, SessionOptions, create_coding_session
    from pinyon.coding.event import AgentSettled, AutoRetryEnd, AutoRetryStart, SessionEvent
    from pinyon.coding.hooks import SessionHooks
    from pinyon.coding.limit import Limits
    from pinyon.coding.pi_agent import PiAgent
    from pinyon.coding.run_result import RunResult
    from pinyon.env import ExecutionEnv, LocalEnv, MemoryEnv
    from pinyon.errors import (
        AgentBusyError,
        AuthError,
        ConfigError,
        EnvError,
        ModelError,
        PinyonError,
        ProviderError,
        SessionError,
        ToolError,
    )
    from pinyon.resources import SettingsManager
    from pinyon.session import (
        InMemorySessionManager,
        LocalSessionManager,
        Session,
        SessionManager,
        SessionRecorder,
        SessionTree,
    )

__all__ = [
    "Agent",
    "AgentBusyError",
    "AgentEnd",
    "AgentEvent",
    "AgentMessage",
    "AgentSession",
    "AgentSettled",
    "AgentStart",
    "AgentTool",
    "AgentToolResult",
    "AssistantMessage",
    "AssistantMessageEvent",
    "AssistantMessageEventStream",
    "AuthError",
    "AuthStorage",
    "AutoRetryEnd",
    "AutoRetryStart",
    "CodingSession",
    "ConfigError",
    "Cost",
    "EnvError",
    "ExecutionEnv",
    "ImageContent",
    "InMemorySessionManager",
    "Limits",
    "LocalEnv",
    "LocalSessionManager",
    "MemoryEnv",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Model",
    "ModelError",
    "ModelRegistry",
    "PiAgent",
    "PinyonError",
    "ProviderError",
    "RunResult",
    "Session",
    "SessionError",
    "SessionEvent",
    "SessionHooks",
    "SessionManager",
    "SessionOptions",
    "SessionRecorder",
    "SessionTree",
    "SettingsManager",
    "StreamFn",
    "StreamOptions",
    "SystemMessage",
    "TextContent",
    "TextDelta",
    "ThinkingContent",
    "ThinkingDelta",
    "ThinkingLevel",
    "ToolCall",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolResultMessage",
    "TurnEnd",
    "TurnStart",
    "Usage",
    "UserMessage",
    "__version__",
    "create_coding_session",
    "define_tool",
]

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "pinyon._version": ("__version__",),
        "pinyon.agent": (
            "Agent",
            "AgentEnd",
            "AgentEvent",
            "AgentStart",
            "AgentTool",
            "AgentToolResult",
            "MessageEnd",
            "MessageStart",
            "MessageUpdate",
            "ToolContext",
            "ToolDefinition",
            "ToolExecutionEnd",
            "ToolExecutionStart",
            "ToolExecutionUpdate",
            "TurnEnd",
            "TurnStart",
            "define_tool",
        ),
        "pinyon.ai.auth_storage": ("AuthStorage",),
        "pinyon.ai.content": (
            "ImageContent",
            "TextContent",
            "ThinkingContent",
            "ToolCall",
        ),
        "pinyon.ai.event": (
            "AssistantMessageEvent",
            "TextDelta",
            "ThinkingDelta",
        ),
        "pinyon.ai.message": (
            "AgentMessage",
            "AssistantMessage",
            "Message",
            "SystemMessage",
            "ToolResultMessage",
            "UserMessage",
        ),
        "pinyon.ai.model": (
            "Model",
            "ThinkingLevel",
        ),
        "pinyon.ai.model_registry": ("ModelRegistry",),
        "pinyon.ai.option": ("StreamOptions",),
        "pinyon.ai.stream": (
            "AssistantMessageEventStream",
            "StreamFn",
        ),
        "pinyon.ai.usage": (
            "Cost",
            "Usage",
        ),
        "pinyon.coding.agent_session": ("AgentSession",),
        "pinyon.coding.coding_session": ("CodingSession", "SessionOptions", "create_coding_session"),
        "pinyon.coding.event": (
            "AgentSettled",
            "AutoRetryEnd",
            "AutoRetryStart",
            "SessionEvent",
        ),
        "pinyon.coding.hooks": ("SessionHooks",),
        "pinyon.coding.limit": ("Limits",),
        "pinyon.coding.pi_agent": ("PiAgent",),
        "pinyon.coding.run_result": ("RunResult",),
        "pinyon.env": (
            "ExecutionEnv",
            "LocalEnv",
            "MemoryEnv",
        ),
        "pinyon.errors": (
            "AgentBusyError",
            "AuthError",
            "ConfigError",
            "EnvError",
            "ModelError",
            "PinyonError",
            "ProviderError",
            "SessionError",
            "ToolError",
        ),
        "pinyon.resources": ("SettingsManager",),
        "pinyon.session": (
            "InMemorySessionManager",
            "LocalSessionManager",
            "Session",
            "SessionManager",
            "SessionRecorder",
            "SessionTree",
        ),
    },
)
