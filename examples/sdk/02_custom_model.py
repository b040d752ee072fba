"""A model that no catalogue knows, on a server of your own, with its key given here."""

import asyncio
import os

from pinyon import AuthStorage, InMemorySessionManager, ModelRegistry, PiAgent
from pinyon.models import Model

model = Model(
    id="my-model",
    name="My model",
    provider="my-server",
    api="openai-completions",
    base_url=os.environ.get("MY_SERVER", "http://localhost:8080/v1"),
    context_window=32_000,
    max_tokens=4_000,
)


async def main() -> None:
    auth = AuthStorage.in_memory()
    auth.set_runtime_api_key("my-server", "no key needed")  # kept in this process only
    async with await PiAgent.create(
        auth_storage=auth,
        model_registry=ModelRegistry.in_memory(auth),
        session_manager=InMemorySessionManager(),
        model=model,
    ) as pi:
        session = await pi.create_agent_session()
        print(session.model.spec if session.model else "no model")
        print((await session.run("Say hello")).text)


asyncio.run(main())
