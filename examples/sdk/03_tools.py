"""A tool of your own beside two built-in ones. A scripted model stands in for a real one, here and in what follows."""

import asyncio

from pinyon import InMemorySessionManager, PiAgent, define_tool
from pinyon.testing import faux_tool_call, scripted_model


@define_tool(prompt_snippet="Look up the weather")
async def weather(city: str, days: int = 1) -> str:
    """The weather forecast of a city.

    Args:
        city: name of the city
        days: how many days to look ahead
    """
    return f"{city}: sun for {days} days"


async def main() -> None:
    model = scripted_model(faux_tool_call("weather", {"city": "Ulm", "days": 2}), "It stays sunny.")
    async with await PiAgent.create(
        model=model.get_model(),
        stream_fn=model.stream,
        session_manager=InMemorySessionManager(),
        tools=["read", "ls", "weather"],  # everything else is off
        custom_tools=[weather],
    ) as pi:
        session = await pi.create_agent_session()
        print(session.get_active_tool_names())
        result = await session.run("What will the weather be like?")
        for call in result.tool_calls:
            print(call.name, call.arguments)
        print(result.text)


asyncio.run(main())
