"""Putting one session together: agent, tools, prompt and model on a tree of entries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinyon.agent.agent import Agent
from pinyon.agent.tool import AgentTool, ToolDefinition, definition_of
from pinyon.ai.message import AgentMessage, Message
from pinyon.ai.model import Model, ThinkingLevel, parse_level
from pinyon.ai.option import StreamOptions
from pinyon.ai.resolver import ScopedModel
from pinyon.ai.stream import AssistantMessageEventStream, StreamFn
from pinyon.coding.agent_session import AgentSession
from pinyon.coding.event_hub import EventHub
from pinyon.coding.hooks import SessionHooks
from pinyon.coding.image_block import without_images
from pinyon.coding.limit import Limits
from pinyon.coding.nested_call import NestedCaller
from pinyon.coding.prompt import BuildSystemPromptOptions, build_prompt_sections
from pinyon.coding.prompt_expansion import expansion_of
from pinyon.coding.selection import ModelSelection
from pinyon.coding.services import Services
from pinyon.coding.system_prompt import SystemPrompt
from pinyon.coding.tool_context import SessionToolContext
from pinyon.coding.toolset import CallContext, MakeTool, NoTools, ToolChoice, Toolset
from pinyon.coding.virtual_route import chosen_virtual, routed_stream
from pinyon.env import ExecutionEnv
from pinyon.resources.settings import SettingsManager
from pinyon.session.llm_message import convert_to_llm
from pinyon.session.session import Session
from pinyon.tools.catalogue import TOOL_NAMES
from pinyon.tools.factory import create_tool_definition


class SessionParts(msgspec.Struct, kw_only=True):
    """What a program chose for its sessions; None and empty leave the choice to session, settings and defaults.

    `base_tools` take the place of the built-in tools, `stream_options` are the defaults of every request.
    """

    model: Model | None = None
    thinking_level: ThinkingLevel | None = None
    tools: Sequence[str] | None = None
    exclude_tools: Sequence[str] = ()
    no_tools: NoTools | None = None
    custom_tools: Sequence[ToolDefinition] = ()
    base_tools: Sequence[AgentTool | ToolDefinition] | None = None
    stream_options: StreamOptions | None = None
    execution_env: ExecutionEnv | None = None
    stream_fn: StreamFn | None = None
    hooks: SessionHooks | None = None
    scoped_models: Sequence[ScopedModel] = ()
    limits: Sequence[Limits] = ()


class AssembledSession(msgspec.Struct):
    """A session, and what to tell the user when the model that it recorded could not be used."""

    session: AgentSession
    fallback_message: str | None


class _Choice(msgspec.Struct):
    model: Model | None
    thinking_level: ThinkingLevel
    fallback_message: str | None = None


async def assemble_session(services: Services, tree: Session, parts: SessionParts) -> AssembledSession:
    """Build an `AgentSession` on `tree` and record what a new one starts with."""
    choice = await _choose(services, tree, parts)
    if parts.stream_fn is None and choice.model is not None and choice.model.base_url.startswith("https:"):
        from pinyon.ai.tls import warm_up

        warm_up()
    events = EventHub()
    settings = services.settings
    agent = _agent(parts.stream_fn or routed_stream(services.registry, tree), settings, tree.get_session_id())
    agent.stream_options = parts.stream_options
    selection = ModelSelection(
        agent=agent,
        session=tree,
        settings=settings,
        registry=services.registry,
        emit=events.emit,
        model=choice.model,
        thinking_level=choice.thinking_level,
        is_custom_stream=parts.stream_fn is not None,
        scoped_models=parts.scoped_models,
    )
    nested = NestedCaller(agent=agent, callable_tools=lambda: toolset.callable_tools, emit=events.emit)
    toolset = _toolset(
        services,
        tree,
        parts,
        agent,
        lambda call_id, signal: SessionToolContext(tree, selection, nested, call_id, signal),
    )
    system_prompt = SystemPrompt(lambda: _sections(services, toolset, Path(tree.get_cwd())))
    session = AgentSession(
        agent=agent,
        session=tree,
        settings=settings,
        selection=selection,
        toolset=toolset,
        system_prompt=system_prompt,
        events=events,
        hooks=parts.hooks,
        nested=nested,
        limits=parts.limits,
        expand=expansion_of(services.loader, events.emit),
    )
    selection.record_start()
    return AssembledSession(session=session, fallback_message=choice.fallback_message)


async def _choose(services: Services, tree: Session, parts: SessionParts) -> _Choice:
    settings, registry = services.settings, services.registry
    projection = tree.build_session_projection()
    model, fallback = parts.model or chosen_virtual(registry, tree), None
    if model is None and projection.model is not None:
        model, fallback = await registry.restored_model(projection.model.provider, projection.model.model_id)
    if model is None:
        provider, model_id = settings.get_default_provider(), settings.get_default_model()
        found = (
            registry.initial_model(provider=provider, model_id=model_id, scoped=parts.scoped_models)
            if parts.scoped_models
            else await registry.first_model(provider=provider, model_id=model_id)
        )
        model = found.model if found is not None else None
        if fallback and model is not None:
            fallback += f"; using {model.spec!r}"
    return _Choice(model=model, thinking_level=_level(services, tree, parts, model), fallback_message=fallback)


def _level(services: Services, tree: Session, parts: SessionParts, model: Model | None) -> ThinkingLevel:
    settings, projection = services.settings, tree.build_session_projection()
    if model is None:
        return "off"
    if parts.thinking_level is not None:
        return parts.thinking_level
    if projection.message_count:
        recorded = parse_level(projection.recorded_thinking_level or "")
        return recorded or settings.get_default_thinking_level() or "medium"
    preferred = settings.get_model_thinking_level(model.provider, model.id)
    return preferred or settings.get_default_thinking_level() or "medium"


def _agent(stream_fn: StreamFn, settings: SettingsManager, session_id: str) -> Agent:
    return Agent(
        stream_fn=_RequestStream(stream_fn, settings),
        convert_to_llm=_converter(settings),
        steering_mode=settings.get_steering_mode(),
        follow_up_mode=settings.get_follow_up_mode(),
        session_id=session_id,
        thinking_budgets=settings.get_thinking_budgets(),
        transport=settings.get_transport(),
    )


def _toolset(services: Services, tree: Session, parts: SessionParts, agent: Agent, context: CallContext) -> Toolset:
    def run_with(tools: list[AgentTool]) -> None:
        agent.state.tools = tools

    choice = ToolChoice(
        tools=parts.tools,
        exclude=parts.exclude_tools,
        no_tools=parts.no_tools,
        defaults=services.settings.get_default_tools(),
    )
    toolset = Toolset(context=context, choice=choice, on_change=run_with)
    if parts.base_tools is None:
        toolset.offer_builtin(TOOL_NAMES, _builtin_maker(services.settings, tree, parts))
    else:
        toolset.register(map(definition_of, parts.base_tools))
    toolset.register(parts.custom_tools)
    return toolset


def renew_session(services: Services, session: AgentSession, parts: SessionParts) -> None:
    """Let a session go by settings and models that were read anew."""
    settings, agent = services.settings, session.agent
    agent.steering_mode, agent.follow_up_mode = settings.get_steering_mode(), settings.get_follow_up_mode()
    agent.thinking_budgets, agent.transport = settings.get_thinking_budgets(), settings.get_transport()
    session.selection.renew()
    if parts.base_tools is None:
        maker = _builtin_maker(settings, session.session, parts)
        session.toolset.renew_builtin(maker, settings.get_default_tools())


def _builtin_maker(settings: SettingsManager, tree: Session, parts: SessionParts) -> MakeTool:
    cwd, env, options = tree.get_cwd(), parts.execution_env, _tool_options(settings)
    return lambda name: create_tool_definition(name, cwd, env=env, options=options.get(name))


def _tool_options(settings: SettingsManager) -> dict[str, dict[str, Any]]:
    return {
        "read": {"auto_resize_images": settings.get_image_auto_resize()},
        "bash": {"shell_path": settings.get_shell_path(), "command_prefix": settings.get_shell_command_prefix()},
    }


def _sections(services: Services, toolset: Toolset, cwd: Path) -> Mapping[str, str]:
    active, resources = toolset.active, services.resources
    return build_prompt_sections(
        BuildSystemPromptOptions(
            custom_prompt=resources.system_prompt,
            selected_tools=[tool.name for tool in active],
            tool_snippets={tool.name: tool.prompt_snippet for tool in active if tool.prompt_snippet},
            tool_guidelines={tool.name: list(tool.prompt_guidelines) for tool in active},
            append_system_prompt="\n\n".join(resources.append_system_prompt),
            cwd=str(cwd),
            context_files=resources.context_files,
            skills=resources.skills,
        )
    )


def _converter(settings: SettingsManager) -> Callable[[list[AgentMessage]], list[Message]]:
    def convert(messages: list[AgentMessage]) -> list[Message]:
        converted = convert_to_llm(messages)
        return without_images(converted) if settings.get_block_images() else converted

    return convert


class _RequestStream:
    """Adds what the settings say to the options of each request."""

    def __init__(self, stream_fn: StreamFn, settings: SettingsManager) -> None:
        self._stream_fn = stream_fn
        self._settings = settings

    def __call__(
        self, model: Model, messages: list[Message], options: StreamOptions
    ) -> AssistantMessageEventStream | Awaitable[AssistantMessageEventStream]:
        provider = self._settings.get_provider_retry_settings()
        if options.timeout_ms is None:
            options.timeout_ms = provider.timeout_ms
        if options.websocket_connect_timeout_ms is None:
            options.websocket_connect_timeout_ms = self._settings.get_websocket_connect_timeout_ms()
        options.max_retries = provider.max_retries or options.max_retries
        options.max_retry_delay_ms = provider.max_retry_delay_ms
        return self._stream_fn(model, messages, options)
