"""Limits of turns, tokens, cost and time: a warning first, then an orderly end that can be gone on from."""

import asyncio
import tempfile

from pinyon import InMemorySessionManager, LimitReached, Limits, PiAgent
from pinyon.testing import faux_tool_call, scripted_model


async def main() -> None:
    model = scripted_model(*[faux_tool_call("ls", {})] * 3, "Now I know.")
    async with await PiAgent.create(
        cwd=tempfile.mkdtemp(),
        session_manager=InMemorySessionManager(),
        model=model.get_model(),
        stream_fn=model.stream,
        limits=Limits(max_cost=1.0, scope="session"),  # for everything that the session will ever cost
    ) as pi:
        session = await pi.create_agent_session()
        session.subscribe(lambda event: print(event) if isinstance(event, LimitReached) else None)
        result = await session.run("Look around", limits=Limits(max_turns=3, max_wall_time_s=60))
        print("ended by:", result.limit, "after", result.totals.turns, "turns")
        result = await session.continue_run()
        print(result.text)


asyncio.run(main())
