"""A session from explicit parts: no settings files, no extensions, nothing stored, for programs that want one agent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon._util.abort import AbortSignal
from pinyon.agent.hook import (
    AfterToolCall,
    AfterToolCallContext,
    AfterToolCallResult,
    BeforeToolCall,
    BeforeToolCallContext,
    BeforeToolCallResult,
    settled,
)
from pinyon.agent.tool import AgentTool, ToolDefinition
from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.model import Model, ThinkingLevel
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.option import CacheRetention, PayloadHook, ResponseHook, StreamOptions, Transport
from pinyon.ai.stream import StreamFn
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.assembly import SessionParts, assemble_session
from pinyon.coding.hooks import SessionHooks
from pinyon.coding.limit import Limits
from pinyon.coding.services import ResourceOptions, create_services
from pinyon.coding.toolset import NoTools
from pinyon.resources.settings import CompactionSettings, SettingsManager
from pinyon.session.naming import absolute_cwd
from pinyon.session.session import Session

CodingSession = AgentSession


class SessionOptions(msgspec.Struct, kw_only=True):
    """What a session is made from; None leaves a part to its default.

    `model` is a model or a pattern such as `anthropic/claude-sonnet-4-5:high`. `tools` are used as they are, in place
    of the built-in ones that `tool_names`, `exclude_tools` and `no_tools` choose from; `custom_tools` come on top.
    `models` gives models and credentials, `api_key` is the key of `model`. Header values of None remove a default
    header. `trust_project` lets the project's own prompt files and skills count. Without `compaction` nothing is
    summarised. `session` goes on with a conversation, by default a new one is kept in memory under `session_id`.
    """

    model: Model | str | None = None
    cwd: str | Path | None = None
    tools: Sequence[AgentTool | ToolDefinition] | None = None
    tool_names: Sequence[str] | None = None
    exclude_tools: Sequence[str] = ()
    no_tools: NoTools | None = None
    custom_tools: Sequence[ToolDefinition] = ()
    system_prompt: str | None = None
    thinking_level: ThinkingLevel | None = None
    api_key: str | None = None
    session_id: str | None = None
    session: Session | None = None
    trust_project: bool = False
    models: ModelRegistry | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    cache_retention: CacheRetention | None = None
    max_retries: int | None = None
    timeout_ms: int | None = None
    max_retry_delay_ms: int | None = None
    transport: Transport | None = None
    thinking_budgets: Mapping[str, int] | None = None
    headers: Mapping[str, str | None] | None = None
    on_payload: PayloadHook | None = None
    on_response: ResponseHook | None = None
    before_tool_call: BeforeToolCall | None = None
    after_tool_call: AfterToolCall | None = None
    compaction: CompactionSettings | None = None
    limits: Sequence[Limits] = ()
    stream_fn: StreamFn | None = None


async def create_coding_session(options: SessionOptions | None = None) -> CodingSession:
    """Build a session from its options. Raises `ModelError` for a model that nothing is known of."""
    options = options or SessionOptions()
    registry = options.models or ModelRegistry.create(AuthStorage.in_memory())
    cwd = absolute_cwd(options.cwd or os.curdir)
    services = create_services(
        cwd,
        settings=SettingsManager.in_memory(_settings(options)),
        registry=registry,
        options=ResourceOptions(system_prompt=options.system_prompt, trust_override=options.trust_project),
    )
    level = options.thinking_level
    model = options.model
    if not isinstance(model, Model):
        resolved = registry.resolve(model or "")
        model, level = resolved.model, level or resolved.thinking_level
    if options.api_key is not None:
        registry.auth_storage.set_runtime_api_key(model.provider, options.api_key)
    parts = SessionParts(
        model=model,
        thinking_level=level,
        tools=options.tool_names,
        exclude_tools=options.exclude_tools,
        no_tools=options.no_tools,
        custom_tools=options.custom_tools,
        base_tools=options.tools,
        stream_fn=options.stream_fn,
        stream_options=_stream_options(options),
        hooks=_OptionHooks(options.before_tool_call, options.after_tool_call),
        limits=options.limits,
    )
    tree = options.session or Session.in_memory(cwd, id=options.session_id)
    session = (await assemble_session(services, tree, parts)).session
    _connect(session, options)
    return session


def _connect(session: AgentSession, options: SessionOptions) -> None:
    agent = session.agent
    agent.on_payload, agent.on_response = options.on_payload, options.on_response
    if options.transport is not None:
        agent.transport = options.transport
    if options.thinking_budgets is not None:
        agent.thinking_budgets = options.thinking_budgets
    if options.compaction is not None:
        session.enable_compaction(options.compaction)


def _settings(options: SessionOptions) -> dict[str, Any]:
    provider = {
        "maxRetries": options.max_retries,
        "timeoutMs": options.timeout_ms,
        "maxRetryDelayMs": options.max_retry_delay_ms,
    }
    given = {key: value for key, value in provider.items() if value is not None}
    return {"compaction": {"enabled": options.compaction is not None}, "retry": {"provider": given}}


def _stream_options(options: SessionOptions) -> StreamOptions:
    return StreamOptions(
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        cache_retention=options.cache_retention,
        headers=options.headers,
    )


class _OptionHooks(SessionHooks):
    """The two tool hooks of the options."""

    def __init__(self, before: BeforeToolCall | None, after: AfterToolCall | None) -> None:
        self._before = before
        self._after = after

    async def before_tool_call(self, call: BeforeToolCallContext, signal: AbortSignal) -> BeforeToolCallResult | None:
        return None if self._before is None else await settled(self._before(call, signal))

    async def after_tool_call(self, call: AfterToolCallContext, signal: AbortSignal) -> AfterToolCallResult | None:
        return None if self._after is None else await settled(self._after(call, signal))
