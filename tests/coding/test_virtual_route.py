"""A virtual model in a session: who answered stands in the tree, and so does what the route remembers."""

from __future__ import annotations

import asyncio
from typing import Any

from pinyon.ai.auth_storage import AuthStorage
from pinyon.ai.message import AssistantMessage, UserMessage
from pinyon.ai.model import Model
from pinyon.ai.model_registry import ModelRegistry
from pinyon.ai.option import StreamOptions
from pinyon.ai.virtual_model import Route, RouteRequest, VirtualModel
from pinyon.coding.virtual_route import STATE_ENTRY, chosen_virtual, routed_stream
from pinyon.session.session import Session
from pinyon.testing.fake_openai import openai_answer
from pinyon.testing.fake_server import FakeServer

USER = UserMessage(content="hello", timestamp=1)


def test_the_state_of_a_route_belongs_to_the_branch() -> None:
    seen: list[Any] = []
    registry = ModelRegistry.in_memory(AuthStorage.in_memory({}))

    def route(request: RouteRequest) -> Route:
        seen.append(request.state)
        real = registry.find("real", "m")
        assert real is not None
        return Route(model=real, state={"count": len(seen)})

    async def ask(tree: Session, model: Model) -> AssistantMessage:
        stream: Any = routed_stream(registry, tree)(model, [USER], StreamOptions())
        answer: AssistantMessage = await (await stream).result()
        return answer

    with FakeServer([openai_answer("hi")]) as server:
        fields = {"baseUrl": server.url, "apiKey": "k", "api": "openai-completions", "models": [{"id": "m"}]}
        registry.register_provider("real", fields)
        registry.register_virtual_model(VirtualModel(provider="mine", id="auto", route=route))
        model = registry.find("mine", "auto")
        assert model is not None
        tree = Session.in_memory()
        start = tree.append_message(USER)
        assert asyncio.run(ask(tree, model)).model == "m"
        asyncio.run(ask(tree, model))
        tree.branch(start)
        asyncio.run(ask(tree, model))
    assert seen == [None, {"count": 1}, None]
    data = [entry.data for entry in tree.get_entries() if entry.type == "custom" and entry.custom_type == STATE_ENTRY]
    assert data[0] == {"provider": "mine", "modelId": "auto", "state": {"count": 1}}


def test_a_resumed_branch_goes_on_with_the_virtual_model_that_it_chose() -> None:
    registry = ModelRegistry.in_memory(AuthStorage.in_memory({}))
    tree = Session.in_memory()
    start = tree.append_model_change("mine", "auto")
    assert chosen_virtual(registry, tree) is None
    real = Model(id="m", name="m", api="faux", provider="real", base_url="")
    remove = registry.register_virtual_model(
        VirtualModel(provider="mine", id="auto", route=lambda _: Route(model=real))
    )
    chosen = chosen_virtual(registry, tree)
    assert chosen is not None
    assert chosen.key == ("mine", "auto")
    tree.append_model_change("real", "m")
    assert chosen_virtual(registry, tree) is None
    tree.branch(start)
    assert chosen_virtual(registry, tree) is not None
    remove()
    assert chosen_virtual(registry, tree) is None
