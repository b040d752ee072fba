"""Virtual models: names under which a program decides for each request which real model answers.

A virtual model has no server of its own. Its `route` function is asked before a request and names a real model with
credentials and a thinking level; the answer then carries that model's name. What `route` returns as `state` is handed
to it again the next time.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET

from pinyon._util.abort import AbortSignal
from pinyon.ai.event import AssistantMessageEvent, Done, StreamError
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage
from pinyon.ai.model import THINKING_LEVELS, InputKind, Model, ThinkingLevel, clamp_level
from pinyon.ai.option import StreamOptions
from pinyon.ai.stream import AssistantMessageEventStream
from pinyon.errors import ConfigError, ModelError, PinyonError

VIRTUAL_API = "pi-virtual"
"""Wire API in the descriptors of virtual models."""

RouteReason = Literal["user", "continuation", "retry", "direct"]
"""A new prompt, results of tools, another attempt after a failure, or a request outside of any session."""


class Target(msgspec.Struct, frozen=True):
    """A real model and how much it is to think."""

    model: Model
    thinking_level: ThinkingLevel


class FailedTarget(msgspec.Struct, frozen=True):
    """Who was asked in vain, and the answer that failed."""

    model: Model
    thinking_level: ThinkingLevel
    message: AssistantMessage


class RouteRequest(msgspec.Struct, kw_only=True):
    """What a route function decides by. `previous` answered last in this session; `state` is what it last returned."""

    model: Model
    thinking_level: ThinkingLevel
    reason: RouteReason
    messages: Sequence[Message]
    previous: Target | None = None
    failed: FailedTarget | None = None
    state: Any = None
    signal: AbortSignal | None = None


class Route(msgspec.Struct, kw_only=True):
    """Who answers. Without a level the wanted one holds; `state` is kept when it is given."""

    model: Model
    thinking_level: ThinkingLevel | None = None
    state: Any = UNSET


RouteFn = Callable[[RouteRequest], "Route | Awaitable[Route]"]


class VirtualModel(msgspec.Struct, kw_only=True):
    """A virtual model as a program registers it. Limits of 0 mean that nothing is promised."""

    provider: str
    id: str
    route: RouteFn
    name: str = ""
    thinking_levels: Sequence[ThinkingLevel] = ("off",)
    input: Sequence[InputKind] = ("text", "image")
    context_window: int = 0
    max_tokens: int = 0

    def descriptor(self) -> Model:
        """The model that is shown and chosen in place of the real ones."""
        offered = set(self.thinking_levels)
        return Model(
            id=self.id,
            name=self.name or self.id,
            api=VIRTUAL_API,
            provider=self.provider,
            base_url="",
            reasoning=bool(offered - {"off"}),
            input=list(self.input),
            context_window=self.context_window,
            max_tokens=self.max_tokens,
            thinking_level_map={level: level if level in offered else None for level in THINKING_LEVELS},
        )


class PhysicalModels(Protocol):
    """What routing needs of a registry."""

    def find(self, provider_id: str, model_id: str) -> Model | None:
        """The model of this name."""
        ...

    def has_configured_auth(self, model: Model) -> bool:
        """Whether it can be asked."""
        ...

    async def stream(
        self, model: Model, messages: Sequence[Message], options: StreamOptions
    ) -> AssistantMessageEventStream:
        """Ask it."""
        ...


class VirtualModels:
    """The registered virtual models."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, str], tuple[VirtualModel, Model]] = {}

    def add(self, virtual: VirtualModel, physical: Sequence[Model]) -> Callable[[], None]:
        """Register a model; returns what takes it back. Raises `ConfigError` for an id that a real model has."""
        if not virtual.provider.strip() or not virtual.id.strip():
            raise ConfigError("a virtual model needs a provider and an id that are not empty")
        unknown = [level for level in virtual.thinking_levels if level not in THINKING_LEVELS]
        if unknown or not virtual.thinking_levels:
            raise ConfigError(f"virtual model {virtual.id!r}: {unknown or 'no'} thinking levels; offer at least 'off'")
        if any(model.id == virtual.id and model.api != VIRTUAL_API for model in physical):
            raise ConfigError(f"{virtual.provider}/{virtual.id} is a real model; give the virtual one another id")
        key = (virtual.provider, virtual.id)
        entry = (virtual, virtual.descriptor())
        self._models[key] = entry

        def remove() -> None:
            if self._models.get(key) is entry:
                del self._models[key]

        return remove

    def remove(self, provider_id: str, model_id: str) -> None:
        """Take a model back; one that is not there is no error."""
        self._models.pop((provider_id, model_id), None)

    def provider_ids(self) -> list[str]:
        """The providers that have virtual models."""
        return list(dict.fromkeys(provider for provider, _ in self._models))

    def over(self, provider_id: str, physical: Sequence[Model]) -> Sequence[Model]:
        """The provider's models with the virtual ones first; real ones of the same id, which came later, are hidden."""
        own = [descriptor for (provider, _), (_, descriptor) in self._models.items() if provider == provider_id]
        if not own:
            return physical
        hidden = {model.id for model in own}
        return [*own, *(model for model in physical if model.id not in hidden)]

    async def choose(self, request: RouteRequest, physical: PhysicalModels) -> tuple[Target, Any]:
        """Who answers, and the state that the route function returned (`UNSET` for none).

        Raises `ModelError` where it names none that can be asked.
        """
        entry = self._models.get(request.model.key)
        if entry is None:
            raise ModelError(f"the virtual model {request.model.spec!r} is no longer registered; choose another model")
        try:
            route = entry[0].route(request)
            route = await route if inspect.isawaitable(route) else route
        except PinyonError:
            raise
        except Exception as error:
            raise ModelError(f"the route of the virtual model {request.model.spec!r} failed: {error}") from error
        if not isinstance(route, Route):
            raise ModelError(f"the route of the virtual model {request.model.spec!r} returned no Route")
        wanted = route.model
        model = physical.find(wanted.provider, wanted.id)
        if model is None or model.api == VIRTUAL_API:
            raise ModelError(
                f"the virtual model {request.model.spec!r} leads to {wanted.spec!r}, which is no real model"
            )
        if not physical.has_configured_auth(model):
            raise ModelError(
                f"the virtual model {request.model.spec!r} leads to {wanted.spec!r}, which is not signed in"
            )
        level = clamp_level(model, route.thinking_level or request.thinking_level)
        return Target(model, level), route.state


def target_options(virtual: Model, target: Target, options: StreamOptions) -> StreamOptions:
    """The caller's options for the model that answers: its limits hold, and what was meant for another provider (key,
    headers, variables) stays behind.
    """
    changed: dict[str, Any] = {"reasoning": None if target.thinking_level == "off" else target.thinking_level}
    if options.max_tokens is not None:
        changed["max_tokens"] = min(options.max_tokens, target.model.max_tokens)
    if target.model.provider != virtual.provider:
        changed |= {"api_key": None, "headers": None, "env": None}
    return msgspec.structs.replace(options, **changed)


class RouteMemory(msgspec.Struct, kw_only=True):
    """What a session remembers for its virtual models.

    `keep(model, state)` is told of each new state, `load(model)` gives it back where the session stores it.
    """

    states: dict[tuple[str, str], Any] = {}
    load: Callable[[Model], Any] | None = None
    keep: Callable[[Model, Any], None] | None = None
    previous: Target | None = None
    failed: FailedTarget | None = None


class RoutedStream:
    """The stream function of one session: virtual models are routed, others asked as they are."""

    def __init__(self, virtual: VirtualModels, physical: PhysicalModels, memory: RouteMemory) -> None:
        self._virtual = virtual
        self._physical = physical
        self._memory = memory

    async def __call__(
        self, model: Model, messages: Sequence[Message], options: StreamOptions
    ) -> AssistantMessageEventStream:
        """See `StreamFn`."""
        if model.api != VIRTUAL_API:
            self._memory.previous, self._memory.failed = Target(model, options.reasoning or "off"), None
            return await self._physical.stream(model, messages, options)
        from pinyon.ai.request import lazy_stream

        return lazy_stream(model, lambda: self._route(model, messages, options), options.signal)

    async def _route(
        self, model: Model, messages: Sequence[Message], options: StreamOptions
    ) -> AssistantMessageEventStream:
        memory = self._memory
        request = RouteRequest(
            model=model,
            thinking_level=clamp_level(model, options.reasoning or "off"),
            reason=self._reason(messages),
            messages=messages,
            previous=memory.previous,
            failed=memory.failed,
            state=memory.states.get(model.key) if memory.load is None else memory.load(model),
            signal=options.signal,
        )
        target, state = await self._virtual.choose(request, self._physical)
        if state is not UNSET and state is not request.state:
            memory.states[model.key] = state
            if memory.keep is not None:
                memory.keep(model, state)
        memory.previous = target
        inner = await self._physical.stream(target.model, messages, target_options(model, target, options))
        return AssistantMessageEventStream(self._watched(target, inner))

    def _reason(self, messages: Sequence[Message]) -> RouteReason:
        if self._memory.failed is not None:
            return "retry"
        return "continuation" if messages and isinstance(messages[-1], ToolResultMessage) else "user"

    async def _watched(
        self, target: Target, inner: AssistantMessageEventStream
    ) -> AsyncIterator[AssistantMessageEvent]:
        """The events of `inner`; its end tells whether the next request is another attempt."""
        try:
            async for event in inner:
                if isinstance(event, StreamError) and event.reason == "error":
                    self._memory.failed = FailedTarget(target.model, target.thinking_level, event.error)
                elif isinstance(event, Done | StreamError):
                    self._memory.failed = None
                yield event
        finally:
            await inner.aclose()
