"""Virtual models: how they are listed, routed and asked, directly and in a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.content import TextContent, ToolCall
from pinyon.ai.message import AssistantMessage, Message, ToolResultMessage, UserMessage
from pinyon.ai.model import Model, supported_levels
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.option import StreamOptions
from pinyon.ai.usage import Usage
from pinyon.ai.virtual_model import Route, RoutedStream, RouteMemory, RouteRequest, VirtualModel
from pinyon.errors import ConfigError, ModelError
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer, Reply

USER = UserMessage(content="hello", timestamp=1)
HIGH, OFF = StreamOptions(reasoning="high"), StreamOptions()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([openai_answer("hi")]) as fake:
        yield fake


class World:
    """A registry with two real models, and what the route was asked."""

    def __init__(self, url: str) -> None:
        self.registry = ModelRegistry.in_memory(AuthStorage.in_memory({}))
        models = [{"id": "small", "maxTokens": 100}, {"id": "large", "reasoning": True}]
        fields = {"baseUrl": url, "apiKey": "k", "api": "openai-completions", "models": models}
        self.registry.register_provider("real", fields)
        self.registry.register_provider("locked", {**fields, "apiKey": "$NOT_SET_ANYWHERE"})
        self.asked: list[RouteRequest] = []

    def add(self, decide: Callable[[RouteRequest], Any], **fields: Any) -> Model:
        def route(request: RouteRequest) -> Any:
            self.asked.append(request)
            return decide(request)

        defaults: dict[str, Any] = {
            "provider": "mine",
            "id": "auto",
            "thinking_levels": ("off", "high"),
            "route": route,
        }
        virtual = VirtualModel(**(defaults | fields))
        self.registry.register_virtual_model(virtual)
        found = self.registry.find(virtual.provider, virtual.id)
        assert found is not None
        return found

    def real(self, model_id: str = "small", provider: str = "real") -> Model:
        found = self.registry.find(provider, model_id)
        assert found is not None
        return found

    def ask(
        self, model: Model, options: StreamOptions = OFF, messages: list[Message] | None = None
    ) -> AssistantMessage:
        return asyncio.run(self.registry.complete(model, messages or [USER], options))


@pytest.fixture
def world(server: FakeServer) -> World:
    return World(server.url)


def test_a_virtual_model_is_listed_and_usable_without_credentials(world: World) -> None:
    model = world.add(lambda _: Route(model=world.real()), name="Automatic", context_window=500)
    assert (model.name, model.api, model.base_url, model.context_window) == ("Automatic", "pi-virtual", "", 500)
    assert model.cost.input == 0
    assert supported_levels(model) == ["off", "high"]
    assert model in world.registry.get_available()
    assert world.registry.has_configured_auth(model)
    world.registry.unregister_virtual_model("mine", "auto")
    assert world.registry.find("mine", "auto") is None
    assert not world.registry.is_usable("mine")


def test_a_provider_with_real_models_still_needs_credentials(world: World) -> None:
    world.add(lambda _: Route(model=world.real()), provider="locked")
    assert not world.registry.is_usable("locked")


def test_the_id_of_a_real_model_is_refused_and_one_that_comes_later_is_hidden(world: World) -> None:
    with pytest.raises(ConfigError, match="real/small"):
        world.add(lambda _: Route(model=world.real()), provider="real", id="small")
    virtual = world.add(lambda _: Route(model=world.real()), provider="real", id="later")
    world.registry.register_provider("real", {"models": [{"id": "small"}, {"id": "later"}]})
    assert world.registry.find("real", "later") == virtual
    assert [model.id for model in world.registry.models_of("real")] == ["later", "small"]


@pytest.mark.parametrize(
    "fields", [{"id": " "}, {"provider": ""}, {"thinking_levels": ()}, {"thinking_levels": ("loud",)}]
)
def test_what_cannot_be_a_model_is_refused(world: World, fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        world.add(lambda _: None, **fields)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_route_decides_who_answers(world: World, server: FakeServer, asynchronous: bool) -> None:
    async def later(request: RouteRequest) -> Route:
        return Route(model=world.real("large"), thinking_level="max")

    model = world.add(later if asynchronous else lambda _: Route(model=world.real("large"), thinking_level="max"))
    message = world.ask(model, HIGH)
    assert (message.stop_reason, message.provider, message.model) == ("stop", "real", "large")
    (request,) = world.asked
    assert (request.reason, request.thinking_level, list(request.messages)) == ("direct", "high", [USER])
    assert server.requests[0].json["model"] == "large"


def test_limits_of_the_target_hold_and_credentials_of_the_caller_stay_behind(world: World, server: FakeServer) -> None:
    model = world.add(lambda _: Route(model=world.real()))
    options = StreamOptions(max_tokens=9999, api_key="callers-key", headers={"x-mine": "1"}, reasoning="high")
    world.ask(model, options)
    request = server.requests[0]
    assert request.json["max_tokens"] == 100
    assert request.headers["authorization"] == "Bearer k"
    assert "x-mine" not in request.headers


def test_headers_reach_a_model_of_the_same_provider(world: World, server: FakeServer) -> None:
    model = world.add(lambda _: Route(model=world.real()), provider="real", id="auto")
    world.ask(model, StreamOptions(headers={"x-mine": "1"}))
    assert server.requests[0].headers["x-mine"] == "1"


@pytest.mark.parametrize(
    ("decide", "words"),
    [
        (lambda world: Route(model=world.real("small", "locked")), "not signed in"),
        (lambda world: Route(model=world.registry.find("mine", "auto")), "no real model"),
        (lambda world: Route(model=Model(id="x", name="x", api="a", provider="p", base_url="")), "'p/x'"),
        (lambda world: None, "no Route"),
        (lambda world: 1 / 0, "division"),
    ],
)
def test_a_route_that_leads_nowhere_is_an_error_of_the_answer(world: World, decide: Any, words: str) -> None:
    message = world.ask(world.add(lambda _: decide(world)))
    assert message.stop_reason == "error"
    assert words in str(message.error_message)


def test_a_model_that_is_gone_is_an_error_of_the_answer(world: World) -> None:
    model = world.add(lambda _: Route(model=world.real()))
    world.registry.unregister_virtual_model("mine", "auto")
    assert "no longer registered" in str(world.ask(model).error_message)


def test_asking_the_wire_api_itself_fails(world: World) -> None:
    from pinyon.ai.api import get_api

    with pytest.raises(ModelError):
        get_api(world.add(lambda _: None).api)


def test_a_session_tells_prompts_results_and_retries_apart_and_keeps_state(world: World, server: FakeServer) -> None:
    states: list[Any] = []
    model = world.add(lambda request: Route(model=world.real(), state={"n": (request.state or {"n": 0})["n"] + 1}))
    memory = RouteMemory(keep=lambda _, state: states.append(state))
    ask = RoutedStream(world.registry.virtual, world.registry, memory)
    server.play([openai_answer("a"), openai_answer("b"), Reply.text("down", 503), openai_answer("c")])
    call = ToolCall(id="c", name="ls", arguments={})
    answer = AssistantMessage(
        content=[call], api="a", provider="real", model="small", usage=Usage(), stop_reason="toolUse", timestamp=2
    )
    result = ToolResultMessage(
        tool_call_id="c", tool_name="ls", content=[TextContent("r")], is_error=False, timestamp=3
    )

    async def run() -> list[str]:
        talks: list[list[Message]] = [[USER], [USER, answer, result], [USER], [USER]]
        return [(await (await ask(model, talk, OFF)).result()).stop_reason for talk in talks]

    assert asyncio.run(run()) == ["stop", "stop", "error", "stop"]
    assert [request.reason for request in world.asked] == ["user", "continuation", "user", "retry"]
    assert [request.state for request in world.asked] == [None, {"n": 1}, {"n": 2}, {"n": 3}]
    assert states == [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]
    assert world.asked[1].previous is not None
    assert world.asked[1].previous.model == world.real()
    failed = world.asked[3].failed
    assert failed is not None
    assert "503" in str(failed.message.error_message)


def test_other_models_are_asked_as_they_are(world: World) -> None:
    memory = RouteMemory()
    ask = RoutedStream(world.registry.virtual, world.registry, memory)

    async def run() -> AssistantMessage:
        return await (await ask(world.real("large"), [USER], HIGH)).result()

    assert asyncio.run(run()).model == "large"
    assert memory.previous is not None
    assert (memory.previous.model.id, memory.previous.thinking_level) == ("large", "high")
