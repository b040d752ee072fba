"""Everything from explicit parts: no settings, no discovery, nothing stored, hooks around tools and requests."""

import asyncio

from pinyon import CompactionSettings, MemoryEnv, Model, SessionOptions, create_coding_session
from pinyon.agent import BeforeToolCallContext, BeforeToolCallResult
from pinyon.ai.option import ResponseInfo
from pinyon.testing import faux_tool_call, scripted_model
from pinyon.tools import create_all_tool_definitions

env = MemoryEnv({"notes.txt": "buy milk\n", "secret.txt": "xyz\n"}, cwd="/project")  # no file of this machine


def guard(call: BeforeToolCallContext, _: object) -> BeforeToolCallResult | None:
    """Refuse one file."""
    if "secret" in str(call.args):
        return BeforeToolCallResult(block=True, reason="That file is private.")
    return None


def show(response: ResponseInfo, model: Model) -> None:
    print(model.spec, "answers with status", response.status)


async def main() -> None:
    tools = create_all_tool_definitions(env.cwd, env=env)
    model = scripted_model(
        [faux_tool_call("read", {"path": "notes.txt"}), faux_tool_call("read", {"path": "secret.txt"})],
        "You want to buy milk.",
    )
    session = await create_coding_session(
        SessionOptions(
            model=model.get_model(),
            stream_fn=model.stream,
            tools=[tools["read"]],
            system_prompt="You read notes.",
            thinking_level="off",
            temperature=0,
            before_tool_call=guard,
            on_response=show,
            compaction=CompactionSettings(reserve_tokens=8_000),
        )
    )
    result = await session.run("What do I want to buy?")
    for message in result.messages:
        print(type(message).__name__, str(getattr(message, "text", ""))[:40].strip())
    await session.dispose()


asyncio.run(main())
